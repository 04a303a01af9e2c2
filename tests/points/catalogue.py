"""Every named point at which a process is killed: what it means and where it is injected.

The one list. The injection, the stories, the quick tests, `make points` and `make crash` are derived from it. Nothing
here is imported by the product, and the product knows no point: `inject.py` wraps what is named here from outside.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

PLUGIN = "usr.plugins.durable_execution"

# -- writes of the journal ----------------------------------------------------------------------

STEPS = {
    "asked": "nothing was handed to the store",
    "written": "inside the transaction, before COMMIT",
    "committed": "after COMMIT and its sync, before anybody knows",
    "answered": "the caller has the answer and has not acted on it",
}

DOORS = {
    "open": "the journal is opened: this process is noted",
    "close": "the journal is closed: a clean end is noted",
    "admit": "a message is taken in as a run",
    "admit_children": "the jobs of a call are taken in as runs of their own",
    "keep_input": "a message for an unfinished run is saved",
    "discard_input": "a message that a Stop left over will not be sent",
    "begin_call.model": "the intent of a model call",
    "begin_call.tool": "the intent of a tool call",
    "begin_call.delivery": "the intent of a reply through an integration",
    "finish_call.model": "the result of a model call",
    "finish_call.tool": "the result of a tool call",
    "finish_call.delivery": "the result of a reply",
    "finish_writing": "the result of a tool call, and the document that it writes",
    "save_document": "a person's revision of a document",
    "settle_conflict": "a person settles a conflict of a document",
    "close_call": "the answer of a subordinate becomes the result of its superior's call",
    "begin_background": "the intent of a call beside the turn",
    "finish_background": "its answer",
    "checkpoint": "a resume point",
    "close_run": "the end of a run, with its last resume point",
    "hold_run": "a living run is put on hold",
    "interrupt_run": "a person ended the task of a living run",
    "suspend_run": "a living run is put aside for a restart",
    "stop_run": "a run is ended for good",
    "note_chat_saved": "the chat has a file from now on",
    "begin_recovery": "an attempt to resume is counted",
    "begin_completion": "an attempt to complete the chat of a finished run is counted",
    "end_completion": "the chat of a finished run was compared with its record",
    "choose_state": "the state that a person lets a run go on from",
    "state_restored": "the chat stands as a person chose",
    "note_changes": "files that changed under the running server are noted",
    "settle": "the end of a rebuild: held, or queued",
    "claim": "a queued run goes on under a new token",
    "decide.confirmed_completed": "the decision that a step happened",
    "decide.confirmed_not_completed": "the decision that a step did not happen",
    "decide.new_attempt": "the decision to start a step over",
    "decide.resume": "the decision to go on",
    "decide.stop": "the decision to stop",
    "grant": "attempts for a cut-off model call are allowed",
}
"""What `Journal` writes. A door of `Journal` that submits a write and is missing here fails tests/unit/test_points.py."""

ELSEWHERE = {
    "lose_call": ("a living step ended without proof; only `journal.Turns` asks it", "tests/crash/test_suspended.py"),
    "prune": ("old runs and bodies go, some time after the start and then daily: never within a turn", "tests/store/test_keep_kills.py"),
}
"""Doors that no turn of a host passes, and where they are tried instead. They are not counted as points."""

BESIDE = {
    "journal/restore.py": "tests/store/test_keep_kills.py",  # a copy that was put back, before it is anybody's journal
}
"""Files that write past the doors, and where that is tried."""

IN_RECOVERY = {
    *("open", "begin_recovery", "settle", "claim", "note_chat_saved", "grant", "hold_run"),
    *("begin_completion", "end_completion", "choose_state", "state_restored"),
}
"""Doors that a recovery passes; decisions are among them."""

# -- everything else ----------------------------------------------------------------------------

BEFORE, AFTER = "before", "after"


@dataclass(frozen=True, slots=True)
class Wrap:
    """A function of the product whose beginning or end is a point."""

    name: str
    meaning: str
    module: str
    function: str
    side: str
    recovery: bool = False

    @property
    def where(self) -> str:
        return f"{self.side} {self.module}.{self.function}"


WRAPS = (
    # files at creation, ownership, opening
    Wrap("files.folder", "the folder is there and private", "journal.store.files", "Files.make_folder", AFTER),
    Wrap("files.owned", "the lock of the owner is taken", "journal.store.ownership", "OwnerLock._take", AFTER, True),
    Wrap("create.begun", "an empty file for a new journal lies beside its place", "journal.store.files", "Files.begin_fresh", AFTER),
    Wrap("create.built", "the new journal is whole and has no name yet", "journal.store.files", "Files.finish_fresh", BEFORE),
    Wrap("create.named", "the new journal has its name", "journal.store.files", "Files.finish_fresh", AFTER),
    Wrap("open.checked", "the journal was checked and its schema is up to date", "journal.store.sqlite", "prepare", AFTER, True),
    Wrap("open.writer", "the connection that writes is open", "journal.store.handle", "open_writer", AFTER, True),
    Wrap("open.judged", "it is known whether the journal was put back", "journal.store.witness", "Witness.judge", AFTER, True),
    Wrap("head.keeping", "the files that say how far the journal has come lag behind", "journal.store.witness", "Witness.keep", BEFORE),
    Wrap("head.kept", "the files that say how far the journal has come were written", "journal.store.witness", "Witness.keep", AFTER),
    Wrap("close.files", "the files were let go of", "journal.store.sqlite", "SqliteStore.close", AFTER),
    # adapters
    Wrap("adapter.installing", "no adapter is in place", "bridge.overrides", "install", BEFORE, True),
    Wrap("adapter.installed", "all adapters are in place", "bridge.overrides", "install", AFTER, True),
    Wrap("adapter.undoing", "the undo log is about to be worked off", "bridge.undo", "UndoLog.undo", BEFORE),
    Wrap("adapter.undone", "everything is as it was", "bridge.undo", "UndoLog.undo", AFTER),
    Wrap("off.begun", "the plugin is about to be taken out of force", "bridge.lifecycle", "deactivate", BEFORE),
    # a recovery
    Wrap("scan.begun", "chats are loaded, no run was looked at", "bridge.resume", "scan", BEFORE, True),
    Wrap("scan.point", "the resume point of a run was read and verified", "bridge.resume", "point_of", AFTER, True),
    Wrap("scan.rebuilding", "a chat is about to be made anew", "bridge.resume", "rebuild", BEFORE, True),
    Wrap("scan.rebuilt", "a chat was made anew in memory", "bridge.resume", "rebuild", AFTER, True),
    Wrap("scan.saved", "the host's file of the chat was written", "bridge.resume", "rebuild_chat", AFTER, True),
    Wrap("scan.taken_up", "one run was taken up: held, or ready", "bridge.resume", "_take_up", AFTER, True),
    Wrap("scan.files", "chats that lag behind a finished run were completed", "bridge.resume", "_complete_chats", AFTER, True),
    Wrap("scan.done", "every run was taken up", "bridge.resume", "scan", AFTER, True),
    Wrap("hold.in_force", "a hold is in force in the chat", "bridge.session", "Session._tell_waiting", AFTER, True),
    Wrap("launch.begun", "a run is about to be started", "bridge.launching", "launch", BEFORE, True),
    Wrap("launch.claimed", "the run has its token and cursor in memory", "bridge.session", "Session.claimed", AFTER, True),
    Wrap("launch.started", "the run's coroutine was started", "bridge.launching", "_launch", AFTER, True),
    Wrap("launch.late", "a message that outlived its turn is about to be sent", "bridge.launching", "_send_late", BEFORE),
    Wrap("serve.model", "a recorded answer is about to be given back", "bridge.model_calls", "_serve", BEFORE, True),
    Wrap("serve.model_done", "a recorded answer was given back", "bridge.model_calls", "_serve", AFTER, True),
    Wrap("serve.tool", "a recorded result is about to be given back", "bridge.tool_calls", "_serve", BEFORE, True),
    Wrap("serve.tool_done", "a recorded result was given back", "bridge.tool_calls", "_serve", AFTER, True),
    # jobs of parallel
    Wrap("job.begun", "a job was started and does not work yet", "bridge.workers", "run", BEFORE, True),
    Wrap("job.done", "a job's end is recorded, and its parent does not know", "bridge.workers", "run", AFTER, True),
    Wrap("job.taken_on", "a job goes on where its record ends", "bridge.workers", "_take_on", AFTER, True),
    # replies through integrations
    Wrap("adapter.late", "an integration is about to be used, its adapters are not in place", "bridge.overrides", "install_late", BEFORE),
    Wrap("adapter.late_done", "the adapters of an integration are in place", "bridge.overrides", "install_late", AFTER),
    Wrap("deliver.begun", "a reply is due and nothing of it is recorded", "bridge.deliveries", "deliver", BEFORE),
    Wrap("deliver.done", "a reply is recorded, or was given back", "bridge.deliveries", "deliver", AFTER),
    Wrap("deliver.settling", "the turn has its answer, and its replies may be under way", "bridge.deliveries", "settle", BEFORE),
    Wrap("deliver.settled", "every reply of the turn is recorded, and the run is not ended", "bridge.deliveries", "settle", AFTER),
    Wrap("hand_up.begun", "an answer goes up without its superior's coroutine", "bridge.subordinates", "hand_up", BEFORE, True),
    Wrap("hand_up.done", "its superior is about to get it", "bridge.subordinates", "hand_up", AFTER, True),
    # persons
    Wrap("release.begun", "a decision is recorded and has not come into force", "bridge.jobs", "released", BEFORE, True),
    Wrap("release.done", "a decision is in force", "bridge.jobs", "released", AFTER, True),
    Wrap("park.begun", "a coroutine is about to wait for a person", "bridge.session", "Session._park", BEFORE),
    Wrap("park.woken", "a coroutine goes on after a decision", "bridge.session", "Session._park", AFTER),
    Wrap("stop.telling", "a run was stopped and its chat does not say so yet", "bridge.stopping", "tell", BEFORE),
    Wrap("stop.told", "the chat says that its run was stopped, in its file too", "bridge.stopping", "tell", AFTER),
    # a restart that announces itself
    Wrap("suspend.begun", "everything is about to be put aside for a restart", "bridge.suspension", "begin", BEFORE),
    Wrap("suspend.aside", "a run is put aside and its coroutine not yet ended", "bridge.suspension", "wait_for_restart", AFTER),
    Wrap("suspend.lifted", "a suspension was taken back", "bridge.suspension", "lift", AFTER),
    # scheduled tasks, the queue
    Wrap("tasks.taking_back", "the list of tasks is as the last process left it", "bridge.tasks", "take_back", BEFORE, True),
    Wrap("tasks.taken_back", "no task is running, nothing recorded is due again", "bridge.tasks", "take_back", AFTER, True),
    Wrap("tasks.handing_in", "a continued run has ended, its task has no result yet", "bridge.tasks", "_hand_in", BEFORE),
    Wrap("tasks.handed_in", "the task has the result", "bridge.tasks", "_hand_in", AFTER),
    Wrap("queue.saving", "the queue of a chat changed in memory", "bridge.queue", "save", BEFORE),
    Wrap("queue.saved", "the chat's file has its queue", "bridge.queue", "save", AFTER),
    Wrap("queue.dropped", "what was taken in is in no queue", "bridge.queue", "drop_sent", AFTER, True),
    # messages
    Wrap("message.adding", "waiting messages are about to enter the history", "bridge.messages", "_add", BEFORE),
    Wrap("message.added", "waiting messages stand in the history", "bridge.messages", "_add", AFTER),
    Wrap("message.result", "a saved result is about to enter the history before a message", "bridge.messages", "append_result", BEFORE),
    Wrap("message.next_turn", "a message that came too late is about to become a turn", "bridge.turns", "next_turn", BEFORE),
)

SPIED = {
    "migrate.written": ("a step of the schema, before COMMIT", "COMMIT after INSERT INTO schema_versions"),
    "migrate.committed": ("a step of the schema and its record are there", "COMMIT after INSERT INTO schema_versions"),
    "merge.begun": ("the log is about to be merged", "PRAGMA wal_checkpoint"),
    "merge.done": ("the log was merged", "PRAGMA wal_checkpoint"),
    "sync.file.asked": ("a new file is about to be synced", "os.fsync and os.fdatasync called by the plugin"),
    "sync.file.done": ("a new file was synced", "os.fsync and os.fdatasync called by the plugin"),
    "sync.folder.asked": ("a folder is about to be synced", "os.fsync and os.fdatasync called by the plugin"),
    "sync.folder.done": ("a folder was synced: the name is durable", "os.fsync and os.fdatasync called by the plugin"),
    "adapter.noted": ("an undo entry is written, the attribute is the host's", "setattr in bridge.undo"),
    "adapter.swapped": ("an attribute is ours", "setattr in bridge.undo"),
    "adapter.restored": ("an attribute is the host's again", "setattr in bridge.undo"),
    "effect.model.asking": ("a request is about to go out", "the stream to the model"),
    "effect.model.asked": ("the request went out", "the stream to the model"),
    "effect.model.answering": ("the first piece of the answer came", "the stream to the model"),
    "effect.tool.starting": ("an effect is about to begin", "the line in the outside file"),
    "effect.tool.started": ("an effect has begun", "the line in the outside file"),
    "effect.tool.ending": ("an effect is about to be done", "the line in the outside file"),
    "effect.tool.ended": ("an effect is done and nobody knows", "the line in the outside file"),
    "effect.delivery.starting": ("a reply is about to go out", "the line in the outside file"),
    "effect.delivery.started": ("a reply is on its way", "the line in the outside file"),
    "effect.delivery.ending": ("a reply is about to have arrived", "the line in the outside file"),
    "effect.delivery.ended": ("a reply has arrived and nobody knows", "the line in the outside file"),
}
"""Points inside what cannot be wrapped by name: statements of SQLite, syncs, swaps, effects."""

SPIED_IN_RECOVERY = {"adapter.noted", "adapter.swapped"}


@dataclass(frozen=True, slots=True)
class Point:
    name: str
    meaning: str
    where: str
    recovery: bool


def _every() -> Iterator[Point]:
    for door, meaning in DOORS.items():
        recovery = door in IN_RECOVERY or door.startswith("decide.")
        for step, when in STEPS.items():
            yield Point(f"{door}.{step}", f"{meaning}; {when}", f"Journal.{door.partition('.')[0]}", recovery)
    for wrap in WRAPS:
        yield Point(wrap.name, wrap.meaning, wrap.where, wrap.recovery)
    for name, (meaning, where) in SPIED.items():
        yield Point(name, meaning, where, name in SPIED_IN_RECOVERY)


POINTS: dict[str, Point] = {point.name: point for point in _every()}
