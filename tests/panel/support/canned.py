"""A service that answers the panel's calls from memory, for states that a real run reaches rarely.

Shapes as in docs/api.md. It stands in for the service alone; the page, and where it is
used through `bridge/web.py` the handlers too, are the real ones.
"""

from __future__ import annotations

import copy
from typing import Any

from .canned_documents import calm, disputed, listed

NOW = 1_795_961_000_000  # 29 Nov 2026, 14:03:20 UTC
MINUTE = 60_000
PAGE = 50
NASTY = '<img src=x onerror="window.__broken=1">'

REASONS = {
    "outcome_unknown": "A step was started; no result was saved. It may have happened. Nothing was repeated.",
    "model_interrupted": "A model call was cut off. No answer was saved. Nothing was sent again.",
    "checkpoint_corrupt": "The saved state of this run cannot be read. The run is left exactly as it was.",
    "crash_loop": "The server ended three times while it continued this run. Nothing was repeated.",
    "chat_moved_on": "The chat went on without this record. Nothing was overwritten.",
}
THREE = ("confirmed_completed", "confirmed_not_completed", "new_attempt")


class Refusal(Exception):
    """What the journal raises: a code, a sentence, perhaps a field."""

    def __init__(self, code: str, text: str, **facts: Any) -> None:
        super().__init__(text)
        self.code = code
        for name, value in facts.items():
            setattr(self, name, value)


def call(n: int, name: str, summary: str = "", *, status: str = "saved", kind: str = "tool", **more: Any) -> dict[str, Any]:
    at = NOW - (30 - 2 * n) * MINUTE
    ended = None if status == "unknown" else at + 4_000
    arguments = {"runtime": "terminal", "code": summary} if name == "code_execution_tool" else {"text": summary} if summary else None
    return {
        "call_id": f"call_{n}",
        "n": n,
        "kind": kind,
        "name": name,
        "summary": summary,
        "arguments_masked": arguments,
        "status": status,
        "outcome": {"saved": "ok", "unknown": "open"}.get(status, status),
        "text": {"saved": "Result saved, will be reused", "unknown": "Started, no result saved"}.get(status, ""),
        "evidence": [],
        "at": at,
        "ended_at": ended,
        "attempts": 1,
        "abandoned": False,
        "error": "",
        "result_text": "On branch main, nothing to commit" if status == "saved" and kind == "tool" else None,
        "marks": {"saved": ["executed"], "error": ["executed"], "unknown": ["held"], "reused": ["executed", "reused"]}.get(
            status, [status]
        ),
        "took_ms": None if ended is None else ended - at,
        "saved": {"times": 1, "ms": 4_000, "tokens": 1_200} if status == "reused" else {"times": 0, "ms": 0, "tokens": 0},
        **more,
    }


def decision(choice: str, call_id: str | None, *, allowed: bool = True, reason: str = "") -> dict[str, Any]:
    return {
        "id": choice,
        "call_id": call_id,
        "digest": f"digest-{choice}-{call_id}",
        "allowed": allowed,
        "reason": reason,
        "needs_note": choice.startswith("confirmed"),
        "needs_ack": choice == "new_attempt",
        "preview": "",
        "steps": [],
        "then": "",
    }


FATES = {"confirmed_completed": "counted", "confirmed_not_completed": "runs", "new_attempt": "runs", "stop": "ended"}
WORDS = {
    "reused": "The recorded result is used. Nothing runs.",
    "counted": "Counts as done. Nothing runs.",
    "runs": "Runs again, once.",
    "asked": "You are asked about it. Nothing runs before that.",
    "kept": "The record stays. Nothing runs.",
    "ended": "Nothing runs. Whether it happened stays unknown.",
}


def foreseen(choice: str, call_id: str | None, calls: list[dict[str, Any]]) -> dict[str, Any]:
    """What the service would say of a choice: saved steps are used, open ones run or are asked about."""
    rows: list[dict[str, Any]] = []
    for item in calls:
        is_open = item["outcome"] == "open"
        what = (
            FATES.get(choice, "asked") if item["call_id"] == call_id or (choice == "stop" and is_open) else "asked" if is_open else "reused"
        )
        what = "kept" if choice == "stop" and not is_open else what
        if rows and rows[-1]["what"] == what and what in ("reused", "kept"):
            rows[-1]["to"] = item["n"]
        else:
            rows.append({"n": item["n"], "to": item["n"], "call_id": item["call_id"], "what": what, "text": WORDS[what]})
    asked = next((row["n"] for row in rows if row["what"] == "asked"), None)
    then = f"The run stays on hold until step {asked} is decided, too." if asked else "The run goes on with new steps."
    return {"steps": rows, "then": "The run ends. The chat goes on with the saved results." if choice == "stop" else then}


def run(run_id: str, title: str, *, state: str = "held", code: str = "outcome_unknown", version: int = 12, ago: int = 5) -> dict[str, Any]:
    return {
        "run_id": run_id,
        "version": version,
        "state": state,
        "title": title,
        "chat_id": f"chat_{run_id}",
        "since": NOW - ago * MINUTE,
        "created_at": NOW - (ago + 30) * MINUTE,
        "chat_exists": True,
        "reason": {"code": code, "text": REASONS[code]} if state == "held" else None,
    }


def view(which: dict[str, Any], calls: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    decisions: list[dict[str, Any]] = []
    asked = [item for item in calls if item["outcome"] == "open" and item["kind"] == "tool"]
    if which["state"] == "held":
        for item in asked:
            decisions += [decision(choice, item["call_id"]) for choice in THREE]
        unknown = f"step {asked[0]['n']} is still unknown." if asked else "there is nothing to go on from."
        decisions.append(decision("resume", None, allowed=which["reason"]["code"] == "crash_loop", reason=unknown))
        decisions.append(decision("stop", None))
    for one in decisions:
        one.update(foreseen(one["id"], one["call_id"], calls) if one["allowed"] else {})
    return {
        "run": which,
        "calls": calls,
        "usage": {"saved": {"times": 0, "ms": 0, "tokens": 0}},
        "breaks": [],
        "decisions": decisions,
        "grants": [],
        "recorded": [],
        "messages": [],
        "processes": [],
        "backup": None,
        "events": [{"at": which["created_at"], "text": "admitted"}, {"at": which["since"], "text": which["state"]}],
        "checked_at": NOW,
        **more,
    }


def push(run_id: str = "run_push", title: str = "Deploy notes for Friday", **how: Any) -> dict[str, Any]:
    """The wireframe: three saved steps, and a command that nobody knows the end of."""
    looked = [
        {"what": "looked for", "text": "shell receipt: none found"},
        {"what": "policy", "text": "not on the list of steps that may be repeated"},
    ]
    return view(
        run(run_id, title, **how),
        [
            call(1, "", kind="model"),
            call(2, "code_execution_tool", "git status"),
            call(3, "", kind="model"),
            call(4, "code_execution_tool", "git push origin main", status="unknown", evidence=looked),
        ],
    )


def report() -> dict[str, Any]:
    which = run("run_report", "Weekly report (scheduled)", code="model_interrupted", version=7, ago=290)
    calls = [call(1, "", kind="model"), call(2, "search_engine", "sales of week 47"), call(3, "", kind="model", status="unknown")]
    granted = [{"call_id": "call_3", "allowed": True, "reason": "", "most": 3, **foreseen("new_attempt", "call_3", calls)}]
    return view(which, calls, grants=granted, decisions=[decision("stop", None)])


def two_unknown() -> dict[str, Any]:
    which = run("run_two", "Move the archive", version=9, ago=60)
    calls = [
        call(1, "", kind="model"),
        call(2, "code_execution_tool", "mv archive/2024 /mnt/backup/", status="unknown"),
        call(3, "email_send", "to: ana@example.org", status="unknown"),
    ]
    return view(which, calls, messages=[{"input_id": "m1", "text": "How is it going?", "state": "waiting", "at": NOW}])


def corrupt() -> dict[str, Any]:
    which = run("run_corrupt", "Read the invoices", code="checkpoint_corrupt", version=4, ago=900)
    found = view(which, [call(1, "", kind="model"), call(2, "document_query", "invoice.pdf")])
    return {**found, "backup": "/a0/usr/plugin_data/durable_execution/backups/20261128T090000Z-b1b1b1"}


def state(selection: str, title: str, preview: str, *, needs_ack: bool = False) -> dict[str, Any]:
    return {
        "id": selection,
        "title": title,
        "preview": preview,
        "digest": f"digest-{selection}",
        "at": NOW - 20 * MINUTE,
        "allowed": True,
        "reason": "",
        "needs_note": False,
        "needs_ack": needs_ack,
        "ends_run": selection == "now",
    }


def moved_on() -> dict[str, Any]:
    """A chat that was used while its run was not recorded: two states to go on from."""
    states = [
        state("now", "Keep the chat as it is now", f"The run ends here. {NASTY}"),
        state("7", "Go back to the state after step 2", "What is newer is kept as a chat of its own.", needs_ack=True),
    ]
    which = run("run_moved", "Plan the summer", code="chat_moved_on", version=5, ago=30)
    return view(which, [call(1, "", kind="model"), call(2, "search_engine", "trains")], restore=states)


def cut_off(name: str = "second", title: str = "Translate the manual") -> dict[str, Any]:
    """One more run that waits for nothing but a model call."""
    view = report()
    view["run"].update(run_id=f"run_{name}", title=title, chat_id=f"chat_{name}")
    return view


def went_on() -> dict[str, Any]:
    """A long run over two crashes and a stop: each kind of mark, and where the processes ended."""
    usage = {"saved": {"times": 2, "ms": 8_000, "tokens": 2_400}}
    calls = [call(n, "code_execution_tool", f"make part-{n}", status="reused" if n < 8 else "saved") for n in range(1, 9)]
    calls += [
        call(9, "search_engine", "release notes", status="saved", marks=["replayed"], attempts=2),
        call(10, "code_execution_tool", "make check", status="error", error="exit code 2"),
        call(11, "code_execution_tool", "git push", status="confirmed", text="A person said that it happened"),
        call(12, "email_send", "to: ana@example.org", status="saved", marks=["reconciled"], text="Result saved, reused"),
        call(13, "code_execution_tool", "sleep 600", status="interrupted", text="Interrupted by a message. It may still be running."),
        call(14, "browser", "open page", status="saved", marks=["executed", "late"]),
        call(15, "response", "It is done."),
    ]
    ends = [
        {"after": 4, "ends": 1, "seen_at": NOW - 20 * MINUTE, "ended_at": None},
        {"after": 11, "ends": 3, "seen_at": NOW - 9 * MINUTE, "ended_at": NOW - 8 * MINUTE},
    ]
    ends = [{**end, "back_at": NOW - 2 * MINUTE, "resumed_at": NOW - MINUTE} for end in ends]
    return view(run("run_long", "Release the parts", state="completed", version=31, ago=1), calls, usage=usage, breaks=ends)


def alive() -> dict[str, Any]:
    """A command whose process outlived the server, and a message that a Stop left over."""
    item = push("run_alive", "Back up the photos", ago=8)
    item["processes"] = [{"pid": 4711, "age_ms": 480_000, "text": "Process 4711 (git push origin main) is still alive, for 8 minutes."}]
    return item


def left_over() -> dict[str, Any]:
    item = push("run_left", "Tidy the inbox", state="stopped", ago=20)
    item["messages"] = [{"input_id": "m2", "text": "And tell the team.", "state": "offered", "at": NOW}]
    return item


def suspension(*names: str, unrecorded: tuple[str, ...] = ()) -> dict[str, Any]:
    """What status says while everything is put aside for a restart; the names are steps that still run."""
    safe = not names and not unrecorded
    text = "Safe to restart now. What was suspended goes on by itself afterwards."
    if names:
        text = f"Still at work: {'; '.join(names)}."
    elif unrecorded:
        text = f"Everything that is recorded was suspended. These chats are not recorded and a restart ends them: {', '.join(unrecorded)}."
    open_calls = [
        {"run_id": "run_push", "chat_id": "chat_run_push", "title": "Deploy", "name": "code_execution_tool", "summary": name, "since": NOW}
        for name in names
    ]
    about = {"state": "suspending" if names else "suspended", "by": "panel", "since": NOW, "safe": safe, "text": text}
    return {**about, "runs": 2, "held": [], "unrecorded": list(unrecorded), "open": open_calls}


def finished() -> dict[str, Any]:
    return view(
        run("run_done", "Rename the photos", state="completed", version=20, ago=3000),
        [call(1, "", kind="model"), call(2, "response", "Done.")],
    )


class Canned:
    """The calls over a few runs. `fail` makes the next call of that name end as told."""

    def __init__(self, *views: dict[str, Any], status: dict[str, Any] | None = None) -> None:
        self.views = {item["run"]["run_id"]: copy.deepcopy(item) for item in views}
        self.off = status
        self.documents = {item["document"]["document_id"]: item for item in (calm(), disputed())}
        self.fail: dict[str, Exception] = {}
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.backups = [backup("20261128T090000Z-b1b1b1", NOW - 29 * 60 * MINUTE)]
        self.backups.append({**backup("20261101T090000Z-c1c1c1", NOW), "made_at": None, "problem": "Its manifest cannot be read."})
        self.looked: dict[str, Any] = {"state": "none", "at": None, "part": "", "done": 0, "total": 0, "findings": []}

    def status(self) -> dict[str, Any]:
        self._enter("status", {})
        active = {
            "active": True,
            "why_not": None,
            "restart_needed": False,
            "backend": "sqlite",
            "schema": 1,
            "version": "0.1.0",
        }
        return {**active, "holds": len(self._held()), **(self.off or {})}

    def recovery_list(self, tab: str, cursor: str | None, query: str = "") -> dict[str, Any]:
        self._enter("recovery_list", {"tab": tab, "cursor": cursor, "query": query})
        shown = sorted(self._held(), key=lambda item: item["run"]["since"])
        if tab == "all":
            shown = sorted(self.views.values(), key=lambda item: -item["run"]["since"])
            shown = [item for item in shown if query.casefold() in item["run"]["title"].casefold()]
        start = int(cursor or 0)
        after = str(start + PAGE) if len(shown) > start + PAGE else None
        shown = shown[start : start + PAGE]
        items = [{**item["run"], "step": _step(item)} for item in shown]
        counts = {"needs_you": len(self._held()), "all": len(self.views), "resumed": 3 if self.views else 0}
        counts["in_conflict"] = self._documents()["counts"]["in_conflict"]
        return {"counts": counts, "items": items, "checked_at": NOW, "next": after}

    def documents_list(self, cursor: str | None) -> dict[str, Any]:
        self._enter("documents_list", {"cursor": cursor})
        return self._documents()

    def document_read(self, document_id: str | None, chat_id: str | None, kind: str | None) -> dict[str, Any]:
        """What saving and resolving do is tried on the real service; here a document is only looked at."""
        self._enter("document_read", {"document_id": document_id, "chat_id": chat_id, "kind": kind})
        if document_id not in self.documents:
            raise Refusal("unknown_document", "There is no such document.")
        return copy.deepcopy(self.documents[document_id])

    def recovery_run(self, run_id: str) -> dict[str, Any]:
        self._enter("recovery_run", {"run_id": run_id})
        if run_id not in self.views:
            raise Refusal("unknown_run", "There is no such run.")
        return copy.deepcopy(self.views[run_id])

    def recovery_decide(self, **said: Any) -> dict[str, Any]:
        self._enter("recovery_decide", said)
        item = self._at(said)
        item["recorded"].append(
            {
                "id": said["decision"],
                "call_id": said["call_id"],
                "note": said["note"],
                "at": NOW,
                "origin": said["origin"],
                "attempts": None,
                "seq": 90,
            }
        )
        for one in item["calls"]:
            if one["call_id"] == said["call_id"]:
                happened = said["decision"] == "confirmed_completed"
                one.update(
                    status="confirmed" if happened else "unknown",
                    text="A person said that it happened" if happened else "May run again, once",
                )
        item["decisions"] = [one for one in item["decisions"] if one["call_id"] != said["call_id"] or one["call_id"] is None]
        waits = any(one["call_id"] for one in item["decisions"])
        self._move(item, "stopped" if said["decision"] == "stop" else "held" if waits else "queued")
        return copy.deepcopy(item)

    def recovery_grant(self, **said: Any) -> dict[str, Any]:
        self._enter("recovery_grant", said)
        item = self._at(said)
        item["grants"] = []
        self._move(item, "queued")
        return copy.deepcopy(item)

    def recovery_restore(self, **said: Any) -> dict[str, Any]:
        self._enter("recovery_restore", said)
        item = self._at(said)
        about = {"id": "restore", "call_id": None, "note": said["note"], "at": NOW, "origin": said["origin"], "attempts": None, "seq": 92}
        item["recorded"].append(about)
        item["restore"] = []
        self._move(item, "stopped" if said["selection"] == "now" else "queued")
        return copy.deepcopy(item)

    def recovery_stop(self, **said: Any) -> dict[str, Any]:
        self._enter("recovery_stop", said)
        item = self.views[said["run_id"]]  # without a form: as it is by now
        self._move(item, "stopped")
        return copy.deepcopy(item)

    def message_settle(self, **said: Any) -> dict[str, Any]:
        self._enter("message_settle", said)
        return copy.deepcopy(self._at(said))

    def suspend(self, action: str, origin: str) -> dict[str, Any]:
        self._enter("suspend", {"action": action, "origin": origin})
        return {"suspension": None, "resumed": 0}

    def safety(self) -> dict[str, Any]:
        self._enter("safety", {})
        held = len(self._held())
        text = f"New work is recorded and can go on after a restart. {held} runs wait for your decision."
        return {
            "health": {"level": "ok", "text": text},
            "backend": "sqlite",
            "schema": 4,
            "version": "0.1.0",
            "host": "v2.6",
            "adapters": ["agent.AgentContext.communicate", "helpers.log.Log.log"],
            "folder": "/a0/usr/plugin_data/durable_execution",
            "storage": {"journal": 5_400_000, "bodies": 1_200_000, "backups": 4_100_000, "replaced": 0, "total": 10_700_000},
            "runs": len(self.views),
            "backups": copy.deepcopy(self.backups),
            "doctor": copy.deepcopy(self.looked),
            **({"health": {"level": "stopped", "text": self.off["store_problem"]}} if self.off and self.off.get("store_problem") else {}),
        }

    def doctor(self, start: bool) -> dict[str, Any]:
        self._enter("doctor", {"start": start})
        found = [("Python", True, "3.12.1 (3.12 or newer is needed)"), ("free space", False, NASTY), ("records", True, "all as written")]
        findings = [{"what": what, "ok": ok, "text": text} for what, ok, text in found]
        self.looked = {"state": "done", "at": NOW, "part": "", "done": 0, "total": 0, "findings": findings}
        return self.safety()

    def backup_make(self) -> dict[str, Any]:
        self._enter("backup_make", {})
        self.backups.insert(0, backup("20261129T140320Z-aaaaaa", NOW))
        return {"made": self.backups[0]["name"], **self.safety()}

    def backup_verify(self, name: str) -> dict[str, Any]:
        self._enter("backup_verify", {"name": name})
        return {"verified": {"name": name, "ok": True, "text": "Every part of it is what was written."}, **self.safety()}

    def backup_restore(self, name: str, ack: bool) -> dict[str, Any]:
        self._enter("backup_restore", {"name": name, "ack": ack})
        return {"restored": {"name": name, "aside": "/a0/usr/aside", "held": 2}, **self.safety()}

    def elsewhere(self, run_id: str, choice: str, note: str = "Seen on the web page.") -> None:
        """The same decision in another tab."""
        item = self.views[run_id]
        said = {"id": choice, "call_id": "call_4", "note": note, "at": NOW, "origin": "panel", "attempts": None, "seq": 91}
        item["recorded"].append(said)
        item["calls"][-1].update(status="confirmed", marks=["confirmed"], text="A person said that it happened")
        self._move(item, "queued")

    def _enter(self, name: str, body: dict[str, Any]) -> None:
        self.asked.append((name, body))
        if name in self.fail:
            raise self.fail.pop(name)

    def _held(self) -> list[dict[str, Any]]:
        return [item for item in self.views.values() if item["run"]["state"] == "held"]

    def _documents(self) -> dict[str, Any]:
        return listed(copy.deepcopy(list(self.documents.values())))

    def _at(self, said: dict[str, Any]) -> dict[str, Any]:
        item = self.views.get(said["run_id"])
        if item is None:
            raise Refusal("unknown_run", "There is no such run.")
        if item["run"]["version"] != said["version"]:
            raise Refusal("stale_version", "This run changed since it was shown. Nothing was recorded.")
        return item

    def _move(self, item: dict[str, Any], state: str) -> None:
        item["run"].update(state=state, version=item["run"]["version"] + 1, since=NOW)
        if state != "held":
            item["run"]["reason"] = None
            item["decisions"] = []


def backup(name: str, at: int) -> dict[str, Any]:
    return {"name": name, "made_at": at, "bytes": 2_050_000, "runs": 12, "problem": ""}


def _step(item: dict[str, Any]) -> dict[str, Any]:
    calls = item["calls"]
    at = next((one for one in calls if one["outcome"] == "open"), calls[-1])
    return {"call_id": at["call_id"], "n": at["n"], "of": at["n"], "kind": at["kind"], "name": at["name"], "summary": at["summary"]}


def failure(code: str, text: str, facts: dict[str, Any]) -> Exception:
    """An error of the journal by its code, or a fault of our own."""
    return ZeroDivisionError(text) if code == "internal" else Refusal(code, text or "The journal is out of reach.", **facts)
