"""Without the plugin a reply is lost by a kill, and sent twice by the nudge that follows one."""

from __future__ import annotations

import pytest

from .client import Client
from .host import LiveHost
from .model import Answer, ScriptedModel, say
from .outside import INJECT, WAYS, Outside


@pytest.fixture(scope="module")
def module_host(make_host, outside: Outside) -> LiveHost:
    host = make_host("bare")
    outside.set_up(host)
    return host.start(inject=INJECT, env=outside.env)


@pytest.mark.parametrize(("moment", "arrived"), [("before", 0), ("after", 1)])
def test_a_kill_loses_the_reply_and_a_nudge_sends_what_arrived_again(
    host: LiveHost, outside: Outside, client: Client, model: ScriptedModel, moment: str, arrived: int
) -> None:
    chats = {}
    with outside.stopped(moment):
        for via in WAYS:
            model.script(Answer(say(f"{moment}-ANSWER-{via}"), when=f"{moment}-QUESTION-{via}"))
            chats[via] = outside.arrive(client, via, f"{moment}-QUESTION-{via}", stream=False)
        for via, chat in chats.items():
            outside.wait_stopped(client, moment, chat)
            client.wait("what was sent", lambda via=via: outside.got(via, f"{moment}-ANSWER-{via}") == arrived)
        host.kill()

    host.start(inject=INJECT, env=outside.env)

    for via, chat in chats.items():
        assert not client.chats()[chat]["running"]
        assert outside.got(via, f"{moment}-ANSWER-{via}") == arrived
        model.script(Answer(say(f"{moment}-ANSWER-{via}"), when=f"{moment}-QUESTION-{via}"))
        client.nudge(chat)
        client.wait("the nudge's reply", lambda via=via: outside.got(via, f"{moment}-ANSWER-{via}") == arrived + 1)
        client.wait_idle(chat)
