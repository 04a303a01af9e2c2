"""SIGKILL at every moment of a turn with one effect, and a second process that goes on.

A quick part of `make crash`, over the same points and stories: whatever the moment, exactly one effect, every message
and result exactly once and in order in each request that the model received (I14), and a run that ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.points import plan
from tests.points.catalogue import POINTS
from tests.points.play import Case, Play, Stage, play, stage
from tests.points.stories import RESULT_A, STORIES

pytestmark = pytest.mark.crash

MOMENTS = (
    "create.built:1",
    "migrate.written:1",
    "admit.asked:1",
    "admit.written:1",
    "admit.committed:1",
    "begin_call.model.asked:1",
    "begin_call.model.answered:1",
    "effect.model.answering:1",
    "finish_call.model.asked:1",
    "finish_call.model.answered:1",
    "begin_call.tool.asked:1",
    "begin_call.tool.committed:1",
    "effect.tool.started:1",
    "effect.tool.ended:1",
    "finish_call.tool.written:1",
    "finish_call.tool.answered:1",
    "checkpoint.committed:2",
    "begin_call.model.answered:2",
    "finish_call.model.answered:2",
    "begin_call.tool.answered:2",
    "close_run.asked:1",
    "close_run.answered:1",
)
RESUMED, HELD = "finish_call.tool.answered:1", "begin_call.tool.answered:1"
SECONDS = (
    "begin_recovery.asked:1",
    "begin_recovery.answered:1",
    "scan.rebuilding:1",
    "scan.rebuilt:1",
    "settle.written:1",
    "settle.answered:1",
)
RECOVERIES = [
    *((first, second) for first in (RESUMED, HELD) for second in SECONDS),
    *((RESUMED, second) for second in ("claim.asked:1", "claim.answered:1", "launch.started:1", "serve.tool_done:1")),
]
DECISIONS = (
    "decide.confirmed_not_completed.written:1",
    "decide.confirmed_not_completed.committed:1",
    "claim.answered:1",
    "effect.tool.starting:1",
)


CHAINS = (
    "native/begin_call.tool.answered:2",
    "native/finish_call.tool.answered:1",
    "subordinates/checkpoint.written:3",
    "subordinates/close_call.asked:1",
    "handed_up/hand_up.begun:1",
    "handed_up/close_call.committed:2",
    "delegation/close_call.answered:1",
    "delegation/effect.tool.started:2",
)


@pytest.fixture(scope="module")
def on(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage(tmp_path_factory.mktemp("stage")) as made:
        yield made


@pytest.mark.thorough
@pytest.mark.timeout(600)  # every story once, as `make crash` and `make points` do
def test_every_point_is_passed_by_a_story_and_every_passage_is_a_point(on: Stage) -> None:
    passed: set[str] = set()
    for story in STORIES.values():
        played = play(on, story, Case(story.name))
        passed |= {plan.name_of(passage) for trace in played.traces for passage in trace}

    assert sorted(POINTS.keys() - passed) == []
    assert sorted(passed - POINTS.keys()) == []


@pytest.mark.parametrize("moment", MOMENTS)
def test_one_effect_whatever_the_moment_of_the_kill(on: Stage, moment: str) -> None:
    play(on, STORIES["tool"], Case("tool", (moment,)))


@pytest.mark.parametrize(("first", "second"), RECOVERIES)
def test_a_kill_during_recovery_changes_nothing(on: Stage, first: str, second: str) -> None:
    play(on, STORIES["tool"], Case("tool", (first, second)))


@pytest.mark.parametrize("second", DECISIONS)
def test_a_decision_survives_a_kill_and_is_acted_on_once(on: Stage, second: str) -> None:
    play(on, STORIES["not_completed"], Case("not_completed", (second,)))


@pytest.mark.parametrize("moment", ["decide.stop.written:1", "decide.stop.committed:1", "stop.telling:1", "end_completion.asked:1"])
def test_a_stop_survives_a_kill_and_its_chat_is_told_once(on: Stage, moment: str) -> None:
    play(on, STORIES["stop"], Case("stop", (moment,)))


@pytest.mark.parametrize("name", CHAINS)
def test_several_native_calls_and_subordinates_survive_a_kill(on: Stage, name: str) -> None:
    case = Case.of(name)
    play(on, STORIES[case.story], case)


def test_other_chats_work_while_one_is_held_for_taking_the_process_down(on: Stage) -> None:
    answers: list[str] = []

    def ask(played: Play, detail: dict[str, Any]) -> None:
        if not answers:
            answers.append(played.client.say(played.client.create_chat(), RESULT_A))

    played = Play(on, replace(STORIES["loop"], choose=ask), Case("loop"))
    played.run()

    assert answers == ["all done"]
    assert played.lives[-1].holds == ["crash_loop"]
    assert on.world.effects() == ["start a", "end a"]
