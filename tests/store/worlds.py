"""A journal in a folder, with a clock that a test turns and secrets that a test knows."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

from journal.clock import Clock
from journal.ids import Ids, RunId
from journal.masking import Masker, Secret
from journal.records import Call, CallKey, CallKind, Choice, Claim, Decision, HoldReason, Outcome, Permission, ResumePoint, Run, RunState
from journal.replay import Policy
from journal.service import Journal
from journal.store import heads
from journal.trees import Pack

NOTHING = Permission()
ALLOWED = Permission("response", "f" * 64)
ALLOWLIST = {"response": Policy("Changes nothing outside."), "wait": Policy("Lets time pass.", idle=True)}
MODE = {"on_restart": "auto"}
OWNER = "panel:alice"


class TestClock(Clock):
    """Stands still until it is turned."""

    __test__ = False

    def __init__(self) -> None:
        self.ms = 1_800_000_000_000

    def now(self) -> int:
        return self.ms

    def monotonic(self) -> float:
        return self.ms / 1000

    def turn(self, seconds: float) -> None:
        self.ms += int(seconds * 1000)


class World:
    """What a test does to a journal, in words of the domain."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = TestClock()
        self.secrets: list[Secret] = []
        self.masker = Masker(lambda: self.secrets, self.clock)
        self.requests = itertools.count(1)
        self.journal = self._open()

    def _open(self) -> Journal:
        ids = Ids(self.clock)
        return Journal.open(self.folder, masker=self.masker, clock=self.clock, ids=ids, boot={"pid": 1}, allowlist=ALLOWLIST)

    def restart(self) -> None:
        """Another process opens the journal."""
        self.journal.close()
        self.clock.turn(60)
        self.journal = self._open()

    @property
    def all_heads(self) -> tuple[Path, ...]:
        return (self.folder / heads.NAME,)

    def pause(self) -> None:
        """Until the head files say how far the journal has come."""
        number = self.journal._store.read(lambda tx: tx.one("batch_number"))["number"]  # type: ignore[index]
        while any((head := copy.read()) is None or head.number != number for copy in map(heads.HeadFile, self.all_heads)):
            os.sched_yield()

    def close(self) -> None:
        self.journal.close()

    def hide(self, name: str, value: str, placeholder: str | None = None) -> None:
        """From now on this is a secret."""
        self.secrets.append(Secret(name, value, placeholder))
        self.masker.refresh()

    # -- runs -----------------------------------------------------------------------------------

    def point(self, position: dict[str, int] | None = None, history: tuple[Any, ...] = ("hello",)) -> ResumePoint:
        pack = Pack(self.masker, set())
        root = pack.put({"history": pack.list([pack.put(message) for message in history])})
        return ResumePoint(root, pack.nodes, position or {"A0": 0})

    def admit(self, chat: str = "chat", message: str = "m1", content: dict[str, Any] | None = None, **more: Any) -> Run:
        content = {"text": f"please {message}"} if content is None else content
        return self.journal.admit(chat, message, content, "A title", MODE, self.point(), **more).result().run

    def run_in(self, state: RunState, chat: str = "chat") -> Run:
        """A fresh run, moved into this state on the ordinary way."""
        run = self.admit(chat, f"message of {chat}")
        match state:
            case RunState.QUEUED:
                return self.journal.settle(run.run_id, None).result()
            case RunState.HELD:
                return self.journal.hold_run(run.run_id, HoldReason.ASK).result()
            case RunState.STOPPED:
                return self.journal.stop_run(run.run_id, "test").result()
            case RunState.COMPLETED | RunState.FAILED:
                self.journal.close_run(run.run_id, run.token, state, "bye", self.point(), []).result()
                return self.journal.run(run.run_id)
        return run

    def recover(self, run: Run | RunId, now: Permission = NOTHING) -> Run:
        """What a start does with an unfinished run: count, classify, settle."""
        run_id = run if isinstance(run, str) else run.run_id
        recovering = self.journal.begin_recovery(run_id).result()
        if recovering.hold is not None:
            crash_loop = recovering.hold.reason is HoldReason.CRASH_LOOP
            return recovering if crash_loop else self.journal.settle(run_id, None).result()
        return self.journal.settle(run_id, self.journal.classify(run_id, lambda call: now)).result()

    def claim(self, run: Run) -> Claim:
        return self.journal.claim(run.run_id).result()

    # -- calls ----------------------------------------------------------------------------------

    def begin(
        self,
        run: Run | Claim,
        key: CallKey,
        *,
        arguments: Any = None,
        identity: Any = None,
        permission: Permission = NOTHING,
        name: str = "",
        **more: Any,
    ) -> Any:
        """Begin a call the way the border does: identity is the position, for a tool also name and arguments."""
        cursor = run.cursor if isinstance(run, Claim) else 0
        run_id = run.run.run_id if isinstance(run, Claim) else run.run_id
        name = name or ("chat" if key.kind is CallKind.MODEL else "shell")
        arguments = {"code": "git push"} if arguments is None else arguments
        if identity is None:
            identity = [key.path, key.step] if key.kind.is_inference else [key.text, name, arguments]
        return self.journal.begin_call(
            run_id, run.token, cursor, key, name=name, identity_of=identity, arguments=arguments, permission=permission, **more
        ).result()

    def opened(self, run: Run | Claim, key: CallKey, **how: Any) -> Call:
        call: Call = self.begin(run, key, **how).call
        return call

    def done(self, run: Run | Claim, key: CallKey, value: Any = "fine", **how: Any) -> Call:
        call = self.opened(run, key, **how)
        return self.journal.finish_call(call.call_id, Outcome.OK, value).result()

    # -- decisions ------------------------------------------------------------------------------

    def offered(self, run: Run, choice: Choice, call: Call | str | None = None) -> dict[str, Any]:
        call_id = call.call_id if isinstance(call, Call) else call
        return next(
            offer for offer in self.journal.run_view(run.run_id)["decisions"] if offer["id"] == choice.value and offer["call_id"] == call_id
        )

    def decision(self, run: Run, choice: Choice, call: Call | str | None = None, **said: Any) -> Decision:
        """A complete, fresh form for a choice, as the panel would send it."""
        offer = self.offered(run, choice, call)
        facts = {
            "version": self.journal.run(run.run_id).version,
            "shown_digest": offer["digest"],
            "note": "seen with my own eyes" if offer["needs_note"] else "",
            "ack": offer["needs_ack"],
            "request_id": f"request-{next(self.requests)}",
            "origin": OWNER,
        } | said
        return Decision(run_id=run.run_id, call_id=offer["call_id"], choice=choice, **facts)

    def decide(self, run: Run, choice: Choice, call: Call | str | None = None, **said: Any) -> Run:
        return self.journal.decide(self.decision(run, choice, call, **said)).result()


def model(step: int) -> CallKey:
    return CallKey("A0", step, CallKind.MODEL, 0)


def tool(step: int, ordinal: int = 0) -> CallKey:
    return CallKey("A0", step, CallKind.TOOL, ordinal)
