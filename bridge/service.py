"""The door of the panel: views from the journal, decisions into it, and the run set going again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..journal.decisions import RESTORABLE
from ..journal.documents import Way, Writer
from ..journal.errors import AckMissing, JournalError, RunEnded, ShownChanged, StaleVersion, UnknownDocument
from ..journal.listing import Search
from ..journal.records import Choice, Decision, HoldReason, Run, RunState, Selection
from ..journal.selections import StateOffer
from . import documents, edition, notify, restoring, safekeeping, suspension, turns, waiting

if TYPE_CHECKING:
    from .activation import Activation


_RESTORABLE = {reason.value for reason in RESTORABLE}
_UNREADABLE = HoldReason.CHECKPOINT_CORRUPT.value
_NOTHING = {"id": "", "title": "Go back to a saved state", "preview": "", "digest": "", "at": 0, "allowed": False}
_NOTHING |= {"needs_note": False, "needs_ack": False, "ends_run": False}


def _chats_named(query: str) -> tuple[str, ...]:
    """Chats whose present name has these words."""
    from agent import AgentContext

    words = query.strip().casefold()
    return tuple(ctx.id for ctx in AgentContext.all() if words and words in (ctx.name or "").casefold())


def _reason(run: dict[str, Any]) -> str:
    """The code of what it is held for; empty where it is not held."""
    return str(run["reason"]["code"]) if run["state"] == RunState.HELD.value else ""


def _offered(offer: StateOffer) -> dict[str, Any]:
    shown = {name: getattr(offer, name) for name in ("title", "preview", "digest", "at", "needs_ack", "ends_run")}
    return {"id": offer.selection, "needs_note": False, **shown}


class Service:
    """What `api/` may ask. Every method returns JSON-ready values or raises a JournalError."""

    def __init__(self, active: Activation) -> None:
        self._active = active

    def status(self) -> dict[str, Any]:
        active = self._active
        problem = active.store_problem or active.journal.problem
        try:
            counts = active.journal.counts()
        except JournalError as error:  # the status must answer above all when the journal does not
            counts, problem = {}, problem or str(error)
        return {
            "active": True,
            "why_not": None,
            "restart_needed": edition.is_outdated(),
            "backend": "sqlite",
            "schema": active.journal.schema,
            "version": edition.VERSION,
            "host": active.host,
            "holds": counts.get("held", 0),
            "counts": counts,
            "store_problem": problem,
            "masking_problem": active.journal.masker.problem or None,
            "restored": notify.put_back(active.journal) or None,
            "notes": active.journal.notes,
            "changed": active.changed,
            "suspension": suspension.view(active),
            "protected_from_next_message": sorted(active.unprotected),
        }

    def recovery_list(self, tab: str, cursor: str | None, query: str = "") -> dict[str, Any]:
        listing = self._active.journal.listing(tab, cursor, Search(query, _chats_named(query)))
        for item in listing["items"]:
            self._name(item, "title")
        return listing

    def recovery_run(self, run_id: str) -> dict[str, Any]:
        view = self._active.journal.run_view(run_id)
        self._name(view["run"], "title")
        view["restore"] = self._restore(view["run"])
        view["backup"] = safekeeping.newest() if _reason(view["run"]) == _UNREADABLE else None
        return view

    def _restore(self, run: dict[str, Any]) -> list[dict[str, Any]]:
        """The states to go on from, where that is what a person is asked."""
        if _reason(run) not in _RESTORABLE:
            return []
        found, why = self._active.journal.restore_offers(run["run_id"], restoring.usable(self._active, run["run_id"]))
        if not found:
            return [{**_NOTHING, "reason": why}]
        return [{**_offered(offer), "allowed": True, "reason": ""} for offer in found]

    def recovery_restore(self, **facts: Any) -> dict[str, Any]:
        usable = restoring.usable(self._active, facts["run_id"])
        run = self._active.journal.choose_state(Selection(**facts), usable).result(waiting.PATIENT_S)
        return self._went_on(run)

    def recovery_decide(self, *, decision: str, **facts: Any) -> dict[str, Any]:
        run = self._active.journal.decide(Decision(choice=Choice(decision), **facts)).result(waiting.PATIENT_S)
        return self._went_on(run)

    def recovery_stop(self, *, run_id: str | None, chat_id: str | None, origin: str, **facts: Any) -> dict[str, Any]:
        """Stop without a form: whatever the run is at by now, it is what the person wants."""
        journal = self._active.journal
        session = self._active.sessions.get(chat_id or "")
        run_id = run_id or (session.run.run_id if session is not None else "")
        while journal.run(run_id).state is not RunState.STOPPED:
            view = journal.run_view(run_id)
            shown = next((offer for offer in view["decisions"] if offer["id"] == Choice.STOP.value), None)
            if shown is None:
                raise RunEnded(journal.run(run_id))
            about: dict[str, Any] = {"run_id": run_id, "call_id": None, "version": view["run"]["version"], "shown_digest": shown["digest"]}
            about |= {"ack": False, "result_text": None, "origin": origin}
            try:
                return self.recovery_decide(decision=Choice.STOP.value, **about, **facts)
            except (StaleVersion, ShownChanged):
                continue  # it went on meanwhile
        return self.recovery_run(run_id)

    def message_settle(self, *, action: str, run_id: str, version: int, input_id: str, origin: str) -> dict[str, Any]:
        """A message that a Stop left over: sent now, as the next turn or into the one that runs, or not at all."""
        journal = self._active.journal
        if action == "discard":
            journal.discard_input(run_id, version, input_id, origin).result(waiting.PATIENT_S)
        else:
            turns.send_left_over(self._active, journal.offered_input(run_id, version, input_id))
        return self.recovery_run(run_id)

    def recovery_grant(self, **facts: Any) -> dict[str, Any]:
        run = self._active.journal.grant(**facts).result(waiting.PATIENT_S)
        return self._went_on(run)

    # -- the journal itself -----------------------------------------------------------------------

    def safety(self) -> dict[str, Any]:
        return safekeeping.view(self._active, self.status())

    def doctor(self, start: bool) -> dict[str, Any]:
        if start:
            self._active.checkup.start(self._active)
        return self.safety()

    def backup_make(self) -> dict[str, Any]:
        return {"made": safekeeping.make(self._active), **self.safety()}

    def backup_verify(self, name: str) -> dict[str, Any]:
        return {"verified": safekeeping.verify(name), **self.safety()}

    def backup_restore(self, name: str, ack: bool) -> dict[str, Any]:
        if not ack:
            raise AckMissing
        return self._active.on_put_back(name)

    # -- documents ------------------------------------------------------------------------------

    def documents_list(self, cursor: str | None) -> dict[str, Any]:
        listing = self._active.journal.documents_listing(cursor)
        for item in listing["items"]:
            self._name(item, "chat_title")
        return listing

    def document_read(self, document_id: str | None = None, chat_id: str | None = None, kind: str = "plan") -> dict[str, Any]:
        if document_id:
            view = self._active.journal.document_view(document_id)
        elif chat_id:
            view = self._active.journal.chat_document_view(chat_id, kind)
        else:
            raise UnknownDocument("")
        self._name(view["document"], "chat_title")
        return view

    def document_save(self, chat_id: str, kind: str, expected_revision: int, value: dict[str, Any]) -> dict[str, Any]:
        from agent import AgentContext

        journal = self._active.journal
        draft = journal.draft(chat_id, kind, expected_revision, value, Writer.PERSON)
        if AgentContext.get(chat_id) is None and not journal.document(chat_id, kind).revision:
            raise UnknownDocument(chat_id)  # a person writes into a chat, never into the name of one
        try:
            saved = journal.save_document(draft).result(waiting.PATIENT_S)
        finally:
            documents.tell(self._active, chat_id)
        return self.document_read(saved.document_id)

    def document_resolve(self, conflict_id: str, choice: str, expected_revision: int, value: dict[str, Any] | None) -> dict[str, Any]:
        saved = self._active.journal.settle_conflict(conflict_id, Way(choice), expected_revision, value).result(waiting.PATIENT_S)
        view = self.document_read(saved.document_id)
        documents.tell(self._active, view["document"]["chat_id"])
        return view

    def suspend(self, action: str, origin: str) -> dict[str, Any]:
        """Put everything aside for a restart, or take that back; answers at once, `status` says how far it is."""
        if action == "resume":
            return {"suspension": None, "resumed": suspension.lift(self._active)}
        suspension.begin(self._active, origin)
        return {"suspension": suspension.view(self._active), "resumed": 0}

    def _went_on(self, run: Run) -> dict[str, Any]:
        self._active.on_release(run)
        return self.recovery_run(run.run_id)

    def _name(self, item: dict[str, Any], field: str) -> None:
        """The name under which the person knows the chat, where it is still there: a chat gets it later than its run."""
        from agent import AgentContext

        ctx = AgentContext.get(item["chat_id"])
        item["chat_exists"] = ctx is not None
        item.setdefault(field, "")
        if ctx is not None and ctx.name:
            item[field] = self._active.journal.masker.text(ctx.name)
