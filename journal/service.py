"""The one door of the engine. Writes answer with futures that resolve when they are durable; reads answer at once.

Each door masks what comes in, in the caller's thread (I8), and hands one write in. The rules are in the modules that it names,
never here; opening, upkeep and the way to the store are in `owned`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import replace
from typing import Any

from . import (
    attempts,
    background,
    calls,
    checkpoints,
    children,
    codec,
    decisions,
    documents,
    grants,
    inputs,
    recovery,
    runs,
    selections,
)
from .attempts import Completion
from .background import Purpose
from .calls import Evidence
from .codec import Body
from .documents import Draft, Ends, Saved, Way, Writer
from .errors import JournalError, RecordCorrupt, TooLarge
from .evidence import Finding
from .ids import CallId, ChatId, InputId, RunId
from .owned import Owned, failed
from .preview import Outlook
from .reading import CHAT_SAVED
from .records import (
    Admitted,
    Call,
    CallKey,
    ChildOrder,
    Claim,
    Decision,
    Dropped,
    Hold,
    HoldReason,
    Input,
    Outcome,
    Permission,
    Proceed,
    ResumePoint,
    Run,
    RunState,
    Selection,
    Serve,
    Step,
)
from .recovery import Cut
from .scribe import Scribe


class Journal(Owned):
    """What happens to messages, runs, calls, decisions and documents, each a door that hands one write in."""

    def note_changes(self, facts: dict[str, Any]) -> Future[int]:
        """Keep as an event what changed around the running server."""
        masked = self._intake.masked(facts)
        return self._write(lambda scribe: scribe.event("changes_seen", None, changed=masked))

    # -- messages and runs ----------------------------------------------------------------------

    def admit(
        self,
        chat_id: str,
        input_id: str,
        content: dict[str, Any],
        title: str,
        mode: dict[str, Any],
        point: ResumePoint,
        claim_waiting: bool = False,
        run_id: str | None = None,
    ) -> Future[Admitted]:
        """Take a message in: run and first checkpoint are durable before it is acknowledged (I5).

        `run_id` comes from `name_run`, where the first intent is handed in together with the message. If the message
        was recorded before, that intent is refused as one of an unknown run.
        """

        def write(scribe: Scribe) -> Admitted:
            return inputs.admit(
                scribe,
                chat_id=ChatId(chat_id),
                input_id=InputId(input_id),
                body=body,
                title=shown_title,
                mode=mode_body,
                point=point,
                claim_waiting=claim_waiting,
                check_room=self._check_room,
                run_id=RunId(run_id) if run_id else None,
            )

        shown_title = self._intake.title(title)
        mode_body = self._intake.facts(mode)
        body = self._intake.facts(content)
        return self._write_sized("message", body, write, point)

    def name_run(self) -> RunId:
        """A name for a run that is about to be admitted; its token will be `FIRST_TOKEN`."""
        return RunId(self._ids.new("run"))

    def admit_children(self, run_id: str, token: int, call_id: str, orders: Iterable[ChildOrder]) -> Future[list[Admitted]]:
        """Take in what an open call starts beside its run, each as a run of its own; durable before any of them starts.

        What the call started before, in any process, is answered as recorded, with the name that it had then.
        """
        wanted = [(order, self._intake.facts({**order.content, children.JOB_ID: order.job_id})) for order in orders]

        def write(scribe: Scribe) -> list[Admitted]:
            self._check_room()
            return children.admit(scribe, RunId(run_id), token, CallId(call_id), wanted)

        return self._write(write, *(body for _, body in wanted))

    def find_input(self, chat_id: str, input_id: str, content: dict[str, Any]) -> tuple[str, Run | Input] | None:
        """None, or whether the record of this message id has the "same" content or "other", and the record."""
        known = self._store.read(lambda tx: inputs.find(tx, ChatId(chat_id), InputId(input_id)))
        if known is None:
            return None
        stored = known.input_digest if isinstance(known, Run) else known.digest
        return ("same" if stored == self._intake.facts(content).digest else "other"), known

    def find_anywhere(self, input_id: str, content: dict[str, Any]) -> tuple[str, Run | Input] | None:
        """The same for a message of which only its id is known, not its chat. Looks at every run: for ids of programs only."""
        chat_id = self._read(lambda tx: inputs.chat_of(tx, InputId(input_id)))
        return None if chat_id is None else self.find_input(chat_id, input_id, content)

    def keep_input(self, run_id: str, input_id: str, content: dict[str, Any]) -> Future[Input]:
        """Save a message for a run that has not ended."""
        body = self._intake.facts(content)
        return self._write_sized("message", body, lambda scribe: inputs.keep(scribe, RunId(run_id), InputId(input_id), body))

    def discard_input(self, run_id: str, version: int | None, input_id: str, origin: str) -> Future[Input]:
        """A message that a Stop left over will not be sent. Without a version: one that was refused and then saved all the same."""
        who = self._intake.text(origin)
        return self._write(lambda scribe: inputs.discard(scribe, RunId(run_id), version, InputId(input_id), who))

    def checkpoint(self, run_id: str, token: int, point: ResumePoint, delivered: Iterable[str], *, unhurried: bool = False) -> Future[int]:
        """Save a resume point, and which waiting messages stand in it; `unhurried`, where nobody waits for it, in the next commit."""
        ids = [InputId(each) for each in delivered]

        def write(scribe: Scribe) -> int:
            seq = checkpoints.save(scribe, RunId(run_id), token, point)
            if ids:
                inputs.deliver(scribe, runs.chat_of(scribe.tx, RunId(run_id)), ids)
            return seq

        return self._write(write, point, unhurried=unhurried)

    def close_run(
        self,
        run_id: str,
        token: int,
        state: RunState,
        answer: Any,
        point: ResumePoint | None = None,
        delivered: Iterable[str] = (),
    ) -> Future[list[Input]]:
        """End a run with its answer and last checkpoint; answers with the messages that still wait in the chat."""
        ids = [InputId(each) for each in delivered]
        said = codec.body(self._intake.masked(answer))

        def write(scribe: Scribe) -> list[Input]:
            run = runs.load(scribe.tx, RunId(run_id))
            if not (run.state is state and run.token == token):  # else: the same submission again
                runs.check(run, token)
                if point is not None:
                    checkpoints.save(scribe, run.run_id, token, point)
                inputs.deliver(scribe, run.chat_id, ids)
                runs.move(scribe, run, state, f"run_{state.value}", answer=said)
            return inputs.waiting(scribe.tx, run.chat_id)

        return self._write(write, said, point)

    def hold_run(
        self,
        run_id: str,
        reason: HoldReason,
        call_id: str | None = None,
        text: str = "",
        facts: dict[str, Any] | None = None,
    ) -> Future[Run]:
        """Let a run wait for a person."""
        why = self._intake.hold(Hold(reason, CallId(call_id) if call_id else None, text, facts or {}))
        return self._write(lambda scribe: runs.hold(scribe, RunId(run_id), why))

    def interrupt_run(self, run_id: str, by: str) -> Future[Run]:
        """A person ended the task of a living run."""
        who = self._intake.text(by)
        return self._write(lambda scribe: recovery.interrupt(scribe, RunId(run_id), who, self.allowlist))

    def stop_run(self, run_id: str, origin: str, note: str = "", *, refused: bool = False) -> Future[Run]:
        """End an unfinished run for good; messages that wait are offered, never sent by themselves.

        `refused`: its admission came too late and was answered with a refusal, so its message may come again.
        """
        who, why = self._intake.text(origin), self._intake.text(note)
        if refused:
            return self._write(lambda scribe: inputs.refuse(scribe, RunId(run_id), who))
        return self._write(lambda scribe: children.stop(scribe, RunId(run_id), who, why))

    def note_chat_saved(self, run_id: str) -> Future[int]:
        """The host's file of this run's chat exists from now on: where it is missing later, somebody deleted it."""
        return self._write(lambda scribe: scribe.event(CHAT_SAVED, RunId(run_id)))

    # -- recovery -------------------------------------------------------------------------------

    def begin_recovery(self, run_id: str) -> Future[Run]:
        """Count an attempt to load a run's chat, before anything is read (I10)."""
        return self._write(lambda scribe: attempts.begin(scribe, RunId(run_id)))

    def begin_completion(self, run_id: str) -> Future[Completion]:
        """Count an attempt to complete the chat of a finished run, before anything is read."""
        return self._write(lambda scribe: attempts.begin_completion(scribe, RunId(run_id)))

    def end_completion(self, run_id: str) -> Future[int]:
        return self._write(lambda scribe: scribe.event("completion_ended", RunId(run_id)))

    def settle(self, run_id: str, hold: Hold | None) -> Future[Run]:
        """End the rebuild of a run: on hold, or queued."""
        why = self._intake.hold(hold) if hold else None
        return self._write(lambda scribe: attempts.settle(scribe, RunId(run_id), why))

    def claim(self, run_id: str) -> Future[Claim]:
        """Continue a queued run, under a new token. StaleVersion if it is not queued (any more)."""

        def write(scribe: Scribe) -> Claim:
            background.drop_cut_off(scribe, RunId(run_id))
            return runs.claim(scribe, RunId(run_id))

        return self._write(write)

    def suspend_run(self, run_id: str, token: int, permission_now: Callable[[Call], Permission], cut: Cut | None = None) -> Future[Run]:
        """The task of a living run ended and the run did not: held if anything is unknown by now, else queued.

        With `cut` its task is about to be ended by us: the answer is `running` while an effect is under way and `cut` is patient.
        """
        return self._write(lambda scribe: recovery.suspend(scribe, RunId(run_id), token, permission_now, self.allowlist, cut))

    # -- calls ----------------------------------------------------------------------------------

    def begin_call(
        self,
        run_id: str,
        token: int,
        cursor: int,
        key: CallKey,
        *,
        name: str,
        identity_of: Any,
        arguments: Any,
        permission: Permission,
        extra: dict[str, Any] | None = None,
        finding: Finding | None = None,
    ) -> Future[Step]:
        """Write an intent, or find what is recorded: the answer says whether the effect may start (I1).

        `finding` is what a check saw of a call that was cut off here.
        """
        intent = self._intake.intent(key, name, identity_of, arguments, permission, extra)
        evidence = self._intake.evidence(finding)

        def write(scribe: Scribe) -> Step:
            return recovery.begin_call(scribe, RunId(run_id), token, cursor, intent, self.allowlist, evidence)

        return self._write_sized("arguments", intent.arguments, write, intent.extra, *_of(evidence))

    def lose_call(self, run_id: str, token: int, call_id: str, permission: Permission, finding: Finding | None = None) -> Future[Step]:
        """The effect of a living call ended without proof (I3): the same answer as after a crash, or a hold."""
        evidence = self._intake.evidence(finding)

        def write(scribe: Scribe) -> Step:
            return recovery.lose_call(scribe, RunId(run_id), token, CallId(call_id), permission, self.allowlist, evidence)

        return self._write(write, *_of(evidence))

    def finish_call(
        self,
        call_id: str,
        outcome: Outcome,
        value: Any,
        *,
        error: str = "",
        usage: dict[str, Any] | None = None,
        extra: dict[str, Any] | None = None,
    ) -> Future[Call]:
        """Write a result. Never raises: whatever the value is, something true about it is kept (I2)."""
        result = self._intake.result(outcome, value, error, usage, extra)
        return self._write(lambda scribe: calls.finish(scribe, CallId(call_id), result), result.value, result.extra)

    def finish_writing(self, call_id: str, draft: Draft, *, saved: Any, stale: Any, late: Any) -> Future[Call]:
        """Write a document and the result of the call that asks for it, in one transaction. The call's value says what
        became of the write: `saved`, `stale` (kept as a conflict), or `late` (the run is over, nothing was written).
        """
        ends = Ends(*(self._intake.result(Outcome.OK, value, "", None, None) for value in (saved, stale, late)))
        values = [draft.body, *(each.value for each in (ends.saved, ends.stale, ends.late))]
        return self._write(lambda scribe: documents.finish_call(scribe, CallId(call_id), draft, ends), *values)

    def close_call(self, run_id: str, token: int, call_id: str, outcome: Outcome, value: Any) -> Future[Call]:
        """Write the result of a call whose work was done in calls of its own, maybe begun in an earlier life of the run."""
        result = self._intake.result(outcome, value, "", None, None)

        def write(scribe: Scribe) -> Call:
            return recovery.close_call(scribe, RunId(run_id), token, CallId(call_id), result)

        return self._write(write, result.value)

    def begin_background(
        self, run_id: str, purpose: Purpose, question: Any, *, name: str, facts: dict[str, Any], ordinal: int = 0
    ) -> Future[Proceed | Serve | Dropped]:
        """Record what is asked beside the turn, or find its answer. `question` is digested and not kept.

        `ordinal` is how often this life of the run asked the same before.
        """
        intent = self._intake.background(purpose, question, name, facts, ordinal)
        return self._write(lambda scribe: background.begin(scribe, RunId(run_id), intent, purpose), intent.arguments)

    def finish_background(
        self, call_id: str, outcome: Outcome, value: Any, *, error: str = "", usage: dict[str, Any] | None = None
    ) -> Future[Call]:
        """Write an answer, whatever became of its run."""
        result = self._intake.result(outcome, value, error, usage, None)
        return self._write(lambda scribe: background.finish(scribe, CallId(call_id), result), result.value)

    # -- persons --------------------------------------------------------------------------------

    def decide(self, decision: Decision) -> Future[Run]:
        """Record one decision and let it count (I7)."""
        try:
            masked, said = self._intake.decision(decision)
        except TooLarge as error:
            return failed(error)
        outlook = self._outlook_of(decision.run_id)
        return self._write(lambda scribe: decisions.decide(scribe, masked, said, outlook))

    def _outlook_of(self, run_id: RunId) -> Outlook:
        """The same outlook for the transaction that decides; files are looked at here, in the caller's thread."""
        known: dict[CallId, Permission] = {}
        with suppress(RecordCorrupt):  # then Stop is what is left, and it asks no permission
            known = {call.call_id: self.permission_now(call) for call in self.calls(run_id)}
        return replace(self.outlook(), permission_now=lambda call: known.get(call.call_id, Permission()))

    def grant(self, run_id: str, version: int, call_id: str, attempts: int, request_id: str, origin: str) -> Future[Run]:
        """Allow a cut-off model call one to three more attempts."""
        who = self._intake.text(origin)
        return self._write(lambda scribe: grants.grant(scribe, RunId(run_id), version, CallId(call_id), attempts, request_id, who))

    def choose_state(self, chosen: Selection, usable: Collection[int]) -> Future[Run]:
        """Let a run go on from the state that a person chose, or end it with the chat as it is (I7)."""
        try:
            masked = self._intake.selection(chosen)
        except TooLarge as error:
            return failed(error)
        return self._write(lambda scribe: selections.select(scribe, masked, usable))

    def state_restored(self, run_id: str) -> Future[int]:
        """The chat stands as it was chosen: what happens to it from now on is new."""
        return self._write(lambda scribe: scribe.event("state_restored", RunId(run_id)))

    # -- documents ------------------------------------------------------------------------------

    def draft(self, chat_id: str, kind: str, expected: int, value: Any, writer: Writer) -> Draft:
        """A whole new value for a document, as it would be stored. Raises DoesNotFit or UnknownDocument."""
        return self._intake.draft(ChatId(chat_id), kind, expected, value, writer)

    def save_document(self, draft: Draft) -> Future[Saved]:
        """Write a document outside of any call. A stale one is kept beside what is stored, and fails with DocumentConflict."""
        return self._write(lambda scribe: documents.save(scribe, draft), draft.body)

    def settle_conflict(self, conflict_id: str, way: Way, expected: int, merged: Any = None) -> Future[Saved]:
        """A person settles a conflict. `merged` is the whole value that they want, where they want neither version."""
        draft = None
        if way is Way.MERGED:
            try:
                chat_id, kind = self._read(lambda tx: documents.about(tx, conflict_id))
                draft = self.draft(chat_id, kind, expected, merged, Writer.PERSON)
            except JournalError as error:
                return failed(error)
        return self._write(lambda scribe: documents.settle(scribe, conflict_id, way, expected, draft), draft.body if draft else None)


def _of(evidence: Evidence | None) -> tuple[Body | None, ...]:
    return () if evidence is None else (evidence.result.value, evidence.result.extra)
