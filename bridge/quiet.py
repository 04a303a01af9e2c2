"""Which hooks stand back while a recorded step is given back: no other plugin may send a second time (ADR 0019).

It sees the list of hooks of a point before the host runs them, and returns the same list or a shorter one. It never
reorders, adds or runs any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..journal.digests import of_file
from . import anchor, notify, overrides, paths, senders, tasks
from .bindings import bound
from .session import Session

if TYPE_CHECKING:
    from .activation import Activation

SERVED = "_durable_served"  # on the tool whose result came from the record


def hooks(active: Activation, point: str, agent: Any, found: list[Any]) -> list[Any]:
    """The hooks that may run at this point now."""
    session = _session(active, agent)
    if session is None:
        return found
    if point == "response_stream":  # once for each piece of an answer
        return _without(found, senders.PREVIEWS) if session.giving_back else found
    cover(active, agent.context)
    path = session.position.path_of(agent)
    session.sends.turn_to(path)
    if point == "tool_execute_before":
        is_recorded = path is not None and session.position.next_tool_key(path).text in session.recorded
        return _without(found, senders.PREVIEWS) if is_recorded else found
    if point == "process_chain_end":
        if tasks.TASK in session.run.mode:  # the host's own scheduled turn does not pass here: nothing replies to it
            return []
        session.sends.end()
    elif point == "tool_execute_after" and getattr(_tool(agent), SERVED, False):
        seen = (senders.HIDES_SECRETS, *(senders.TAKES_UP if senders.is_recorded(agent.context) else ()))
        return [hook for hook in found if _file(hook) in seen]
    return found


def cover(active: Activation, ctx: Any) -> None:
    """Put our functions around what this chat's integrations send with; the host loads that only when it needs it."""
    if not active.late or not senders.marks(ctx):
        return
    senders.load(ctx)
    with anchor.holder().lock:
        if not active.closed:
            for target in overrides.install_late(active.late, active.undo, lambda module: _is_reviewed(active, module)):
                notify.write(f"{target} is not what was reviewed: replies that it sends are not recorded.")


def _is_reviewed(active: Activation, module: str) -> bool:
    """The file may have changed since the host was compared: it is loaded only now."""
    name = f"{module.replace('.', '/')}.py"
    return of_file(paths.host_root() / name) == active.pinned_files.get(name)


def _session(active: Activation, agent: Any) -> Session | None:
    binding = bound.get()
    if agent is None or binding is None or binding.session.chat_id != agent.context.id or not active.was_on_just_now:
        return None
    return binding.session


def _tool(agent: Any) -> Any:
    return getattr(getattr(agent, "loop_data", None), "current_tool", None)


def _without(found: list[Any], files: tuple[str, ...]) -> list[Any]:
    return [hook for hook in found if _file(hook) not in files]


def _file(hook: Any) -> str:
    code = getattr(getattr(hook, "execute", None), "__code__", None)
    return paths.in_host(code.co_filename) if code is not None else ""
