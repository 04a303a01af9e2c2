"""A tool call: the instance's `execute` wrapped, so that intent and result stand around the effect.

Tool classes are made anew at each call; only the instance can be wrapped. It is done
after the host filled in secrets and other plugins checked the arguments, and what is
journaled is masked again. Nothing between the effect and its result's commit may raise.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..journal.records import Call, Outcome, Proceed, Serve
from ..journal.values import Opaque, plain
from . import carried, documents, leavings, messages, outcomes, paths, policies, quiet, subordinates
from .bindings import bound, of_agent, starting_call
from .position import OpenTool
from .projection import VOLATILE
from .session import Session

if TYPE_CHECKING:
    from .activation import Activation

TOLD = "The outcome of this step is unknown: {why}. It may have happened and may still be running. Check before you run it again."
HELD = "There was {why}. The step may have happened and may still be running. Nothing was repeated."
_ASK_AGAIN: Any = object()
_LEAVES_OPEN = {"browser": "open browser pages"}
_NOT_CARRIED = {"agent", "log", "loop_data", "args", "message", "name", "method", "progress", "execute", "after_execution"}


def before(active: Activation, agent: Any) -> None:
    """Wrap the tool that is about to run, on its instance."""
    session = of_agent(agent)
    tool = getattr(getattr(agent, "loop_data", None), "current_tool", None)
    if session is None or tool is None:
        return
    execute, after = tool.execute, tool.after_execution

    async def journaled_execute(**kwargs: Any) -> Any:
        if not active.is_on:
            return await execute(**kwargs)
        return await _run(active, session, agent, tool, execute, kwargs)

    async def appended(response: Any, **kwargs: Any) -> Any:
        open_tool = session.position.open_tools.get(agent.number)
        if open_tool is not None and open_tool.tool is tool:
            open_tool.response = None
        return await after(response, **kwargs)

    tool.execute = journaled_execute
    tool.after_execution = appended


@dataclass(frozen=True, slots=True)
class _Before:
    """What there was before the effect: the tool's own attributes by object, the data by content."""

    attributes: dict[str, int]
    data: leavings.Stamp


async def _run(
    active: Activation,
    session: Session,
    agent: Any,
    tool: Any,
    execute: Callable[..., Awaitable[Any]],
    kwargs: dict[str, Any],
) -> Any:
    path = session.position.path_of(agent) if of_agent(agent) is not None else None  # a coroutine that was replaced starts no effect
    if path is None:
        return await execute(**kwargs)
    name = f"{tool.name}:{tool.method}" if tool.method else tool.name
    now = active.journal.clock.now()
    target = policies.wait_target(kwargs, now) if tool.name == policies.WAIT else None
    session.just_delivered.clear()
    allowed = policies.permission(tool, agent.context, active.replay_pins, paths.host_root())
    key, response = session.position.begin_tool_call(path), _ASK_AGAIN

    async def begin() -> Proceed | Serve:
        return await session.begin(
            key,
            name=name,
            identity_of={"name": name, "arguments": kwargs},
            arguments=kwargs,
            permission=allowed,
            unservable=_unservable,
            extra={"until": target} if target else None,
        )

    await session.check_asked(path)
    step = await begin()
    session.position.open_tools[agent.number] = OpenTool(tool)
    try:
        while response is _ASK_AGAIN:
            if isinstance(step, Serve):
                setattr(tool, quiet.SERVED, True)
            if allowed.policy == policies.SUBORDINATE and step.call.outcome in (None, Outcome.OK):
                response = await subordinates.work(session, tool, step.call, execute, kwargs)
            elif isinstance(step, Serve):
                response = await _serve(session, agent, tool, step.call)
            elif (response := await _live(active, session, tool, step, execute, kwargs)) is _ASK_AGAIN:
                step = await begin()  # a person decided about it
    except BaseException:
        session.position.open_tools.pop(agent.number, None)
        raise
    session.position.open_tools[agent.number] = OpenTool(tool, executing=False, response=response)
    return response


async def _live(
    active: Activation,
    session: Session,
    tool: Any,
    step: Proceed,
    execute: Callable[..., Awaitable[Any]],
    kwargs: dict[str, Any],
) -> Any:
    """Run the effect and save how it ended. `_ASK_AGAIN`: that proves nothing, and a person has decided about it meanwhile."""
    from helpers.errors import InterventionException
    from helpers.tool import Response

    if step.replayed and tool.name == policies.WAIT:
        policies.shorten_wait(tool, step.call, active.journal.clock.now())
    if tool.name in _LEAVES_OPEN:
        tool.agent.context.data.setdefault(VOLATILE, set()).add(_LEAVES_OPEN[tool.name])
    before = _Before({key: id(value) for key, value in vars(tool).items()}, leavings.stamp(tool.agent))
    starting = starting_call.set((session, step.call))
    try:
        with documents.carried(tool) as carrier:
            response = await execute(**kwargs)
    except InterventionException:
        open_tool = session.position.open_tools.get(tool.agent.number)
        progress = open_tool.progress if open_tool else ""
        value = {"progress": progress, "log": _log_fields(tool)}
        await session.finish(step.call, Outcome.INTERRUPTED, value, extra={"delivered": list(session.just_delivered)})
        raise
    except (Exception, asyncio.CancelledError) as error:
        if _is_ending(error):
            raise
        if not outcomes.proves_nothing(error):
            await session.finish(step.call, Outcome.ERROR, outcomes.describe(error), extra={})
            raise
        if not active.is_on:  # switched off by hand during the effect: the call stays unknown
            raise
        if session.mode.holds_live:
            await session.hold_open(step.call, HELD.format(why=_why(error)))
            return _ASK_AGAIN
        response = Response(message=TOLD.format(why=_why(error)), break_loop=False)
        await session.finish(step.call, Outcome.UNKNOWN, _kept(tool, response, before), extra={})
        return response
    finally:
        starting_call.reset(starting)
    if carrier.draft is not None:

        def kept(text: str) -> dict[str, Any]:
            return _kept(tool, Response(message=text, break_loop=False), before)

        return Response(message=await documents.finish(session, step.call, carrier.draft, kept), break_loop=False)
    await session.finish(step.call, Outcome.OK, _kept(tool, response, before), extra={})
    return response


def _is_ending(error: BaseException) -> bool:
    """Somebody ends this task. A cancellation that nobody asked it for comes from inside the tool, like a lost connection."""
    if not isinstance(error, asyncio.CancelledError):
        return False
    task, binding = asyncio.current_task(), bound.get()
    return task is None or task.cancelling() > 0 or binding is None or not binding.is_current


def _unservable(call: Call) -> str:
    if call.outcome not in (Outcome.OK, Outcome.UNKNOWN) or _is_report(call):
        return ""
    whole = isinstance(call.value, dict) and call.value.get("servable", False)
    return "" if whole else "The saved result of this step cannot be given back."


def _is_report(call: Call) -> bool:
    """The engine's own words about a step that a restart cut off, in the mode `report`."""
    return call.outcome is Outcome.UNKNOWN and isinstance(call.value, dict) and call.value.keys() == {"text"}


async def _serve(session: Session, agent: Any, tool: Any, call: Call) -> Any:
    from helpers.errors import InterventionException
    from helpers.tool import Response

    value = call.value
    if call.outcome is Outcome.CONFIRMED:
        _show(tool, {"content": str(value)})
        return Response(message=str(value), break_loop=tool.name == "response")
    if _is_report(call):
        _show(tool, {"content": value["text"]})
        return Response(message=value["text"], break_loop=False)
    if call.outcome is Outcome.ERROR:
        raise outcomes.rebuild(value)
    if call.outcome is Outcome.INTERRUPTED:
        session.position.open_tools[agent.number].executing = False
        _show(tool, value.get("log"))
        if value.get("progress"):
            agent.hist_add_tool_result(tool.name, value["progress"])
        messages.deliver_recorded(session, agent, list(call.extra.get("delivered", [])))
        raise InterventionException()
    _show(tool, value.get("log"))
    for key, left in value.get("attributes", {}).items():
        setattr(tool, key, left)
    leavings.put_back(agent, value.get("left", {}))
    return Response(message=value["message"], break_loop=value["break_loop"], additional=value["additional"])


def _kept(tool: Any, response: Any, before: _Before) -> dict[str, Any]:
    """The result as it is stored. The effect has happened: whatever the tool returned, something true is kept."""
    try:
        return _value(tool, response, before)
    except Exception as problem:
        return {"returned": response, "problem": type(problem).__name__, "servable": False}


def _value(tool: Any, response: Any, before: _Before) -> dict[str, Any]:
    """What a later life needs to give this result back: the answer, the bubble, what the tool carries on."""
    changed = {key: value for key, value in vars(tool).items() if key not in _NOT_CARRIED and before.attributes.get(key) != id(value)}
    read = carried.read_afterwards(type(tool)) if changed else None
    value = {
        "message": response.message,
        "break_loop": response.break_loop,
        "additional": response.additional,
        "log": _log_fields(tool),
        "attributes": {key: value for key, value in changed.items() if read is None or key in read},
        "left": leavings.since(tool.agent, before.data),
    }
    needed = [value["message"], value["additional"], value["attributes"]]
    return {**value, "servable": isinstance(response.message, str) and not _has_opaque(plain(needed))}


def _has_opaque(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_opaque(inner) for inner in value.values())
    if isinstance(value, list):
        return any(_has_opaque(inner) for inner in value)
    return isinstance(value, Opaque)


def _log_fields(tool: Any) -> dict[str, Any] | None:
    """The tool's bubble, which it fills while it runs. Not every tool has one."""
    log = getattr(tool, "log", None)
    if log is None:
        return None
    kvps = getattr(log, "kvps", None)
    texts = {key: getattr(log, key, "") for key in ("heading", "content")}
    return {**texts, "kvps": dict(kvps) if isinstance(kvps, dict) else {}}


def _show(tool: Any, fields: dict[str, Any] | None) -> None:
    log = getattr(tool, "log", None)
    if log is not None and fields:
        log.update(**fields)


def _why(error: BaseException) -> str:
    return f"{type(error).__name__} instead of an answer"
