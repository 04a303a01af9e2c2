"""The host's own limits inside a turn carry over a restart: it does not get its retries a second time."""

from __future__ import annotations

from refhost.model import answer, error, raw, with_
from tests.support.scenes import ended
from tests.support.story import Panel


def useless(number):
    """A tool call in a fence: the host does not run it, and says so to the model."""
    return raw(f'```json\n{{"tool_name": "effect", "tool_args": {{"arg": "{number}"}}}}\n```')


def cut_off_in_request(world, model, number):
    """A chat that was killed while the model was about to answer this request, and is allowed to ask once more."""
    client = world.start().client()
    chat = client.create_chat()
    client.send(chat, "please")
    model.wait_requests(number)
    world.restart()
    panel = Panel(world.client())
    assert panel.grant(panel.wait_held(chat)).status == 200
    return chat


def test_unusable_answers_in_a_row_are_counted_over_a_restart(world, model):
    """The host gives up at the second one."""
    model.script(useless(1), with_(useless(2), gate="never"), useless(3), answer("one too many"))

    chat = cut_off_in_request(world, model, 2)

    assert ended(world, chat) == "failed"
    assert len(model.requests("chat")) == 3


def test_the_one_retry_after_an_error_is_not_given_again(world, model):
    model.script(error(418, "a"), raw("x", gate="never"), error(418, "c"), answer("one too many"))

    chat = cut_off_in_request(world, model, 2)

    assert ended(world, chat) == "failed"
    assert len(model.requests("chat")) == 3


def test_a_usable_answer_between_two_kills_begins_the_count_anew(world, model):
    model.script(useless(1), answer("all done", gate="never"), answer("all done"))

    chat = cut_off_in_request(world, model, 2)

    assert ended(world, chat) == "completed"
