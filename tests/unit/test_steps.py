"""A step: run once and recorded, or its record handed back; what may repeat was declared, everything else is asked about."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from journal import Checked, Choice, Idempotent, RunHeld, Safe, StepFailed, Turn, done, not_done, step_id, unknown
from journal.errors import KeyReused, NotRecordable, StepInside, StoreFull
from journal.evidence import Finding
from journal.masking import Secret
from journal.records import Call, HoldReason, Outcome
from journal.reviewed import Entry
from journal.values import Opaque
from tests.support.agents import ORIGIN, Agent, Killed, crash


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    agent = Agent(tmp_path)
    agent.open()
    yield agent
    agent.close()


def calls(agent: Agent, chat: str = "chat") -> list[Call]:
    assert agent.turns is not None
    (run,) = agent.turns.journal.runs_of(chat)
    return agent.turns.journal.calls(run.run_id)


def held(agent: Agent, loop: Any) -> RunHeld:
    with pytest.raises(RunHeld) as stop:
        agent.run(loop)
    return stop.value


class Bank:
    """Something outside whose first calls may end badly."""

    def __init__(self, agent: Agent, *ends: BaseException) -> None:
        self.outside, self.ends = agent.outside, list(ends)

    def pay(self, cents: int, idempotency_key: str = "") -> str:
        self.outside.add(f"{cents} {idempotency_key}".strip())
        if self.ends:
            raise self.ends.pop(0)
        return f"paid {cents}"

    def looked(self, cents: int, idempotency_key: str = "") -> Finding:
        return done(f"found {cents}", "one payment") if self.outside.lines else not_done("no payment")

    def loop(self, turn: Turn) -> Any:
        return turn.step("tool:call_1", self.pay, 42)


def other(line: str) -> str:
    """Takes what `Outside.add` takes."""
    return line


# -- places -------------------------------------------------------------------------------------


def test_steps_have_names_that_people_can_read(agent: Agent) -> None:
    def loop(turn: Turn) -> None:
        turn.step("tool", str, 0)
        for _ in range(2):
            turn.step("model", str, 1)
            turn.step("tool:call_a", str, 2)
            turn.step("tool:call:b", str, 3)
            turn.step("utility", str, 4)
        turn.step("delivery", str, 5)

    agent.run(loop)

    assert [step_id(call) for call in calls(agent)] == [
        "tool:0:0",
        *("model:1", "tool:1:0:call_a", "tool:1:1:call:b", "utility:1:0"),
        *("model:2", "tool:2:0:call_a", "tool:2:1:call:b", "utility:2:0"),
        "delivery:2:0",
    ]


@pytest.mark.parametrize("what", ["", "tol", "tool ", "model:gpt", "Model"])
def test_a_word_that_names_no_step_is_refused(agent: Agent, what: str) -> None:
    def loop(turn: Turn) -> None:
        with pytest.raises(ValueError, match="names no step"):
            turn.step(what, str, 1)

    agent.run(loop)

    assert calls(agent) == []


def test_places_taken_before_keep_their_order_whatever_the_threads_do(agent: Agent) -> None:
    def loop(turn: Turn) -> list[str]:
        places = [turn.place(f"tool:call_{number}") for number in range(6)]
        with ThreadPoolExecutor(6) as pool:
            results = [pool.submit(turn.step, place, agent.outside.add, str(number)) for number, place in enumerate(places)]
            for result in reversed(results):
                result.result()
        if len(agent.outside.lines) == 6:
            agent.outside.add("first life")
            raise Killed
        return sorted(agent.outside.lines)

    crash(agent, loop)
    agent.open()

    assert agent.run(loop) == ["0", "1", "2", "3", "4", "5", "first life"]


def test_a_place_is_for_one_step(agent: Agent) -> None:
    def loop(turn: Turn) -> None:
        place = turn.place("tool:a")
        turn.step(place, agent.outside.add, "once")
        with pytest.raises(KeyReused):
            turn.step(place, agent.outside.add, "once")

    agent.run(loop)

    assert agent.outside.lines == ["once"]


def test_a_place_whose_step_is_at_work_is_taken(agent: Agent) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def wait() -> str:
        agent.outside.add("begun")
        begun.set()
        assert go_on.wait(60)
        return "done"

    def loop(turn: Turn) -> str:
        place = turn.place("tool:a")
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(turn.step, place, wait)
            assert begun.wait(60)
            with pytest.raises(KeyReused):
                turn.step(place, wait)
            go_on.set()
            return str(first.result())

    assert agent.run(loop) == "done"
    assert agent.outside.lines == ["begun"]


@pytest.mark.parametrize(
    "second",
    [
        lambda turn, add: turn.step("tool:a", add, "two"),
        lambda turn, add: turn.step("tool:b", add, "one"),
        lambda turn, add: turn.step("tool:a", other, "one"),
    ],
    ids=["arguments", "id", "name"],
)
def test_something_else_at_a_recorded_place_is_held(agent: Agent, second: Callable[..., Any]) -> None:
    def first(turn: Turn) -> None:
        turn.step("tool:a", agent.outside.add, "one")
        raise Killed

    crash(agent, first)
    agent.open()

    stop = held(agent, lambda turn: second(turn, agent.outside.add))

    assert stop.held.reason is HoldReason.DIVERGED
    assert agent.outside.lines == ["one"]


def test_from_a_divergence_a_person_may_start_over(agent: Agent) -> None:
    def first(turn: Turn) -> None:
        turn.step("tool:a", agent.outside.add, "one")
        raise Killed

    def changed(turn: Turn) -> str:
        turn.step("tool:a", agent.outside.add, "two")
        return "changed"

    crash(agent, first)
    turns = agent.open()
    turns.decide(held(agent, changed).held, Choice.NEW_ATTEMPT, origin=ORIGIN, ack=True)

    assert agent.run(changed) == "changed"
    assert agent.outside.lines == ["one", "two"]
    assert [call.abandoned for call in calls(agent)] == [True, False]


def test_a_new_step_never_starts_past_a_recorded_one(agent: Agent) -> None:
    def first(turn: Turn) -> None:
        turn.step("model", str, 1)
        turn.step("tool:a", agent.outside.add, "one")
        raise Killed

    def skips(turn: Turn) -> None:
        turn.step("model", str, 1)
        turn.step("model", agent.outside.add, "two")

    crash(agent, first)
    agent.open()

    assert held(agent, skips).held.steps == ["tool:1:0:a"]
    assert agent.outside.lines == ["one"]


def test_a_step_inside_a_step_is_refused(agent: Agent) -> None:
    def loop(turn: Turn) -> str:
        def inner() -> str:
            return str(turn.step("tool:inner", str, 1))

        with pytest.raises(StepFailed) as failed:
            turn.step("tool:outer", inner)
        assert failed.value.error_type.endswith("StepInside")
        return str(turn.step("tool:next", str, 2))

    assert agent.run(loop) == "2"
    assert StepInside.code == "step_inside"


# -- values -------------------------------------------------------------------------------------


def test_what_a_step_hands_back_is_the_record_in_every_life(agent: Agent) -> None:
    class Thing:
        def __repr__(self) -> str:
            return "a thing"

    def loop(turn: Turn) -> list[Any]:
        got = [turn.step("tool", lambda_free, value) for value in (1,)]
        if not agent.outside.lines:
            agent.outside.add("first life")
            seen.append(got)
            raise Killed
        seen.append(got)
        return got

    def lambda_free(_: int) -> Any:
        return {"pair": (1, 2), "bytes": b"\0", "nan": float("inf"), "thing": Thing(), "text": "\ud800"}

    seen: list[Any] = []
    crash(agent, loop)
    agent.open()
    agent.run(loop)

    thing = Opaque("tests.unit.test_steps.test_what_a_step_hands_back_is_the_record_in_every_life.<locals>.Thing", "a thing")
    assert seen == [[{"pair": [1, 2], "bytes": b"\0", "nan": float("inf"), "thing": thing, "text": "\ud800"}]] * 2


@pytest.mark.parametrize(
    ("value", "where"),
    [(object(), "value is of type object"), ({"a": [1, {2}]}, r"value\['a'\]\[1\] is of type set"), ({(1, object()): 1}, "a key of value")],
)
def test_an_argument_that_would_not_come_back_is_refused_before_anything_starts(agent: Agent, value: Any, where: str) -> None:
    def effect(value: Any) -> None:
        agent.outside.add("ran")

    def loop(turn: Turn) -> None:
        with pytest.raises(NotRecordable, match=where):
            turn.step("tool", effect, value)

    agent.run(loop)

    assert (agent.outside.lines, calls(agent)) == ([], [])


def test_arguments_nested_too_deep_or_into_themselves_are_refused(agent: Agent) -> None:
    deep: list[Any] = []
    deep.append(deep)

    def loop(turn: Turn) -> None:
        with pytest.raises(NotRecordable):
            turn.step("tool", str, deep)

    agent.run(loop)


def test_a_result_that_was_handed_back_can_be_an_argument(agent: Agent) -> None:
    def loop(turn: Turn) -> str:
        return str(turn.step("tool", str, turn.step("tool", object)))

    assert "object" in agent.run(loop)


def test_a_call_that_cannot_be_made_is_refused_before_anything_is_written(agent: Agent) -> None:
    def loop(turn: Turn) -> None:
        with pytest.raises(TypeError):
            turn.step("tool", Bank(agent).pay, dollars=42)
        with pytest.raises(TypeError, match="a function with a name"):
            turn.step("tool", lambda: 1)

    agent.run(loop)

    assert calls(agent) == []


def test_the_prompt_of_a_model_step_is_not_written(agent: Agent) -> None:
    agent.run(lambda turn: turn.step("model", len, [object(), "a long prompt"]))

    assert [call.arguments for call in calls(agent)] == [{}]


def test_secrets_are_not_written(agent: Agent) -> None:
    agent.secrets.append(Secret("TOKEN", "a-long-token"))
    agent.open()

    assert agent.run(lambda turn: turn.step("tool", str, "a-long-token")) == "[hidden:TOKEN]"
    assert b"a-long-token" not in b"".join(file.read_bytes() for file in agent.folder.iterdir())


# -- errors -------------------------------------------------------------------------------------


def test_an_error_of_a_step_is_its_result_in_every_life(agent: Agent) -> None:
    bank = Bank(agent, ValueError("no money"))
    seen: list[StepFailed] = []

    def loop(turn: Turn) -> str:
        try:
            turn.step("tool:call_1", bank.pay, 42)
        except StepFailed as failed:
            seen.append(failed)
        if len(seen) == 1:
            raise Killed
        return "told the model"

    crash(agent, loop)
    agent.open()
    assert agent.run(loop) == "told the model"

    assert [(type(e), str(e), e.step, e.error_type, e.text, e.outcome) for e in seen] == [
        (StepFailed, str(seen[0]), "tool:1:0:call_1".replace("1:0", "0:0"), "ValueError", "no money", Outcome.ERROR)
    ] * 2
    assert isinstance(seen[0].__cause__, ValueError)
    assert agent.outside.lines == ["42"]


def test_an_error_whose_text_raises_is_still_an_error(agent: Agent) -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    def loop(turn: Turn) -> None:
        with pytest.raises(StepFailed, match="could not be read: RuntimeError"):
            turn.step("tool", Bank(agent, Odd()).pay, 42)

    agent.run(loop)


@pytest.mark.parametrize("error", [TimeoutError("slow"), ConnectionResetError(), ExceptionGroup("both", [ValueError(), BrokenPipeError()])])
def test_an_ending_that_proves_nothing_holds_an_unsafe_step_in_the_living_process(agent: Agent, error: Exception) -> None:
    bank = Bank(agent, error)

    stop = held(agent, bank.loop)

    assert (stop.held.reason, stop.held.steps) == (HoldReason.OUTCOME_UNKNOWN, ["tool:0:0:call_1"])
    assert agent.turns is not None
    agent.turns.decide(stop.held, Choice.CONFIRMED_COMPLETED, origin=ORIGIN, note="the bank says so", result_text="paid")
    assert agent.run(bank.loop) == "paid"
    assert agent.outside.lines == ["42"]


def test_a_model_call_that_raises_has_a_result(agent: Agent) -> None:
    def loop(turn: Turn) -> str:
        with pytest.raises(StepFailed, match="TimeoutError"):
            turn.step("model", Bank(agent, TimeoutError()).pay, 1)
        return str(turn.step("model", Bank(agent).pay, 2))

    assert agent.run(loop) == "paid 2"


def test_a_result_waits_for_the_journal_and_the_effect_is_not_repeated(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    from concurrent.futures import Future

    from journal import steps

    assert agent.turns is not None
    journal, refusals = agent.turns.journal, [StoreFull(), StoreFull()]
    finish = journal.finish_call

    def full_twice(*args: Any, **kwargs: Any) -> Future[Call]:
        if refusals:
            future: Future[Call] = Future()
            future.set_exception(refusals.pop())
            return future
        return finish(*args, **kwargs)

    monkeypatch.setattr(journal, "finish_call", full_twice)
    monkeypatch.setattr(steps, "_PAUSE_S", 0.001)

    assert agent.run(Bank(agent).loop) == "paid 42"
    assert agent.outside.lines == ["42"]


# -- declared -----------------------------------------------------------------------------------


def declared(agent: Agent, entry: Callable[[Bank], Entry], bank: Bank) -> Any:
    """A life that ends inside the payment, and the next one with the same declaration."""
    agent.open([entry(bank)])
    crash(agent, bank.loop)
    agent.open([entry(bank)])
    return bank.loop


def test_a_safe_step_runs_again_by_itself(agent: Agent) -> None:
    loop = declared(agent, lambda bank: Safe(bank.pay), Bank(agent, Killed()))

    assert agent.run(loop) == "paid 42"
    assert agent.outside.lines == ["42", "42"]


def test_an_idempotent_step_runs_again_with_the_same_key(agent: Agent) -> None:
    loop = declared(agent, lambda bank: Idempotent(bank.pay), Bank(agent, Killed()))

    assert agent.run(loop) == "paid 42"
    first, second = (line.split()[1] for line in agent.outside.lines)
    assert first == second
    assert len(first) == 36


def test_the_key_is_shown_to_who_decides(agent: Agent) -> None:
    bank = Bank(agent, Killed())
    agent.open([Idempotent(bank.pay)])
    crash(agent, bank.loop)
    turns = agent.open()

    stop = held(agent, bank.loop)

    view = turns.journal.run_view(stop.run.run_id)
    assert {"what": "idempotency key", "text": agent.outside.lines[0].split()[1]} in view["calls"][0]["evidence"]


def test_a_key_that_the_service_has_forgotten_is_not_trusted(agent: Agent) -> None:
    loop = declared(agent, lambda bank: Idempotent(bank.pay, keeps_for=timedelta(minutes=5)), Bank(agent, Killed()))
    agent.clock.turn(301)

    assert held(agent, loop).held.reason is HoldReason.OUTCOME_UNKNOWN
    assert len(agent.outside.lines) == 1


@pytest.mark.parametrize("attempts", [2, 3])
def test_an_idempotent_step_that_times_out_is_repeated_with_its_key_at_most_twice(agent: Agent, attempts: int) -> None:
    bank = Bank(agent, *[TimeoutError() for _ in range(attempts)])
    agent.open([Idempotent(bank.pay)])

    if attempts == 2:
        assert agent.run(bank.loop) == "paid 42"
    else:
        assert held(agent, bank.loop).held.reason is HoldReason.OUTCOME_UNKNOWN

    assert len(agent.outside.lines) == 3
    assert len(set(agent.outside.lines)) == 1


def test_a_safe_step_that_times_out_failed(agent: Agent) -> None:
    bank = Bank(agent, TimeoutError("slow"))
    agent.open([Safe(bank.pay)])

    def loop(turn: Turn) -> str:
        with pytest.raises(StepFailed) as failed:
            turn.step("tool", bank.pay, 42)
        return failed.value.outcome.value

    assert agent.run(loop) == "unknown"


def test_a_check_that_finds_the_effect_hands_in_its_result(agent: Agent) -> None:
    loop = declared(agent, lambda bank: Checked(bank.pay, bank.looked), Bank(agent, Killed()))

    assert agent.run(loop) == "found 42"

    assert agent.outside.lines == ["42"]
    (call,) = calls(agent)
    assert (call.outcome, call.attempts) == (Outcome.OK, 1)
    assert agent.turns is not None
    view = agent.turns.journal.run_view(call.run_id)
    assert "A check looked whether a step had happened." in [event["text"] for event in view["events"]]
    assert "check" in [each["what"] for each in view["calls"][0]["evidence"]]


def test_a_check_that_finds_nothing_lets_it_run(agent: Agent) -> None:
    bank = Bank(agent, Killed())
    loop = declared(agent, lambda bank: Checked(bank.pay, bank.looked), bank)
    agent.outside.file.unlink()

    assert agent.run(loop) == "paid 42"
    assert agent.outside.lines == ["42"]


def test_a_check_is_not_asked_where_a_person_has_spoken(agent: Agent) -> None:
    def doubts(cents: int, idempotency_key: str = "") -> Finding:
        agent.outside.add("looked")
        return unknown()

    loop = declared(agent, lambda bank: Checked(bank.pay, doubts), Bank(agent, Killed()))
    stop = held(agent, loop)
    assert agent.turns is not None
    agent.turns.decide(stop.held, Choice.CONFIRMED_NOT_COMPLETED, origin=ORIGIN, note="the bank says no")

    assert agent.run(loop) == "paid 42"
    assert agent.outside.lines == ["42", "looked", "42"]


def test_a_check_is_not_asked_before_the_first_run(agent: Agent) -> None:
    agent.outside.add("somebody else's payment")
    bank = Bank(agent)
    agent.open([Checked(bank.pay, bank.looked)])

    assert agent.run(bank.loop) == "paid 42"


def doubt(cents: int, idempotency_key: str = "") -> Finding:
    return unknown("two payments")


def broken(cents: int, idempotency_key: str = "") -> Finding:
    raise OSError("no such ledger")


def odd(cents: int, idempotency_key: str = "") -> Any:
    return True


@pytest.mark.parametrize(
    ("check", "seen"),
    [(doubt, "two payments"), (broken, "The check raised OSError: no such ledger"), (odd, "The check answered bool.")],
)
def test_a_doubt_of_a_check_is_kept_and_asks_a_person(agent: Agent, check: Callable[..., Any], seen: str) -> None:
    import sqlite3

    loop = declared(agent, lambda bank: Checked(bank.pay, check), Bank(agent, Killed()))

    assert held(agent, loop).held.reason is HoldReason.OUTCOME_UNKNOWN

    agent.close()
    with sqlite3.connect(agent.folder / "journal.db") as database:
        rows = database.execute("select kind, outcome, error from evidence").fetchall()
    database.close()
    assert rows == [("check", "unknown", seen)]
    assert agent.outside.lines == ["42"]


def test_a_check_after_a_timeout_proves_only_that_it_happened(agent: Agent) -> None:
    def not_yet(cents: int, idempotency_key: str = "") -> Finding:
        return not_done("not in the list")

    bank = Bank(agent, TimeoutError())
    agent.open([Checked(bank.pay, not_yet)])
    assert held(agent, bank.loop).held.steps == ["tool:0:0:call_1"]

    bank = Bank(agent, TimeoutError())
    agent.open([Checked(bank.pay, bank.looked)])
    assert agent.run(bank.loop, message="second", chat="second") == "found 42"
    assert agent.outside.lines == ["42", "42"]


@pytest.mark.parametrize("kind", [Safe, Idempotent, lambda function, version: Checked(function, doubt, version=version)])
def test_another_version_of_what_was_declared_is_not_repeated(agent: Agent, kind: Callable[..., Entry]) -> None:
    bank = Bank(agent, Killed())
    agent.open([kind(bank.pay, version="1")])
    crash(agent, bank.loop)
    agent.open([kind(bank.pay, version="2")])

    assert held(agent, bank.loop).held.reason is HoldReason.OUTCOME_UNKNOWN
    assert len(agent.outside.lines) == 1


def test_another_kind_of_declaration_is_not_trusted_for_what_was_begun_before(agent: Agent) -> None:
    bank = Bank(agent, Killed())
    agent.open([Idempotent(bank.pay, version="1")])
    crash(agent, bank.loop)
    agent.open([Safe(bank.pay, version="1")])

    assert held(agent, bank.loop).held.reason is HoldReason.OUTCOME_UNKNOWN
