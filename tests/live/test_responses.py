"""A model behind the Responses protocol: what its answers become on the real host, and what a restart asks of it.

The provider keeps the conversation and refuses one that does not fit. What counts is what the model is shown: the
conversation that is kept, and the new input.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .client import Client
from .effects import Effect
from .host import LiveHost
from .model import Answer, Asked, ScriptedModel, say
from .provider import USAGE
from .recovery import NOTE, Recovery

RESPONSES = True
DIES = Path(__file__).parent / "inject" / "die_after_tool.py"
PLEASE = "PLEASE-DO-THEM"
WORDS = "I will do them now."


def begin(client: Client) -> str:
    chat = client.new_chat()
    client.send(chat, PLEASE)
    return chat


def kill_in(host: LiveHost, effect: Effect) -> None:
    effect.wait_for("start")
    host.kill()
    effect.let_go()
    effect.wait_for("start", "end")
    host.start()


def order(asked: Asked, *words: str) -> list[str]:
    """Every place of these words in what the model was shown, in order."""
    spoken = [message for message in asked.messages if message["role"] != "system"]
    text = "\n".join(Asked(0, "", {"messages": [message]}, 0.0).text for message in spoken)
    return [word for _, word in sorted((at, word) for word in words for at in range(len(text)) if text.startswith(word, at))]


def tools(run: dict[str, Any]) -> list[tuple[str, str]]:
    return [(call["name"], call["outcome"]) for call in run["calls"] if call["kind"] == "tool"]


def refused(model: ScriptedModel) -> list[Asked]:
    return [asked for asked in model.asked if asked.kind == "refused"]


ANSWERS = [
    pytest.param(lambda call: call, id="text"),
    pytest.param(lambda call: Answer("", calls=(call,)), id="native-alone"),
    pytest.param(lambda call: Answer(WORDS, calls=(call,)), id="native-after-words"),
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_killed_in_the_one_call_of_an_answer(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect, answer: Callable[[Any], Any]
) -> None:
    model.script(answer(effect.gated()))
    chat = begin(client)
    kill_in(host, effect)

    run = recovery.held(chat)
    assert tools(run) == [("code_execution_tool", "open")]
    model.script(say("It is done."))
    recovery.decide(run, "confirmed_completed", note=NOTE).ok()
    client.wait_answer(chat, "It is done.")

    assert (effect.lines, len(model.main), refused(model)) == (["start", "end"], 2, [])
    last = model.main[-1]
    assert "tools" in last.body, "this was no request of the Responses protocol"
    assert last.body.get("previous_response_id") is None
    assert order(last, PLEASE, "echo start", NOTE) == [PLEASE, "echo start", NOTE]


def test_killed_in_the_second_of_two_native_calls(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, make_effect: Any
) -> None:
    first, second = make_effect("first"), make_effect("second")
    model.script(Answer(WORDS, calls=(first.once(), second.gated())))
    chat = begin(client)
    kill_in(host, second)
    assert model.provider is not None
    model.provider.forget()  # a run can wait longer than a provider keeps its answers

    run = recovery.held(chat)
    assert tools(run) == [("code_execution_tool", "ok"), ("code_execution_tool", "open")]
    model.script(say("Both are done."))
    recovery.decide(run, "confirmed_completed", note=NOTE).ok()
    client.wait_answer(chat, "Both are done.")

    assert (first.lines, second.lines, len(model.main), refused(model)) == (["first"], ["start", "end"], 2, [])
    last = model.main[-1]
    assert last.body.get("previous_response_id") is None
    assert order(last, PLEASE, WORDS, "tool_result", NOTE) == [PLEASE, WORDS, "tool_result", "tool_result", NOTE]


def test_killed_between_two_native_calls_the_turn_goes_on_by_itself(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, make_effect: Any
) -> None:
    first, second = make_effect("first"), make_effect("second")
    host.kill()
    host.start(inject=DIES, env={"DIED": str(host.folder / "died")})
    model.script(Answer(WORDS, calls=(first.once(), second.once())), say("Both are done."))
    chat = begin(client)
    host.wait_dead()
    assert (first.lines, second.lines, len(model.main)) == (["first"], [], 1)
    host.start()
    client.wait_answer(chat, "Both are done.")

    assert (first.lines, second.lines, len(model.main), refused(model)) == (["first"], ["second"], 2, [])
    last = model.main[-1]
    assert last.body.get("previous_response_id") is None
    assert order(last, PLEASE, WORDS, "tool_result") == [PLEASE, WORDS, "tool_result", "tool_result"]


def test_without_a_kill_the_provider_keeps_the_conversation(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, make_effect: Any
) -> None:
    first, second = make_effect("first"), make_effect("second")
    model.script(Answer(WORDS, calls=(first.once(), second.once())), say("Both are done."))
    chat = begin(client)
    client.wait_answer(chat, "Both are done.")

    assert (first.lines, second.lines, len(model.main), refused(model)) == (["first"], ["second"], 2, [])
    assert model.main[-1].body["previous_response_id"] == f"resp_{model.main[0].number}"
    assert [item["type"] for item in model.main[-1].body["input"]] == ["function_call_output"] * 2
    assert tools(recovery.run(chat)) == [("code_execution_tool", "ok"), ("code_execution_tool", "ok"), ("response", "ok")]


def test_of_two_native_calls_without_words_the_host_makes_the_first(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, make_effect: Any
) -> None:
    """The host leaves the stream at the end of the first call, as it does for a call in text; the model has to ask again."""
    first, second = make_effect("first"), make_effect("second")
    model.script(Answer("", calls=(first.once(), second.once())), say("One is done."))
    chat = begin(client)
    client.wait_answer(chat, "One is done.")

    assert (first.lines, second.lines, refused(model)) == (["first"], [], [])
    assert tools(recovery.run(chat)) == [("code_execution_tool", "ok"), ("response", "ok")]
    assert model.main[-1].body.get("previous_response_id") is None


def test_what_was_asked_again_inside_one_call_and_given_back_after_a_kill_counts_once(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, effect: Effect
) -> None:
    model.script(Answer("busy", status=429), Answer(WORDS, calls=(effect.gated(),)))
    chat = begin(client)
    client.wait("the name of the chat", lambda: client.chats()[chat]["name"] == "Live chat")  # a call beside the turn, counted too
    kill_in(host, effect)
    held = recovery.held(chat)
    assert [found["text"] for found in held["calls"][0]["evidence"]] == ["The provider was asked 2 times in this call"]
    model.script("Plainly said: done.")
    recovery.decide(held, "confirmed_completed", note=NOTE).ok()
    recovery.wait_state(chat, "completed")

    assert (effect.lines, len(model.main), refused(model)) == (["start", "end"], 3, [])
    usage = recovery.run(chat)["usage"]
    assert (held["usage"]["calls"], usage["calls"]) == (1, 2)
    for figure in ("input_tokens", "output_tokens"):
        assert usage[figure] - held["usage"][figure] == USAGE[figure]


def test_a_message_during_a_native_call_leaves_no_call_without_an_output(
    host: LiveHost, client: Client, model: ScriptedModel, recovery: Recovery, make_effect: Any
) -> None:
    first, second = make_effect("first"), make_effect("second")
    model.script(Answer(WORDS, calls=(first.gated(), second.once())))
    chat = begin(client)
    first.wait_for("start")
    model.script(say("I leave it."))
    client.send(chat, "LEAVE-IT")
    client.wait_answer(chat, "I leave it.")

    assert (second.lines, len(model.main), refused(model)) == ([], 2, [])
    assert order(model.main[-1], PLEASE, WORDS, "LEAVE-IT") == [PLEASE, WORDS, "LEAVE-IT"]
