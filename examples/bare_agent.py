"""A bare agent, and the same agent durable.

    python -m examples.bare_agent plain   FOLDER "Pay the invoice and note it."
    python -m examples.bare_agent durable FOLDER "Pay the invoice and note it."

The model is a script, the world is two files in FOLDER. docs/engine.md walks through it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from journal import Idempotent, RunHeld, Safe, Turn, Turns

FOLDER = Path(sys.argv[2] if len(sys.argv) > 2 else "agent")
SCRIPT: list[dict[str, Any]] = [
    {"calls": [{"id": "call_1", "name": "read_invoice", "arguments": {}}]},
    {"calls": [{"id": "call_2", "name": "pay", "arguments": {"to": "ACME", "cents": 4200}}]},
    {"calls": [{"id": "call_3", "name": "note", "arguments": {"text": "paid ACME"}}]},
    {"calls": [], "text": "The invoice is paid and noted."},
]


def model(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """A scripted model: it answers by how often it was asked in this conversation."""
    return SCRIPT[len([message for message in messages if message["role"] == "assistant"])]


def read_invoice() -> str:
    """Reads: may run again."""
    return "ACME, 42.00"


def pay(to: str, cents: int, idempotency_key: str = "") -> str:
    """The bank pays once for each key."""
    bank = FOLDER / "bank.txt"
    known = bank.read_text().splitlines() if bank.exists() else []
    if not any(line.startswith(f"{idempotency_key} ") for line in known if idempotency_key):
        with bank.open("a") as file:
            file.write(f"{idempotency_key or 'no-key'} {to} {cents}\n")
    return "paid"


def note(text: str) -> str:
    """Appends a line: done twice, it stands there twice."""
    with (FOLDER / "notes.txt").open("a") as file:
        file.write(f"{text}\n")
    return "noted"


TOOLS: dict[str, Callable[..., str]] = {"read_invoice": read_invoice, "pay": pay, "note": note}


def plain(question: str) -> str:
    """The whole agent. Killed in the middle, it forgets all, and does all again."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    while True:
        reply = model(messages)
        messages.append({"role": "assistant", **reply})
        if not reply["calls"]:
            return str(reply["text"])
        for call in reply["calls"]:
            result = TOOLS[call["name"]](**call["arguments"])
            messages.append({"role": "tool", "id": call["id"], "content": result})


def durable(turn: Turn, question: str) -> str:
    """The same, with two lines changed."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    while True:
        reply = turn.step("model", model, messages)
        messages.append({"role": "assistant", **reply})
        if not reply["calls"]:
            return str(reply["text"])
        for call in reply["calls"]:
            result = turn.step(f"tool:{call['id']}", TOOLS[call["name"]], **call["arguments"])
            messages.append({"role": "tool", "id": call["id"], "content": result})


REVIEWED = [Safe(read_invoice), Idempotent(pay)]  # everything else is unsafe: cut off, it waits for a person


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    question = sys.argv[3] if len(sys.argv) > 3 else "Pay the invoice and note it."
    if sys.argv[1:2] == ["plain"]:
        print(plain(question))
        return
    with Turns.open(FOLDER / "journal", REVIEWED) as turns:
        try:
            print(turns.run("chat", "message-1", durable, question=question))
        except RunHeld as held:
            print(held)


if __name__ == "__main__":
    main()
