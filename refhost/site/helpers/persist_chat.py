"""Chats on disk: `usr/chats/<id>/chat.json`, written whole and atomically. Background chats are never saved."""

from __future__ import annotations

import json
import os
import tempfile
import uuid
from collections import OrderedDict
from datetime import datetime
from pathlib import Path
from typing import Any

from agent import Agent, AgentContext, AgentContextType
from helpers import files, history
from helpers.localization import Localization
from helpers.log import Log, LogItem
from helpers.print_style import PrintStyle
from initialize import initialize_agent

CHATS_FOLDER = "usr/chats"
LOG_SIZE = 1000
CHAT_FILE_NAME = "chat.json"
SAVED_CHAT_CONTEXT_DATA_KEY = "_persist_chat_saved"


def get_chat_folder_path(ctxid: str) -> str:
    return files.get_abs_path(CHATS_FOLDER, ctxid)


def get_chat_msg_files_folder(ctxid: str) -> str:
    return files.get_abs_path(CHATS_FOLDER, ctxid, "messages")


def save_tmp_chat(context: AgentContext) -> None:
    if context.type == AgentContextType.BACKGROUND:
        return
    text = _safe_json_serialize(_serialize_context(context), ensure_ascii=False)
    _write_atomic(_get_chat_file_path(context.id), text)
    mark_chat_saved(context)


def save_tmp_chats() -> None:
    for context in AgentContext.all():
        save_tmp_chat(context)


def load_tmp_chats() -> list[str]:
    loaded = []
    for path in files.find_existing_paths_by_pattern(f"{CHATS_FOLDER}/*/{CHAT_FILE_NAME}"):
        try:
            context = _deserialize_context(json.loads(files.read_file(path)))
        except Exception as error:
            PrintStyle.error(f"{path} could not be loaded: {error}")
            continue
        mark_chat_saved(context)
        loaded.append(context.id)
    return loaded


def mark_chat_saved(context: AgentContext) -> None:
    context.data[SAVED_CHAT_CONTEXT_DATA_KEY] = True


def saved_chat_ids() -> set[str]:
    return {Path(p).parent.name for p in files.find_existing_paths_by_pattern(f"{CHATS_FOLDER}/*/{CHAT_FILE_NAME}")}


def remove_chat(ctxid: str) -> None:
    files.delete_dir(get_chat_folder_path(ctxid))


def remove_msg_files(ctxid: str) -> None:
    files.delete_dir(get_chat_msg_files_folder(ctxid))


def _get_chat_file_path(ctxid: str) -> str:
    return files.get_abs_path(CHATS_FOLDER, ctxid, CHAT_FILE_NAME)


def _write_atomic(path: str, content: str) -> None:
    """Temporary file, fsync, rename, fsync of the folder."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode("utf-8", "replace"))
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(target)
        folder = os.open(target.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    finally:
        Path(name).unlink(missing_ok=True)


def _serialize_context(context: AgentContext) -> dict[str, Any]:
    agents, agent = [], context.agent0
    while agent:
        agents.append(_serialize_agent(agent))
        agent = agent.data.get(Agent.DATA_NAME_SUBORDINATE)
    times = Localization.get()
    return {
        "id": context.id,
        "name": context.name,
        "created_at": times.serialize_datetime(context.created_at),
        "type": context.type.value,
        "last_message": times.serialize_datetime(context.last_message),
        "agents": agents,
        "streaming_agent": context.streaming_agent.number if context.streaming_agent else 0,
        "agent_profile": context.agent0.config.profile,
        "log": _serialize_log(context.log),
        "data": _public(context.data),
        "output_data": _public(context.output_data),
    }


def _serialize_agent(agent: Agent) -> dict[str, Any]:
    return {
        "number": agent.number,
        "agent_profile": agent.config.profile,
        "data": _public(agent.data),
        "history": agent.history.serialize(),
    }


def _serialize_log(log: Log) -> dict[str, Any]:
    with log._lock:
        return {
            "guid": log.guid,
            "logs": [item.output() for item in log.logs[-LOG_SIZE:]],
            "progress": log.progress,
            "progress_no": log.progress_no,
        }


def _deserialize_context(data: dict[str, Any]) -> AgentContext:
    profile = data.get("agent_profile")
    config = initialize_agent(override_settings={"agent_profile": profile} if profile else None)
    context = AgentContext(
        config=config,
        id=data.get("id"),
        name=data.get("name"),
        created_at=datetime.fromisoformat(data["created_at"]),
        type=AgentContextType(data.get("type", AgentContextType.USER.value)),
        last_message=datetime.fromisoformat(data["last_message"]),
        log=_deserialize_log(data.get("log") or {}),
        paused=False,
        data=data.get("data", {}),
        output_data=data.get("output_data", {}),
    )
    context.agent0 = _deserialize_agents(data.get("agents", []), config, context)
    streaming: Agent | None = context.agent0
    while streaming and streaming.number != data.get("streaming_agent", 0):
        streaming = streaming.data.get(Agent.DATA_NAME_SUBORDINATE)
    context.streaming_agent = streaming
    return context


def _deserialize_agents(agents: list[dict[str, Any]], config: Any, context: AgentContext) -> Agent:
    chain: list[Agent] = []
    for item in agents:
        agent = Agent(number=item["number"], config=config, context=context)
        agent.data = item.get("data", {})
        agent.history = history.deserialize_history(item.get("history", ""), agent=agent)
        if chain:
            chain[-1].set_data(Agent.DATA_NAME_SUBORDINATE, agent)
            agent.set_data(Agent.DATA_NAME_SUPERIOR, chain[-1])
        chain.append(agent)
    return chain[0] if chain else Agent(0, config, context)


def _deserialize_log(data: dict[str, Any]) -> Log:
    """Items are numbered anew."""
    log = Log()
    log.guid = data.get("guid") or str(uuid.uuid4())
    for no, item in enumerate(data.get("logs", [])):
        log.logs.append(
            LogItem(
                log=log,
                no=no,
                type=item["type"],
                heading=item.get("heading", ""),
                content=item.get("content", ""),
                kvps=OrderedDict(item["kvps"]) if item["kvps"] else None,
                timestamp=item.get("timestamp", 0.0),
                agentno=item.get("agentno", 0),
                id=item.get("id"),
            )
        )
        log.updates.append(no)
    return log


def _public(data: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in data.items() if not key.startswith("_")}


def _safe_json_serialize(obj: Any, **kwargs: Any) -> str:
    """What is not JSON becomes null, without a word."""
    return json.dumps(obj, default=lambda value: None, **kwargs)
