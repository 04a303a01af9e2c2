"""A process that works in a journal until it is killed. Whatever a future resolved, it says on stdout.

Started with the folder, and where it shall end by itself with a number of turns and `close` or `leave`. An effect is
one line in `effects`, written only after its intent was announced; a line on stdout is one JSON object.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from journal.clock import Clock
from journal.masking import Masker
from journal.records import CallKey, CallKind, Outcome, Permission, ResumePoint, RunState
from journal.service import Journal
from journal.trees import Pack


def say(**facts: Any) -> None:
    os.write(1, (json.dumps(facts) + "\n").encode())


def main(folder: Path, turns: int = 1_000_000, end: str = "leave") -> None:
    masker = Masker(list)
    journal = Journal.open(folder, masker=masker, boot={"pid": os.getpid()})
    for left in journal.unfinished():
        journal.stop_run(left.run_id, "a new process").result()
        say(what="stopped", run=left.run_id)
    say(what="ready")
    effects = os.open(folder.parent / "effects", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    history: list[str] = []
    for turn in range(turns):
        work(journal, masker, f"{os.getpid()}-{Clock().now()}-{turn}", history, effects)
    if end == "close":
        journal.close()
    os._exit(0)


def work(journal: Journal, masker: Masker, name: str, history: list[str], effects: int) -> None:
    def point(step: int) -> ResumePoint:
        pack = Pack(masker, set())
        history.append(f"{name} {step}")
        return ResumePoint(pack.put({"history": pack.list([pack.put(each) for each in history[-40:]])}), pack.nodes, {"A0": step})

    run = journal.admit("chat", name, {"text": name}, name, {}, point(0)).result().run
    say(what="admitted", run=run.run_id, message=name)
    for step in range(1, 4):
        key = CallKey("A0", step, CallKind.TOOL, 0)
        begun = journal.begin_call(
            run.run_id, run.token, 0, key, name="shell", identity_of=name, arguments={"code": name}, permission=Permission()
        ).result()
        call_id = begun.call.call_id  # type: ignore[union-attr]
        say(what="begun", run=run.run_id, call=call_id)
        os.write(effects, f"{call_id}\n".encode())
        journal.finish_call(call_id, Outcome.OK, f"result of {call_id}").result()
        say(what="finished", run=run.run_id, call=call_id)
        seq = journal.checkpoint(run.run_id, run.token, point(step), []).result()
        say(what="checkpoint", run=run.run_id, seq=seq, step=step, last=history[-1])
    journal.keep_input(run.run_id, f"{name} more", {"text": "more"}).result()
    say(what="kept", run=run.run_id, message=f"{name} more")
    journal.checkpoint(run.run_id, run.token, point(9), [f"{name} more"])
    journal.close_run(run.run_id, run.token, RunState.COMPLETED, f"answer {name}", None, []).result()
    say(what="closed", run=run.run_id, answer=f"answer {name}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:3]), *sys.argv[3:4])
