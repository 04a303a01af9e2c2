"""What the web page does with the host's HTTP API, in plain Python.

Owns the session, its CSRF token and the waiting; it knows nothing of the journal.
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from http.cookiejar import CookieJar
from typing import Any

from .host import PLUGIN, LiveHost

WAIT = 60.0


@dataclass(frozen=True)
class Reply:
    status: int
    body: Any  # decoded JSON, or the text when it is none

    def ok(self) -> Any:
        assert self.status == 200, f"{self.status}: {self.body}"
        return self.body


class Client:
    def __init__(self, host: LiveHost) -> None:
        self.host = host
        self._signed_in_at = 0
        self._token = ""
        self._opener = urllib.request.build_opener()

    # Requests

    def post(
        self,
        path: str,
        body: dict[str, Any] | bytes,
        *,
        csrf: bool = True,
        headers: dict[str, str] | None = None,
        seconds: float = WAIT,
    ) -> Reply:
        headers = {"Content-Type": "application/json", "Origin": self.host.url} | (headers or {})
        if csrf:
            self._sign_in()
            headers["X-CSRF-Token"] = self._token
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.host.url}/api/{path}", data, headers)
        opener = self._opener if csrf else urllib.request.build_opener()
        try:
            with opener.open(request, timeout=seconds) as answer:
                return Reply(answer.status, _decoded(answer.read()))
        except urllib.error.HTTPError as refused:
            with refused:
                return Reply(refused.code, _decoded(refused.read()))

    def _sign_in(self) -> None:
        """Each start of the server has a new runtime id, so an old token is worth nothing."""
        if self._signed_in_at == self.host.starts:
            return
        jar = urllib.request.HTTPCookieProcessor(CookieJar())
        self._opener = urllib.request.build_opener(jar)
        request = urllib.request.Request(f"{self.host.url}/api/csrf_token", headers={"Origin": self.host.url})
        with self._opener.open(request, timeout=WAIT) as answer:
            found = json.load(answer)
        assert found["ok"], found
        self._token, self._signed_in_at = found["token"], self.host.starts

    # Chats

    def new_chat(self) -> str:
        return str(self.post("chat_create", {}).ok()["ctxid"])

    def send(self, chat: str, text: str, message_id: str | None = None) -> str:
        """Hand a message over and return its id at once."""
        message_id = message_id or str(uuid.uuid4())
        self.post("message_async", {"text": text, "context": chat, "message_id": message_id}).ok()
        return message_id

    def ask(self, chat: str, text: str, message_id: str | None = None) -> str:
        """Hand a message over and wait for the answer of its turn."""
        body = {"text": text, "context": chat, "message_id": message_id or str(uuid.uuid4())}
        return str(self.post("message", body).ok()["message"])

    def upload(self, chat: str, text: str, name: str, content: bytes) -> None:
        """Hand a message with a file over, as the page does: in one form."""
        edge = uuid.uuid4().hex
        fields = {"text": text, "context": chat, "message_id": str(uuid.uuid4())}
        parts = [f'Content-Disposition: form-data; name="{key}"\r\n\r\n{value}'.encode() for key, value in fields.items()]
        kind = f'Content-Disposition: form-data; name="attachments"; filename="{name}"\r\nContent-Type: text/plain\r\n\r\n'
        parts.append(kind.encode() + content)
        body = b"".join(b"--%s\r\n%s\r\n" % (edge.encode(), part) for part in parts) + b"--%s--\r\n" % edge.encode()
        self.post("message_async", body, headers={"Content-Type": f"multipart/form-data; boundary={edge}"}).ok()

    def nudge(self, chat: str) -> Reply:
        return self.post("nudge", {"ctxid": chat})

    def pause(self, chat: str, paused: bool = True) -> None:
        self.post("pause", {"context": chat, "paused": paused}).ok()

    def remove(self, chat: str) -> None:
        self.post("chat_remove", {"context": chat}).ok()

    def reset(self, chat: str) -> None:
        self.post("chat_reset", {"context": chat}).ok()

    # What a page sees

    def poll(self, chat: str | None = None, log_from: int = 0) -> dict[str, Any]:
        body = {"context": chat, "log_from": log_from, "notifications_from": 0, "timezone": "UTC"}
        return dict(self.post("poll", body).ok())

    def chats(self) -> dict[str, dict[str, Any]]:
        return {entry["id"]: entry for entry in self.poll()["contexts"]}

    def log(self, chat: str, kind: str | None = None) -> list[dict[str, Any]]:
        """The bubbles of a chat, the greeting left out."""
        items = self.poll(chat)["logs"][1:]
        return [item for item in items if kind is None or item["type"] == kind]

    def bubbles(self, chat: str, kind: str) -> list[str]:
        return [str(item["content"]) for item in self.log(chat, kind)]

    def wait(self, what: str, found: Callable[[], Any], seconds: float = WAIT) -> Any:
        """Poll until `found` returns something; fail with the name of what was awaited."""
        until = time.monotonic() + seconds
        while True:
            value = found()
            if value:
                return value
            if time.monotonic() > until:
                raise TimeoutError(f"{what} did not happen within {seconds:.0f} s")
            time.sleep(0.05)

    def wait_idle(self, chat: str, seconds: float = WAIT) -> None:
        self.wait("the end of the turn", lambda: not self.chats()[chat]["running"], seconds)

    def wait_answer(self, chat: str, text: str, seconds: float = WAIT) -> None:
        """Wait for the answer's bubble and the end of the turn."""
        self.wait(f"the answer {text!r}", lambda: text in self.bubbles(chat, "response"), seconds)
        self.wait_idle(chat, seconds)

    # Plugins

    def plugin(self, verb: str, body: dict[str, Any] | None = None, *, csrf: bool = True) -> Reply:
        """POST to the plugin's own API."""
        return self.post(f"plugins/{PLUGIN}/{verb}", body or {}, csrf=csrf)

    def toggle(self, enabled: bool) -> Reply:
        return self.post("plugins", {"action": "toggle_plugin", "plugin_name": PLUGIN, "enabled": enabled})

    def toggle_status(self) -> str:
        return str(self.post("plugins", {"action": "get_toggle_status", "plugin_name": PLUGIN}).ok()["status"])

    def uninstall(self) -> Reply:
        return self.post("plugins", {"action": "delete_plugin", "plugin_name": PLUGIN})

    def install(self, git_url: str) -> Reply:
        return self._installer(action="install_git", git_url=git_url)

    def update(self) -> Reply:
        return self._installer(action="update_plugin", plugin_name=PLUGIN)

    def _installer(self, **body: str) -> Reply:
        return self.post("plugins/_plugin_installer/plugin_install", body)


def _decoded(raw: bytes) -> Any:
    text = raw.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except ValueError:
        return text
