"""The host's own limits inside a turn, carried over a restart: retries after an error, answers in a row that were of no use.

The host keeps them in memory and begins to count anew; a resumed turn would get them all again. Nothing here decides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_RETRIES = ("_plugin.error_retry.critical_exception_counter", "_error_retry_counter")
_UNUSABLE = "_unusable_response_failures"


def used_up(agent: Any, *, at_work: bool) -> dict[str, int]:
    """What this agent has used of its limits at the top of a step. `at_work`: it is the one whose step it is."""
    used = {name: count for name in _RETRIES if (count := _count(agent.data.get(name)))}
    loop: Any = getattr(agent, "loop_data", None) if at_work else None
    if loop is None:
        return used
    last = loop.params_persistent.get(_UNUSABLE)
    if isinstance(last, Mapping) and last.get("iteration") == loop.iteration - 1:
        used[_UNUSABLE] = _count(last.get("count"))
    return used


def put_back(agent: Any, used: Mapping[str, int]) -> None:
    """At the first step of the resumed loop, whose steps are numbered from 0 again."""
    for name, count in used.items():
        if name == _UNUSABLE:
            agent.loop_data.params_persistent[name] = {"iteration": agent.loop_data.iteration - 1, "count": count}
        else:
            agent.set_data(name, count)


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
