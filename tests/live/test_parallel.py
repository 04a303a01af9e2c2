"""`parallel` on the real host, killed with some jobs finished and some hung."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import Answer, ScriptedModel, say, tool_call
from .recovery import NOTE, Recovery

type MakeEffect = Callable[[str], Effect]


def parallel(*answers: str, **how: Any) -> str:
    """These answers' tool calls beside each other."""
    calls = [{key: value for key, value in json.loads(answer).items() if key in ("tool_name", "tool_args")} for answer in answers]
    return tool_call("parallel", {"tool_calls": calls, **how})


def below(message: str) -> str:
    return tool_call("call_subordinate", {"message": message})


def jobs(recovery: Recovery, chat: str) -> list[str]:
    return [child["state"] for child in recovery.run(chat)["children"]]


def waiting(client: Client, recovery: Recovery, count: int) -> dict[int, dict[str, Any]]:
    client.wait(f"{count} jobs on hold", lambda: len(recovery.waiting()) == count)
    views = [recovery.detail(item["run_id"]) for item in recovery.waiting()]
    return {view["run"]["job"]["n"]: view for view in views}


def told(model: ScriptedModel) -> list[tuple[str, str]]:
    """State and result of each job, as the model heard of them last."""
    text = model.main[-1].text
    content, _ = json.JSONDecoder().raw_decode(text[text.rindex('{"tool_name": "parallel"') :])
    return [(job["state"], job.get("result", job.get("error", ""))) for job in json.loads(content["tool_result"])["jobs"]]


def test_a_kill_with_one_job_finished_and_two_hung(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, make_effect: MakeEffect
) -> None:
    done, hung, again = (make_effect(name) for name in ("done", "hung", "again"))
    chat = client.new_chat()
    model.script(parallel(done.once(), hung.gated(), again.gated()))
    client.send(chat, "Do all three")
    hung.wait_for("start")
    again.wait_for("start")
    client.wait("the first job", lambda: jobs(recovery, chat) == ["completed", "running", "running"])

    host.restart()
    held = waiting(client, recovery, 2)

    assert sorted(held) == [2, 3]
    assert {view["run"]["chat_id"] for view in held.values()} == {chat}
    assert recovery.run(chat)["run"]["state"] == "running"
    recovery.decide(held[2], "confirmed_completed", note=NOTE, result_text="The second is done.").ok()
    assert jobs(recovery, chat)[2] == "held"
    again.let_go()
    model.script(say("All three are done."))
    recovery.decide(held[3], "confirmed_not_completed", note=NOTE).ok()
    client.wait_answer(chat, "All three are done.")

    assert len(model.main) == 2
    states = told(model)
    assert [state for state, _ in states] == ["success"] * 3
    assert states[1][1] == "The second is done."
    assert done.lines == [done.name]
    assert hung.lines == ["start"]
    assert again.lines.count("end") >= 1
    assert recovery.run(chat)["run"]["state"] == "completed"
    hung.let_go()


def test_a_subordinate_job_goes_on_in_the_chat_that_it_had(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, make_effect: MakeEffect
) -> None:
    step, cut = make_effect("step"), make_effect("cut")
    chat = client.new_chat()
    first = Answer(parallel(below("Look into it")), when="Delegate this")
    model.script(first, Answer(step.once(), when="Look into it"), Answer(cut.gated(), when="Look into it"))
    client.send(chat, "Delegate this")
    cut.wait_for("start")
    chats = set(client.chats())

    host.kill()
    cut.let_go()
    cut.wait_for("start", "end")
    host.start()
    held = waiting(client, recovery, 1)[1]
    model.script(say("Looked into it."), say("Delegated and done."))
    recovery.decide(held, "confirmed_completed", note=NOTE).ok()
    client.wait_answer(chat, "Delegated and done.")

    worker = held["run"]["job"]["chat_id"]
    assert set(client.chats()) == chats
    assert worker in chats
    assert client.bubbles(worker, "user") == ["Look into it"]
    assert step.lines == [step.name]
    assert cut.lines == ["start", "end"]
    assert told(model) == [("success", "Looked into it.")]
    assert jobs(recovery, chat) == ["completed"]


def test_jobs_of_a_turn_that_has_ended_are_known_by_their_names(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, make_effect: MakeEffect
) -> None:
    done, hung = make_effect("done"), make_effect("hung")
    chat = client.new_chat()
    model.script(parallel(done.once(), hung.gated(), wait=False), say("Started."))
    client.ask(chat, "Start both")
    hung.wait_for("start")
    client.wait("the first job", lambda: jobs(recovery, chat) == ["completed", "running"])
    names = [child["job"]["job_id"] for child in recovery.run(chat)["children"]]

    host.restart()
    held = waiting(client, recovery, 1)[2]
    recovery.decide(held, "confirmed_completed", note=NOTE, result_text="It is done.").ok()
    client.wait("both jobs", lambda: jobs(recovery, chat) == ["completed", "completed"])
    model.script(tool_call("parallel", {"job_ids": names}), say("Collected."))

    assert client.ask(chat, "Collect them") == "Collected."
    assert [state for state, _ in told(model)] == ["success", "success"]
    assert told(model)[1][1] == "It is done."
    hung.let_go()


def test_a_suspended_job_that_was_decided_in_the_same_process_is_not_run_again(
    client: Client, model: ScriptedModel, recovery: Recovery, make_effect: MakeEffect
) -> None:
    hung = make_effect("hung")
    chat = client.new_chat()
    model.script(parallel(hung.gated()), say("It is done."))
    client.send(chat, "Do it")
    hung.wait_for("start")
    client.plugin("suspend", {"action": "suspend"}).ok()
    held = waiting(client, recovery, 1)
    client.plugin("suspend", {"action": "resume"}).ok()
    hung.let_go()

    recovery.decide(held[1], "confirmed_completed", note=NOTE, result_text="It was written.").ok()
    client.wait_answer(chat, "It is done.")

    assert told(model) == [("success", "It was written.")]
    assert hung.lines.count("start") == 1


def test_stop_of_the_parent_stops_its_jobs(client: Client, model: ScriptedModel, recovery: Recovery, make_effect: MakeEffect) -> None:
    hung = make_effect("hung")
    chat = client.new_chat()
    model.script(parallel(hung.gated()))
    client.send(chat, "Do it")
    hung.wait_for("start")

    recovery.decide(recovery.run(chat), "stop").ok()
    client.wait_idle(chat)
    hung.let_go()
    model.script(say("Still here."))

    assert jobs(recovery, chat) == ["stopped"]
    assert client.ask(chat, "And now?") == "Still here."


def test_without_the_plugin_the_parent_and_its_jobs_are_lost(make_host: Callable[[str], LiveHost], model: ScriptedModel) -> None:
    host = make_host("bare").start()
    client, done, hung = Client(host), Effect(host.effects, "bare-done"), Effect(host.effects, "bare-hung")
    chat = client.new_chat()
    model.script(parallel(done.once(), hung.gated()))
    client.send(chat, "Do both")
    hung.wait_for("start")
    done.wait_for(done.name)

    host.restart()

    assert not client.chats()[chat]["running"]
    assert len(model.main) == 1
    hung.let_go()
