"""Documents between the host and the journal: what a tool reads and writes, and what a chat's entry says of them.

What a recorded tool writes is handed over here and committed together with the call's result, so that a replay never
meets its own revision. Nothing here starts or repeats anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..journal.documents import Draft, Writer
from ..journal.errors import DocumentConflict, DoesNotFit, JournalError
from ..journal.records import Call
from . import notify, waiting

if TYPE_CHECKING:
    from .activation import Activation
    from .session import Session

MARK = "_durable_documents"  # in output_data; the underscore keeps it out of chat.json
MOST_REVISION = 2**53

_SAVED = "The {kind} is saved as revision {revision}."
_STALE = (
    "Not saved: revision {expected} of the {kind} is not the newest any more, somebody changed it. Nothing was overwritten and nothing "
    "is lost: your version is kept as a conflict that the user settles. Read the {kind} before you replace it again, and repeat no "
    "external action because of this."
)
_LATE = "Nothing was written: this run had ended, or goes on elsewhere."
_HELP = 'Allowed are "read", and "replace" with expected_revision (a whole number) and value (the complete {kind}).'


@dataclass(slots=True)
class Carrier:
    """What a recorded tool wants to be written with its result. What that tool starts is not recorded under it."""

    owner: Any
    draft: Draft | None = None


_carrier: ContextVar[Carrier | None] = ContextVar("durable_execution_carrier", default=None)


@contextmanager
def carried(by: Any) -> Iterator[Carrier]:
    """While a recorded tool runs: what it writes waits in here for the commit of its result."""
    carrier = Carrier(by)
    token = _carrier.set(carrier)
    try:
        yield carrier
    finally:
        _carrier.reset(token)


# -- the tool -----------------------------------------------------------------------------------


async def tool(active: Activation, facts: dict[str, Any]) -> str:
    """Read or replace a document for an agent; answers with what the model is told."""
    asking, kind, arguments = facts["tool"], facts["kind"], facts["arguments"]
    chat_id = asking.agent.context.id
    action = str(arguments.get("action") or "").strip().lower()
    try:
        if action == "read":
            return _read(active, chat_id, kind)
        if action != "replace":
            return f"Nothing was done: this is no action of {facts['kind']}s. {_HELP.format(kind=kind)}"
        draft = _draft(active, chat_id, kind, arguments)
        carrier = _carrier.get()
        if carrier is not None and carrier.owner is asking:
            carrier.draft = draft
            return _SAVED.format(kind=kind, revision=draft.expected + 1)
        return await _write(active, draft)
    except DoesNotFit as error:
        return f"Nothing was saved. {error.field}: {error.found} {error.allowed}"
    except JournalError as error:
        return f"Nothing was read or saved. {error}"


def _read(active: Activation, chat_id: str, kind: str) -> str:
    found = active.journal.document(chat_id, kind)
    told = {
        "revision": found.revision,
        "value": active.journal.masker.mask(found.value, names=False).value,
        "written_by": found.written_by.value if found.written_by else "nobody",
        "open_conflicts": active.journal.open_conflicts(found.document_id),
    }
    return json.dumps(told, ensure_ascii=False)


def _draft(active: Activation, chat_id: str, kind: str, arguments: dict[str, Any]) -> Draft:
    expected, value = arguments.get("expected_revision"), arguments.get("value")
    if isinstance(expected, str) and expected.strip().isdecimal() and len(expected) < 18:
        expected = int(expected)
    if type(expected) is not int or not 0 <= expected <= MOST_REVISION:
        allowed = "Allowed is the revision that you read, 0 if there is none."
        raise DoesNotFit("expected_revision", "It is missing or no whole number.", allowed)
    if isinstance(value, str):
        with suppress(ValueError):  # any other text is no document: the kind says so
            value = json.loads(value)
    return active.journal.draft(chat_id, kind, expected, value, Writer.AGENT)


async def _write(active: Activation, draft: Draft) -> str:
    """For a turn that is not recorded: nothing will repeat it, so the write stands alone."""

    def parked(problem: str | None) -> None:
        active.store_problem = problem

    try:
        saved = await waiting.durable(lambda: active.journal.save_document(draft), parked)
        return _SAVED.format(kind=draft.kind, revision=saved.revision)
    except DocumentConflict:
        return _STALE.format(kind=draft.kind, expected=draft.expected)
    finally:
        tell(active, draft.chat_id)


async def finish(session: Session, call: Call, draft: Draft, kept: Callable[[str], dict[str, Any]]) -> str:
    """Commit what a recorded tool wants to be written, together with its result; answers with what the result says.

    `kept` makes the stored result from a text. Raises nothing of ours: the step is parked while the store cannot take it.
    """
    journal, facts = session.activation.journal, {"kind": draft.kind, "expected": draft.expected, "revision": draft.expected + 1}
    saved, stale, late = (kept(text.format(**facts)) for text in (_SAVED, _STALE, _LATE))
    large = waiting.is_large(saved, draft.body.value)
    try:
        done = await waiting.durable(
            lambda: journal.finish_writing(call.call_id, draft, saved=saved, stale=stale, late=late), session.note_store, large=large
        )
    except JournalError as error:
        return f"Nothing was written. {error}"
    tell(session.activation, draft.chat_id)
    return str(done.value["message"] if isinstance(done.value, dict) else late["message"])


# -- what the page hears ------------------------------------------------------------------------


def tell(active: Activation, chat_id: str) -> None:
    """Say in the chat's entry which revisions are the newest, so that open pages look. The documents are not pushed."""
    from agent import AgentContext

    ctx = AgentContext.get(chat_id)
    if ctx is None:
        return
    try:
        marks = active.journal.document_marks(chat_id).get(ctx.id)
    except JournalError:
        return  # what cannot be read now is looked at when the page asks
    if marks:
        ctx.set_output_data(MARK, marks)
        notify.refresh()


def tell_all(active: Activation) -> None:
    """The same for every chat, once chats are loaded."""
    from agent import AgentContext

    for chat_id, marks in active.journal.document_marks().items():
        ctx = AgentContext.get(chat_id)
        if ctx is not None:
            ctx.set_output_data(MARK, marks)
    notify.refresh()


def untell_all() -> None:
    """Out of force: no page shows a plan that nobody keeps."""
    from agent import AgentContext

    for ctx in AgentContext.all():
        ctx.output_data.pop(MARK, None)
    notify.refresh()
