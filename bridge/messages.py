"""Messages inside a turn: each one reaches the history exactly once, in order (I14, I15).

What counts as delivered is what stands in the history; no flag is trusted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..journal.ids import InputId
from ..journal.records import Input
from . import agents, notify
from .bindings import bound, of_agent
from .position import OpenTool
from .session import Session

if TYPE_CHECKING:
    from .activation import Activation

BEFORE = "delivered_before"  # in the extra of a model call: the messages that entered the history since the step before
NOTE_ID = "durable-lost-state"
INTERRUPTED = "This step was interrupted by a new message. It may still be running: check before you run it again."


@dataclass(frozen=True, slots=True)
class Message:
    """A message that came while the run was unfinished and is kept until it is delivered."""

    id: InputId
    seq: int
    text: str
    attachments: list[str]
    system: list[str]

    @classmethod
    def of(cls, kept: Input) -> Message:
        content = kept.content
        return cls(kept.input_id, kept.seq, content["text"], list(content["attachments"]), list(content["system"]))

    def to_host(self) -> Any:
        from agent import UserMessage

        return UserMessage(self.text, list(self.attachments), list(self.system), id=self.id)


def user_message_start(active: Activation, agent: Any, data: dict[str, Any]) -> None:
    """On a resume, adopt the message that stands in the history; else put earlier ones first."""
    session = of_agent(agent)
    if session is None:
        _keep_out(active, agent, data)
        return
    message, intervention = arguments(data)
    if not intervention:
        if session.child is not None and agent.number == 0 and not message.id:
            _name_task(session, agent, message)
        if session.resumed and not _adopt([agent], message, data) and _was_read(session, agent, message):
            data["result"] = _left_behind(agent, message)
        return
    if session.delivering:
        return
    if _adopt(agents.of_chat(agent.context), message, data):
        return  # the host's slot was filled a moment after we had delivered the message, maybe to another agent
    seq = next((m.seq for m in session.messages if m.id == message.id), None)
    if seq is not None:
        _add(session, agent, [m for m in session.messages if m.seq < seq])


def _name_task(session: Session, agent: Any, message: Any) -> None:
    """What a job was asked is known by its run's own id, in the history and as a bubble: a rebuilt chat must not show it twice."""
    message.id = session.run.input_id
    asked = next((item for item in reversed(agent.context.log.logs) if item.type == "user"), None)
    if asked is not None:
        asked.id = message.id


def _keep_out(active: Activation, agent: Any, data: dict[str, Any]) -> None:
    """A turn that did not come through the front door adds nothing to a chat with an unfinished run (I6)."""
    binding = bound.get()
    session = active.sessions.get(agent.context.id)
    if session is not None and session.position.path_of(agent) is not None and (binding is None or binding.session is not session):
        data["exception"] = notify.stopped(notify.HELD_ANSWER)


def user_message_end(active: Activation, agent: Any, data: dict[str, Any]) -> None:
    """The host's one slot carried one message; those that came after it follow right here."""
    session = of_agent(agent)
    if session is None or session.delivering or data["exception"] is not None:
        return
    message, intervention = arguments(data)
    if not intervention:
        return
    session.just_delivered.append(InputId(message.id))
    _add(session, agent, session.messages)


def deliver_waiting(session: Session, agent: Any) -> None:
    """Add every waiting message that is not in the history yet, before the checkpoint.

    What the host's slot still carries must not come a second time: it may be left from a
    turn that ended while the message came in.
    """
    if session.messages:
        _add(session, agent, session.messages)
    slot = agent.intervention
    if slot is not None and slot.id in in_history(agent.context):
        agent.intervention = None


def deliver_recorded(session: Session, agent: Any, ids: list[str]) -> None:
    """Replay an intervention: the recorded messages, at the recorded place."""
    chosen = [m for m in session.messages if m.id in ids] if ids else list(session.messages)
    _add(session, agent, chosen)


def _add(session: Session, agent: Any, chosen: list[Message]) -> None:
    present = in_history(agent.context)
    session.delivering = True
    try:
        for message in sorted(chosen, key=lambda m: m.seq):
            if message.id not in present:
                agent.hist_add_user_message(message.to_host(), intervention=True)
                session.just_delivered.append(message.id)
    finally:
        session.delivering = False


def _adopt(heard_by: Iterable[Any], message: Any, data: dict[str, Any]) -> bool:
    """Take the message that stands in a history for the one that the host is about to add."""
    for agent in heard_by:
        for stored in agent.history.all_messages():
            if message.id and stored.id == message.id and not stored.ai:
                data["result"] = stored
                if agent.last_user_message is None:
                    agent.last_user_message = stored
                return True
    return False


def _was_read(session: Session, agent: Any, message: Any) -> bool:
    """Whether a model was asked with the run's own message before."""
    return message.id == session.run.input_id and session.position.step_of(session.position.path_of(agent) or "") > 0


def _left_behind(agent: Any, message: Any) -> Any:
    """The run's own message, which the model has read and which a compression took out of the history: it must not come
    again at the end, where it would read as a new request.
    """
    from helpers import history

    content = agent.parse_prompt("fw.user_message.md", message=message.message, attachments=message.attachments, system_message=[])
    agent.last_user_message = history.Message(False, content, id=message.id)
    return agent.last_user_message


def arguments(data: dict[str, Any]) -> tuple[Any, bool]:
    """The message that is about to stand in a history, and whether it comes in between."""
    args, kwargs = data["args"], data["kwargs"]
    message = args[1] if len(args) > 1 else kwargs["message"]
    intervention = args[2] if len(args) > 2 else kwargs.get("intervention", False)
    return message, bool(intervention)


def in_history(ctx: Any) -> set[str]:
    return {message.id for agent in agents.of_chat(ctx) for message in agent.history.all_messages()}


def delivered(session: Session, ctx: Any) -> list[InputId]:
    """Ids of waiting messages that stand in the history now."""
    if not session.messages:
        return []
    present = in_history(ctx)
    return [message.id for message in session.messages if message.id in present]


def forget_delivered(session: Session, ids: list[InputId]) -> None:
    if ids:
        with session.lock:
            session.messages = [message for message in session.messages if message.id not in ids]


def before_recorded(session: Session, path: str) -> list[str] | None:
    """None unless the agent's next model call has a record of an earlier life; then the messages to deliver before it."""
    return session.recorded.get(session.position.next_model_key(path).text)


def note_lost_state(session: Session, agent: Any) -> None:
    """Tell the model once what was lost with the process; an older note gives way."""
    lost, session.volatile = session.volatile, []
    for topic in _topics(agent.history):
        topic.messages = [m for m in topic.messages if m.id != NOTE_ID]
    text = "Agent Zero was restarted during this turn. These were lost: " + "; ".join(lost) + "."
    content = agent.parse_prompt("fw.warning.md", message=text)
    agent.hist_add_message(False, content=content, id=NOTE_ID)


def _topics(history: Any) -> Iterator[Any]:
    """Every topic of a history, those that were summed up into bulks too."""
    records = [*history.bulks, *history.topics, history.current]
    while records:
        record = records.pop()
        if hasattr(record, "messages"):
            yield record
        else:
            records.extend(getattr(record, "records", ()))


def intervention_start(active: Activation, agent: Any) -> Awaitable[None] | None:
    """Before the host raises for a new message: a saved result goes into the history first (I15).

    The host asks with each piece of an answer; nearly always there is nothing to wait for, and so no coroutine.
    """
    session = of_agent(agent)
    open_tool = session.position.open_tools.get(agent.number) if session is not None else None
    if session is None or open_tool is None:
        return None
    if open_tool.response is None and not open_tool.executing:
        return None
    return _result_first(session, agent, open_tool)


async def _result_first(session: Session, agent: Any, open_tool: OpenTool) -> None:
    await agent.wait_if_paused()
    if agent.intervention is None:
        return
    tool = open_tool.tool
    if open_tool.executing:
        open_tool.progress = f"{tool.progress.strip()}\n\n{INTERRUPTED}".strip()
        tool.progress = open_tool.progress
    else:
        await append_result(session, agent)


async def append_result(session: Session, agent: Any) -> None:
    """Let the host's own tool put its saved result into the history, now."""
    open_tool = session.position.open_tools.get(agent.number)
    if open_tool is None or open_tool.response is None:
        return
    response, open_tool.response = open_tool.response, None
    open_tool.tool.progress = ""
    await open_tool.tool.after_execution(response)


async def exception_start(active: Activation, agent: Any, data: dict[str, Any]) -> None:
    """Another plugin's hook or an error got between a saved result and the host's append (I15)."""
    session = of_agent(agent)
    location = data["args"][1] if len(data["args"]) > 1 else data["kwargs"].get("location")
    if session is not None and location == "message_loop":
        await append_result(session, agent)
