"""`python -m tests.points list | crash | work`: shows the points, kills at each of them, plays cases for `crash`."""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from journal.errors import JournalError
from tests.points import plan, run
from tests.points.catalogue import POINTS
from tests.points.play import Case, NotPassed, Stage, play, stage
from tests.points.stories import STORIES

TRIES = 8  # a queued checkpoint and the next intent may fall into one commit or into two: then another recovery follows (plan.is_elsewhere)


def show_points() -> None:
    """The catalogue as a table; the last column says in how many cases of one run without kills each is passed."""
    with tempfile.TemporaryDirectory() as folder, stage(Path(folder)) as on:
        passed: Counter[str] = Counter()
        where: dict[str, set[str]] = {}
        for story in STORIES.values():
            played = play(on, story, Case(story.name))
            for passage in itertools.chain(*played.traces):
                passed[plan.name_of(passage)] += 1
                where.setdefault(plan.name_of(passage), set()).add(story.name)
    print(f"{'point':36} {'recovery':8} {'stories':>7} {'passages':>8}  meaning (where it is injected)")
    for point in POINTS.values():
        mark = "yes" if point.recovery else ""
        print(f"{point.name:36} {mark:8} {len(where.get(point.name, ())):7} {passed[point.name]:8}  {point.meaning} ({point.where})")
    recovery = sum(point.recovery for point in POINTS.values())
    print(f"\n{len(POINTS)} points, {recovery} of them in a recovery; {len(STORIES)} stories, {sum(passed.values())} passages in them")
    missing, extra = [name for name in POINTS if not passed[name]], sorted(passed.keys() - POINTS.keys())
    if missing or extra:
        sys.exit(f"No story passes: {', '.join(missing) or 'none'}. Passed and not in the catalogue: {', '.join(extra) or 'none'}.")


def work() -> None:
    """Play the cases that come on standard input, one name a line; one line of JSON comes back for each."""
    with tempfile.TemporaryDirectory(prefix="points-") as folder, stage(Path(folder)) as on:
        for line in sys.stdin:
            sys.stdout.write(json.dumps(tried(on, Case.of(line.strip()))) + "\n")
            sys.stdout.flush()


def tried(on: Stage, case: Case) -> dict[str, Any]:
    """Play one case. A point that threads did not pass this time, as they did in the trace, is tried again."""
    why, found = "", []
    for _ in range(TRIES):
        try:
            played = play(on, STORIES[case.story], case)
        except NotPassed as error:
            why = str(error)
            found.append(error.shape)
            continue
        except (AssertionError, OSError, JournalError) as error:  # also a server that does not start, a record that cannot be read
            return {"case": case.name, "ok": False, "why": str(error)}
        traces = played.traces[len(STORIES[case.story].before) :]
        strange = sorted({name for trace in traces for name in plan.unknown(trace)})
        kept = traces if len(case.kills) < 2 else []  # what follows a pair is explored no further
        shapes = played.shapes[len(STORIES[case.story].before) :]
        return {"case": case.name, "ok": True, "traces": kept, "strange": strange, "shapes": shapes}
    records = "\n".join(sorted({str(shape) for shape in found}))
    return {"case": case.name, "ok": False, "why": f"{why}\nThe record at its first death, in {TRIES} tries:\n{records}", "unpassed": found}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.points", description=__doc__)
    parser.add_argument("what", choices=("list", "crash", "work"))
    parser.add_argument("--point", default="", help="only cases with one kill: a whole case, or how the point's name begins")
    parser.add_argument("--pair", default="", help="only pairs: a whole case, how the name of one of the points begins, or all")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--resume", action="store_true", help="leave out what passed in the last run")
    options = parser.parse_args()
    match options.what:
        case "list":
            show_points()
        case "work":
            work()
        case _:
            return run.crash(options.point, options.pair, options.workers, resume=options.resume)
    return 0


if __name__ == "__main__":
    sys.exit(main())
