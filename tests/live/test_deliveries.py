"""Replies by Telegram, e-mail and WhatsApp: killed before, in and after the sending, each arrives once or is held."""

from __future__ import annotations

import pytest

from .client import Client
from .host import LiveHost
from .model import Answer, ScriptedModel, say, tool_call
from .outside import INJECT, PERSON, WAYS, Outside
from .recovery import NOTE, Recovery

NAMES = {"telegram": "telegram_reply", "email": "email_reply", "whatsapp": "whatsapp_reply"}
VIA = {"telegram": "Telegram", "email": "e-mail", "whatsapp": "WhatsApp"}
TO = PERSON | {"telegram": "ana", "whatsapp": "Ana"}


@pytest.fixture(scope="module")
def module_host(make_host, outside: Outside) -> LiveHost:
    host = make_host("on")
    outside.set_up(host)
    return host.start(inject=INJECT, env=outside.env)


def again(host: LiveHost, outside: Outside) -> None:
    host.restart(inject=INJECT, env=outside.env)


def deliveries(recovery: Recovery, chat: str) -> list[tuple[str, str]]:
    return [(call["name"], call["outcome"]) for call in recovery.run(chat)["calls"] if call["kind"] == "delivery"]


def begin(outside: Outside, client: Client, model: ScriptedModel, word: str, *, stream: bool = True) -> dict[str, str]:
    """One chat for each integration, each with an answer of its own."""
    chats = {}
    for via in WAYS:
        model.script(Answer(say(f"ANSWER-{word}-{via}"), when=f"QUESTION-{word}-{via}"))
        chats[via] = outside.arrive(client, via, f"QUESTION-{word}-{via}", stream=stream)
    return chats


def check_once(outside: Outside, recovery: Recovery, chats: dict[str, str], word: str, outcome: str = "ok") -> None:
    for via, chat in chats.items():
        recovery.wait_state(chat, "completed")
        assert outside.got(via, f"ANSWER-{word}-{via}") == 1, f"{via}: {outside.calls}"
        assert deliveries(recovery, chat) == [(NAMES[via], outcome)]


def test_killed_before_the_sending_each_reply_goes_out_once_after_the_restart(
    host: LiveHost, outside: Outside, client: Client, model: ScriptedModel, recovery: Recovery
) -> None:
    with outside.stopped("before"):
        chats = begin(outside, client, model, "BEFORE", stream=False)
        for chat in chats.values():
            outside.wait_stopped(client, "before", chat)
        assert [outside.got(via, f"ANSWER-BEFORE-{via}") for via in WAYS] == [0, 0, 0]
        host.kill()

    host.start(inject=INJECT, env=outside.env)

    check_once(outside, recovery, chats, "BEFORE")
    assert len(model.main) == 3


def test_killed_in_the_sending_each_is_held_and_not_sent_again(
    host: LiveHost, outside: Outside, client: Client, model: ScriptedModel, recovery: Recovery
) -> None:
    with outside.stopped("before"):
        chats = begin(outside, client, model, "DURING")
        for chat in chats.values():
            outside.wait_stopped(client, "before", chat)
        before = len(outside.calls)
        outside.hold()
    client.wait("three replies under way", lambda: len(outside.calls) == before + 3)
    host.kill()
    outside.release()

    host.start(inject=INJECT, env=outside.env)

    for via, chat in chats.items():
        run = recovery.held(chat)
        assert run["run"]["reason"]["code"] == "outcome_unknown"
        assert run["calls"][-1]["summary"] == f"Reply by {VIA[via]} to {TO[via]}"
        assert f"Reply by {VIA[via]}" in client.bubbles(chat, "warning")[-1]
        recovery.decide(run, "confirmed_completed", note=NOTE).ok()
    check_once(outside, recovery, chats, "DURING", "confirmed")
    assert len(model.main) == 3


def test_killed_after_the_sending_none_is_sent_again(
    host: LiveHost, outside: Outside, client: Client, model: ScriptedModel, recovery: Recovery
) -> None:
    with outside.stopped("after"):
        chats = begin(outside, client, model, "AFTER")
        for via, chat in chats.items():
            outside.wait_stopped(client, "after", chat)
            client.wait("the recorded reply", lambda chat=chat, via=via: deliveries(recovery, chat) == [(NAMES[via], "ok")])
            assert recovery.run(chat)["run"]["state"] == "running"
        host.kill()
    calls = len(outside.calls)

    host.start(inject=INJECT, env=outside.env)

    check_once(outside, recovery, chats, "AFTER")
    assert [name for name, _ in outside.calls[calls:] if name != "editMessageText"] == []
    assert len(model.main) == 3


def test_updates_in_the_middle_are_sent_once_though_their_step_is_given_back(
    host: LiveHost, outside: Outside, client: Client, model: ScriptedModel, recovery: Recovery
) -> None:
    """Killed between the update and the next resume point: the hook that sent it sees its step again."""
    chats = {}
    with outside.stopped("between"):
        for via in WAYS:
            update = tool_call("response", {"text": f"UPDATE-{via}", "break_loop": False})
            model.script(Answer(update, when=f"QUESTION-MIDDLE-{via}"))
            chats[via] = outside.arrive(client, via, f"QUESTION-MIDDLE-{via}")
        for via, chat in chats.items():
            outside.wait_stopped(client, "between", chat)
            assert [outcome for _, outcome in deliveries(recovery, chat)] == ["ok"]
            model.script(Answer(say(f"ANSWER-MIDDLE-{via}"), when=f"QUESTION-MIDDLE-{via}"))
        host.kill()

    host.start(inject=INJECT, env=outside.env)

    for via, chat in chats.items():
        recovery.wait_state(chat, "completed")
        assert outside.got(via, f"UPDATE-{via}") == 1
        assert outside.got(via, f"ANSWER-MIDDLE-{via}") == 1
        assert [outcome for _, outcome in deliveries(recovery, chat)] == ["ok", "ok"]
    assert len(model.main) == 6


def test_a_line_that_goes_dead_proves_nothing_and_none_is_sent_again(
    host: LiveHost, outside: Outside, client: Client, model: ScriptedModel, recovery: Recovery
) -> None:
    """The host makes a text of each of these errors, or nothing, and would send again or count it as sent."""
    with outside.stopped("before"):
        chats = begin(outside, client, model, "CUT")
        for chat in chats.values():
            outside.wait_stopped(client, "before", chat)
        outside.cuts = True

    for chat in chats.values():
        run = recovery.held(chat)
        assert run["run"]["reason"]["code"] == "outcome_unknown"
        assert "instead of an answer" in run["run"]["reason"]["text"]
    outside.cuts = False
    for chat in chats.values():
        recovery.decide(recovery.held(chat), "confirmed_completed", note=NOTE).ok()

    check_once(outside, recovery, chats, "CUT", "confirmed")
    assert len(model.main) == 3


def test_an_answer_that_was_shown_while_it_came_stays_one_message(
    host: LiveHost, outside: Outside, client: Client, model: ScriptedModel, recovery: Recovery
) -> None:
    """Telegram's preview went out with the model's answer; the reply after the restart is its last change."""
    with outside.stopped("before"):
        model.script(Answer(say("ANSWER-SHOWN"), when="QUESTION-SHOWN"))
        chat = outside.arrive(client, "telegram", "QUESTION-SHOWN")
        outside.wait_stopped(client, "before", chat)
        assert outside.got("telegram", "ANSWER-SHOWN") == 1
        host.kill()
    calls = len(outside.calls)

    host.start(inject=INJECT, env=outside.env)

    recovery.wait_state(chat, "completed")
    assert [name for name, _ in outside.calls[calls:]] == ["editMessageText"]
    assert outside.got("telegram", "ANSWER-SHOWN") == 1
    assert len(model.main) == 1


def test_an_error_is_told_to_the_person_outside_once(
    host: LiveHost, outside: Outside, client: Client, model: ScriptedModel, recovery: Recovery
) -> None:
    """Telegram gets a sentence of the host when a turn fails; killed after it, the resumed turn fails the same way."""
    with outside.stopped("after"):
        model.script(Answer("Refused.", status=400, when="QUESTION-FAILS"))
        chat = outside.arrive(client, "telegram", "QUESTION-FAILS")
        outside.wait_stopped(client, "after", chat)
        assert deliveries(recovery, chat) == [("telegram_reply", "ok")]
        host.kill()

    host.start(inject=INJECT, env=outside.env)

    recovery.wait_state(chat, "failed")
    assert outside.got("telegram", "Details") == 1
    assert deliveries(recovery, chat) == [("telegram_reply", "ok")]
    assert len(model.main) == 1
