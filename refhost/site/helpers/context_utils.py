"""Finds the chat that a request is about."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent import AgentContext


def use_context(lock: AbstractContextManager[Any], ctxid: str, create_if_not_exists: bool = True) -> AgentContext:
    from agent import AgentContext
    from initialize import initialize_agent

    with lock:
        if not ctxid and (first := AgentContext.first()):
            ctxid = first.id
        known = AgentContext.use(ctxid)
        if known:
            return known
        if not create_if_not_exists:
            raise Exception(f"There is no chat {ctxid}.")
        return AgentContext(config=initialize_agent(), id=ctxid or None, set_current=True)
