"""Extension points: named ones, and the two that `extensible` puts around a function.

Order is by file name; of two files with one name the first place wins. Nothing that an extension raises is caught here.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from helpers import cache, files, modules

if TYPE_CHECKING:
    from agent import Agent

_EXTENSIONS_CACHE_AREA = "extension_folder_classes(extensions)"
_CLASSES_CACHE_AREA = "extension_classes(extensions)"


class _Unset:
    """Marks `data["result"]` while nobody has answered; None is an answer."""


_UNSET = _Unset()


def extensible(func: Callable[..., Any]) -> Callable[..., Any]:
    """Runs `_functions/<module>/<qualname>/start` before and `…/end` after the function.

    Extensions share one dict: `args`, `kwargs`, `result`, `exception`. A result set at the start replaces the call; an
    exception set at the start is raised at once, without the end. Only `Exception` is caught around the call, so that
    a cancelled call has no end.
    """
    names = [part for part in func.__qualname__.split(".") if part != "<locals>"]
    base = "/".join(["_functions", *func.__module__.split("."), *names])

    def open_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Agent | None, dict[str, Any]]:
        return _agent_among(args, kwargs), {"args": args, "kwargs": kwargs, "result": _UNSET, "exception": None}

    def close(data: dict[str, Any]) -> Any:
        if isinstance(data.get("exception"), BaseException):
            raise data["exception"]
        return data.get("result")

    def call(data: dict[str, Any]) -> None:
        args, kwargs = data.get("args"), data.get("kwargs")
        try:
            data["result"] = func(*(args if isinstance(args, tuple) else (args,)), **(kwargs if isinstance(kwargs, dict) else {}))
        except Exception as error:
            data["exception"] = error

    @wraps(func)
    async def run_async(*args: Any, **kwargs: Any) -> Any:
        agent, data = open_call(args, kwargs)
        await call_extensions_async(f"{base}/start", agent=agent, data=data)
        if close(data) is _UNSET:
            call(data)
            try:
                data["result"] = await data["result"]
            except Exception as error:
                data["exception"] = error  # the result stays the used-up coroutine, as in the host
        await call_extensions_async(f"{base}/end", agent=agent, data=data)
        result = close(data)
        return None if result is _UNSET else result

    @wraps(func)
    def run_sync(*args: Any, **kwargs: Any) -> Any:
        agent, data = open_call(args, kwargs)
        call_extensions_sync(f"{base}/start", agent=agent, data=data)
        if close(data) is _UNSET:
            call(data)
        call_extensions_sync(f"{base}/end", agent=agent, data=data)
        result = close(data)
        return None if result is _UNSET else result

    return run_async if inspect.iscoroutinefunction(func) else run_sync


class Extension:
    """One use of one extension; a new instance for every call."""

    def __init__(self, agent: Agent | None, **kwargs: Any) -> None:
        self.agent: Agent | None = agent
        self.kwargs = kwargs

    @abstractmethod
    def execute(self, **kwargs: Any) -> Awaitable[None] | None:
        """Does the work; `def` at synchronous points, either at asynchronous ones."""


async def call_extensions_async(extension_point: str, agent: Agent | None = None, **kwargs: Any) -> None:
    for cls in _get_extension_classes(extension_point, agent=agent, **kwargs):
        result = cls(agent=agent).execute(**kwargs)
        if isinstance(result, Awaitable):
            await result


def call_extensions_sync(extension_point: str, agent: Agent | None = None, **kwargs: Any) -> None:
    for cls in _get_extension_classes(extension_point, agent=agent, **kwargs):
        result = cls(agent=agent).execute(**kwargs)
        if isinstance(result, Awaitable):
            raise ValueError(f"{cls.__name__} is asynchronous, but its point is not.")


def get_webui_extensions(agent: Agent | None, extension_point: str, filters: list[str] | None = None) -> list[str]:
    from helpers import subagents

    return [
        files.deabsolute_path(path)
        for folder in subagents.get_paths(agent, "extensions/webui", extension_point)
        for pattern in filters or ["*"]
        for path in files.find_existing_paths_by_pattern(f"{folder}/{pattern}")
    ]


def _get_extension_classes(extension_point: str, agent: Agent | None = None, **kwargs: Any) -> list[type[Extension]]:
    from helpers import subagents

    key = cache.determine_cache_key(agent, extension_point)
    known = cache.get(_CLASSES_CACHE_AREA, key)
    if known is not None:
        return known
    by_file: dict[str, type[Extension]] = {}
    for folder in subagents.get_paths(agent, "extensions/python", extension_point):
        for cls in _get_extensions(folder):
            by_file.setdefault(cls.__module__.rpartition(".")[2], cls)
    classes = [by_file[name] for name in sorted(by_file)]
    cache.add(_CLASSES_CACHE_AREA, key, classes)
    return classes


def _get_extensions(folder: str) -> list[type[Extension]]:
    known = cache.get(_EXTENSIONS_CACHE_AREA, folder)
    if known is None:
        known = modules.load_classes_from_folder(folder, "*", Extension)
        cache.add(_EXTENSIONS_CACHE_AREA, folder, known)
    return known


def _agent_among(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Agent | None:
    from agent import Agent

    # An agent that is being built has no attributes yet and is none.
    for candidate in (kwargs.get("agent"), *args):
        if isinstance(candidate, Agent) and vars(candidate):
            return candidate
    return None
