"""The world outside of the host's integrations: one server on loopback that gets mails, Telegram and WhatsApp messages.

Owns what arrived there, and the moments at which a test stops a turn beside its sending. It must never answer for the host.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .client import Client
from .host import LiveHost

INJECT = Path(__file__).with_name("inject") / "outside.py"
TELEGRAM = ("sendMessage", "editMessageText")
WAYS = ("telegram", "email", "whatsapp")
PERSON = {"telegram": 7, "email": "ana@example.org", "whatsapp": "7@s.whatsapp.net"}

ARRIVE = '''
"""A message comes in through an integration, past its own polling: from here on it is the host's own code."""

import uuid

from agent import AgentContext, UserMessage
from helpers import message_queue as mq
from helpers.api import ApiHandler


class Arrive(ApiHandler):
    async def process(self, input, request):
        return {"chat": await getattr(self, input["via"])(input["text"], input.get("stream", True))}

    async def email(self, text, stream):
        from plugins._email_integration.helpers import handler
        from plugins._email_integration.helpers.imap_client import InboundMessage

        agent = self.use_context("").agent0
        message = InboundMessage("ana@example.org", "A question", text, message_id=f"<{uuid.uuid4()}>")
        await handler._start_new_chat(agent, handler._get_handler_config("post"), message)
        return next(ctx.id for ctx in AgentContext.all() if text in ctx.data.get("email_last_body", ""))

    async def whatsapp(self, text, stream):
        from helpers import plugins
        from plugins._whatsapp_integration.helpers import handler

        message = {"chatId": "7@s.whatsapp.net", "senderName": "Ana", "senderNumber": "7", "body": text, "messageId": "m1"}
        await handler._start_new_chat(plugins.get_plugin_config("_whatsapp_integration"), message)
        return next(ctx.id for ctx in AgentContext.all() if ctx.data.get("wa_last_body") == text)

    async def telegram(self, text, stream):
        from plugins._telegram_integration.helpers import handler

        user = abs(hash(text)) % 10**9
        ctx = await handler._get_or_create_context_from_user("bot", {"name": "bot"}, user, "ana", 7, "private")
        ctx.data["telegram_stream_enabled"] = stream
        message_id = str(uuid.uuid4())
        mq.log_user_message(ctx, text, [], message_id)
        ctx.communicate(UserMessage(text, id=message_id))
        return ctx.id
'''

WAIT = '''
"""A turn stops here as long as a test wants it to."""

import asyncio
import os
from pathlib import Path

from helpers.extension import Extension


class OutsideWait(Extension):
    async def execute(self, **kwargs):
        stop = Path(os.environ["OUTSIDE_FOLDER"]) / "MOMENT.stop"
        while stop.exists():
            stop.with_name(f"MOMENT.reached-{self.agent.context.id}").touch()
            await asyncio.sleep(0.02)
'''

ADDRESS = '''
"""Telegram's address is the test's server."""

import os

from helpers.extension import Extension


class OutsideAddress(Extension):
    async def execute(self, **kwargs):
        from plugins._telegram_integration.helpers import telegram_client

        telegram_client.TELEGRAM_API_BASE = os.environ["OUTSIDE_URL"]
'''

CHAIN_END = "extensions/python/process_chain_end/_54_outside_wait.py"
OVER = "extensions/python/_functions/agent/AgentContext/_process_chain/end/_94_outside_wait.py"
FILES = {
    "plugin.yaml": "name: outside\nversion: 0.0.1\n",
    "api/arrive.py": ARRIVE,
    "extensions/python/monologue_start/_01_outside_address.py": ADDRESS,
    CHAIN_END: WAIT.replace("MOMENT", "before"),
    OVER: WAIT.replace("MOMENT", "after"),
    "extensions/python/message_loop_end/_95_outside_wait.py": WAIT.replace("MOMENT", "between"),
}


class Outside:
    """Counts what a person outside gets. A Telegram message that is changed stays one message."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.calls: list[tuple[str, str]] = []  # every delivering request, in order
        self.telegram: dict[int, str] = {}
        self.others: list[tuple[str, str]] = []
        self.cuts = False  # what arrives is kept, and its sender hears the line go dead
        self._go_on = threading.Event()
        self._go_on.set()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def env(self) -> dict[str, str]:
        return {"OUTSIDE_URL": f"http://127.0.0.1:{self.port}", "OUTSIDE_FOLDER": str(self.folder)}

    def set_up(self, host: LiveHost) -> None:
        """Lay the test's own plugin, and the settings of the three integrations."""
        plugins = host.home / "usr" / "plugins"
        post = {"name": "post", "smtp_server": "127.0.0.1", "smtp_port": 25, "username": "agent@example.org", "password": "unused"}
        settings = {
            "_email_integration": {"handlers": [post]},
            "_telegram_integration": {"bots": [{"name": "bot", "enabled": True, "token": "TOKEN"}]},
            "_error_retry": {"retries": 0, "try_clear_embeds": False},
            "_whatsapp_integration": {"enabled": False, "mode": "dedicated", "bridge_port": self.port},
        }
        files = {f"outside/{name}": text for name, text in FILES.items()}
        files |= {f"{name}/config.json": json.dumps(each) for name, each in settings.items()}
        for name, text in files.items():
            (plugins / name).parent.mkdir(parents=True, exist_ok=True)
            (plugins / name).write_text(text, encoding="utf-8")

    # What the test does

    def arrive(self, client: Client, via: str, text: str, *, stream: bool = True) -> str:
        return str(client.post("plugins/outside/arrive", {"via": via, "text": text, "stream": stream}).ok()["chat"])

    @contextmanager
    def stopped(self, moment: str) -> Iterator[None]:
        stop = self.folder / f"{moment}.stop"
        stop.touch()
        try:
            yield
        finally:
            stop.unlink(missing_ok=True)

    def wait_stopped(self, client: Client, moment: str, chat: str) -> None:
        client.wait(f"{chat} to stop {moment}", (self.folder / f"{moment}.reached-{chat}").exists)

    def hold(self) -> None:
        """From now on what is sent arrives, and its sender hears nothing."""
        self._go_on.clear()

    def release(self) -> None:
        self._go_on.set()

    def got(self, via: str, text: str) -> int:
        """How many messages with this text a person has."""
        with self._lock:
            if via == "telegram":
                return sum(text in each for each in self.telegram.values())
            return sum(way == via and text in each for way, each in self.others)

    def close(self) -> None:
        self.release()
        self._server.shutdown()
        self._server.server_close()

    # What the server does

    def take(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        name = path.rpartition("/")[2]
        answer: dict[str, Any] = {"ok": True}
        if not delivers(path):
            return answer
        with self._lock:
            if name in TELEGRAM:
                number = body.get("message_id") or len(self.telegram) + 1
                self.telegram[number] = body["text"]
                answer["result"] = {"message_id": number}
            else:
                self.others.append(("email" if name == "mail" else "whatsapp", body.get("text") or body["message"]))
            self.calls.append((name, json.dumps(body)))
        self._go_on.wait(120)
        return answer


def delivers(path: str) -> bool:
    return path.rpartition("/")[2] in (*TELEGRAM, "mail", "send")


def _handler(outside: Outside) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = outside.take(self.path, body)
            if outside.cuts and delivers(self.path):
                self.close_connection = True
            else:
                self._say(answer)

        def do_GET(self) -> None:
            self._say({"status": "connected"})

        def _say(self, answer: dict[str, Any]) -> None:
            data = json.dumps(answer).encode()
            try:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except OSError:
                self.close_connection = True  # the sender is dead, which is what the test wanted

        def log_message(self, format: str, *args: Any) -> None:
            """What arrived stands in `calls`."""

    return Handler
