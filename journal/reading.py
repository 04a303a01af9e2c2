"""What can be asked of a journal: the same for its owner and for a look from outside. Reads only, decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any

from . import (
    calls,
    checkpoints,
    children,
    decisions,
    document_views,
    documents,
    inputs,
    leaks,
    listing,
    recovery,
    runs,
    selections,
    views,
)
from .checkpoints import LoadedPoint
from .clock import Clock
from .decisions import Offer
from .documents import Document
from .errors import CheckpointCorrupt
from .ids import CallId, ChatId, InputId, RunId
from .leaks import Leak
from .listing import NO_SEARCH, Search
from .masking import Masker
from .preview import Outlook
from .records import Call, Hold, Input, Permission, Process, Run
from .recovery import Restart
from .replay import NOTHING, Allowlist
from .selections import StateOffer
from .store.base import Read, Reader
from .trees import Tree

CHAT_SAVED = "chat_saved"


def _as_recorded(call: Call) -> Permission:
    return call.permission


class Reading:
    """Every answer is one consistent state of its own. What a person sees is masked again with what is secret now."""

    def __init__(self, read: Read, *, masker: Masker, clock: Clock, boot_id: str) -> None:
        """`boot_id` names the process that owns the journal, if that is the reader; else it is empty."""
        self.masker = masker
        self.clock = clock
        self.boot_id = boot_id
        self.allowlist: Allowlist = NOTHING
        self.permission_now: Callable[[Call], Permission] = _as_recorded
        """Under which policy, from which source, a call may run again now; whoever knows the tools sets it."""
        self._read = read

    def unfinished(self) -> list[Run]:
        """Every run that has not ended. One that cannot be read is among them, with `damaged` set."""
        return self._read(runs.unfinished)

    def run(self, run_id: str) -> Run:
        return self._read(lambda tx: runs.load_any(tx, RunId(run_id)))

    def runs_of(self, chat_id: str) -> list[Run]:
        return self._read(lambda tx: runs.of_chat(tx, ChatId(chat_id)))

    def ended_in_last_boot(self) -> list[Run]:
        """Newest runs of their chats that ended in the last process in which any run ended."""
        return self._read(lambda tx: runs.ended_in_last_boot(tx, self.boot_id))

    def process_before(self) -> Process | None:
        """The process that owned the journal before this one."""
        row = self._read(lambda tx: tx.one("boot_before", boot_id=self.boot_id))
        return None if row is None else Process(row["started_at"], row["ended_at"] is not None)

    def stops_untold(self) -> list[Run]:
        """Newest runs of their chats that a person ended, and that `end_completion` does not say to be told."""
        return self._read(runs.stops_untold)

    def calls(self, run_id: str) -> list[Call]:
        return self._read(lambda tx: calls.of_run(tx, RunId(run_id)))

    def children(self, call_id: str) -> list[Run]:
        """What a call started beside its run, in order."""
        return self._read(lambda tx: children.of_call(tx, CallId(call_id)))

    def child_by_job(self, chat_id: str, job_id: str) -> Run | None:
        """The newest child that a run of this chat knows by this name."""
        return self._read(lambda tx: children.by_job(tx, ChatId(chat_id), job_id))

    def parent(self, run: Run) -> tuple[Run, Call] | None:
        """The run and the call that started this one, or None."""
        return self._read(lambda tx: children.parent_of(tx, run))

    def chat_was_saved(self, run_id: str) -> bool:
        """Whether `note_chat_saved` was called for this run, in any process."""
        return any(row["kind"] == CHAT_SAVED for row in self._read(lambda tx: tx.all("events_of_run", run_id=RunId(run_id))))

    def was_released(self, run_id: str) -> bool:
        """Whether a person let this run go on, in any process, and nothing has taken it up since."""
        return self._read(lambda tx: runs.was_released(tx, RunId(run_id)))

    def waiting(self, chat_id: str) -> list[Input]:
        """Messages of a chat that are not delivered yet, in order."""
        return self._read(lambda tx: inputs.waiting(tx, ChatId(chat_id)))

    def all_waiting(self) -> list[Input]:
        """Messages that wait in any chat; after a crash some may have no unfinished run any more."""
        return self._read(inputs.all_waiting)

    def inputs(self, run_id: str) -> list[Input]:
        return self._read(lambda tx: inputs.of_run(tx, RunId(run_id)))

    def offered_input(self, run_id: str, version: int, input_id: str) -> Input:
        """A message that a Stop left over, as it was shown; one that was discarded too."""
        return self._read(lambda tx: inputs.offered(tx, RunId(run_id), version, InputId(input_id))[1])

    def head(self) -> int:
        return self._read(runs.head)

    def resume_point(self, run_id: str) -> LoadedPoint:
        """The newest checkpoint, verified. Raises CheckpointCorrupt, never falls back to an older one (I9)."""
        return self._read(lambda tx: checkpoints.newest(tx, RunId(run_id), self._tree()))

    def states(self, run_id: str) -> dict[int, LoadedPoint]:
        """The newest saved states of a run whose records are sound, newest first; their parts are verified on reading."""

        def read(tx: Reader) -> dict[int, LoadedPoint]:
            found = {}
            for row in checkpoints.of_run(tx, RunId(run_id)):
                with suppress(CheckpointCorrupt):
                    found[int(row["seq"])] = checkpoints.loaded(tx, RunId(run_id), row, self._tree())
            return found

        return self._read(read)

    def restore_offers(self, run_id: str, usable: Collection[int]) -> tuple[list[StateOffer], str]:
        """The states from which a person may let this run go on, and why there is none."""
        return self._read(lambda tx: selections.offers(tx, RunId(run_id), usable))

    def waiting_selection(self, run_id: str) -> str | None:
        """The id of a choice whose chat was not brought to the chosen state yet."""
        return self._read(lambda tx: selections.waiting(tx, RunId(run_id)))

    def ended_by_selection(self, run_id: str) -> bool:
        """Whether the run ended because a person kept the chat as it was."""
        return self._read(lambda tx: selections.ended(tx, RunId(run_id)))

    def document(self, chat_id: str, kind: str) -> Document:
        """The newest revision; revision 0 with the empty value where nothing was saved."""
        return self._read(lambda tx: documents.current(tx, ChatId(chat_id), kind))

    def document_marks(self, chat_id: str | None = None) -> dict[ChatId, dict[str, dict[str, int]]]:
        """By chat and kind: the newest revision, and how many conflicts wait."""
        return self._read(lambda tx: documents.marks(tx, ChatId(chat_id) if chat_id else None))

    def open_conflicts(self, document_id: str) -> int:
        return self._read(lambda tx: documents.waiting(tx, document_id))

    def _tree(self) -> Tree:
        return Tree(
            lambda digest: self._read(lambda tx: checkpoints.node(tx, digest)),
            lambda digests: self._read(lambda tx: checkpoints.nodes(tx, digests)),
        )

    # -- what happens next ---------------------------------------------------------------------------

    def classify(self, run_id: str, permission_now: Callable[[Call], Permission]) -> Hold | None:
        """Why a run must wait for a person, or None: the same planner that `begin_call` asks."""
        return self._read(lambda tx: recovery.classify(tx, RunId(run_id), permission_now, self.allowlist, self.clock.now()))

    def after_restart(self, run_id: str, permission_now: Callable[[Call], Permission]) -> Restart:
        """`classify`, and what was chosen for a restart when the run was admitted."""
        at = self.clock.now()
        return self._read(lambda tx: recovery.after_restart(tx, RunId(run_id), permission_now, self.allowlist, at))

    def is_at_work(self, run_id: str, permission_now: Callable[[Call], Permission]) -> bool:
        """Whether an effect of this run is under way that may not simply be repeated."""
        return self._read(lambda tx: recovery.is_at_work(tx, RunId(run_id), permission_now, self.allowlist, self.clock.now()))

    # -- what a person sees ----------------------------------------------------------------------

    def offers(self, run_id: str) -> tuple[Run, list[Call], list[Offer]]:
        """A run, its calls, and what a person may decide about them now."""

        def look(tx: Reader) -> tuple[Run, list[Call], list[Offer]]:
            run, all_calls = decisions.read(tx, RunId(run_id))
            return run, all_calls, decisions.offers(run, all_calls, self.outlook())

        return self._read(look)

    def outlook(self) -> Outlook:
        """What may run again without a person now: what a preview goes by, as the resume does."""
        return Outlook(self.allowlist, self.permission_now, self.clock.now())

    def listing(self, tab: str = "needs_you", cursor: str | None = None, search: Search = NO_SEARCH) -> dict[str, Any]:
        """`search` looks among all runs; what waits for a person is never hidden by it."""
        now = self.clock.now()
        return self._read(lambda tx: listing.page(tx, tab, cursor, search, masker=self.masker, boot_id=self.boot_id, now=now))

    def run_view(self, run_id: str) -> dict[str, Any]:
        return self._read(lambda tx: views.run_view(tx, RunId(run_id), masker=self.masker, boot_id=self.boot_id, outlook=self.outlook()))

    def documents_listing(self, cursor: str | None = None) -> dict[str, Any]:
        return self._read(lambda tx: document_views.listing(tx, cursor, masker=self.masker, now=self.clock.now()))

    def document_view(self, document_id: str) -> dict[str, Any]:
        """A document as it is stored now, with the versions that wait beside it."""
        return self._read(lambda tx: document_views.view(tx, document_id, masker=self.masker, now=self.clock.now()))

    def chat_document_view(self, chat_id: str, kind: str) -> dict[str, Any]:
        """The same of a chat's document of a kind, also where nothing was saved yet."""
        return self._read(lambda tx: document_views.of_chat(tx, ChatId(chat_id), kind, masker=self.masker, now=self.clock.now()))

    def counts(self) -> dict[str, int]:
        return self._read(lambda tx: listing.counts(tx, self.boot_id))

    def find_secrets(self) -> list[Leak]:
        """Runs that hold a secret which became known only after it was stored. Reads everything; answers names, never values."""
        return leaks.find(self._read, self.masker)
