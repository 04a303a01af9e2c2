"""The journal is slow or refuses, just when two of our threads meet: no run is left without somebody who goes on with it.

What cannot be hit from outside is arranged inside the server by a test-only plugin; servers, journal and model are real.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from refhost.model import Model, answer, raw, use, with_
from refhost.world import World
from tests.bridge.test_messages import told
from tests.bridge.test_parallel import background, begin, decide, held, tool, wait_children
from tests.bridge.test_scheduled import ODD, QUICK, WORK, minutes_ago, plan
from tests.bridge.test_scoped_switch import PROJECT, by_hand
from tests.bridge.test_suspend import TEXT, begin_stream, suspend, wait_suspended
from tests.support.scenes import begin_effect, ended
from tests.support.story import Panel

MEDDLE = '''
"""Runs what a test says, inside the server."""

from helpers import api


class Do(api.ApiHandler):
    async def process(self, input, request):
        names = {"seen": SEEN}
        exec(input["code"], names)
        return {"seen": SEEN}


SEEN = []
'''

BEGIN = """
import threading, time
from pathlib import Path
from usr.plugins.durable_execution.bridge import anchor, session, suspension, workers
from usr.plugins.durable_execution.journal import recovery
from usr.plugins.durable_execution.journal.errors import StoreLocked
active = anchor.active()
real_suspend, real_interrupt, real_fence = recovery.suspend, recovery.interrupt, session.Session.fence
real_take_on, real_lost = workers._take_on, session.Session.lost_its_task
"""


@pytest.fixture
def inside(world: World) -> Any:
    world.add_plugin("meddle", {"api/do.py": MEDDLE})

    def do(code: str) -> list[str]:
        return list(world.client().call("plugins/meddle/do", {"code": BEGIN + code})["seen"])

    return do


def test_a_suspension_that_the_journal_records_after_it_was_taken_back_does_not_strand_the_run(
    world: World, model: Model, inside: Any, gate: Path
) -> None:
    world.start()
    chat = begin_stream(world, model)
    inside(f"""
def slow(*args, **more):
    recovery.suspend = real_suspend
    seen.append("asked")
    while not Path({str(gate)!r}).exists():
        time.sleep(0.02)
    return real_suspend(*args, **more)
recovery.suspend = slow
""")

    suspend(world)
    world.client().wait(lambda: inside("") == ["asked"], what="the journal to be asked")
    assert suspend(world, "resume")["resumed"] == 0
    gate.touch()

    assert ended(world, chat) == "completed"
    assert len(model.requests("chat")) == 2


def test_a_turn_that_ends_between_its_suspension_and_its_fence_goes_on(world: World, model: Model, inside: Any, gate: Path) -> None:
    """The journal has put it aside already, and refuses its end: it is not over."""
    model.script(with_(answer("all done"), gate="go", gate_at=20), answer("all done"), when=TEXT)
    world.start()
    client = world.client()
    chat = client.create_chat()
    client.send(chat, TEXT)
    model.wait_requests(1)
    inside(f"""
def late(self, run):
    if threading.current_thread().name == "durable-suspend":
        seen.append("put aside")
        while not Path({str(gate)!r}).exists():
            time.sleep(0.02)
    real_fence(self, run)
session.Session.fence = late
from usr.plugins.durable_execution.bridge import turns
real_close = turns.close
async def closing(*args):
    turns.close = real_close
    seen.append("closing")
    return await real_close(*args)
turns.close = closing
""")

    suspend(world)
    client.wait(lambda: inside("") == ["put aside"], what="the journal to put it aside")
    suspend(world, "resume")
    model.release("go")
    client.wait(lambda: inside("") == ["put aside", "closing"], what="the turn to end")
    gate.touch()

    assert ended(world, chat) == "completed"
    assert [item["content"] for item in client.logs(chat) if item["type"] == "response"][1:] == ["all done"]  # after the greeting


def test_an_end_that_a_damaged_record_refuses_is_held_and_said(world: World, model: Model) -> None:
    model.script(with_(answer("all done"), gate="go", gate_at=20), when=TEXT)
    world.start()
    client = world.client()
    chat = client.create_chat()
    client.send(chat, TEXT)
    model.wait_requests(1)
    with sqlite3.connect(world.data_folder / "journal.db", timeout=10) as database:
        database.execute("update blobs set body = x'7b7d' where digest = (select input_digest from runs)")
    database.close()

    model.release("go")

    panel = Panel(client)
    detail = panel.wait_held(chat)
    assert detail["run"]["reason"]["code"] == "checkpoint_corrupt"
    client.wait(lambda: "_durable_execution" in client.context(chat), what="the badge")
    decide(world, detail, "stop")
    assert panel.needs_you() == []
    model.script(answer("again"), when="once more")
    assert client.say(chat, "once more") == "again"


def test_a_suspension_that_begins_just_when_a_job_is_gone_on_with_does_not_end_the_job(
    world: World, model: Model, inside: Any, gate: Path
) -> None:
    world.start()
    background(model, tool("a", gate=str(gate)))
    chat = begin(world)
    assert ended(world, chat) == "completed"
    world.client().wait(lambda: world.effects() == ["start a"], what="the effect")
    world.restart()
    waiting = held(world, 1)
    inside("""
def taken(one, job):
    answer = real_take_on(one, job)
    workers._take_on = real_take_on
    suspension.begin(active, "a test").settled.wait(20)
    return answer
workers._take_on = taken
""")

    decide(world, waiting[1], "confirmed_not_completed")
    wait_suspended(world)
    suspend(world, "resume")
    gate.touch()

    wait_children(world, chat, "completed")
    assert world.effects() == ["start a", "start a", "end a"]


@pytest.mark.parametrize("begun", ["by a person", "by the clock", "as a job"])
def test_a_decision_that_comes_before_the_turn_stands_at_its_hold_is_not_lost(
    world: World, model: Model, inside: Any, gate: Path, begun: str
) -> None:
    """People see a hold from its commit on; a loop that others keep busy brings the turn to it later."""
    call = tool("a", before="connection")
    model.script(answer("all done"), when="tool_result", repeat=True)
    model.script(use("parallel", tool_calls=[call]) if begun == "as a job" else use("effect", **call["tool_args"]))
    client, panel = world.start(env=QUICK).client(), Panel(world.client())
    assert client.configure({"live_unknown": "hold"}).status == 200
    inside(f"""
real_park = session.Session._park
async def late(self, *here):
    session.Session._park = real_park
    while not Path({str(gate)!r}).exists():
        time.sleep(0.02)
    await real_park(self, *here)
session.Session._park = late
""")
    chat = plan(client, minutes_ago(5)) if begun == "by the clock" else begin(world)
    detail = panel.wait_held(chat)

    decide(world, detail, "confirmed_completed", result_text="it is done")
    if begun != "as a job":
        client.wait(lambda: panel.run(detail["run"]["run_id"])["run"]["state"] == "running", what="the run to be set going")
    gate.touch()

    assert ended(world, chat) == "completed"
    assert world.effects() == ["start a"]
    assert len(model.requests("chat")) == 2
    assert panel.needs_you() == []


def test_a_cancelled_scheduled_turn_is_held_although_the_journal_refused_at_first(world: World, model: Model, inside: Any) -> None:
    world.add_plugin("odd", {"tools/odd.py": ODD})
    model.script(use("odd"), when=WORK, repeat=True)
    world.start(env=QUICK)
    client = world.client()
    task = plan(client, minutes_ago(5))
    client.wait(lambda: world.effects() == ["start a"], what="the effect to start")
    inside("""
def refused(self, why):
    session.Session.lost_its_task = real_lost
    seen.append(threading.current_thread().name)
    raise StoreLocked()
session.Session.lost_its_task = refused
for one in active.sessions.values():
    one.handle.get_loop().call_soon_threadsafe(one.handle.cancel)
""")

    held_run = Panel(client).wait_held(task)["run"]

    assert held_run["reason"]["code"] == "outcome_unknown"
    assert inside("") != ["TaskScheduler"]  # that loop serves all tasks


LOSE = """
from agent import AgentContext
AgentContext.get({chat!r}).task.kill()
"""


def test_a_message_that_is_kept_is_not_said_to_be_refused(world: World, model: Model, inside: Any) -> None:
    """Its run could not be gone on with: sent again, as it was told, it would stand there twice."""
    world.start()
    chat = begin_stream(world, model)
    client = world.client()
    inside(LOSE.format(chat=chat))
    client.wait_idle(chat)
    inside("""
def refused(*args, **more):
    recovery.interrupt = real_interrupt
    raise StoreLocked()
recovery.interrupt = refused
""")

    reply = client.say(chat, "one more")

    assert "not taken in" not in reply
    assert client.wait_log(chat, text="Your message was saved")
    assert client.say(chat, "and another") == "all done"
    assert model.requests("chat")[-1].prompt.count("one more") == 1


def test_a_message_that_was_refused_while_it_was_being_written_may_come_again_under_its_own_id(
    world: World, model: Model, inside: Any, gate: Path
) -> None:
    """The queue sends it again by itself, and programs do: nobody would read that it was handled already."""
    model.script(answer("the answer"), answer("never"))
    world.start()
    client = world.client()
    chat = client.create_chat()
    inside(f"""
from usr.plugins.durable_execution.journal import inputs
real_admit = inputs.admit
def slow(*args, **more):
    inputs.admit = real_admit
    while not Path({str(gate)!r}).exists():
        time.sleep(0.02)
    return real_admit(*args, **more)
inputs.admit = slow
""")

    assert "not taken in" in client.say(chat, TEXT, "its-id")
    gate.touch()
    client.wait(lambda: [run["state"] for run in Panel(client).all_runs()] == ["stopped"], what="the refusal to be recorded")

    assert client.say(chat, TEXT, "its-id") == "the answer"
    assert client.say(chat, TEXT, "its-id") == "the answer"
    assert [run["state"] for run in Panel(client).all_runs()] == ["completed", "stopped"]
    world.restart()
    assert len(model.requests("chat")) == 1


def test_a_message_that_was_refused_while_it_was_being_written_is_not_sent_afterwards(
    world: World, model: Model, inside: Any, gate: Path
) -> None:
    """A disk that is slow for a moment: its sender was told to send it again, and the page gives it another id then."""
    written = gate.with_name("written")
    model.script(use("effect", arg="a", gate=str(gate)), answer("all done"), answer("once more"), answer("never"))
    world.start()
    client = world.client()
    chat = begin_effect(world, TEXT)
    inside(f"""
from usr.plugins.durable_execution.journal import inputs
real_keep = inputs.keep
def slow(*args):
    inputs.keep = real_keep
    while not Path({str(written)!r}).exists():
        time.sleep(0.02)
    return real_keep(*args)
inputs.keep = slow
""")

    assert "not taken in" in client.say(chat, "one more", "its-id")
    written.touch()
    gate.touch()

    assert ended(world, chat) == "completed"
    client.wait_idle(chat)
    assert "one more" not in model.requests("chat")[-1].prompt
    assert client.say(chat, "one more", "its-id") == "once more"  # a program keeps the id
    assert [run["state"] for run in Panel(client).all_runs()] == ["completed", "completed"]
    assert len(model.requests("chat")) == 3


def test_a_message_that_comes_while_the_turn_before_is_still_ending_is_refused_and_may_come_again(
    world: World, model: Model, inside: Any, gate: Path
) -> None:
    """Other chats may keep the loop busy for longer than a message waits: the host would hand it to a task that takes none any more."""
    model.script(answer("the first"), answer("the second"))
    world.start()
    client = world.client()
    chat = client.create_chat()
    inside(f"""
real_end = session.Session.end
def late(self, *args):
    session.Session.end = real_end
    real_end(self, *args)
    while not Path({str(gate)!r}).exists():
        time.sleep(0.02)
session.Session.end = late
""")
    client.send(chat, TEXT)
    client.wait(lambda: [run["state"] for run in Panel(client).all_runs()] == ["completed"], what="the recorded end")

    assert "still ending" in client.say(chat, "one more", "its-id")
    gate.touch()
    client.wait_idle(chat)

    assert client.say(chat, "one more", "its-id") == "the second"
    assert [run["state"] for run in Panel(client).all_runs()] == ["completed", "completed"]
    assert len(model.requests("chat")) == 2


def test_a_message_does_not_wait_for_a_journal_that_is_slow_to_hold_a_run(world: World, model: Model, inside: Any, gate: Path) -> None:
    """Whoever brings it may stand in a loop that serves everybody."""
    world.start()
    client = world.client()
    chat = client.create_chat()
    client.activate_project(chat, PROJECT)
    model.script(with_(answer("half an answer"), gate="never", gate_at=5), when=TEXT)
    client.send(chat, TEXT)
    model.wait_requests(1)
    inside(LOSE.format(chat=chat))
    client.wait_idle(chat)
    by_hand(world, off=True)
    inside(f"""
from usr.plugins.durable_execution.bridge import heartbeat, waiting
waiting.PATIENT_S = 3600.0
real = active.journal.hold_run
def slow(*args, **more):
    real_write = active.journal._write
    def wait(scribe, operation):
        while not Path({str(gate)!r}).exists():
            time.sleep(0.02)
        return operation(scribe)
    active.journal._write = lambda operation, *named: real_write(lambda scribe: wait(scribe, operation), *named)
    try:
        return real(*args, **more)
    finally:
        active.journal._write = real_write
active.journal.hold_run = slow
""")

    reply = client.say(chat, "one more")

    assert "not taken in" not in reply
    gate.touch()


def test_a_message_that_came_while_suspended_counts_also_where_only_its_putting_aside_is_refused(
    world: World, model: Model, inside: Any
) -> None:
    model.script(answer("all done"), when=TEXT, repeat=True)
    world.start()
    client = world.client()
    chat = client.create_chat()
    suspend(world)
    wait_suspended(world)
    inside("""
def refused(*args, **more):
    recovery.suspend = real_suspend
    raise StoreLocked()
recovery.suspend = refused
""")

    reply = client.call("message", {"text": TEXT, "context": chat, "message_id": "m1"})

    assert reply["suspended"] is True
    suspend(world, "resume")
    assert ended(world, chat) == "completed"
    assert len(model.requests("chat")) == 1


def test_a_chat_can_be_deleted_in_the_moment_in_which_its_turn_ends(world: World, model: Model, inside: Any, gate: Path) -> None:
    """The journal has its end already, and this process does not know it yet: there is nothing left to stop."""
    model.script(answer("all done"))
    model.script(raw("A name", gate="never"), kind="utility")  # the host saves a chat that it has named, a deleted one too
    world.start()
    client = world.client()
    chat = client.create_chat()
    inside(f"""
real_end = session.Session.end
def late(self, *args):
    session.Session.end = real_end
    while not Path({str(gate)!r}).exists():
        time.sleep(0.02)
    real_end(self, *args)
session.Session.end = late
""")
    client.send(chat, TEXT)
    client.wait(lambda: [run["state"] for run in Panel(client).all_runs()] == ["completed"], what="the recorded end")

    client.remove(chat)
    gate.touch()

    assert [run["state"] for run in Panel(client).all_runs()] == ["completed"]
    assert world.chat_file(chat) is None


@pytest.mark.parametrize("killed", [False, True])
def test_a_message_stands_once_and_at_its_place_although_the_resume_point_that_says_so_could_not_be_written_at_first(
    world: World, model: Model, inside: Any, gate: Path, killed: bool
) -> None:
    """What the step itself writes is tried until the journal takes it, and stands on that resume point."""
    later = gate.with_name("later")
    model.script(use("effect", arg="a", gate=str(gate)), use("effect", arg="b", gate=str(later)), answer("all done"), answer("sent again"))
    world.start()
    client = world.client()
    chat = begin_effect(world, TEXT)
    inside("""
import sqlite3
from usr.plugins.durable_execution.bridge import paths, turns
real_point = turns._checkpoint
async def locked(*args):
    turns._checkpoint = real_point
    other = sqlite3.connect(paths.data_folder() / "journal.db", isolation_level=None, timeout=10, check_same_thread=False)
    other.execute("begin immediate")
    def release():
        while active.store_problem != str(StoreLocked()):
            time.sleep(0.02)
        other.rollback()
        other.close()
    threading.Thread(target=release).start()
    await real_point(*args)
turns._checkpoint = locked
""")

    client.send(chat, "one more")
    gate.touch()
    client.wait(lambda: "start b" in world.effects(), what="the second effect to start")
    if killed:
        world.restart()
        decide(world, Panel(world.client()).wait_held(chat), "confirmed_completed")
    later.touch()

    assert ended(world, chat) == "completed"
    world.client().wait_idle(chat)
    assert [run["state"] for run in Panel(world.client()).all_runs()] == ["completed"]
    assert len(model.requests("chat")) == 3
    read = told(model.requests("chat")[-1])
    assert read.count("one more") == 1
    assert read.find("tool_result") < read.find("one more") < read.rfind("tool_result")
