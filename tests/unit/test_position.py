"""Where the agents of a run stand: the keys of their calls, who works for whom, and what a resume point puts back."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from usr.plugins.durable_execution.bridge.position import OpenTool, Position


def chat(agents: int) -> Any:
    """A chat of the host with a chain of that many agents."""
    ctx = SimpleNamespace()
    chain = [SimpleNamespace(number=number, context=ctx, data={}) for number in range(agents)]
    for above, below in pairwise(chain):
        above.data["_subordinate"] = below
    ctx.agent0, ctx.chain = chain[0], chain
    return ctx


def asks(position: Position, path: str, calls: int) -> None:
    position.begin_model_call(path)
    position.asked[path] = calls


def call_subordinate(position: Position, path: str = "A0") -> None:
    position.descend(position.begin_tool_call(path))


def test_tool_calls_are_counted_anew_after_each_model_call() -> None:
    position = Position()

    keys = [
        position.begin_model_call("A0"),
        position.begin_tool_call("A0"),
        position.begin_tool_call("A0"),
        position.begin_model_call("A0"),
        position.begin_tool_call("A0"),
    ]

    assert [key.text for key in keys] == ["A0/1/model/0", "A0/1/tool/0", "A0/1/tool/1", "A0/2/model/0", "A0/2/tool/0"]


def test_looking_at_the_next_keys_moves_nothing() -> None:
    position = Position()
    asks(position, "A0", 1)

    seen = [position.next_tool_key("A0"), position.next_model_key("A0")]

    assert seen == [position.begin_tool_call("A0"), position.begin_model_call("A0")]


def test_the_deepest_agent_is_at_work_and_others_of_the_chat_are_no_part_of_the_run() -> None:
    ctx, position = chat(3), Position()
    asks(position, "A0", 1)
    call_subordinate(position)
    helper = SimpleNamespace(number=1, context=ctx, data={})

    assert position.deepest(ctx) is ctx.chain[1]
    assert [position.path_of(agent) for agent in (*ctx.chain, helper)] == ["A0", "A0.1:0", None, None]


def test_a_subordinate_begins_at_its_first_step_and_nothing_of_it_stays_once_it_answered() -> None:
    position = Position()
    asks(position, "A0", 1)
    call_subordinate(position)
    asks(position, "A0.1:0", 1)
    position.open_tools[1], position.last_said[1] = OpenTool(tool=None), "said"
    assert position.reached() == {"A0": 1, "A0.1:0": 1}

    position.ascend(0)

    assert position.reached() == {"A0": 1}
    assert (position.step_of("A0.1:0"), position.open_tools, position.last_said) == (0, {}, {})


def test_a_call_that_runs_again_makes_a_subordinate_that_begins_at_its_first_step() -> None:
    position = Position()
    asks(position, "A0", 1)
    call = position.begin_tool_call("A0")
    position.descend(call)
    asks(position, "A0.1:0", 1)
    call_subordinate(position, "A0.1:0")

    position.descend(call)

    assert position.reached() == {"A0": 1, "A0.1:0": 0}


def test_who_reads_the_paths_meanwhile_never_sees_them_change() -> None:
    position = Position()
    asks(position, "A0", 1)
    before = position.paths
    call_subordinate(position)
    between = position.paths
    position.ascend(0)

    assert (before, between, position.paths) == ({0: "A0"}, {0: "A0", 1: "A0.1:0"}, {0: "A0"})


def test_below_an_answer_with_several_calls_a_run_is_divided() -> None:
    ctx, position = chat(2), Position()
    asks(position, "A0", 2)
    call_subordinate(position)
    assert [position.is_divided(agent) for agent in ctx.chain] == [False, True]

    position.ascend(0)
    asks(position, "A0", 1)
    call_subordinate(position)
    assert [position.is_divided(agent) for agent in ctx.chain] == [False, False]


def test_a_step_without_a_recorded_answer_is_noticed() -> None:
    position = Position()
    assert not position.is_unrecorded("A0")
    position.begin_model_call("A0")
    assert position.is_unrecorded("A0")
    position.asked["A0"] = 0
    assert not position.is_unrecorded("A0")


def test_from_a_resume_point_the_steps_go_on_and_from_the_start_they_come_again() -> None:
    position = Position()
    position.stand_at({"A0": 4, "A0.4:1": 2}, {0: "A0", 1: "A0.4:1"})
    assert position.begin_model_call("A0.4:1").text == "A0.4:1/3/model/0"

    position.stand_at_start()

    assert position.reached() == {"A0": 0}
    assert position.begin_model_call("A0").text == "A0/1/model/0"


def test_a_resume_point_leaves_nothing_of_what_was_counted_after_it() -> None:
    """The same as in a new process, where nothing but the point is known."""
    position = Position()
    asks(position, "A0", 1)
    call_subordinate(position)
    position.ascend(0)
    asks(position, "A0", 3)
    position.begin_tool_call("A0")
    position.open_tools[0], position.last_said[0] = OpenTool(tool=None), "said"

    position.stand_at({"A0": 1, "A0.1:0": 2}, {0: "A0", 1: "A0.1:0"})

    assert position == Position(paths={0: "A0", 1: "A0.1:0"}, steps={"A0": 1, "A0.1:0": 2})
    assert not position.is_divided(chat(2).chain[1])
