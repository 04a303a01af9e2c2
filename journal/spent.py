"""What a run took: tokens, cost where somebody said it, time; what it asked beside its steps; what reuse saved.

Each call counts once, however often its answer was given back. Reads only.
"""

from __future__ import annotations

from typing import Any

from . import codec, timeline
from .errors import RecordCorrupt
from .ids import RunId
from .masking import Masker
from .records import CallKind, Outcome
from .store.base import Reader, Row

_STATUS = {
    Outcome.OK.value: ("saved", "Answer saved"),
    Outcome.ERROR.value: ("error", "It ended with an error. It was not asked again."),
    Outcome.INTERRUPTED.value: ("interrupted", "Cut off by a restart and dropped. It was not asked again for its own sake."),
}
_OPEN = {True: ("running", "Running now"), False: ("interrupted", "Cut off. It is not asked again.")}


def view(tx: Reader, run_id: RunId, boot_id: str, masker: Masker) -> dict[str, Any]:
    rows = tx.all("spent_of_run", run_id=run_id)
    return {"background": [_background(row, boot_id, masker) for row in rows if _is_background(row)], "usage": _usage(rows)}


def saved(times: int, took_ms: int | None, usage: object) -> dict[str, int]:
    """What was not done again because a record was given back: how often, milliseconds, tokens."""
    used = _figures(usage)
    tokens = 0 if used is None else used["input_tokens"] + used["output_tokens"]
    return {"times": times, "ms": times * (took_ms or 0), "tokens": times * tokens}


def _is_background(row: Row) -> bool:
    return str(row["path"]).startswith("~")


def _background(row: Row, boot_id: str, masker: Masker) -> dict[str, Any]:
    if row["outcome"] is None:
        status, text = _OPEN[row["boot_id"] == boot_id]
    else:
        status, text = _STATUS.get(row["outcome"], ("saved", ""))
    if row["served"]:
        status, text = "reused", f"{text}, reused"
    purpose = str(row["path"]).split("~")[1]
    return {
        "purpose": purpose,
        "name": masker.text(row["name"]),
        "status": status,
        "text": text,
        "at": row["started_at"],
        "ended_at": row["ended_at"],
    }


def _usage(rows: list[Row]) -> dict[str, Any]:
    total: dict[str, Any] = {"calls": 0, "background_calls": 0, "input_tokens": 0, "output_tokens": 0, "cost": None}
    total |= {"estimated": False, "not_known": 0, "saved": {"times": 0, "ms": 0, "tokens": 0}}
    for row in rows:
        usage = _usage_of(row)
        used = _figures(usage)
        if row["kind"] in (CallKind.MODEL.value, CallKind.UTILITY.value):
            total["background_calls" if _is_background(row) else "calls"] += 1
            total["not_known"] += row["attempts"] - (used is not None)  # what was cut off was perhaps paid for
        if used is not None:
            total["input_tokens"] += used["input_tokens"]
            total["output_tokens"] += used["output_tokens"]
            total["estimated"] |= used["estimated"]
            if used["cost"] is not None:
                total["cost"] = (total["cost"] or 0.0) + used["cost"]
        outcome = None if row["outcome"] is None else Outcome(row["outcome"])
        kept = saved(row["served"], timeline.took(outcome, row["started_at"], row["ended_at"]), usage)
        total["saved"] = {name: total["saved"][name] + figure for name, figure in kept.items()}
    return total


def _usage_of(row: Row) -> object:
    try:
        return None if row["usage"] is None else codec.decode(row["usage"])
    except RecordCorrupt:
        return None


def _figures(usage: object) -> dict[str, Any] | None:
    """The figures of one call; None where nobody noted any that can be read."""
    if not isinstance(usage, dict):
        return None
    figures = {name: _figure(usage.get(name)) for name in ("input_tokens", "output_tokens", "cost")}
    tokens = {name: int(figures[name] or 0) for name in ("input_tokens", "output_tokens")}
    return {**tokens, "cost": figures["cost"], "estimated": bool(usage.get("estimated", False))}


def _figure(value: object) -> int | float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return value if 0 <= value < 2**53 else None
