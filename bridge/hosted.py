"""Whether a provider is offered tools that it runs itself, in one model call.

What such a tool did nobody here recorded, so a call that was cut off is not asked again by itself. In doubt it is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

RETRIES = "a0_retry_attempts"
"""The host's own word for how often it sends a request again that found no answer. With such tools on offer: never."""

_OFFERS = ("responses_builtin_tools", "web_search_options", "mcp_servers", "plugins", "extra_body")
_LISTS = ("tools", "functions")
_answered: tuple[object, dict[str, Any]] = (None, {})
"""The settings that the host had read when it was asked, and what it said."""


def are_offered(model: Any, arguments: Mapping[str, Any]) -> bool:
    """Look at what the host would merge into the request: its global settings, the model's, and the call's own."""
    merged = {**_of_every_request(), **(getattr(model, "kwargs", None) or {}), **arguments}
    if any(merged.get(name) for name in _OFFERS):
        return True
    return any(_is_hosted(tool) for name in _LISTS for tool in _listed(merged.get(name)))


def _of_every_request() -> dict[str, Any]:
    """What the host sends with every request.

    It works out all of its settings anew whenever it is asked, which takes longer than all else here. What it has read of
    them is one object, which it replaces and never changes: while it is the same one, so is the answer.
    """
    import models
    from helpers import settings

    global _answered
    ask: Callable[[], dict[str, Any]] = getattr(models, "get_litellm_global_kwargs", dict)
    read = getattr(settings, "_settings", None)
    if not read:
        return ask()
    known, answer = _answered
    if known is not read:
        answer = ask()
        _answered = (read, answer)
    return answer


def _listed(offered: Any) -> list[Any]:
    return list(offered) if isinstance(offered, list | tuple) else [offered] if offered else []


def _is_hosted(tool: Any) -> bool:
    return not isinstance(tool, Mapping) or tool.get("type", "function") != "function"
