"""A model that answers from a script, in a process of its own, and writes down each request before it answers.

It speaks the streaming shape of chat completions on loopback. The parent talks to it over `/control/…`.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

CHAT_NAME = "A scripted chat"
Say = dict[str, Any]

# What the model can be told to say


def raw(text: str, **how: Any) -> Say:
    return {"text": text, **how}


prose = raw


def use(tool: str, /, *, thoughts: str = "", **args: Any) -> Say:
    return raw(json.dumps({"thoughts": [thoughts], "tool_name": tool, "tool_args": args}))


def native(*calls: tuple[str, dict[str, Any]]) -> Say:
    """An answer without words that asks for these tools, as a provider with tool calls of its own gives it."""
    items = [
        {"type": "function_call", "id": f"item_{n}", "call_id": f"call_{n}", "name": name, "arguments": json.dumps(args)}
        for n, (name, args) in enumerate(calls)
    ]
    return {"text": "", "calls": items}


def answer(text: str, **how: Any) -> Say:
    return with_(use("response", text=text), **how)


def error(status: int = 500, text: str = "scripted error") -> Say:
    return {"status": status, "text": text}


def with_(say: Say, **how: Any) -> Say:
    return {**say, **how}


@dataclass(frozen=True)
class Request:
    n: int
    kind: str
    body: dict[str, Any]
    scripted: bool

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body["messages"])

    @property
    def system(self) -> str:
        return "\n".join(_texts(self.body, "system"))

    @property
    def prompt(self) -> str:
        return "\n".join(_texts(self.body))


class Model:
    """The parent's side."""

    def __init__(self, folder: Path, process: subprocess.Popen[str], port: int) -> None:
        self.folder, self._process, self._port = folder, process, port

    @classmethod
    def start(cls, folder: Path, port: int = 0) -> Model:
        folder = Path(folder).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, str(Path(__file__).resolve()), f"--folder={folder}", f"--port={port}"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        return cls(folder, process, int(process.stdout.readline()))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def pid(self) -> int:
        return self._process.pid

    def script(self, *answers: Say, when: str | None = None, repeat: bool = False, kind: str = "chat") -> None:
        self._control("script", answers=answers, when=when, repeat=repeat, fits=kind)

    def clear(self) -> None:
        self._control("clear")

    def release(self, gate: str) -> None:
        self._control("release", gate=gate)

    def requests(self, kind: str | None = None) -> list[Request]:
        path = self.folder / "requests.jsonl"
        lines = path.read_text("utf-8").split("\n")[:-1] if path.exists() else []  # what is being written just now is none yet
        found = [Request(**json.loads(line)) for line in lines]
        return [request for request in found if kind in (None, request.kind)]

    def wait_requests(self, n: int, kind: str = "chat", timeout: float = 60) -> list[Request]:
        seen = self._control("wait", n=n, kind=kind, timeout=timeout)["seen"]
        if seen < n:
            raise TimeoutError(f"Waited {timeout} s for {n} {kind} requests; the model saw {seen}.")
        return self.requests(kind)

    def unscripted(self) -> list[Request]:
        return [request for request in self.requests("chat") if not request.scripted]

    def stop(self) -> None:
        """The process ends when its standard input closes, so it never outlives its parent."""
        if self._process.stdin and self._process.stdout:
            self._process.stdin.close()
            self._process.wait()
            self._process.stdout.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.stop()

    def _control(self, verb: str, **body: Any) -> Any:
        url = f"http://127.0.0.1:{self._port}/control/{verb}"
        request = urllib.request.Request(url, data=json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=120) as reply:
            return json.load(reply)


class _Script:
    """The process's side: rules, gates and the log, behind one condition."""

    def __init__(self, log: Path) -> None:
        self.changed = threading.Condition()
        self.log = log
        self.rules: list[dict[str, Any]] = []
        self.open_gates: set[str] = set()
        self.seen = {"chat": 0, "utility": 0}

    def control(self, verb: str, body: dict[str, Any]) -> dict[str, Any]:
        with self.changed:
            if verb == "script":
                self.rules.append(body)
            elif verb == "clear":
                self.rules.clear()
            elif verb == "release":
                self.open_gates.add(body["gate"])
            elif verb == "wait":
                self.changed.wait_for(lambda: self.seen[body["kind"]] >= body["n"], body["timeout"])
            self.changed.notify_all()
            return {"seen": self.seen.get(body.get("kind", ""), 0)}

    def take(self, body: dict[str, Any]) -> Say:
        """Finds the answer and writes the request down, before anything is sent."""
        kind = "utility" if "utility" in body.get("model", "") else "chat"
        with self.changed:
            say = self._find(body, kind)
            number = sum(self.seen.values()) + 1
            line = {"n": number, "kind": kind, "body": body, "scripted": say is not None}
            with self.log.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(line)}\n")
            self.seen[kind] += 1
            self.changed.notify_all()
        return say or (raw(CHAT_NAME) if kind == "utility" else answer("Nothing is scripted for this message."))

    def _find(self, body: dict[str, Any], kind: str) -> Say | None:
        users = "\n".join(_texts(body, "user"))
        mine = [rule for rule in self.rules if rule["fits"] == kind]
        fitting = [rule for rule in mine if rule["when"] and rule["when"] in users]
        for rule in [*fitting, *(rule for rule in mine if not rule["when"])]:
            if rule["answers"]:
                last = len(rule["answers"]) == 1 and rule["repeat"]
                return dict(rule["answers"][0] if last else rule["answers"].pop(0))
        return None

    def wait_gate(self, gate: str | None) -> None:
        if gate:
            with self.changed:
                self.changed.wait_for(lambda: gate in self.open_gates)


class _Handler(BaseHTTPRequestHandler):
    script: _Script

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.startswith("/control/"):
            self._json(200, self.script.control(self.path.rpartition("/")[2], body))
            return
        say = self.script.take(body)
        try:
            self._speak(say, bool(body.get("stream")))
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the listener has gone, which is its right

    def _speak(self, say: Say, stream: bool) -> None:
        if "gate_at" not in say:
            self.script.wait_gate(say.get("gate"))
        if "status" in say:
            self._json(say["status"], {"error": {"message": say["text"]}})
        elif not stream:
            message = {"role": "assistant", "content": say["text"]}
            self._json(200, _envelope({"index": 0, "message": message, "finish_reason": "stop"}))
        else:
            self._stream(say)

    def _stream(self, say: Say) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for delta in self._deltas(say):
            self._event(json.dumps(_envelope({"index": 0, "delta": delta, "finish_reason": None})))
            if "delay" in say:
                time.sleep(say["delay"])
        if "cut" not in say:
            self._event(json.dumps(_envelope({"index": 0, "delta": {}, "finish_reason": "stop"})))
            self._event("[DONE]")

    def _deltas(self, say: Say) -> Iterator[dict[str, Any]]:
        yield {"role": "assistant", "content": ""}
        if say.get("reasoning"):
            yield {"reasoning_content": say["reasoning"]}
        text = say["text"][: say.get("cut", len(say["text"]))]
        stop = say.get("gate_at", 0)
        for part in (text[:stop], text[stop:]):
            if part is not text[:stop] and "gate_at" in say:
                self.script.wait_gate(say.get("gate"))
            size = say.get("chunk", 64)
            yield from ({"content": part[at : at + size]} for at in range(0, len(part), size))
        if say.get("calls"):
            yield {"function_calls": say["calls"]}

    def _event(self, text: str) -> None:
        self.wfile.write(f"data: {text}\n\n".encode())
        self.wfile.flush()

    def _json(self, status: int, body: Any) -> None:
        text = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are in the log file; standard output is for the parent."""


def _envelope(choice: dict[str, Any]) -> dict[str, Any]:
    kind = "chat.completion.chunk" if "delta" in choice else "chat.completion"
    return {"id": "scripted", "object": kind, "created": 0, "model": "scripted", "choices": [choice]}


def _texts(body: dict[str, Any], role: str | None = None) -> list[str]:
    messages = [message for message in body["messages"] if role in (None, message["role"])]
    return [m["content"] if isinstance(m["content"], str) else json.dumps(m["content"]) for m in messages]


def main() -> None:
    parser = argparse.ArgumentParser(description="A scripted model on loopback.")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    options = parser.parse_args()
    _Handler.script = _Script(options.folder / "requests.jsonl")
    server = ThreadingHTTPServer(("127.0.0.1", options.port), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"{server.server_address[1]}\n")
    sys.stdout.flush()
    sys.stdin.read()  # until the parent closes it or dies
    os._exit(0)


if __name__ == "__main__":
    main()
