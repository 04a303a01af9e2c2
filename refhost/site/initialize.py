"""The steps of the start. Each is an extension point of its own."""

from __future__ import annotations

from typing import Any

from agent import AgentConfig
from helpers import defer, extension, settings


@extension.extensible
def initialize_agent(override_settings: dict[str, Any] | None = None) -> AgentConfig:
    current = {**settings.get_settings(), **(override_settings or {})}
    return AgentConfig(mcp_servers="", profile=current["agent_profile"])


@extension.extensible
def initialize_chats() -> defer.DeferredTask:
    from helpers import persist_chat

    async def load() -> None:
        persist_chat.load_tmp_chats()

    return defer.DeferredTask().start_task(load)


@extension.extensible
def initialize_job_loop() -> defer.DeferredTask:
    from helpers.job_loop import run_loop

    return defer.DeferredTask("JobLoop").start_task(run_loop)


@extension.extensible
def initialize_migration() -> None:
    from helpers import dotenv, migration

    migration.startup_migration()
    dotenv.load_dotenv()
    settings.reload_settings()
