"""Calls a function with those of the arguments that it takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


def safe_call(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    parameters = inspect.signature(func).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
        return func(*args, **kwargs)
    return func(*args, **{key: value for key, value in kwargs.items() if key in parameters})
