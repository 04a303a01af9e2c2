"""What the journal holds, as frozen records. Enum values are the stored text.

Records carry values that are masked already; nothing here reads or writes a store.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

from .ids import CallId, ChatId, Digest, InputId, RunId

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:

    def record(*, frozen, slots):
        """Frozen for the type checker alone: at run time it would cost more than all else about a record of many fields."""
        return dataclass(slots=slots, unsafe_hash=frozen)


def changed[T](one: T, **changes: Any) -> T:
    """A copy of a slotted record with some fields changed: `replace`, at a fraction of its cost."""
    names = type(one).__slots__  # type: ignore[attr-defined]
    if not changes.keys() <= set(names):
        raise TypeError(f"{type(one).__name__} has no such field.")
    return type(one)(*[changes[name] if name in changes else getattr(one, name) for name in names])


class RunState(Enum):
    QUEUED = "queued"
    RUNNING = "running"
    HELD = "held"
    COMPLETED = "completed"
    FAILED = "failed"
    STOPPED = "stopped"

    @property
    def is_final(self) -> bool:
        return self in (RunState.COMPLETED, RunState.FAILED, RunState.STOPPED)


class CallKind(Enum):
    MODEL = "model"
    TOOL = "tool"
    UTILITY = "utility"
    DELIVERY = "delivery"

    @property
    def is_inference(self) -> bool:
        """Asking a model again costs money but changes nothing in the world."""
        return self in (CallKind.MODEL, CallKind.UTILITY)


class Outcome(Enum):
    OK = "ok"
    ERROR = "error"
    UNKNOWN = "unknown"
    INTERRUPTED = "interrupted"
    SUPERSEDED = "superseded"
    CONFIRMED = "confirmed"


class HoldReason(Enum):
    OUTCOME_UNKNOWN = "outcome_unknown"
    NOT_SERVABLE = "not_servable"
    MODEL_INTERRUPTED = "model_interrupted"
    DIVERGED = "diverged"
    UNRECORDED_STEP = "unrecorded_step"
    MASKED_VALUE_LOST = "masked_value_lost"
    CRASH_LOOP = "crash_loop"
    ASK = "ask"
    WORLD_DRIFT = "world_drift"
    RESTORED = "restored"
    CHAT_MOVED_ON = "chat_moved_on"
    CHAT_GONE = "chat_gone"
    CHECKPOINT_CORRUPT = "checkpoint_corrupt"


class Choice(Enum):
    RESUME = "resume"
    NEW_ATTEMPT = "new_attempt"
    CONFIRMED_COMPLETED = "confirmed_completed"
    CONFIRMED_NOT_COMPLETED = "confirmed_not_completed"
    STOP = "stop"


class InputState(Enum):
    WAITING = "waiting"
    DELIVERED = "delivered"
    OFFERED = "offered"
    DISCARDED = "discarded"


@record(frozen=True, slots=True)
class CallKey:
    """Where in a run a call stands. `step` counts the model calls that this agent path has begun."""

    path: str
    step: int
    kind: CallKind
    ordinal: int = 0

    @property
    def text(self) -> str:
        return f"{self.path}/{self.step}/{self.kind.value}/{self.ordinal}"


@record(frozen=True, slots=True)
class Permission:
    """Under which reviewed policy, and from which source, a call may run again without a person."""

    policy: str | None = None
    source_digest: str | None = None


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a run waits for a person."""

    reason: HoldReason
    call_id: CallId | None = None
    text: str = ""
    facts: dict[str, Any] = field(default_factory=dict)
    since: int = 0


CALLER_GONE = "caller_gone"
"""In the facts of a hold: whoever asked for this run does not wait for its answer any more."""


@record(frozen=True, slots=True)
class Run:
    """One turn of a chat. `damaged` says what cannot be read; then only Stop is possible."""

    run_id: RunId
    chat_id: ChatId
    parent_call_id: CallId | None
    input_id: InputId
    input_digest: Digest
    input: dict[str, Any]
    title: str
    state: RunState
    version: int
    token: int
    mode: dict[str, Any]
    hold: Hold | None
    recoveries: int
    answer: Any
    created_at: int
    changed_at: int
    """When it came into its state."""
    boot_id: str
    checkpoint_seq: int
    damaged: str = ""
    is_removed: bool = False
    """Retention took its records: that there was this run, and for which message, is all that is left."""


REQUESTS = "requests"
"""In the extra of a model call: how often the provider was asked in it, where that was more than once."""


@record(frozen=True, slots=True)
class Call:
    """One step of a run. `outcome` None means: begun, and no result saved."""

    call_id: CallId
    run_id: RunId
    key: CallKey
    name: str
    identity: Digest
    arguments: Any
    lossy: bool
    permission: Permission
    attempts: int
    allowance: int
    outcome: Outcome | None
    value: Any
    result_digest: Digest | None
    error: str
    started_at: int
    ended_at: int | None
    seq: int
    origin: str
    abandoned: bool
    extra: dict[str, Any] = field(default_factory=dict)
    usage: dict[str, Any] | None = None
    served: int = 0
    value_lossy: bool = False
    token: int = 0
    """Fencing token under which the last attempt began."""
    boot_id: str = ""
    """Process in which the last attempt began."""
    late_results: int = 0


@dataclass(frozen=True, slots=True)
class Process:
    """One process that owned the journal. `closed`: it gave the journal back before it ended."""

    started_at: int
    closed: bool


@dataclass(frozen=True, slots=True)
class Input:
    """A message that came while the chat had an unfinished run."""

    chat_id: ChatId
    run_id: RunId
    input_id: InputId
    digest: Digest
    content: dict[str, Any]
    state: InputState
    created_at: int
    seq: int


@dataclass(frozen=True, slots=True)
class Decision:
    """What a person said about a held run, bound to what was shown (I7)."""

    run_id: RunId
    version: int
    call_id: CallId | None
    shown_digest: str
    choice: Choice
    note: str = ""
    ack: bool = False
    result_text: str | None = None
    request_id: str = ""
    origin: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """The state from which a person lets a run go on, bound to what was shown (I7)."""

    run_id: RunId
    version: int
    selection: str
    shown_digest: str
    note: str = ""
    ack: bool = False
    request_id: str = ""
    origin: str = ""


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """A chat's state at the top of a loop step: a root, the nodes that are new, and the step of each agent path."""

    root: Digest
    nodes: Mapping[Digest, bytes]
    position: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ChildOrder:
    """What a call wants to start beside its run, at this place among all that it starts.

    `job_id` is the name by which the parent knows it, `chat_id` a chat of its own, if it has one.
    """

    index: int
    job_id: str
    content: dict[str, Any]
    chat_id: str = ""


# -- answers ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Admitted:
    """`repeat`: this message was recorded before; `run` is the run that has it."""

    run: Run
    repeat: bool


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to continue a run. Records up to `cursor` are served, above it the run is live."""

    run: Run
    token: int
    cursor: int


@dataclass(frozen=True, slots=True)
class Proceed:
    """The intent is durable: the effect may start, once. `progress`: the run cannot come to this place again by itself."""

    call: Call
    replayed: bool = False
    progress: bool = True


@dataclass(frozen=True, slots=True)
class Serve:
    """The result is recorded: deliver it, run nothing."""

    call: Call


@dataclass(frozen=True, slots=True)
class Held:
    """The run now waits for a person; nothing may start."""

    hold: Hold
    run: Run


@dataclass(frozen=True, slots=True)
class Dropped:
    """A background call that is not recorded: its purpose is served in this run, or the run does not go on."""


Step = Proceed | Serve | Held
