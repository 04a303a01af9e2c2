"""The turns that are killed: what the model says, what a person does and when, how each must end.

A scripted model answers by what it is shown, so that a request that is made again gets the same answer. Every step of a
person depends on what can be seen from outside, so that it makes no difference in which life it is done.
A new capability adds a story here, and nothing else.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from refhost.client import Reply
from refhost.model import answer, error, native, prose, use
from tests.points.play import ADDED, CHAT, Play
from tests.support.story import API

TEXT, SECOND, THIRD = "please do it once", "a second thought", "a third thought"
RESULT_A, RESULT_B = "result-of-a", "result-of-b"
FAILED_B = "RepairableException: effect b failed"
NO_ANSWER = "Model answered 418"
WHILE_OFF = "said while it was off"
UPDATED = "The update was sent."
DIG, DIG_DEEPER = "dig in the garden", "look below the tree"
UP, DEEP = "the garden was dug", "the tree was looked below"
SEEN, NOT_SEEN = "The outside file has the line.", "The outside file has no line."


@dataclass(frozen=True)
class Step:
    """One thing that a person, or the world, does once."""

    key: str
    when: Callable[[Play], bool]
    do: Callable[[Play], Any]
    needed: bool = True


def _no_env(play: Play) -> dict[str, str]:
    return {}


@dataclass(frozen=True)
class Story:
    name: str
    meaning: str
    script: Callable[[Play], None]
    steps: tuple[Step, ...]
    order: tuple[tuple[str, ...], ...]  # what the model must see, each once, in this order; alternatives in one place
    below: tuple[tuple[tuple[str, ...], ...], ...] = ()  # the same of each subordinate, which knows nothing else
    said: tuple[str, ...] = (TEXT,)  # bubbles of the person
    answers: tuple[str, ...] = ("all done",)
    states: tuple[str, ...] = ("completed",)
    effects: Mapping[str, int] = field(default_factory=lambda: {"a": 1})  # how often each must have begun
    live_holds: frozenset[str] = frozenset()  # reasons to hold that do not come from a crash
    must_meet: frozenset[str] = frozenset()  # reasons to hold that a person must have been shown
    before: tuple[str, ...] = ()  # kills that lead up to the life that is explored
    only: tuple[str, ...] = ()  # explored at points that begin like one of these, else at all from the first message on
    plugins: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    env: Callable[[Play], dict[str, str]] = _no_env
    choose: Callable[[Play, dict[str, Any]], Reply | None] = lambda play, detail: None
    emptied: bool = False  # the chat is reset on the way
    unrecorded: int = 0  # requests of a turn while the plugin was off

    def decide(self, play: Play, detail: dict[str, Any]) -> Reply:
        """As this story wants it, else as an honest person who looked at the outside file."""
        chosen = self.choose(play, detail)
        return honest(play, detail) if chosen is None else chosen


def honest(play: Play, detail: dict[str, Any]) -> Reply:
    panel, reason = play.panel, detail["run"]["reason"]["code"]
    if reason == "model_interrupted":
        return panel.grant(detail)
    if any(offer["id"] == "resume" and offer["allowed"] for offer in detail["decisions"]):
        return panel.decide(detail, "resume")
    name = effect_of(detail)
    if play.started(name):
        return panel.decide(detail, "confirmed_completed", SEEN, result_text=f"result-of-{name}")
    return panel.decide(detail, "confirmed_not_completed", NOT_SEEN)


def effect_of(detail: dict[str, Any]) -> str:
    """The effect that this hold asks about."""
    asked = next(offer["call_id"] for offer in detail["decisions"] if offer["call_id"] and offer["allowed"])
    call = next(call for call in detail["calls"] if call["call_id"] == asked)
    arguments = call["arguments_masked"]
    return f"reply:{arguments['text'].split()[0]}" if call["kind"] == "delivery" else str(arguments["arg"])


def says(key: str, text: str, when: Callable[[Play], bool] = lambda play: True) -> Step:
    return Step(key, when, lambda play: play.send(key, text))


def opens_gate(after: str) -> Step:
    return Step("gate", lambda play: after in play.done, lambda play: play.path("gate").touch())


def has_begun(play: Play) -> bool:
    return play.started("a")


FIRST = says("first", TEXT)
REPORT = "It may have happened and may still be running"


def in_mode(**mode: str) -> tuple[Step, Step]:
    """The settings under which the run is admitted, and then its message."""
    return (
        Step("mode", lambda play: True, lambda play: play.client.configure(mode)),
        says("first", TEXT, lambda play: "mode" in play.done),
    )


# -- scripts ------------------------------------------------------------------------------------


def effect_a(play: Play, *, gate: bool = False, **more: Any) -> dict[str, Any]:
    return use("effect", arg="a", value=RESULT_A, **({"gate": str(play.path("gate"))} if gate else {}), **more)


def one_effect(play: Play) -> None:
    play.model.script(answer("all done"), when=RESULT_A, repeat=True)
    play.model.script(effect_a(play), when=TEXT, repeat=True)


def reported_effect(play: Play) -> None:
    play.model.script(answer("all done"), when=REPORT, repeat=True)
    one_effect(play)


def gated_effect(play: Play) -> None:
    play.model.script(answer("all done"), when=RESULT_A, repeat=True)
    play.model.script(effect_a(play, gate=True), when=TEXT, repeat=True)


def one_job(play: Play) -> None:
    """With one job the order of its moments is always the same."""
    play.model.script(answer("all done"), when=RESULT_A, repeat=True)
    job = {"tool_name": "effect", "tool_args": {"arg": "a", "value": RESULT_A}}
    play.model.script(use("parallel", tool_calls=[job]), when=TEXT, repeat=True)


def failing_effect(play: Play) -> None:
    for seen in (FAILED_B, RESULT_B):
        play.model.script(answer("all done"), when=seen, repeat=True)
    play.model.script(use("effect", arg="b", raises="repairable"), when=TEXT, repeat=True)


def refused_by_the_model(play: Play) -> None:
    play.model.script(answer("all done"), when=NO_ANSWER, repeat=True)
    play.model.script(error(418), when=TEXT, repeat=True)


def interrupted_effect(play: Play) -> None:
    play.model.script(answer("all done"), when=SECOND, repeat=True)
    play.model.script(answer("the second never came"), when=RESULT_A, repeat=True)
    play.model.script(effect_a(play, gate=True, poll=True, progress="half way"), when=TEXT, repeat=True)


def interrupted_answer(play: Play) -> None:
    play.model.script(answer("all done"), when=SECOND, repeat=True)
    play.model.script(prose("a long answer " * 40, chunk=4, delay=0.02), when=TEXT, repeat=True)


def cut_answer(play: Play) -> None:
    """Only the first request is answered slowly."""
    play.model.script(prose("a long answer " * 40, chunk=4, delay=0.05), when=TEXT)
    play.model.script(answer("all done"), when=TEXT, repeat=True)


def two_messages(play: Play) -> None:
    play.model.script(answer("all done"), when=RESULT_A, repeat=True)
    play.model.script(effect_a(play, gate=True), when=TEXT, repeat=True)


def left_over_messages(play: Play) -> None:
    play.model.script(answer("second answer"), when=SECOND, repeat=True)
    gated_effect(play)


def after_the_end(play: Play) -> None:
    play.model.script(answer("second answer"), when=SECOND, repeat=True)
    play.model.script(answer("all done"), when=TEXT, repeat=True)


def queued_one(play: Play) -> None:
    play.model.script(answer("second answer"), when=SECOND, repeat=True)
    gated_effect(play)


def odd_result(play: Play) -> None:
    play.model.script(answer("all done"), when=RESULT_A, repeat=True)
    play.model.script(use("odd", arg="a"), when=TEXT, repeat=True)


def several_calls(play: Play) -> None:
    play.model.script(answer("all done"), when=RESULT_B, repeat=True)
    calls = [("effect", {"arg": name, "value": f"result-of-{name}"}) for name in "ab"]
    play.model.script(native(*calls), when=TEXT, repeat=True)


def chain_of_agents(play: Play) -> None:
    """Each agent but the deepest asks for one more, which has an effect."""
    play.model.script(answer("all done"), when=UP, repeat=True)
    play.model.script(answer(UP), when=DEEP, repeat=True)
    play.model.script(answer(DEEP), when=RESULT_A, repeat=True)
    play.model.script(effect_a(play), when=DIG_DEEPER, repeat=True)
    play.model.script(use("call_subordinate", message=DIG_DEEPER, reset="true"), when=DIG, repeat=True)
    play.model.script(use("call_subordinate", message=DIG, reset="true"), when=TEXT, repeat=True)


def delegation_and_more(play: Play) -> None:
    """A subordinate and a tool of its own in one answer."""
    play.model.script(answer("all done"), when=RESULT_B, repeat=True)
    play.model.script(answer(UP), when=RESULT_A, repeat=True)
    play.model.script(effect_a(play), when=DIG, repeat=True)
    calls = ("call_subordinate", {"message": DIG, "reset": "true"}), ("effect", {"arg": "b", "value": RESULT_B})
    play.model.script(native(*calls), when=TEXT, repeat=True)


def everything(play: Play) -> None:
    play.model.script(answer("all done"), when=NO_ANSWER, repeat=True)
    for seen in (FAILED_B, RESULT_B):
        play.model.script(error(418), when=seen, repeat=True)
    play.model.script(use("effect", arg="b", raises="repairable"), when=RESULT_A, repeat=True)
    play.model.script(effect_a(play, gate=True), when=TEXT, repeat=True)


def answers_a_mail(play: Play) -> None:
    play.model.script(answer("all done"), when=UPDATED, repeat=True)
    play.model.script(use("response", text="half way", break_loop=False), when=TEXT, repeat=True)


def mails(play: Play) -> None:
    play.client.mail(CHAT, TEXT, play.ids.setdefault("first", uuid.uuid4().hex))


ODD = """
import os
from helpers import tool

class Odd(tool.Tool):
    async def execute(self, **kwargs):
        handle = os.open(os.environ["EFFECTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        for what in ("start", "end"):
            os.write(handle, f"{what} a {os.getpid()}\\n".encode())
        os.close(handle)
        return tool.Response(message="result-of-a", break_loop=False, additional={"what": object()})
"""
SLOW_END = """
import asyncio, os
from pathlib import Path
from helpers.extension import Extension

class SlowEnd(Extension):
    async def execute(self, **kwargs):
        Path(os.environ["AT_END"]).touch()
        while not Path(os.environ["GO_ON"]).exists():
            await asyncio.sleep(0.01)
"""


LOST_FILE = """
import os
from helpers import persist_chat
from helpers.extension import Extension

class LostFile(Extension):
    async def execute(self, **kwargs):
        if os.environ["LOSES_FILE"]:
            persist_chat.save_tmp_chat(self.agent.context)
            persist_chat.save_tmp_chat = lambda ctx: None
"""


def lost_file_env(play: Play) -> dict[str, str]:
    """What the first life writes of the chat from its first tool on is lost with it."""
    return {"LOSES_FILE": "yes" if len(play.lives) == 1 else ""}


def slow_end_env(play: Play) -> dict[str, str]:
    return {"AT_END": str(play.path(f"at_end-{len(play.lives)}")), "GO_ON": str(play.path("gate"))}


def stands_at_its_end(play: Play) -> bool:
    """In this life: a message that came earlier would still be part of the turn."""
    return play.path(f"at_end-{len(play.lives)}").exists()


def make_task(play: Play) -> None:
    """A task that is due; made once, also if its making was not answered."""
    if not (play.world.usr / "scheduler" / "tasks.json").exists():
        due = (datetime.now(UTC) - timedelta(minutes=1)).isoformat()
        play.client.call("scheduler_task_create", {"name": "Task", "prompt": TEXT, "plan": [due], "context_id": CHAT})


def queue_second(play: Play) -> None:
    play.client.queue(CHAT, SECOND, play.ids.setdefault("queued", uuid.uuid4().hex))


# -- what a person does -------------------------------------------------------------------------


def stop_by_decision(play: Play) -> None:
    """Recovery offers Stop for a running run too. A form that is out of date is looked at again."""
    run = play.run_view()
    if run and run["state"] not in ("completed", "stopped", "failed"):
        reply = play.panel.decide(play.panel.run(run["run_id"]), "stop")
        assert reply.status == 200, reply.text


def left_over(play: Play, text: str) -> dict[str, Any] | None:
    """The request that settles this message, while nobody has."""
    runs = [run for run in play.panel.all_runs() if run["chat_id"] == CHAT]
    for run in (play.panel.run(each["run_id"]) for each in runs):
        for message in run["messages"]:
            if message["text"] == text and message["state"] == "offered":
                return {"run_id": run["run"]["run_id"], "version": run["run"]["version"], "input_id": message["input_id"]}
    return None


def is_left_over(text: str) -> Callable[[Play], bool]:
    """Or was settled, in a life that did not live to say so."""
    return lambda play: left_over(play, text) is not None or ("stop" in play.done and len(play.lives) > 1)


def settles(text: str, action: str) -> Callable[[Play], None]:
    def settle(play: Play) -> None:
        found = left_over(play, text)
        if found is not None:
            play.client.call(API + "message_settle", {**found, "action": action})

    return settle


def nudge_if_running(play: Play) -> None:
    run = play.run_view()
    if run and run["state"] == "running":
        play.client.nudge(CHAT)


def stop_chosen(play: Play, detail: dict[str, Any]) -> Reply | None:
    return play.panel.decide(detail, "stop") if play.started("a") else None


def start_over_once(play: Play, detail: dict[str, Any]) -> Reply | None:
    """Wants the effect to begin twice."""
    asks = any(offer["id"] == "new_attempt" and offer["allowed"] for offer in detail["decisions"])
    if asks and play.world.effects().count("start a") < 2:
        return play.panel.decide(detail, "new_attempt", "Once more.")
    return None


def wait_off(play: Play) -> bool:
    return "off" in play.done and not play.panel.status()["active"]


def switch_off(play: Play) -> None:
    play.client.toggle(False)


def off_or_on_again(play: Play) -> bool:
    """Switched off; or the server died while it was switched on, and the next life has it on already."""
    return "off" in play.done and (wait_off(play) or len(play.lives) > 2)


def is_held(play: Play) -> bool:
    return any(item["chat_id"] == CHAT for item in play.panel.needs_you())


def effect_and_a_turn_of_its_own(play: Play) -> None:
    play.model.script(answer("said without a record"), when=WHILE_OFF, repeat=True)
    one_effect(play)


def use_while_off(play: Play) -> None:
    play.client.say(CHAT, WHILE_OFF)
    play.client.wait_idle(CHAT)


def go_back(play: Play, detail: dict[str, Any]) -> Reply | None:
    return play.panel.restore(detail, "Go back") if detail["run"]["reason"]["code"] == "chat_moved_on" else None


def suspend(play: Play) -> None:
    play.client.call(API + "suspend")


def is_put_aside(play: Play) -> bool:
    """By this life. A later one knows nothing of it: there it is over at once."""
    found = play.panel.status()["suspension"]
    return "suspend" in play.done and (found is None or found["state"] == "suspended")


def add_a_file(play: Play) -> None:
    (play.world.plugin_folder / ADDED).write_text("// nobody reviewed this\n", "utf-8")


def noticed(play: Play) -> bool:
    """By this life, or never: a later one finds the file there from the start."""
    return "change" in play.done and (len(play.lives) > 1 or ADDED in play.panel.status()["changed"]["plugin"])


SAVED, STALE = "saved as revision 1", "Not saved: revision 1"


def plan_value(*names: str) -> dict[str, Any]:
    return {"title": "A plan", "items": [{"id": name, "text": name, "done": False} for name in names]}


def written_too_late(play: Play) -> None:
    """The agent writes its plan, a person does while a tool runs, and then the agent from the revision that it knows."""
    play.model.script(answer("all done"), when=STALE, repeat=True)
    play.model.script(use("durable_plan", action="replace", expected_revision=1, value=plan_value("agent")), when=RESULT_A, repeat=True)
    play.model.script(effect_a(play, gate=True), when=SAVED, repeat=True)
    play.model.script(use("durable_plan", action="replace", expected_revision=0, value=plan_value("first")), when=TEXT, repeat=True)


def plan_of(play: Play) -> dict[str, Any]:
    shown: dict[str, Any] = play.client.call(API + "document_read", {"chat_id": CHAT})
    return shown


def edit_plan(play: Play) -> None:
    """The same edit again is one edit."""
    body = {"chat_id": CHAT, "expected_revision": 1, "value": plan_value("person")}
    assert play.client.call(API + "document_save", body)["document"]["revision"] == 2


def settle_plan(play: Play) -> None:
    for conflict in plan_of(play)["conflicts"]:
        body = {"conflict_id": conflict["conflict_id"], "choice": "merged", "expected_revision": 2, "value": conflict["merged"]}
        play.client.call(API + "document_resolve", body)
    shown = plan_of(play)
    assert (shown["document"]["revision"], shown["waiting"]) == (3, 0)
    assert [item["id"] for item in shown["document"]["value"]["items"]] == ["agent", "person"]


def has_conflict(play: Play) -> bool:
    """Once both versions are there; a server that dies while it settles them leaves one or none."""
    shown = plan_of(play)
    return bool(shown["waiting"]) or shown["document"]["revision"] == 3


A_ONCE = (('"arg": "a"',), (RESULT_A,))
UNKNOWN = ("effect.tool.started:1",)  # dies in the effect: the next life holds it

RICHEST = "richest"

STORIES: dict[str, Story] = {
    story.name: story
    for story in (
        Story("tool", "a text tool call, from the very first start on", one_effect, (FIRST,), ((TEXT,), *A_ONCE), only=("",)),
        Story(
            "failing",
            "a tool that fails after its effect",
            failing_effect,
            (FIRST,),
            ((TEXT,), ('"arg": "b"',), (FAILED_B, RESULT_B)),
            effects={"b": 1},
        ),
        Story(
            "job", "a job of `parallel`, which is a run of its own and for which its parent waits", one_job, (FIRST,), ((TEXT,), *A_ONCE)
        ),
        Story(
            "job_again",
            "a job of `parallel` is taken on where its record ends, after a kill",
            one_job,
            (FIRST,),
            ((TEXT,), *A_ONCE),
            before=("job.begun:1",),
        ),
        Story("model_error", "a model that answers with an error", refused_by_the_model, (FIRST,), ((TEXT,), (NO_ANSWER,)), effects={}),
        Story(
            "intervention",
            "a message interrupts a running tool",
            interrupted_effect,
            (FIRST, says("second", SECOND, has_begun), opens_gate("second")),
            ((TEXT,), ('"arg": "a"',), ("half way", RESULT_A), (SECOND,)),
            said=(TEXT, SECOND),
        ),
        Story(
            "cut_in",
            "a message interrupts the model's answer",
            interrupted_answer,
            (FIRST, says("second", SECOND, lambda play: bool(play.model.requests("chat")))),
            ((TEXT,), (SECOND,)),
            said=(TEXT, SECOND),
            effects={},
        ),
        Story(
            "two",
            "two messages come while a tool runs",
            two_messages,
            (FIRST, says("second", SECOND, has_begun), says("third", THIRD, lambda play: "second" in play.done), opens_gate("third")),
            ((TEXT,), *A_ONCE, (SECOND,), (THIRD,)),
            said=(TEXT, SECOND, THIRD),
        ),
        Story(
            "late",
            "a message comes after the turn's last look",
            after_the_end,
            (FIRST, says("second", SECOND, stands_at_its_end), opens_gate("second")),
            ((TEXT,), (SECOND,)),
            said=(TEXT, SECOND),
            answers=("all done", "second answer"),
            states=("completed", "completed"),
            effects={},
            plugins={"slow_end": {"extensions/python/monologue_end/_99_slow_end.py": SLOW_END}},
            env=slow_end_env,
        ),
        Story(
            "left_over",
            "a message whose turn ended, and the process with it, before it became a turn",
            after_the_end,
            (FIRST, says("second", SECOND, stands_at_its_end), opens_gate("second")),
            ((TEXT,), (SECOND,)),
            said=(TEXT, SECOND),
            answers=("all done", "second answer"),
            states=("completed", "completed"),
            effects={},
            before=("close_run.answered:1",),
            only=("launch.late", "message.next_turn", "admit", "close_run"),
            plugins={"slow_end": {"extensions/python/monologue_end/_99_slow_end.py": SLOW_END}},
            env=slow_end_env,
        ),
        Story(
            "delivered",
            "a mail is answered by an update in the middle and by the answer: each is sent once, whatever the moment",
            answers_a_mail,
            (Step("first", lambda play: True, mails),),
            ((TEXT,), (UPDATED,)),
            answers=("half way", "all done"),
            effects={"reply:half": 1, "reply:all": 1},
        ),
        Story(
            "scheduled",
            "a planned task is due, and nobody sends anything",
            one_effect,
            (Step("task", lambda play: True, make_task),),
            ((TEXT,), *A_ONCE),
            said=(f"## Task:\n{TEXT}",),
            env=lambda play: {"JOB_LOOP_SECONDS": "0.2"},
        ),
        Story(
            "scheduled_again",
            "the turn of a task goes on after a kill and hands its result in",
            one_effect,
            (Step("task", lambda play: True, make_task),),
            ((TEXT,), *A_ONCE),
            said=(f"## Task:\n{TEXT}",),
            env=lambda play: {"JOB_LOOP_SECONDS": "0.2"},
            before=("finish_call.tool.answered:1",),
        ),
        Story(
            "queued",
            "a message is queued while a tool runs",
            queued_one,
            (FIRST, Step("queue", has_begun, queue_second), opens_gate("queue")),
            ((TEXT,), *A_ONCE, (SECOND,)),
            said=(TEXT, SECOND),
            answers=("all done", "second answer"),
            states=("completed", "completed"),
            only=("queue", "admit", "close_run", "begin_call", "launch"),
        ),
        Story(
            "stop",
            "a person stops the run while its tool runs",
            gated_effect,
            (FIRST, Step("stop", has_begun, stop_by_decision), opens_gate("stop")),
            ((TEXT,), ('"arg": "a"',)),
            answers=(),
            states=("stopped",),
            choose=stop_chosen,
        ),
        Story(
            "nudge",
            "a person nudges a chat whose tool runs",
            gated_effect,
            (FIRST, Step("nudge", has_begun, nudge_if_running), opens_gate("nudge")),
            ((TEXT,), *A_ONCE),
            live_holds=frozenset({"outcome_unknown"}),
        ),
        Story(
            "reset",
            "a person resets a chat whose tool runs",
            gated_effect,
            (FIRST, Step("reset", has_begun, lambda play: play.client.reset(CHAT)), opens_gate("reset")),
            (),
            said=(),
            answers=(),
            states=("stopped",),
            choose=lambda play, detail: play.panel.decide(detail, "stop") if play.started("a") else None,
            emptied=True,
        ),
        Story(
            "plan",
            "the agent and a person write the plan, one of them too late, and a person settles it",
            written_too_late,
            (FIRST, Step("edit", has_begun, edit_plan), opens_gate("edit"), Step("settle", has_conflict, settle_plan)),
            ((TEXT,), (SAVED,), *A_ONCE, (STALE,)),
            only=("finish_writing", "save_document", "settle_conflict"),
        ),
        Story(
            "offered",
            "after a stop a person sends one of the messages that waited, and discards the other",
            left_over_messages,
            (
                FIRST,
                says("second", SECOND, has_begun),
                says("third", THIRD, lambda play: "second" in play.done),
                Step("stop", lambda play: "third" in play.done, stop_by_decision),
                Step("discard", is_left_over(THIRD), settles(THIRD, "discard")),
                Step("send", lambda play: "discard" in play.done and is_left_over(SECOND)(play), settles(SECOND, "send")),
                opens_gate("send"),
            ),
            ((TEXT,), ('"arg": "a"',), (SECOND,)),
            said=(TEXT, SECOND, THIRD),
            answers=("second answer",),
            states=("stopped", "completed"),
            choose=stop_chosen,
            only=("discard_input", "admit", "stop", "decide.stop", "keep_input"),
        ),
        Story(
            "suspend",
            "everything is suspended while a tool runs, and goes on when no restart comes",
            gated_effect,
            (
                FIRST,
                Step("suspend", has_begun, suspend),
                opens_gate("suspend"),
                Step("resume", is_put_aside, lambda play: play.client.call(API + "suspend", {"action": "resume"})),
            ),
            ((TEXT,), *A_ONCE),
            # whether the step's resume point is written before all is put aside decides what is served afterwards
            only=("suspend", "launch", "claim", "begin_call", "finish_call", "effect", "close_run"),
        ),
        Story(
            "cut",
            "a suspension cuts off the model's answer, which is asked for again",
            cut_answer,
            (
                FIRST,
                Step("suspend", lambda play: bool(play.model.requests("chat")), suspend),
                Step("resume", is_put_aside, lambda play: play.client.call(API + "suspend", {"action": "resume"})),
            ),
            ((TEXT,),),
            effects={},
            only=("suspend", "launch", "claim", "begin_call"),
        ),
        Story(
            "completed",
            "a person confirms that an unknown step happened",
            one_effect,
            (FIRST,),
            ((TEXT,), *A_ONCE),
            before=UNKNOWN,
            only=("decide", "release", "hold", "launch", "claim", "serve"),
        ),
        Story(
            "not_completed",
            "a person confirms that an unknown step did not happen",
            one_effect,
            (FIRST,),
            ((TEXT,), *A_ONCE),
            before=("begin_call.tool.answered:1",),
            only=("decide", "release", "launch", "claim", "begin_call", "effect"),
        ),
        Story(
            "attempt",
            "a person starts an unknown step over",
            one_effect,
            (FIRST,),
            ((TEXT,), *A_ONCE),
            before=UNKNOWN,
            effects={"a": 2},
            choose=start_over_once,
            only=("decide", "release", "launch", "claim", "begin_call", "effect"),
        ),
        Story(
            "given_up",
            "a person stops a run that is held",
            one_effect,
            (FIRST,),
            ((TEXT,), ('"arg": "a"',)),
            before=UNKNOWN,
            answers=(),
            states=("stopped",),
            choose=stop_chosen,
            only=("decide", "release", "stop"),
        ),
        Story(
            "granted",
            "a person allows a cut-off model call again",
            one_effect,
            (FIRST,),
            ((TEXT,), *A_ONCE),
            before=("effect.model.asked:1",),
            only=("grant", "release", "launch", "claim", "begin_call", "effect"),
        ),
        Story(
            "reported",
            "a run tells its model of an unknown step and goes on, as it was set",
            reported_effect,
            in_mode(interrupted_tool_call="report"),
            ((TEXT,), ('"arg": "a"',), (REPORT,)),
            before=UNKNOWN,
            only=("scan", "settle", "launch", "claim", "begin_call", "serve", "checkpoint", "close_run"),
        ),
        Story(
            "retried",
            "a cut-off model call is asked once more, as it was set",
            one_effect,
            in_mode(interrupted_model_call="retry"),
            ((TEXT,), *A_ONCE),
            before=("effect.model.asked:1",),
            only=("scan", "settle", "launch", "claim", "begin_call", "effect"),
        ),
        Story(
            "ended",
            "a restart ends a run, as it was set",
            one_effect,
            in_mode(on_restart="off"),
            ((TEXT,), ('"arg": "a"',)),
            before=UNKNOWN,
            answers=(),
            states=("stopped",),
            only=("scan", "stop", "begin_recovery"),
        ),
        Story(
            "unservable",
            "a result that cannot be given back holds a living run",
            odd_result,
            (FIRST,),
            ((TEXT,), *A_ONCE),
            before=("finish_call.tool.answered:1",),
            live_holds=frozenset({"not_servable"}),
            plugins={"odd": {"tools/odd.py": ODD}},
            only=("hold", "park", "decide", "release", "launch", "claim"),
        ),
        Story(
            "loop",
            "a run that took its process down three times is held, and goes on when a person says so",
            one_effect,
            (FIRST,),
            ((TEXT,), *A_ONCE),
            must_meet=frozenset({"crash_loop"}),
            before=("finish_call.tool.answered:1", "launch.started:1", "launch.started:1", "launch.started:1"),
            only=("begin_recovery", "settle", "decide", "claim"),
        ),
        Story(
            "early_loop",
            "a chat that cannot be rebuilt without taking the process down is held after three attempts",
            one_effect,
            (FIRST,),
            ((TEXT,), *A_ONCE),
            must_meet=frozenset({"crash_loop"}),
            before=("finish_call.tool.answered:1", "scan.rebuilt:1", "scan.rebuilt:1", "scan.rebuilt:1"),
            only=("decide.resume.committed",),
        ),
        Story(
            "switch",
            "the plugin is switched off and on again while a run is held",
            one_effect,
            (FIRST, Step("off", is_held, switch_off), Step("on", off_or_on_again, lambda play: play.client.toggle(True))),
            ((TEXT,), *A_ONCE),
            before=UNKNOWN,
            only=("off", "adapter", "close", "note_chat_saved", "open", "files", "scan", "merge"),
        ),
        Story(
            "moved_on",
            "a held chat is used while the plugin is off, and a person goes back to its saved state",
            effect_and_a_turn_of_its_own,
            (
                FIRST,
                Step("off", is_held, switch_off),
                Step("use", wait_off, use_while_off),
                Step("on", lambda play: "use" in play.done, lambda play: play.client.toggle(True)),
            ),
            ((TEXT,), *A_ONCE),
            before=UNKNOWN,
            live_holds=frozenset({"chat_moved_on"}),
            must_meet=frozenset({"chat_moved_on"}),
            choose=go_back,
            unrecorded=1,
            only=("choose_state", "state_restored", "release", "scan.rebuil", "scan.saved"),
        ),
        Story(
            "behind",
            "the chat of a finished run was not written in time, and is completed at the next start",
            one_effect,
            (FIRST,),
            ((TEXT,), *A_ONCE),
            before=("close_run.committed:1",),
            plugins={"lost_file": {"extensions/python/tool_execute_before/_99_lost_file.py": LOST_FILE}},
            env=lost_file_env,
            only=("begin_completion", "end_completion", "scan"),
        ),
        Story(
            "changed",
            "a file of the plugin changes under the running server, which notes it",
            gated_effect,
            (FIRST, Step("change", has_begun, add_a_file), Step("gate", noticed, lambda play: play.path("gate").touch())),
            ((TEXT,), *A_ONCE),
            env=lambda play: {"JOB_LOOP_SECONDS": "0.2"},
            only=("note_changes",),
        ),
        Story(
            "native",
            "several calls in one answer",
            several_calls,
            (FIRST,),
            ((TEXT,), *A_ONCE[:1], ('"arg": "b"',), (RESULT_A,), (RESULT_B,)),
            effects={"a": 1, "b": 1},
        ),
        Story(
            "subordinates",
            "a chain of subordinates, of which the deepest uses a tool",
            chain_of_agents,
            (FIRST,),
            ((TEXT,), (f'"message": "{DIG}"',), (UP,)),
            answers=(DEEP, UP, "all done"),
            below=(((DIG_DEEPER,), *A_ONCE), ((DIG,), (f'"message": "{DIG_DEEPER}"',), (DEEP,))),
        ),
        Story(
            "handed_up",
            "answers go up to agents whose process is gone",
            chain_of_agents,
            (FIRST,),
            ((TEXT,), (f'"message": "{DIG}"',), (UP,)),
            answers=(DEEP, UP, "all done"),
            below=(((DIG_DEEPER,), *A_ONCE), ((DIG,), (f'"message": "{DIG_DEEPER}"',), (DEEP,))),
            before=UNKNOWN,
            only=("hand_up", "close_call", "launch", "claim", "serve", "checkpoint", "finish_call.model"),
        ),
        Story(
            "delegation",
            "a subordinate and another call in one answer",
            delegation_and_more,
            (FIRST,),
            ((TEXT,), (f'"message": "{DIG}"',), ('"arg": "b"',), (UP,), (RESULT_B,)),
            answers=(UP, "all done"),
            below=(((DIG,), *A_ONCE),),
            effects={"a": 1, "b": 1},
        ),
        Story(
            RICHEST,
            "a tool, two messages, a failing tool, a model error, an answer: every kill is followed by every kill in the recovery",
            everything,
            (FIRST, says("second", SECOND, has_begun), says("third", THIRD, lambda play: "second" in play.done), opens_gate("third")),
            ((TEXT,), *A_ONCE, (SECOND,), (THIRD,), ('"arg": "b"',), (FAILED_B, RESULT_B), (NO_ANSWER,)),
            said=(TEXT, SECOND, THIRD),
            effects={"a": 1, "b": 1},
        ),
    )
}
