"""A turn of any Python agent: begun, continued, ended, held and decided, by the id of its message."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from journal import Choice, RunHeld, Safe, StepFailed, Turn, TurnFailed, Turns
from journal.errors import ChatBusy, InputConflict, NotAllowed, NotRecordable, NotRunning, RunEnded, StoreLocked
from journal.records import HoldReason, Outcome, RunState
from journal.retention import Policy
from tests.support.agents import ORIGIN, Agent, Killed, crash


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    agent = Agent(tmp_path)
    agent.open()
    yield agent
    agent.close()


def held(agent: Agent, loop: Any, **content: Any) -> RunHeld:
    with pytest.raises(RunHeld) as stop:
        agent.run(loop, **content)
    return stop.value


class Loop:
    """Ask, act, answer; `dies` names the effect in which the process ends."""

    def __init__(self, agent: Agent, dies: str = "") -> None:
        self.outside, self.dies = agent.outside, dies
        self.lives = 0

    def __call__(self, turn: Turn, text: str = "go") -> str:
        self.lives += 1
        reply = turn.step("model", self.model, [text])
        noted = turn.step("tool:call_9", self.note, reply)
        return f"{turn.step('model', self.model, [text, reply, noted])}!"

    def effect(self, name: str, line: str) -> None:
        self.outside.add(line)
        if self.dies == name:
            raise Killed

    def model(self, messages: list[str]) -> str:
        self.effect(f"model {len(messages)}", "asked")
        return f"answer {len(messages)}"

    def note(self, text: str) -> str:
        self.effect("note", f"noted {text}")
        return "noted"


def test_a_turn_runs_once_and_its_answer_is_handed_back_ever_after(agent: Agent) -> None:
    loop = Loop(agent)

    answers = [agent.run(loop, text="go"), agent.run(loop, text="go")]
    agent.open()
    answers.append(agent.run(loop, text="go"))

    assert answers == ["answer 3!"] * 3
    assert loop.lives == 1
    assert agent.outside.lines == ["asked", "noted answer 1", "asked"]


def test_a_crashed_turn_goes_on_from_its_records(agent: Agent) -> None:
    crash(agent, Loop(agent, dies="model 3"))
    turns = agent.open()
    stop = held(agent, Loop(agent))
    assert stop.held.reason is HoldReason.MODEL_INTERRUPTED
    assert (stop.held.steps, stop.held.choices) == (["model:2"], ["grant", "stop"])
    turns.grant(stop.held, origin=ORIGIN)

    assert agent.run(Loop(agent)) == "answer 3!"
    assert agent.outside.lines == ["asked", "noted answer 1", "asked", "asked"]


def test_an_unsafe_step_that_was_cut_off_waits_for_a_person(agent: Agent) -> None:
    crash(agent, Loop(agent, dies="note"))
    agent.open()

    stop = held(agent, Loop(agent))

    assert (stop.held.reason, stop.held.steps) == (HoldReason.OUTCOME_UNKNOWN, ["tool:1:0:call_9"])
    assert "tool:1:0:call_9 (note)" in str(stop)
    assert agent.outside.lines == ["asked", "noted answer 1"]
    assert held(agent, Loop(agent)).run.version == stop.run.version, "asking changes nothing"


@pytest.mark.parametrize(
    ("choice", "said", "notes"),
    [
        (Choice.CONFIRMED_COMPLETED, {"note": "it stands there", "result_text": "noted"}, 1),
        (Choice.CONFIRMED_NOT_COMPLETED, {"note": "nothing there"}, 2),
        (Choice.NEW_ATTEMPT, {"ack": True}, 2),
    ],
    ids=lambda value: value.value if isinstance(value, Choice) else "",
)
def test_after_a_decision_the_next_call_continues(agent: Agent, choice: Choice, said: dict[str, Any], notes: int) -> None:
    crash(agent, Loop(agent, dies="note"))
    turns = agent.open()
    with pytest.raises(RunHeld):
        agent.run(Loop(agent))
    (waiting,) = turns.held()

    turns.decide(waiting, choice, origin=ORIGIN, **said)

    assert turns.held() == []
    assert agent.run(Loop(agent)) == "answer 3!"
    assert agent.outside.lines.count("noted answer 1") == notes
    assert agent.outside.lines.count("asked") == 2


def test_the_same_decision_sent_twice_is_one(agent: Agent) -> None:
    crash(agent, Loop(agent, dies="note"))
    turns = agent.open()
    stop = held(agent, Loop(agent))

    for _ in range(2):
        turns.decide(stop.held, Choice.CONFIRMED_NOT_COMPLETED, origin=ORIGIN, note="nothing there")

    assert agent.run(Loop(agent)) == "answer 3!"
    assert agent.outside.lines.count("noted answer 1") == 2


def test_a_stopped_turn_stays_stopped_and_frees_the_chat(agent: Agent) -> None:
    crash(agent, Loop(agent, dies="note"))
    turns = agent.open()
    turns.decide(held(agent, Loop(agent)).held, Choice.STOP, origin=ORIGIN)

    with pytest.raises(RunEnded):
        agent.run(Loop(agent))
    assert agent.run(Loop(agent), message="another") == "answer 3!"


def test_what_is_not_asked_cannot_be_said(agent: Agent) -> None:
    crash(agent, Loop(agent, dies="note"))
    turns = agent.open()
    stop = held(agent, Loop(agent))

    with pytest.raises(NotAllowed):
        turns.grant(stop.held, origin=ORIGIN)
    with pytest.raises(NotAllowed):
        turns.decide(stop.held, Choice.CONFIRMED_COMPLETED, origin=ORIGIN, step="tool:9:9")
    with pytest.raises(NotAllowed):
        turns.decide(stop.held, Choice.RESUME, origin=ORIGIN)


def test_the_same_message_with_other_content_is_refused(agent: Agent) -> None:
    agent.run(Loop(agent), text="go")

    with pytest.raises(InputConflict):
        agent.run(Loop(agent), text="go on")


def test_a_message_whose_record_was_removed_is_not_run_again_and_says_why(agent: Agent) -> None:
    agent.run(Loop(agent), text="go")
    agent.run(Loop(agent), message="next", text="go")
    assert agent.turns
    agent.clock.turn(86_400)
    assert agent.turns.journal.prune(Policy(runs=1, days=0)).runs == 1
    before = agent.outside.lines

    with pytest.raises(RunEnded, match="was removed") as ended:
        agent.run(Loop(agent), text="go")

    assert ended.value.run.state is RunState.COMPLETED
    assert agent.outside.lines == before


def test_a_chat_has_one_unfinished_turn(agent: Agent) -> None:
    crash(agent, Loop(agent, dies="note"))
    turns = agent.open()

    with pytest.raises(ChatBusy):
        agent.run(Loop(agent), message="another")
    assert agent.run(Loop(agent), chat="another chat") == "answer 3!"
    assert [(run.chat_id, run.input_id) for run in turns.unfinished()] == [("chat", "m")]


def test_unfinished_turns_can_be_continued_by_a_program_that_knows_nothing_of_them(agent: Agent) -> None:
    crash(agent, Loop(agent, dies="model 1"), text="hello")
    turns = agent.open()
    (run,) = turns.unfinished()
    assert run.input == {"text": "hello"}

    turns.grant(held(agent, Loop(agent), **run.input).held, origin=ORIGIN)
    assert turns.run(run.chat_id, run.input_id, Loop(agent), **run.input) == "answer 3!"


def test_an_error_of_the_loop_is_the_end_of_the_turn_and_comes_again(agent: Agent) -> None:
    def loop(turn: Turn) -> None:
        agent.outside.add("tried")
        raise KeyError("no such thing")

    for _ in range(2):
        with pytest.raises(TurnFailed) as failed:
            agent.run(loop)
        assert (failed.value.error_type, failed.value.text) == ("KeyError", "'no such thing'")
    assert agent.outside.lines == ["tried"]


def test_a_refused_step_is_no_end_of_the_turn_and_a_mended_loop_goes_on(agent: Agent) -> None:
    def loop(turn: Turn) -> str:
        turn.step("tool:a", agent.outside.add, "one")
        return str(turn.step("tool:b", str, what[0]))

    what: list[Any] = [{1, 2}]
    with pytest.raises(NotRecordable):
        agent.run(loop)
    assert agent.turns is not None
    assert [run.state for run in agent.turns.unfinished()] == [RunState.QUEUED]
    what[0] = "plain"

    assert agent.run(loop) == "plain"
    assert agent.outside.lines == ["one"]


def test_a_loop_that_swallows_the_hold_starts_nothing_and_ends_nothing(agent: Agent) -> None:
    crash(agent, Loop(agent, dies="note"))
    turns = agent.open()
    first = held(agent, Loop(agent))
    turns.decide(first.held, Choice.NEW_ATTEMPT, origin=ORIGIN, ack=True)

    def careless(turn: Turn, text: str = "go") -> str:
        turn.step("model", Loop(agent).model, [text])
        for _ in range(3):
            try:
                turn.step("tool:other", Loop(agent).note, "something else")
            except RunHeld:
                continue
        return "done"

    stop = held(agent, careless)

    assert stop.held.reason is HoldReason.DIVERGED
    assert agent.outside.lines == ["asked", "noted answer 1"]


def test_an_interrupted_turn_is_held_at_once(agent: Agent) -> None:
    with pytest.raises(Killed):
        agent.run(Loop(agent, dies="note"))

    assert agent.turns is not None
    (waiting,) = agent.turns.held()
    assert waiting.steps == ["tool:1:0:call_9"]


def test_a_loop_that_swallows_an_interruption_starts_nothing_more(agent: Agent) -> None:
    def stubborn(turn: Turn) -> Any:
        with suppress(Killed):
            turn.step("tool:call_9", Loop(agent, dies="note").note, "one")
        return turn.step("tool:call_10", Loop(agent).note, "two")

    stop = held(agent, stubborn)

    assert (stop.held.reason, stop.held.steps) == (HoldReason.OUTCOME_UNKNOWN, ["tool:0:0:call_9"])
    assert agent.outside.lines == ["noted one"]


def test_an_interruption_between_steps_leaves_nothing_to_ask(agent: Agent) -> None:
    def loop(turn: Turn) -> str:
        reply = turn.step("model", Loop(agent).model, ["go"])
        if len(agent.outside.lines) == 1:
            agent.outside.add("interrupted")
            raise KeyboardInterrupt
        return str(reply)

    with pytest.raises(KeyboardInterrupt):
        agent.run(loop)

    assert agent.turns is not None
    assert [run.state for run in agent.turns.unfinished()] == [RunState.QUEUED]
    assert agent.run(loop) == "answer 1"
    assert agent.outside.lines == ["asked", "interrupted"]


def test_a_turn_that_takes_the_process_down_three_times_waits_for_a_person(agent: Agent) -> None:
    def loop(turn: Turn) -> str:
        turn.step("model", Loop(agent).model, ["go"])
        raise Killed

    for _ in range(4):
        crash(agent, loop)
        agent.open()

    stop = held(agent, loop)
    assert stop.held.reason is HoldReason.CRASH_LOOP
    assert agent.turns is not None
    agent.turns.decide(stop.held, Choice.RESUME, origin=ORIGIN)
    assert agent.run(lambda turn: turn.step("model", Loop(agent).model, ["go"])) == "answer 1"
    assert agent.outside.lines == ["asked"]


def test_a_record_that_cannot_be_read_is_held_and_left_as_it_is(agent: Agent) -> None:
    import sqlite3

    crash(agent, Loop(agent, dies="model 3"))
    agent.close()
    with sqlite3.connect(agent.folder / "journal.db") as database:
        database.execute("update calls set arguments_digest = (select digest from blobs order by blob_id desc limit 1) where kind = 'tool'")
        database.execute("update blobs set body = x'7b7d' where digest in (select value_digest from calls where kind = 'tool')")
    database.close()
    agent.open()

    stop = held(agent, Loop(agent))

    assert (stop.held.reason, stop.held.choices) == (HoldReason.CHECKPOINT_CORRUPT, ["stop"])


def test_stop_during_an_effect_wins_and_the_result_is_kept_beside(agent: Agent) -> None:
    assert agent.turns is not None
    turns = agent.turns

    def stopped_meanwhile() -> str:
        (run,) = turns.unfinished()
        turns.journal.stop_run(run.run_id, ORIGIN).result()
        return "too late"

    def loop(turn: Turn) -> None:
        with pytest.raises(NotRunning):
            turn.step("tool", stopped_meanwhile)

    with pytest.raises(RunEnded):
        agent.run(loop)

    (run,) = turns.journal.runs_of("chat")
    assert run.state is RunState.STOPPED
    assert [(call.outcome, call.late_results) for call in turns.journal.calls(run.run_id)] == [(None, 1)]


def test_turns_of_many_chats_run_at_once(agent: Agent) -> None:
    together = threading.Barrier(4, timeout=60)

    def loop(turn: Turn, number: int) -> int:
        turn.step("tool", together.wait)
        return int(turn.step("tool", abs, -number))

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda number: agent.run(loop, chat=f"chat {number}", number=number), range(4)))

    assert answers == [0, 1, 2, 3]


def test_a_turn_at_work_is_not_taken_away_by_a_second_call(agent: Agent) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def wait() -> str:
        begun.set()
        assert go_on.wait(60)
        return "done"

    def loop(turn: Turn) -> Any:
        return turn.step("tool", wait)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(agent.run, loop)
        assert begun.wait(60)
        with pytest.raises(ChatBusy):
            agent.run(loop)
        go_on.set()
        assert first.result() == "done"
    assert agent.run(loop) == "done"


def test_two_owners_of_one_journal_are_refused(agent: Agent) -> None:
    with pytest.raises(StoreLocked, match="Another process is using the journal"):
        Turns.open(agent.folder)


def test_a_loop_that_cannot_take_the_message_is_refused_before_anything_is_written(agent: Agent) -> None:
    with pytest.raises(TypeError):
        agent.run(Loop(agent), question="?")

    assert agent.turns is not None
    assert agent.turns.journal.runs_of("chat") == []


def test_a_turn_does_not_end_while_an_effect_of_its_own_is_going_on(agent: Agent) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slow() -> str:
        begun.set()
        assert go_on.wait(60)
        return "late"

    with ThreadPoolExecutor(1) as pool:
        in_flight: list[Any] = []

        def loop(turn: Turn) -> str:
            in_flight.append(pool.submit(turn.step, turn.place("tool:a"), slow))
            assert begun.wait(60)
            return "done"

        stop = held(agent, loop)
        assert (stop.held.reason, stop.held.steps) == (HoldReason.OUTCOME_UNKNOWN, ["tool:0:0:a"])
        go_on.set()
        assert in_flight[0].result() == "late"

    assert agent.turns is not None
    (waiting,) = agent.turns.held()
    assert waiting.choices == ["resume", "stop"], "its result came after all"


def test_a_step_beside_a_held_one_keeps_its_result(agent: Agent) -> None:
    together = threading.Barrier(2, timeout=60)

    def times_out() -> str:
        agent.outside.add("sent")
        together.wait()
        raise TimeoutError

    def lasts() -> str:
        agent.outside.add("lasted")
        together.wait()
        while not agent.turns.held():  # type: ignore[union-attr]
            threading.Event().wait(0.005)
        return "lasted"

    def loop(turn: Turn) -> list[str]:
        places = [turn.place("tool:a"), turn.place("tool:b")]
        with ThreadPoolExecutor(2) as pool:
            return [each.result() for each in [pool.submit(turn.step, *pair) for pair in zip(places, (times_out, lasts), strict=True)]]

    stop = held(agent, loop)
    assert agent.turns is not None
    agent.turns.decide(agent.turns.held()[0], Choice.CONFIRMED_COMPLETED, origin=ORIGIN, note="seen", result_text="sent")

    assert stop.held.reason is HoldReason.OUTCOME_UNKNOWN
    assert agent.run(loop) == ["sent", "lasted"]
    assert sorted(agent.outside.lines) == ["lasted", "sent"]


def test_a_place_that_was_taken_and_not_used_leaves_its_record_out(agent: Agent) -> None:
    def first(turn: Turn) -> None:
        turn.step("tool:a", agent.outside.add, "one")
        raise Killed

    crash(agent, first)
    agent.open()

    assert held(agent, lambda turn: str(turn.place("tool:a"))).held.reason is HoldReason.DIVERGED


def test_secrets_of_the_environment_are_known_by_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANK_API_KEY", "an-api-key-of-a-bank")
    monkeypatch.setenv("BANK_ADDRESS", "address-of-the-bank")

    with Turns.open(tmp_path / "journal") as turns:
        answer = turns.run("chat", "m", lambda turn: turn.step("tool", str, "an-api-key-of-a-bank at address-of-the-bank"))

    assert answer == "[hidden:BANK_API_KEY] at address-of-the-bank"


def test_a_message_must_be_recordable(agent: Agent) -> None:
    with pytest.raises(NotRecordable):
        agent.run(Loop(agent), text=object())
    assert agent.turns is not None
    assert agent.turns.unfinished() == []


def test_a_coroutine_function_needs_run_async(agent: Agent) -> None:
    async def loop(turn: Turn) -> None: ...

    with pytest.raises(TypeError, match="run_async"):
        agent.run(loop)


def test_a_step_may_run_a_turn_of_its_own(agent: Agent) -> None:
    def research(topic: str) -> str:
        return str(agent.run(Loop(agent), chat="research", message=topic, text=topic))

    assert agent.run(lambda turn: turn.step("tool:call_1", research, "bees")) == "answer 3!"


def test_a_hold_of_an_inner_turn_is_no_answer_of_the_step_around_it(agent: Agent) -> None:
    dies = ["note"]

    def research(topic: str) -> str:
        return str(agent.run(Loop(agent, dies.pop() if dies else ""), chat="research", message=topic, text=topic))

    def loop(turn: Turn) -> Any:
        return turn.step("tool:call_1", research, "bees")

    turns = agent.open([Safe(research)])
    with pytest.raises(Killed):
        agent.run(loop)
    stop = held(agent, loop)
    assert (stop.run.chat_id, stop.held.steps) == ("research", ["tool:1:0:call_9"])
    turns.decide(stop.held, Choice.CONFIRMED_COMPLETED, origin=ORIGIN, note="it stands there", result_text="noted")

    assert agent.run(loop) == "answer 3!"
    assert agent.outside.lines == ["asked", "noted answer 1", "asked"]


def test_a_failed_step_that_nobody_caught_ends_the_turn(agent: Agent) -> None:
    def breaks() -> None:
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(TurnFailed, match="tool:0:0: ValueError: no"):
            agent.run(lambda turn: turn.step("tool", breaks))


def test_the_end_of_a_turn_before_a_recorded_step_is_held(agent: Agent) -> None:
    crash(agent, Loop(agent, dies="model 3"))
    turns = agent.open()
    turns.grant(held(agent, Loop(agent)).held, origin=ORIGIN)

    stop = held(agent, lambda turn, text="go": turn.step("model", Loop(agent).model, [text]))

    assert (stop.held.reason, stop.held.steps) == (HoldReason.DIVERGED, ["tool:1:0:call_9"])
    assert "Now: the end of the turn." in str(stop)


def test_outcomes_of_steps_are_seen_in_the_journal(agent: Agent) -> None:
    def breaks() -> None:
        raise ValueError("no")

    def loop(turn: Turn) -> str:
        with pytest.raises(StepFailed):
            turn.step("tool:a", breaks)
        return str(turn.step("delivery", str, 1))

    agent.run(loop)

    assert agent.turns is not None
    (run,) = agent.turns.journal.runs_of("chat")
    calls = agent.turns.journal.calls(run.run_id)
    assert [(call.name, call.outcome, call.error) for call in calls] == [("breaks", Outcome.ERROR, "no"), ("str", Outcome.OK, "")]
