"""A question beside the turn is known by all that it says, in whatever way it was handed over."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from usr.plugins.durable_execution.bridge import background


def question(*args: Any, **kwargs: Any) -> list[str]:
    return background._question({"args": (object(), *args), "kwargs": kwargs})


def test_a_question_is_the_same_by_position_and_by_name() -> None:
    assert question("be brief", "what?") == question(system_message="be brief", user_message="what?") == ["be brief", "what?"]


def test_what_differs_in_one_message_differs() -> None:
    said = [SimpleNamespace(type="human", content="what?"), SimpleNamespace(type="ai", content="that")]

    assert question(messages=said) != question(messages=said[:1]) != question(messages=[SimpleNamespace(type="ai", content="what?")])
    assert question("", "", said) == question(messages=said)
