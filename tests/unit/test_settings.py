"""What a person may set, and what becomes of a word that is none of the allowed ones."""

from __future__ import annotations

from typing import Any

import pytest
from usr.plugins.durable_execution.bridge import settings

from journal.modes import DEFAULTS as MODES


def test_what_is_left_out_is_the_default() -> None:
    assert settings.usable({}) == (settings.DEFAULTS, [])
    assert MODES.items() <= settings.DEFAULTS.items()


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"on_restart": "maybe"}, "on_restart must be auto, ask or off."),
        ({"on_restart": True}, "on_restart must be auto, ask or off."),
        ({"interrupted_tool_call": None}, "interrupted_tool_call must be hold or report."),
        ({"interrupted_model_call": ["retry"]}, "interrupted_model_call must be hold or retry."),
        ({"live_unknown": "ask"}, "live_unknown must be tell or hold."),
        ({"resume_parallel": 0}, "resume_parallel must be a whole number from 1 to 16."),
        ({"retention_runs": "100"}, "retention_runs must be a whole number from 1 to 100000."),
        ({"backend": "postgres"}, "backend must be sqlite."),
    ],
)
def test_a_value_that_cannot_be_used_is_named_and_only_its_own_default_is_taken(values: dict[str, Any], sentence: str) -> None:
    assert settings.usable({**values, "retention_days": 7}) == ({**settings.DEFAULTS, "retention_days": 7}, [sentence])
    with pytest.raises(ValueError, match=sentence.split()[0]):
        settings.checked(values)


def test_off_without_quotes_is_off() -> None:
    assert settings.usable({"on_restart": False})[0]["on_restart"] == "off"


def test_settings_that_are_no_settings_are_the_defaults() -> None:
    assert settings.usable(["on_restart"]) == (settings.DEFAULTS, ["The saved settings cannot be read."])


def test_a_project_keeps_what_it_says_of_the_modes_and_nothing_else() -> None:
    assert settings.checked({"on_restart": "ask", "retention_runs": "no number"}, scoped=True) == {"on_restart": "ask"}
    with pytest.raises(ValueError, match="on_restart must be"):
        settings.checked({"on_restart": "maybe"}, scoped=True)
