"""Any order of operations, restarts and stale forms: the run, its calls and its decisions keep their rules.

A small model says what a chat may look like; the journal is asked after each step, and after opening it again.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from journal.errors import ChatBusy, Conflict, KeyReused, NotRunning, Refused, ResultConflict, RunEnded, StaleVersion
from journal.records import Call, CallKey, Choice, Claim, Decision, HoldReason, Outcome, Permission, Proceed, Run, RunState, Serve
from tests.store.worlds import ALLOWED, NOTHING, OWNER, World, model, tool
from tests.support.examples import FULL, examples

CHATS = ("a", "b")
VALUES = ("", "fine", "fine too", None, 0)
UNFINISHED = (RunState.QUEUED, RunState.RUNNING, RunState.HELD)


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.world = World(self.folder / "journal")
        self.runs: dict[str, list[str]] = {chat: [] for chat in CHATS}
        self.claims: dict[str, Run | Claim] = {}
        self.positions: dict[str, int] = {}
        self.results: dict[str, tuple[Outcome, Any]] = {}
        self.effects: dict[str, int] = {}
        self.allowed: dict[str, int] = {}
        self.versions: dict[str, int] = {}
        self.forms: list[Decision] = []
        self.done: list[tuple[Decision, Run]] = []

    def teardown(self) -> None:
        self.world.close()
        shutil.rmtree(self.folder)

    # -- what is known --------------------------------------------------------------------------

    def newest(self, chat: str) -> Run | None:
        return self.world.journal.run(self.runs[chat][-1]) if self.runs[chat] else None

    def alive(self, chat: str) -> Run | Claim | None:
        run = self.newest(chat)
        return self.claims.get(run.run_id) if run is not None and run.state is RunState.RUNNING else None

    def tokens(self, run: Run | Claim) -> tuple[str, int]:
        return (run.run.run_id if isinstance(run, Claim) else run.run_id), run.token

    # -- the turn -------------------------------------------------------------------------------

    @initialize()
    def two_turns_are_under_way(self) -> None:
        for chat in CHATS:
            self.admit(chat, again=False)
            self.begin(chat, model, NOTHING)
            self.finish(chat, "fine", Outcome.OK)
            self.begin(chat, tool, NOTHING)

    @rule(chat=st.sampled_from(CHATS), again=st.booleans())
    def admit(self, chat: str, again: bool) -> None:
        before = self.newest(chat)
        message = f"m{len(self.runs[chat]) - (again and before is not None)}"
        if before is not None and before.state in UNFINISHED and not again:
            with pytest.raises(ChatBusy) as busy:
                self.world.admit(chat, message)
            assert busy.value.run.run_id == before.run_id
            return
        run = self.world.admit(chat, message)
        if again and before is not None:
            assert run.run_id == before.run_id
            return
        assert before is None or before.state.is_final
        self.runs[chat].append(run.run_id)
        self.claims[run.run_id] = run
        self.positions[run.run_id] = 0

    @rule(chat=st.sampled_from(CHATS), kind=st.sampled_from([tool, model]), permission=st.sampled_from([NOTHING, ALLOWED]))
    def begin(self, chat: str, kind: Any, permission: Any) -> None:
        claim = self.alive(chat)
        if claim is None:
            return
        run_id, _ = self.tokens(claim)
        self.positions[run_id] += 1
        self.begin_at(claim, kind(self.positions[run_id]), permission)

    def begin_at(self, claim: Run | Claim, key: CallKey, permission: Permission) -> None:
        before = {call.call_id: call for call in self.world.journal.calls(self.tokens(claim)[0])}
        step = self.world.begin(claim, key, permission=permission)
        match step:
            case Serve(call):
                assert self.results[call.call_id] == (call.outcome, call.value)
            case Proceed(call):
                self.effects[call.call_id] = self.effects.get(call.call_id, 0) + 1
                old = before.get(call.call_id)
                if old is not None and old.allowance:
                    self.allowed[call.call_id] -= 1
                    assert call.allowance == old.allowance - 1
                elif old is not None:
                    assert old.permission == permission == ALLOWED  # nothing else runs again by itself
            case held:
                assert held.run.state is RunState.HELD

    @rule(chat=st.sampled_from(CHATS), value=st.sampled_from(VALUES), outcome=st.sampled_from([Outcome.OK, Outcome.ERROR, Outcome.UNKNOWN]))
    def finish(self, chat: str, value: Any, outcome: Outcome) -> None:
        for call in self.calls_of(chat)[-1:]:
            run = self.newest(chat)
            assert run is not None
            late = run.state.is_final or call.token != run.token or call.abandoned
            late = late or (run.state is RunState.HELD and outcome is Outcome.UNKNOWN)
            try:
                after = self.world.journal.finish_call(call.call_id, outcome, value).result()
            except ResultConflict:
                assert call.outcome is not None
                continue
            if call.outcome is None and not late:
                self.results[call.call_id] = (outcome, value)
            assert (after.outcome, after.value) == self.results.get(call.call_id, (None, None))

    def calls_of(self, chat: str) -> list[Call]:
        return self.world.journal.calls(self.runs[chat][-1]) if self.runs[chat] else []

    @rule(chat=st.sampled_from(CHATS))
    def checkpoint(self, chat: str) -> None:
        claim = self.alive(chat)
        if claim is not None:
            self.world.journal.checkpoint(*self.tokens(claim), self.world.point(), []).result()

    @rule(chat=st.sampled_from(CHATS), state=st.sampled_from([RunState.COMPLETED, RunState.FAILED]))
    def close(self, chat: str, state: RunState) -> None:
        claim = self.alive(chat)
        if claim is not None:
            self.world.journal.close_run(*self.tokens(claim), state, "bye", self.world.point(), []).result()

    @rule(chat=st.sampled_from(CHATS))
    def write_under_an_old_token(self, chat: str) -> None:
        run = self.newest(chat)
        if run is not None:
            with pytest.raises(NotRunning):
                self.world.journal.checkpoint(run.run_id, run.token - 1, self.world.point(), []).result()

    @rule(chat=st.sampled_from(CHATS))
    def begin_where_something_was_begun(self, chat: str) -> None:
        claim, calls = self.alive(chat), self.calls_of(chat)
        if claim is None or not calls or calls[-1].token != claim.token or calls[-1].outcome is None:
            return
        if calls[-1].seq > (claim.cursor if isinstance(claim, Claim) else 0):
            with pytest.raises(KeyReused):
                self.world.begin(claim, calls[-1].key)

    # -- persons --------------------------------------------------------------------------------

    @rule(chat=st.sampled_from(CHATS), reason=st.sampled_from([HoldReason.OUTCOME_UNKNOWN, HoldReason.ASK, HoldReason.CHAT_MOVED_ON]))
    def hold(self, chat: str, reason: HoldReason) -> None:
        run = self.newest(chat)
        if run is not None and not run.state.is_final:
            after = self.world.journal.hold_run(run.run_id, reason).result()
            assert after.hold == run.hold or run.hold is None

    @rule(chat=st.sampled_from(CHATS))
    def interrupt(self, chat: str) -> None:
        run = self.newest(chat)
        if run is None or run.state is not RunState.RUNNING:
            return
        still_open = {call.call_id for call in self.world.journal.calls(run.run_id) if call.outcome is None and not call.abandoned}
        after = self.world.journal.interrupt_run(run.run_id, "person").result()
        if after.state is RunState.RUNNING:
            assert after.token == run.token + 1
            self.results |= {call_id: (Outcome.SUPERSEDED, None) for call_id in still_open}
            self.claims.pop(run.run_id, None)

    @rule(chat=st.sampled_from(CHATS), pick=st.integers(0, 9))
    def look(self, chat: str, pick: int) -> None:
        """Open a form; it may be sent later, when it is stale."""
        run = self.newest(chat)
        if run is None or run.state.is_final:
            return
        offers = [offer for offer in self.world.journal.run_view(run.run_id)["decisions"] if offer["allowed"]]
        offers = [offer for offer in offers if offer["id"] != "stop" or pick == 9] or offers
        offer = offers[pick % len(offers)]
        self.forms.append(self.world.decision(run, Choice(offer["id"]), offer["call_id"]))

    @rule(chat=st.sampled_from(CHATS), pick=st.integers(0, 9))
    def decide_at_once_and_go_on(self, chat: str, pick: int) -> None:
        forms = len(self.forms)
        self.look(chat, pick)
        if len(self.forms) > forms:
            self.send(-1)
        self.go_on(chat)

    @precondition(lambda self: self.forms)
    @rule(pick=st.integers(0, 9))
    def send(self, pick: int) -> None:
        form = self.forms.pop(pick % len(self.forms))  # the newest, or one that is stale by now
        before, calls, head = self.world.journal.run(form.run_id), self.world.journal.calls(form.run_id), self.world.journal.head()
        try:
            after = self.world.journal.decide(form).result()
        except (Refused, Conflict):
            assert self.world.journal.run(form.run_id) == before
            assert self.world.journal.calls(form.run_id) == calls
            assert self.world.journal.head() == head
            return
        assert form.version <= before.version < after.version
        self.done.append((form, after))
        self.note_decision(form, calls)

    def note_decision(self, form: Decision, before: list[Call]) -> None:
        old = {call.call_id: call for call in before}
        for call in self.world.journal.calls(form.run_id):
            if call.allowance > old[call.call_id].allowance:
                self.allowed[call.call_id] = self.allowed.get(call.call_id, 0) + call.allowance
            if call.outcome is not old[call.call_id].outcome:
                self.results.pop(call.call_id, None)
                if call.outcome is not None:
                    assert call.outcome is Outcome.CONFIRMED
                    self.results[call.call_id] = (call.outcome, call.value)

    @precondition(lambda self: self.done)
    @rule(pick=st.integers(0, 9))
    def send_the_same_again(self, pick: int) -> None:
        form, _ = self.done[pick % len(self.done)]
        head = self.world.journal.head()
        self.world.journal.decide(form).result()
        assert self.world.journal.head() == head

    @rule(chat=st.sampled_from(CHATS), attempts=st.integers(0, 4), request=st.sampled_from(["g1", "g2", ""]))
    def grant(self, chat: str, attempts: int, request: str) -> None:
        run, calls = self.newest(chat), self.calls_of(chat)
        if run is None or not calls:
            return
        request = f"{run.run_id} {request or next(self.world.requests)}"
        old, head = calls[-1], self.world.journal.head()
        with contextlib.suppress(Refused, Conflict):
            self.world.journal.grant(run.run_id, run.version, old.call_id, attempts, request, OWNER).result()
        if self.world.journal.head() != head:
            assert 1 <= attempts <= 3
            assert old.allowance == 0
            self.allowed[old.call_id] = self.allowed.get(old.call_id, 0) + attempts

    # -- processes ------------------------------------------------------------------------------

    @rule(now=st.sampled_from([NOTHING, ALLOWED]))
    def restart_and_recover(self, now: Any) -> None:
        self.world.restart()
        self.claims.clear()
        for run in self.world.journal.unfinished():
            self.world.recover(run, now)
            self.go_on(run.chat_id)

    @rule()
    def open_again(self) -> None:
        self.world.restart()
        self.claims.clear()

    @rule(chat=st.sampled_from(CHATS))
    def go_on(self, chat: str) -> None:
        run = self.newest(chat)
        if run is None or run.state is not RunState.QUEUED:
            return
        claim = self.world.claim(run)
        assert claim.token == run.token + 1
        with pytest.raises(StaleVersion):
            self.world.claim(run)
        self.claims[run.run_id] = claim
        self.positions[run.run_id] = 0
        for call in self.calls_of(chat):  # the host's loop comes by each of its records again
            if not call.abandoned and self.alive(chat) is claim:
                self.begin_at(claim, call.key, call.permission)
                self.positions[run.run_id] = call.key.step

    # -- always ---------------------------------------------------------------------------------

    @invariant()
    def at_most_one_run_of_a_chat_is_unfinished(self) -> None:
        unfinished = self.world.journal.unfinished()
        assert len({run.chat_id for run in unfinished}) == len(unfinished)
        for chat in CHATS:
            assert [run.run_id for run in self.world.journal.runs_of(chat)] == self.runs[chat]

    @invariant()
    def versions_grow_and_ends_are_final(self) -> None:
        for run in (self.world.journal.run(run_id) for ids in self.runs.values() for run_id in ids):
            assert run.version >= self.versions.get(run.run_id, 0)
            assert (run.hold is not None) is (run.state is RunState.HELD)
            assert not run.damaged
            self.versions[run.run_id] = run.version
            if run.state.is_final:
                with pytest.raises(RunEnded):
                    self.world.journal.begin_recovery(run.run_id).result()

    @invariant()
    def the_first_result_stays_and_effects_are_counted(self) -> None:
        for run_id in (run_id for ids in self.runs.values() for run_id in ids):
            for call in self.world.journal.calls(run_id):
                assert (call.outcome, call.value) == self.results.get(call.call_id, (None, None))
                assert call.attempts == self.effects.get(call.call_id, 0)
                assert call.allowance <= self.allowed.get(call.call_id, 0)


_LIMIT = pytest.mark.timeout(3600 if FULL else 600)  # hundreds of commits and restarts
TestMachine = _LIMIT(pytest.mark.properties(Machine.TestCase))
TestMachine.settings = examples(8, cut_down=bool(FULL))
