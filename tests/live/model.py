"""A scripted model on loopback, speaking the chat-completions protocol, and the Responses protocol where a module asks for it.

Owns what the agent is told and the record of everything that it asked. Chat turns take their
answers from one queue; naming, memory and other background calls are answered by a rule.
It must never invent an answer in silence: a chat call without a script is listed in `unscripted`.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from . import provider

CHAT_MODEL = "live-chat"
RESPONSES_MODEL = "gpt-4.1"  # the host streams such answers only from a model whose name it knows
UTILITY_MODEL = "live-utility"
EMBEDDING_MODEL = "live-embedding"
WAIT = 60.0


def tool_call(name: str, args: dict[str, Any], thought: str = "Next step.") -> str:
    """The text with which a model asks the host for one tool."""
    return json.dumps({"thoughts": [thought], "headline": name, "tool_name": name, "tool_args": args})


def say(text: str) -> str:
    """The text with which a model ends a turn."""
    return tool_call("response", {"text": text}, thought="That is the answer.")


def shell(command: str, session: int = 0) -> str:
    args = {"runtime": "terminal", "session": session, "reset": False, "code": command}
    return tool_call("code_execution_tool", args)


@dataclass
class Answer:
    """One scripted answer, and how it arrives."""

    text: str
    status: int = 200
    when: str = ""  # only for a request whose messages contain this text
    hold_after: int | None = None  # characters that are sent before the answer waits for release()
    piece: int = 64
    pause: float = 0.0  # seconds between two pieces
    calls: tuple[str, ...] = ()  # native calls after the text, each given as the text that asks for the same tool
    arrived: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def release(self) -> None:
        self.released.set()

    def wait_arrived(self, seconds: float = WAIT) -> None:
        """Return once the agent waits for the held part of this answer."""
        if not self.arrived.wait(seconds):
            raise TimeoutError(f"the model was not asked for {self.text[:80]!r}")


@dataclass(frozen=True)
class Asked:
    """One request as it came in."""

    number: int
    kind: str  # "main", "utility" or "embedding"
    body: dict[str, Any]
    at: float

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body.get("messages") or [])

    @property
    def text(self) -> str:
        return "\n".join(_text(message.get("content")) for message in self.messages)

    def count(self, needle: str) -> int:
        """How often the conversation, system prompt left out, contains the text."""
        spoken = (m for m in self.messages if m.get("role") != "system")
        return "\n".join(_text(m.get("content")) for m in spoken).count(needle)


class ScriptedModel:
    def __init__(self, *, keep: bool = True, responses: bool = False) -> None:
        self._changed = threading.Condition()
        self._queue: list[Answer] = []
        self._asked: list[Asked] = []
        self._held: list[Answer] = []
        self._keep = keep
        self.default: Callable[[Asked], str] | None = None
        self.provider = provider.Provider() if responses else None
        self.unscripted: list[Asked] = []
        self.chat_names: dict[str, str] = {}  # a text of the conversation, and what such a chat is called
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    # What the test says

    def script(self, *answers: str | Answer) -> list[Answer]:
        """Queue answers for the next chat calls, in order."""
        made = [Answer(answer) if isinstance(answer, str) else answer for answer in answers]
        with self._changed:
            self._queue += made
        return made

    def hold(self, text: str, after: int = 0, when: str = "") -> Answer:
        """Queue an answer that stops after so many characters until `release()`."""
        return self.script(Answer(text, hold_after=after, when=when))[0]

    def forget(self) -> None:
        """Drop script and record, and let every waiting answer go: the next test starts clean."""
        with self._changed:
            for answer in self._held:
                answer.release()
            self._queue, self._asked, self._held, self.unscripted = [], [], [], []
            self.default = None

    def close(self) -> None:
        self.forget()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    # What the agent asked

    @property
    def asked(self) -> list[Asked]:
        with self._changed:
            return list(self._asked)

    @property
    def main(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.kind == "main"]

    @property
    def left(self) -> list[Answer]:
        with self._changed:
            return list(self._queue)

    def wait_main(self, count: int, seconds: float = WAIT) -> Asked:
        """Wait until the chat model was asked so often, and return that request."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._mains()) >= count, seconds):
                raise TimeoutError(f"{len(self._mains())} chat calls, {count} expected")
            return self._mains()[count - 1]

    def _mains(self) -> list[Asked]:
        return [asked for asked in self._asked if asked.kind == "main"]

    # What the server does

    def record(self, kind: str, body: dict[str, Any]) -> Asked:
        with self._changed:
            asked = Asked(len(self._asked) + 1, kind, body if self._keep else {}, time.monotonic())
            self._asked.append(asked)
            self._changed.notify_all()
            return asked

    def answer_for(self, asked: Asked) -> Answer:
        if asked.kind == "utility":
            return Answer(utility_text(asked.text, self.chat_names))
        with self._changed:
            for index, answer in enumerate(self._queue):
                if answer.when in asked.text:
                    if answer.hold_after is not None:
                        self._held.append(answer)
                    return self._queue.pop(index)
            if self.default is not None:
                return Answer(self.default(asked))
            self.unscripted.append(asked)
            return Answer(say(f"Nothing was scripted for call {asked.number}."))


def utility_text(prompt: str, names: dict[str, str]) -> str:
    """What background calls get. A dash ends a memory search before it begins."""
    if "chat naming assistant" in prompt:
        return next((name for text, name in names.items() if text in prompt), "Live chat")
    if "JSON array" in prompt:
        return "[]"
    return "-"


def vector(text: str, size: int = 64) -> list[float]:
    seed = hashlib.sha512(text.encode("utf-8", "replace")).digest()
    return [(byte - 127.5) / 127.5 for byte in seed[:size]]


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(_text(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_args: object) -> None:
            pass

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            try:
                self._answer(body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # the agent was killed while it listened

        def _answer(self, body: dict[str, Any]) -> None:
            if self.path.endswith("/embeddings"):
                model.record("embedding", {"count": len(body["input"])})
                return self._send_embeddings(body)
            if self.path.endswith("/responses") and model.provider is not None:
                return self._respond(model.provider, body)
            if not self.path.endswith("/chat/completions"):
                return self._send_json(404, {"error": {"message": "not here"}})
            asked = model.record("main" if CHAT_MODEL in body["model"] else "utility", body)
            answer = model.answer_for(asked)
            if answer.status != 200:
                return self._send_json(answer.status, {"error": {"message": answer.text}})
            if body.get("stream"):
                return self._stream(asked, answer)
            self._wait(answer)
            message = {"role": "assistant", "content": answer.text}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return self._send_json(200, _frame(asked, "chat.completion", choice) | {"usage": _USAGE})

        def _respond(self, kept: provider.Provider, body: dict[str, Any]) -> None:
            try:
                seen = kept.seen(body)
            except provider.Refused as refused:
                model.record("refused", body)
                return self._send_json(400, refused.body)
            asked = model.record("main", body | {"messages": provider.messages(seen)})
            answer = model.answer_for(asked)
            if answer.status != 200:
                return self._send_json(answer.status, {"error": {"message": answer.text}})
            items = provider.output(asked.number, answer.text, answer.calls)
            kept.keep(f"resp_{asked.number}", [*seen, *items])
            self._wait(answer)
            if not body.get("stream"):
                return self._send_json(200, provider.response(asked.number, body, items))
            self._begin_stream()
            for event in provider.events(asked.number, body, items, answer.piece):
                self._event(event)
            self.close_connection = True

        def _wait(self, answer: Answer) -> None:
            if answer.hold_after is not None:
                answer.arrived.set()
                answer.released.wait()

        def _begin_stream(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Connection", "close")
            self.end_headers()

        def _stream(self, asked: Asked, answer: Answer) -> None:
            self._begin_stream()
            held = len(answer.text) if answer.hold_after is None else answer.hold_after
            self._pieces(asked, answer, answer.text[:held])
            self._wait(answer)
            self._pieces(asked, answer, answer.text[held:])
            self._event(_frame(asked, "chat.completion.chunk", _delta({}, "stop")) | {"usage": _USAGE})
            self.wfile.write(b"data: [DONE]\n\n")
            self.close_connection = True

        def _pieces(self, asked: Asked, answer: Answer, text: str) -> None:
            for start in range(0, len(text), answer.piece):
                piece = {"role": "assistant", "content": text[start : start + answer.piece]}
                self._event(_frame(asked, "chat.completion.chunk", _delta(piece, None)))
                if answer.pause:
                    time.sleep(answer.pause)

        def _event(self, data: dict[str, Any]) -> None:
            self.wfile.write(f"data: {json.dumps(data)}\n\n".encode())
            self.wfile.flush()

        def _send_embeddings(self, body: dict[str, Any]) -> None:
            texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
            data = [{"object": "embedding", "index": index, "embedding": vector(str(text))} for index, text in enumerate(texts)]
            self._send_json(200, {"object": "list", "model": EMBEDDING_MODEL, "data": data, "usage": _USAGE})

        def _send_json(self, status: int, data: dict[str, Any]) -> None:
            raw = json.dumps(data).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    return Handler


_USAGE = {"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}


def _frame(asked: Asked, kind: str, choice: dict[str, Any]) -> dict[str, Any]:
    identity = {"id": f"live-{asked.number}", "object": kind, "created": 0, "model": CHAT_MODEL}
    return identity | {"choices": [choice]}


def _delta(delta: dict[str, Any], finish: str | None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": finish}
