"""Speaks to a world's server over HTTP as the web page does. Waits by looking; never sleeps for a fixed time."""

from __future__ import annotations

import http.cookiejar
import json
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Reply:
    status: int
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Answer(Exception):
    """The server answered with a status that is not 2xx."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(f"{reply.status}: {reply.text[:2000]}")
        self.reply = reply


class Client:
    def __init__(self, url: str) -> None:
        self.url = url
        self._token = ""
        jar = http.cookiejar.CookieJar()
        self._open = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar)).open

    # Requests

    def get(self, path: str, timeout: float = 60) -> Reply:
        return self._send(urllib.request.Request(f"{self.url}/{path.lstrip('/')}"), timeout)

    def ask(self, name: str, body: Any = None, timeout: float = 60) -> Reply:
        """POST /api/<name>; a token that is no longer good is fetched again once."""
        reply = self._post(name, body, timeout)
        if reply.status == 403:
            self._token = ""
            reply = self._post(name, body, timeout)
        return reply

    def call(self, name: str, body: Any = None, timeout: float = 60) -> Any:
        reply = self.ask(name, body, timeout)
        if not 200 <= reply.status < 300:
            raise Answer(reply)
        return reply.json

    def _post(self, name: str, body: Any, timeout: float) -> Reply:
        if not self._token:
            self._token = self.get("api/csrf_token").json["token"]
        request = urllib.request.Request(
            f"{self.url}/api/{name.lstrip('/')}",
            data=json.dumps({} if body is None else body).encode(),
            headers={"Content-Type": "application/json", "X-CSRF-Token": self._token},
        )
        return self._send(request, timeout)

    def _send(self, request: urllib.request.Request, timeout: float) -> Reply:
        request.add_header("Origin", self.url)
        try:
            with self._open(request, timeout=timeout) as answer:
                return Reply(answer.status, answer.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, error.read().decode())

    # Chats

    def create_chat(self, chat: str | None = None) -> str:
        return str(self.call("chat_create", {"new_context": chat} if chat else {})["ctxid"])

    def send(self, chat: str, text: str, message_id: str | None = None) -> Any:
        return self.call("message_async", _message(chat, text, message_id))

    def say(self, chat: str, text: str, message_id: str | None = None, timeout: float = 60) -> str:
        return str(self.call("message", _message(chat, text, message_id), timeout)["message"])

    def mail(self, chat: str, text: str, message_id: str | None = None, sender: str = "ana@example.org") -> Any:
        """A mail that this chat answers by mail."""
        body = {"context": chat, "text": text, "sender": sender, "message_id": message_id or str(uuid.uuid4())}
        return self.call("plugins/_email_integration/mail", body)

    def queue(self, chat: str, text: str, item_id: str | None = None) -> Any:
        return self.call("message_queue_add", {"text": text, "context": chat, "item_id": item_id})

    def nudge(self, chat: str) -> Any:
        return self.call("nudge", {"ctxid": chat})

    def pause(self, chat: str, paused: bool) -> Any:
        return self.call("pause", {"context": chat, "paused": paused})

    def reset(self, chat: str) -> Any:
        return self.call("chat_reset", {"context": chat})

    def remove(self, chat: str) -> Any:
        return self.call("chat_remove", {"context": chat})

    def history(self, chat: str) -> str:
        return str(self.call("history_get", {"context": chat})["history"])

    def toggle(self, enabled: bool, plugin: str = "durable_execution") -> Any:
        return self.call("plugins", {"action": "toggle_plugin", "plugin_name": plugin, "enabled": enabled})

    def delete_plugin(self, plugin: str) -> Any:
        return self.call("plugins", {"action": "delete_plugin", "plugin_name": plugin})

    def configure(self, settings: dict[str, Any], *, project: str = "", plugin: str = "durable_execution") -> Reply:
        """Save settings as the configuration screen does: for a project, or for all."""
        scope = {"project_name": project, "agent_profile": ""}
        return self.ask("plugins", {"action": "save_config", "plugin_name": plugin, **scope, "settings": settings})

    def activate_project(self, chat: str, project: str) -> Any:
        return self.call("projects", {"action": "activate", "context_id": chat, "name": project})

    # Looking and waiting

    def poll(self, chat: str = "", log_from: int = 0) -> dict[str, Any]:
        body = {"context": chat, "log_from": log_from, "notifications_from": 0, "timezone": "UTC"}
        return dict(self.call("poll", body))

    def logs(self, chat: str) -> list[dict[str, Any]]:
        return sorted(self.poll(chat)["logs"], key=lambda item: item["no"])

    def context(self, chat: str) -> dict[str, Any] | None:
        snapshot = self.poll()
        entries = [*snapshot["contexts"], *snapshot["tasks"]]
        return next((entry for entry in entries if entry["id"] == chat), None)

    def running(self, chat: str) -> bool:
        return bool((self.context(chat) or {}).get("running"))

    def wait[T](self, look: Callable[[], T], timeout: float = 60, what: str = "") -> T:
        end = time.monotonic() + timeout
        while not (seen := look()):
            if time.monotonic() > end:
                raise TimeoutError(f"Waited {timeout} s for {what or look}; last seen: {seen!r}")
            time.sleep(0.02)
        return seen

    def wait_idle(self, chat: str, timeout: float = 60) -> None:
        self.wait(lambda: not self.running(chat), timeout, f"chat {chat} to be idle")

    def wait_log(self, chat: str, type: str | None = None, text: str = "", timeout: float = 60) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            for item in self.logs(chat):
                if type in (None, item["type"]) and text in f"{item['heading']}\n{item['content']}":
                    return item
            return None

        found = self.wait(look, timeout, f"a log item {type or ''} {text!r} in chat {chat}")
        assert found is not None
        return found


def _message(chat: str, text: str, message_id: str | None) -> dict[str, str]:
    """The page makes an id for each message; an empty one means that there is none."""
    return {"text": text, "context": chat, "message_id": str(uuid.uuid4()) if message_id is None else message_id}
