"""Runs inside the server's process: what stands between the host's integrations and the network.

A mail goes to the test's own server instead of to a mail server, and a Telegram library that is not installed is stood in
for by one that speaks to the same server. The host's own code above them is untouched.
"""

from __future__ import annotations

import asyncio
import importlib.machinery
import json
import os
import smtplib
import sys
import types
import urllib.request

OUTSIDE = os.environ["OUTSIDE_URL"]


def tell(path: str, body: dict) -> dict:
    request = urllib.request.Request(f"{OUTSIDE}/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


class SMTP:
    def __init__(self, *args, **kwargs):
        self.ehlo = self.starttls = self.login = lambda *more: None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def send_message(self, message):
        plain = next(part for part in message.walk() if part.get_content_type() == "text/plain")
        tell("mail", {"to": message["To"], "text": plain.get_payload(decode=True).decode()})


smtplib.SMTP = SMTP


class Kind(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Kind(name, (Anything,), {})


class Anything(metaclass=Kind):
    """Whatever else the host takes from the library while it is loaded."""

    def __init__(self, *args, **kwargs):
        vars(self).update(kwargs)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything()

    def __call__(self, *args, **kwargs):
        return Anything()


class Bot(Anything):
    def __init__(self, token, **kwargs):
        super().__init__(token=token, session=self)

    async def close(self):
        return None

    async def send_message(self, chat_id, text, **more):
        sent = await asyncio.get_running_loop().run_in_executor(
            None, tell, f"bot{self.token}/sendMessage", {"chat_id": chat_id, "text": text}
        )
        return Anything(message_id=sent["result"]["message_id"])


async def _nothing(self, *args, **kwargs):
    return Anything(username="bot", id=1)


Bot.get_me = Bot.set_my_commands = Bot.delete_webhook = _nothing


class Dispatcher(Anything):
    async def start_polling(self, *args, **kwargs):
        await asyncio.Event().wait()


class Module(types.ModuleType):
    def __init__(self, name):
        super().__init__(name)
        self.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        self.__path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = Kind(name, (Exception,) if name.startswith("Telegram") else (Anything,), {"__module__": self.__name__})
        setattr(self, name, made)
        return made


for name in ("", ".client", ".client.default", ".enums", ".exceptions", ".filters", ".types"):
    sys.modules[f"aiogram{name}"] = Module(f"aiogram{name}")
sys.modules["aiogram"].Bot, sys.modules["aiogram"].Dispatcher = Bot, Dispatcher
