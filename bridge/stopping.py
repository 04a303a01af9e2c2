"""After a Stop: the chat goes on from its last valid state plus what was saved since.

The model must not believe that nothing happened: saved answers and results are put
into the history, and a note names the steps whose outcome nobody knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..journal.decisions import RESTORABLE
from ..journal.errors import Corrupt
from ..journal.ids import RunId
from ..journal.records import Call, CallKind, Hold, HoldReason, Outcome, Run
from . import agents, messages, notify, policies, restoring, standing, waiting

if TYPE_CHECKING:
    from .activation import Activation
    from .session import Session

NOTE = "A person stopped this turn. Nothing more of it runs."
ENDED_BY_SETTING = "Agent Zero was restarted during this turn, and the turn is not continued (on_restart: off). Nothing more of it runs."
NO_ANSWER = "A subordinate that was at work had not answered."
UNKNOWN = "It is unknown whether these steps happened, check before you run them again: "


def tell(active: Activation, session: Session, ctx: Any, hold: Hold | None, *, from_point: bool, note: str = NOTE) -> None:
    """Complete the chat's history after a Stop and write the host's file."""
    from helpers import history, persist_chat

    calls, offered = _records(active, session)
    kept_as_is = active.journal.ended_by_selection(session.run.run_id)
    left_alone = hold is not None and (hold.reason in RESTORABLE or (hold.reason is HoldReason.RESTORED and not from_point))
    touched = kept_as_is or not left_alone
    masker = active.journal.masker
    undone = [c for c in calls if c.outcome in (None, Outcome.UNKNOWN) and not c.key.kind.is_inference]
    unknown = [standing.named(masker, c) for c in undone if c.permission.policy != policies.SUBORDINATE]
    text = f"{note} {UNKNOWN}{'; '.join(unknown)}." if unknown else note
    if len(unknown) < len(undone):
        text = f"{text} {NO_ANSWER}"
    if kept_as_is:
        text = text.replace(note, f"{restoring.ENDED}{restoring.results(active, calls, ctx)}")
    if touched:
        agent = ctx.agent0
        if from_point:
            _put_back_all(session, ctx, calls)
        for member in agents.of_chat(ctx):
            history.clear_responses_provider_state(member)  # calls that were asked for and not made have no result
        content = agent.parse_prompt("fw.warning.md", message=text)
        agent.hist_add_message(False, content=content, id=_note_id(session.run))
    kept = f" {offered} kept message(s) were not sent: send them again if you still want them." if offered else ""
    notify.inform(ctx, "Run stopped", f"{note if touched else text} Records stay.{kept}")
    ctx.streaming_agent = None  # the chat goes on with its first agent
    ctx.log.set_initial_progress()
    if touched:
        persist_chat.save_tmp_chat(ctx)
    notify.refresh()


def by_setting(active: Activation, run_id: RunId) -> Run:
    """The mode `off`: a restart ends the run, recorded as what it is."""
    return active.journal.stop_run(run_id, "on_restart: off", ENDED_BY_SETTING).result(waiting.PATIENT_S)


def end_task(ctx: Any) -> None:
    """Nothing of the turn goes on: neither a step that runs, nor a subordinate that would take the next message."""
    if ctx.task is not None:
        ctx.task.kill()
    for agent in agents.of_chat(ctx):
        agent.intervention = None  # the host's slot: what waits is offered, never sent by itself
    ctx.streaming_agent, ctx.paused = None, False


def is_told(ctx: Any, run: Run) -> bool:
    return _note_id(run) in messages.in_history(ctx)


def _note_id(run: Run) -> str:
    return f"durable-stop-{run.run_id}"


def _records(active: Activation, session: Session) -> tuple[list[Call], int]:
    """The run's calls and how many messages it kept; of a run that cannot be read, nothing is told."""
    journal, run_id = active.journal, session.run.run_id
    try:
        return [call for call in journal.calls(run_id) if not call.abandoned], len(journal.inputs(run_id))
    except Corrupt:
        return [], 0


def _put_back_all(session: Session, ctx: Any, calls: list[Call]) -> None:
    """What was saved since the resume point, to the agents that were at work there."""
    paths, reached = session.position.paths, session.position.reached()
    members = {paths[member.number]: member for member in agents.of_chat(ctx) if member.number in paths}
    for call in calls:
        if call.key.path in members and agents.is_beyond(call.key, reached):
            _put_back(members[call.key.path], call)


def _put_back(agent: Any, call: Call) -> None:
    from agent import LoopData
    from helpers.llm_result import LLMResult

    if call.key.kind is CallKind.MODEL and call.outcome is Outcome.OK and isinstance(call.value, dict):
        result = LLMResult.from_dict(call.value)
        agent.loop_data = LoopData()
        agent.hist_add_ai_response(result.response, llm_result=result)
    elif call.key.kind is CallKind.TOOL and call.outcome is not None and (text := standing.said(call.value)):
        agent.hist_add_tool_result(call.name, text)
