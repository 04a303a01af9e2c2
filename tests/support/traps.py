"""Chats that stand between two steps when the server is killed: every one of them can go on by itself."""

from __future__ import annotations

from pathlib import Path

from refhost.model import Model, answer, use
from refhost.world import World

DEADLY = Path(__file__).with_name("deadly.py")
MOMENTS = Path(__file__).with_name("moments.py")
RESULT = "result-of-the-effect"

STANDS = '''
"""Lets a chat stand before its second question to the model while the file `stand` is there."""

import asyncio
import os
from pathlib import Path

from helpers.extension import Extension


class Stands(Extension):
    async def execute(self, **kwargs):
        said = str([message.content for message in self.agent.history.all_messages()])
        if "result-of-the-effect" not in said:
            return
        trap = Path(os.environ["TRAP"])
        while (trap / "stand").exists():
            (trap / self.agent.context.id).touch()
            await asyncio.sleep(0.02)
'''


class Trap:
    """A world whose chats were cut off between two steps, and a file that makes the guilty one deadly."""

    def __init__(self, world: World, model: Model, folder: Path, when: str = "", **env: str) -> None:
        folder.mkdir()
        self.world, self.folder = world, folder
        self.env = {"TRAP": str(folder), "DEADLY": when, **env}
        world.add_plugin("stands", {"extensions/python/message_loop_prompts_before/_10_stands.py": STANDS})
        model.script(answer("all done"), when=RESULT, repeat=True)
        model.script(use("effect", arg="a", value=RESULT), repeat=True)

    def cut_off(self, *texts: str) -> list[str]:
        """One chat for each text, all killed between their effect and their next question."""
        stand = self.folder / "stand"
        stand.touch()
        client = self.world.start(env=self.env, inject=DEADLY).client()
        chats = []
        for text in texts:
            chats.append(client.create_chat())
            client.send(chats[-1], text)
            client.wait((self.folder / chats[-1]).exists, what="the chat to stand between two steps")
        self.world.kill()
        stand.unlink()
        (self.folder / "deadly").touch()
        return chats

    def start(self, *, dies: bool = False) -> None:
        self.world.start(env=self.env, inject=DEADLY, wait=not dies)
        if dies:
            self.world.wait_dead()

    def deaths(self) -> int:
        file = self.folder / "deaths"
        return len(file.read_text().splitlines()) if file.exists() else 0

    def launched(self) -> list[str]:
        file = self.folder / "launched"
        return file.read_text().splitlines() if file.exists() else []
