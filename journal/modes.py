"""How a run behaves where nothing proves what happened: chosen once, at its admission, and stored with it.

Names and values are the settings' own. The first value of each is the default and asks a person.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

VALUES: Mapping[str, tuple[str, ...]] = {
    "on_restart": ("auto", "ask", "off"),
    "interrupted_tool_call": ("hold", "report"),
    "interrupted_model_call": ("hold", "retry"),
    "live_unknown": ("tell", "hold"),
}
DEFAULTS: Mapping[str, str] = {name: values[0] for name, values in VALUES.items()}

REPORTED = (
    "This step was interrupted by a restart, and no result was saved. It may have happened and may still be running. "
    "Check before you run it again."
)
"""What a model is told of a step in the mode `report`."""

HOSTED_TOOLS = "hosted_tools"
"""In an intent's facts: whether the provider was offered tools that it runs itself. Without the word nobody knows."""


@dataclass(frozen=True, slots=True)
class Mode:
    """What was chosen for one run. What an older version did not store is the default."""

    asks: bool = False
    ends: bool = False
    reports: bool = False
    retries: bool = False
    holds_live: bool = False

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Mode:
        chosen = {**DEFAULTS, **stored}
        return cls(
            asks=chosen["on_restart"] == "ask",
            ends=chosen["on_restart"] == "off",
            reports=chosen["interrupted_tool_call"] == "report",
            retries=chosen["interrupted_model_call"] == "retry",
            holds_live=chosen["live_unknown"] == "hold",
        )


CAREFUL = Mode()
