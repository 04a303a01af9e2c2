"""The host's integrations, as they stand in a chat: who answers it, through which functions, and where a reply stands in a run.

Facts about the host and a count, nothing else. What is recorded of a reply, and when, is in `deliveries.py`.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from dataclasses import dataclass, field
from typing import Any

from ..journal.records import CallKey, CallKind
from .agents import ROOT_PATH

_TELEGRAM = "plugins._telegram_integration.helpers"
_EMAIL = "plugins._email_integration.helpers"
_WHATSAPP = "plugins._whatsapp_integration.helpers"


@dataclass(frozen=True, slots=True)
class Sender:
    """One function of the host that sends a reply to a person outside."""

    name: str
    via: str
    mark: str  # a chat with this key in its data is answered through this integration
    to: tuple[str, ...]  # keys of the recipient, the first that is set counts
    sent: Any = None  # what the function returns when it has sent
    gone: tuple[str, ...] = ()  # what a sent reply takes out of the chat's data

    def recipient(self, ctx: Any) -> str:
        return str(next((ctx.data[key] for key in self.to if ctx.data.get(key)), "unknown"))


PREVIEW = "_telegram_response_message_id"
"""The message in which Telegram shows the answer while it comes; the reply itself is its last change."""

_PREVIEWED = (PREVIEW, "_telegram_response_text", "_telegram_response_last_update")
_TELEGRAM_TO = ("telegram_username", "telegram_chat_id")

SENDERS = {
    sender.name: sender
    for sender in (
        Sender("telegram_reply", "Telegram", "telegram_bot", _TELEGRAM_TO, gone=_PREVIEWED),
        Sender("telegram_update", "Telegram", "telegram_bot", _TELEGRAM_TO, sent=True, gone=_PREVIEWED),
        Sender("email_reply", "e-mail", "email_handler", ("email_sender",)),
        Sender("whatsapp_reply", "WhatsApp", "wa_chat_id", ("wa_sender_name", "wa_chat_id")),
    )
}

FUNCTIONS = {
    "telegram_bot": ((f"{_TELEGRAM}.handler", "send_telegram_reply"), (f"{_TELEGRAM}.draft_stream", "send_intermediate_response")),
    "email_handler": ((f"{_EMAIL}.handler", "send_email_reply"),),
    "wa_chat_id": ((f"{_WHATSAPP}.handler", "send_wa_reply"),),
}
"""For each mark, every function through which that integration sends a reply: module and name."""

BESIDE = {
    "telegram_bot": (f"{_TELEGRAM}.telegram_client",),
    "email_handler": (f"{_EMAIL}.smtp_client",),
    "wa_chat_id": (f"{_WHATSAPP}.wa_client",),
}
"""Modules in which a sender swallows errors; they are listened to."""

IN_TASKS = (
    "plugins/_email_integration/extensions/python/process_chain_end/_55_email_reply.py",
    "plugins/_whatsapp_integration/extensions/python/process_chain_end/_55_wa_reply.py",
)
"""Hooks that send in a task of their own, which the host's chain does not wait for."""

HIDES_SECRETS = "extensions/python/tool_execute_after/_10_mask_secrets.py"
TAKES_UP = (
    "plugins/_email_integration/extensions/python/tool_execute_after/_50_email_response.py",
    "plugins/_telegram_integration/extensions/python/tool_execute_after/_50_telegram_response.py",
    "plugins/_whatsapp_integration/extensions/python/tool_execute_after/_50_wa_response.py",
)
"""Besides the one that hides secrets, the only hooks that see the end of a step again: they take up what a reply takes along,
and what they send goes through the functions above."""

PREVIEWS = (
    "plugins/_telegram_integration/extensions/python/response_stream/_45_telegram_draft_response.py",
    "plugins/_telegram_integration/extensions/python/tool_execute_before/_45_telegram_draft_tool.py",
)
"""Hooks that show in the outside chat what is going on; silent while that is given back from the record."""


def marks(ctx: Any) -> list[str]:
    """The integrations that answer this chat."""
    return [mark for mark in FUNCTIONS if ctx.data.get(mark)]


def load(ctx: Any) -> None:
    """Load what this chat's integrations send with, as their hooks do a moment later. What is missing is missing for them too."""
    for mark in marks(ctx):
        for module in (*BESIDE[mark], *(module for module, _ in FUNCTIONS[mark])):
            if module not in sys.modules:
                try:
                    importlib.import_module(module)
                except Exception:  # an import may raise anything
                    break


def is_recorded(ctx: Any) -> bool:
    """Whether every reply of this chat passes a function of ours. True of a chat that nothing answers outside."""
    for mark in marks(ctx):
        for module, name in FUNCTIONS[mark]:
            function = getattr(sys.modules.get(module), name, None)
            if not getattr(function, "durable_override", ""):
                return False
    return True


async def is_up(mark: str, ctx: Any) -> bool:
    """Whether the integration can send at all: after a restart its part outside the turn starts a little later."""
    if mark == "telegram_bot":
        from plugins._telegram_integration.helpers import bot_manager

        return bot_manager.get_bot(ctx.data[mark]) is not None
    if mark == "wa_chat_id":
        from helpers import plugins
        from plugins._whatsapp_integration.helpers import bridge_manager, wa_client

        port = int((plugins.get_plugin_config("_whatsapp_integration") or {}).get("bridge_port", 3100))
        try:
            health = await wa_client.get_health(bridge_manager.get_bridge_url(port))
        except Exception:  # whatever the client makes of a bridge that does not answer yet
            return False
        return bool(health.get("status") == "connected")
    return True


@dataclass(slots=True)
class Sends:
    """The place of the next reply: a count of its own in each step, so that it shifts no tool and no tool shifts it."""

    path: str = ROOT_PATH  # of the agent whose hooks run
    steps: dict[str, int] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    last: dict[str, int] | None = None  # once the chain ends: one reply of each sender, however often the host asks
    made: dict[str, asyncio.Future[None]] = field(default_factory=dict)  # of this life, by key

    def begin(self, path: str, step: int) -> None:
        """An agent's loop step begins at its resume point: what follows belongs to this step's model call."""
        self.path, self.steps[path], self.counts[path], self.last = path, step, 0, None
        self.made.clear()

    def turn_to(self, path: str | None) -> None:
        """This agent's hooks are about to run: where another one worked in between, its places are not meant."""
        if path in self.steps:
            self.path = path

    def end(self) -> None:
        """The chain ends. The host says so once for each of its levels, and each time the same reply would go out."""
        if self.last is None:
            self.last = {}

    def key(self, sender: Sender) -> CallKey:
        count = self.counts.get(self.path, 0)
        ordinal = count if self.last is None else self.last.setdefault(sender.name, count)
        self.counts[self.path] = max(count, ordinal + 1)
        return CallKey(self.path, self.steps.get(self.path, 1), CallKind.DELIVERY, ordinal)
