"""Long results also go to a file beside the chat; its path stands in the message."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent import AgentContextType
from helpers import extension, persist_chat

LEN_MIN = 500


class SaveToolCallFile(extension.Extension):
    def execute(self, data: Any = None, **kwargs: Any) -> None:
        result = str((data or {}).get("tool_result", ""))
        if not self.agent or self.agent.context.type == AgentContextType.BACKGROUND or len(result) < LEN_MIN:
            return
        folder = Path(persist_chat.get_chat_msg_files_folder(self.agent.context.id))
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{len(list(folder.iterdir())) + 1}.txt"
        path.write_text(result, "utf-8", errors="replace")
        data["file"] = str(path)
