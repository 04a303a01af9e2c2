"""Every error of the journal, in five families told apart by what the caller can do.

JournalError
├── Refused       the rules said no; nothing changed
│   ├── NotAllowed · NoteMissing · AckMissing · RunEnded · NotRunning
│   ├── TooLarge · UnknownRun · UnknownCall · UnknownBackup · UnsafeFileSystem
│   ├── DoesNotFit · UnknownDocument · UnknownConflict
│   └── NotRecordable · StepInside · RunHeld (in holds.py, with what it shows)
├── Conflict      somebody was faster or something differs; look again
│   ├── StaleVersion · ShownChanged · RequestReused
│   ├── InputConflict · ChatBusy · ResultConflict · KeyReused
│   └── DocumentConflict · ConflictSettled
├── Corrupt       stop; a person has to look
│   └── CheckpointCorrupt · RecordCorrupt · JournalForeign · JournalNewer · JournalDamaged · BackupDamaged
├── Unavailable   the store is out of reach; this says nothing about any effect
│   └── StoreLocked · StoreFull · StoreLost · StoreClosed · CommitTimeout · TakenBack
└── Failed        what was recorded is an error of the caller's own code
    └── StepFailed · TurnFailed

A class docstring is the message that a person reads; facts are attributes; codes are never reused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .ids import CallId, ChatId, Digest, InputId, RunId
    from .records import CallKey, Outcome, Run


class JournalError(Exception):
    """The journal could not do this."""

    code = "journal_error"

    def __init__(self, detail: str = "") -> None:
        sentence = " ".join((type(self).__doc__ or "").split())
        super().__init__(f"{sentence} {detail}" if detail else sentence)
        self.detail = detail


class Refused(JournalError):
    """This is not possible here. Nothing was changed."""

    code = "refused"


class Conflict(JournalError):
    """Something else is recorded already. Nothing was changed; look again."""

    code = "conflict"


class Corrupt(JournalError):
    """A record cannot be trusted. It was left exactly as it is."""

    code = "corrupt"


class Unavailable(JournalError):
    """The journal is out of reach. This says nothing about whether an action happened."""

    code = "unavailable"


class Failed(JournalError):
    """This ended with an error of its own. The error is recorded, and comes again whenever the record is asked."""

    code = "failed"


# -- Refused ------------------------------------------------------------------------------------


class NotAllowed(Refused):
    """This decision is not on offer. Nothing was changed."""

    code = "not_allowed"

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class NoteMissing(Refused):
    """Write how you know. This is kept with the run. Nothing was changed."""

    code = "note_missing"
    field = "note"


class AckMissing(Refused):
    """This choice needs your consent that the step may happen twice. Nothing was changed."""

    code = "ack_missing"
    field = "ack"


class RunEnded(Refused):
    """This run has ended. Nothing was changed."""

    code = "run_ended"

    def __init__(self, run: Run) -> None:
        super().__init__("Its message was dealt with, and its record, the answer with it, was removed since." if run.is_removed else "")
        self.run = run


class NotRunning(Refused):
    """This run may not act now: it was stopped, is held, or is continued elsewhere. Nothing was started."""

    code = "not_running"

    def __init__(self, run: Run, *, token: int) -> None:
        super().__init__()
        self.run, self.token = run, token


class TooLarge(Refused):
    """This is larger than the journal accepts. Nothing was changed."""

    code = "too_large"

    def __init__(self, field: str, *, limit: int, size: int | None = None) -> None:
        super().__init__(f"{field}: {f'at most {limit}' if size is None else f'{size} of at most {limit}'}.")
        self.field, self.size, self.limit = field, size, limit


class UnknownRun(Refused):
    """There is no such run. Nothing was changed."""

    code = "unknown_run"

    def __init__(self, run_id: RunId) -> None:
        super().__init__()
        self.run_id = run_id


class UnknownCall(Refused):
    """There is no such call in this run. Nothing was changed."""

    code = "unknown_call"

    def __init__(self, call_id: CallId) -> None:
        super().__init__()
        self.call_id = call_id


class UnknownBackup(Refused):
    """There is no such backup. Nothing was changed."""

    code = "unknown_backup"

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name


class UnsafeFileSystem(Refused):
    """The journal's folder lies on a network file system, which is not safe for it. Move it to a local disk or a named volume."""

    code = "unsafe_file_system"

    def __init__(self, kind: str, folder: str) -> None:
        super().__init__(f"{folder} lies on {kind}.")
        self.kind, self.folder = kind, folder


class NotRecordable(Refused):
    """This value would not come back from the journal as it is. Hand in plain values. Nothing was started."""

    code = "not_recordable"

    def __init__(self, where: str, *, found: str) -> None:
        super().__init__(f"{where} is of type {found}.")
        self.where, self.found = where, found


class StepInside(Refused):
    """A step was asked for inside another step. Ask for it in the turn itself. Nothing was started."""

    code = "step_inside"

    def __init__(self, step: str) -> None:
        super().__init__(f"It was asked for inside {step}.")
        self.step = step


class DoesNotFit(Refused):
    """This is not a value of this kind of document. Nothing was changed."""

    code = "does_not_fit"

    def __init__(self, field: str, found: str, allowed: str) -> None:
        super().__init__(f"{field}: {found} {allowed}")
        self.field, self.found, self.allowed = field, found, allowed


class UnknownDocument(Refused):
    """There is no such document. Nothing was changed."""

    code = "unknown_document"

    def __init__(self, named: str) -> None:
        super().__init__()
        self.named = named


class UnknownConflict(Refused):
    """There is no such conflict. Nothing was changed."""

    code = "unknown_conflict"

    def __init__(self, conflict_id: str) -> None:
        super().__init__()
        self.conflict_id = conflict_id


# -- Conflict -----------------------------------------------------------------------------------


class StaleVersion(Conflict):
    """This run changed in the meantime. Nothing was changed by you; look again."""

    code = "stale_version"

    def __init__(self, run: Run, *, expected: int | None = None) -> None:
        super().__init__()
        self.run, self.expected, self.found = run, expected, run.version


class ShownChanged(Conflict):
    """What was shown to you is not what is recorded now. Nothing was changed; look again."""

    code = "shown_changed"

    def __init__(self, run: Run, *, expected: str, found: str) -> None:
        super().__init__()
        self.run, self.expected, self.found = run, expected, found


class RequestReused(Conflict):
    """This request id was used for another decision. Nothing was changed."""

    code = "request_reused"

    def __init__(self, request_id: str) -> None:
        super().__init__()
        self.request_id = request_id


class InputConflict(Conflict):
    """A message with this id but other content is recorded. The first one stays; nothing was changed."""

    code = "input_conflict"

    def __init__(
        self,
        chat_id: ChatId | None = None,
        input_id: InputId | None = None,
        *,
        stored: Digest | None = None,
        offered: Digest | None = None,
    ) -> None:
        super().__init__()
        self.chat_id, self.input_id, self.stored, self.offered = chat_id, input_id, stored, offered


class ChatBusy(Conflict):
    """This chat has an unfinished run. No second one was admitted."""

    code = "chat_busy"

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.run = run


class ResultConflict(Conflict):
    """This call already has a different result. The first result stays; the other one is kept beside it."""

    code = "result_conflict"

    def __init__(self, call_id: CallId, *, stored: Digest, offered: Digest) -> None:
        super().__init__()
        self.call_id, self.stored, self.offered = call_id, stored, offered


class KeyReused(Conflict):
    """A call is already recorded at this place of the living run. Nothing was started."""

    code = "key_reused"

    def __init__(self, run_id: RunId, key: CallKey) -> None:
        super().__init__()
        self.run_id, self.key = run_id, key


class DocumentConflict(Conflict):
    """This document was changed in the meantime. What is stored stays; nothing was overwritten and nothing is lost."""

    code = "document_conflict"

    def __init__(self, document_id: str, *, expected: int, stored: int, conflict_id: str | None = None) -> None:
        super().__init__("Both versions are kept side by side." if conflict_id else "")
        self.document_id, self.expected, self.stored = document_id, expected, stored
        self.conflict_id = conflict_id


class ConflictSettled(Conflict):
    """This conflict is resolved already. Nothing was changed by you; look again."""

    code = "conflict_settled"

    def __init__(self, conflict_id: str, document_id: str) -> None:
        super().__init__()
        self.conflict_id, self.document_id = conflict_id, document_id


# -- Corrupt ------------------------------------------------------------------------------------


class CheckpointCorrupt(Corrupt):
    """The saved state of this run cannot be read. It was not repaired and not skipped."""

    code = "checkpoint_corrupt"

    def __init__(self, what: str, *, run_id: RunId | None = None) -> None:
        super().__init__(what)
        self.what, self.run_id = what, run_id


class RecordCorrupt(Corrupt):
    """A record cannot be read. It was not repaired and not skipped."""

    code = "record_corrupt"

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


class JournalForeign(Corrupt):
    """The file in the journal's place is not a journal of this plugin. It was not touched."""

    code = "journal_foreign"

    def __init__(self, path: str, what: str) -> None:
        super().__init__(what)
        self.path, self.what = path, what


class JournalNewer(Corrupt):
    """This journal was written by a newer version. It was not touched; install that version again."""

    code = "journal_newer"

    def __init__(self, *, found: int, known: int) -> None:
        super().__init__(f"Its schema is {found}, this version knows {known}.")
        self.found, self.known = found, known


class JournalDamaged(Corrupt):
    """The journal's file is damaged. It was left exactly as it is."""

    code = "journal_damaged"


class BackupDamaged(Corrupt):
    """This backup is not whole. It was left as it is, and nothing was put back."""

    code = "backup_damaged"

    def __init__(self, path: str, what: str) -> None:
        super().__init__(what)
        self.path, self.what = path, what


# -- Unavailable --------------------------------------------------------------------------------


class StoreLocked(Unavailable):
    """Another process is using the journal."""

    code = "store_locked"


class StoreFull(Unavailable):
    """There is no space left for the journal."""

    code = "store_full"


class StoreLost(Unavailable):
    """The journal's file is gone, was replaced, or cannot be read or written."""

    code = "store_lost"


class StoreClosed(Unavailable):
    """The journal is closed."""

    code = "store_closed"


class CommitTimeout(Unavailable):
    """The journal did not confirm in time. Whether it was recorded is not known yet."""

    code = "commit_timeout"


class TakenBack(Unavailable):
    """The journal did not answer in time. This was taken back: it is not recorded and will not be."""

    code = "taken_back"


# -- Failed -------------------------------------------------------------------------------------


class StepFailed(Failed):
    """This step raised an error, which is its recorded result."""

    code = "step_failed"

    def __init__(self, step: str, *, error_type: str, text: str, outcome: Outcome) -> None:
        super().__init__(f"{step}: {error_type}: {text}")
        self.step, self.error_type, self.text, self.outcome = step, error_type, text, outcome


class TurnFailed(Failed):
    """This turn ended with an error, which is its recorded end."""

    code = "turn_failed"

    def __init__(self, run_id: RunId, *, error_type: str, text: str) -> None:
        super().__init__(f"{error_type}: {text}")
        self.run_id, self.error_type, self.text = run_id, error_type, text
