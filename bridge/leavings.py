"""What a tool leaves in the chat's and the agent's data while it runs.

A checkpoint has it only from the next loop step on. It is kept with the result, so that
a served result leaves the same behind as the effect did.
"""

from __future__ import annotations

from typing import Any

from ..journal.codec import encode
from ..journal.values import Opaque
from .projection import lasting

Stamp = dict[str, dict[str, bytes]]


def stamp(agent: Any) -> Stamp:
    """The data as it is now, comparable later."""
    return {place: {key: encode(value) for key, value in lasting(data)} for place, data in _places(agent).items()}


def since(agent: Any, before: Stamp) -> dict[str, Any]:
    """What changed: new values by place and key, and the keys that are gone. Empty where nothing did."""
    changed: dict[str, Any] = {}
    for place, data in _places(agent).items():
        old, now = before[place], dict(lasting(data))
        new = {key: value for key, value in now.items() if encode(value) != old.get(key)}
        gone = [key for key in old if key not in now]
        if new or gone:
            changed[place] = {"set": new, "gone": gone}
    return changed


def put_back(agent: Any, changed: dict[str, Any]) -> None:
    """Leave the same behind again; what could not be stored as it was is left out."""
    for place, data in _places(agent).items():
        change = changed.get(place)
        if change:
            data.update({key: value for key, value in change["set"].items() if not isinstance(value, Opaque)})
            for key in change["gone"]:
                data.pop(key, None)


def _places(agent: Any) -> dict[str, dict[str, Any]]:
    return {"chat": agent.context.data, "agent": agent.data}
