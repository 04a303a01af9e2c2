"""One variant in a process of its own: reads how many turns to run, answers with the seconds of each. Started by `rounds.py`.

Runs in the environment of the peers too, so it imports a variant's room only when that variant is asked for.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path

ROOMS = {
    "raw": "floor",
    "bare": "floor",
    "store": "hop",
    "least": "least",
    "statements": "replay",
    "engine": "engine",
    "DBOS": "peers",
    "LangGraph": "peers",
}


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints is no answer
    room = importlib.import_module(f"bench.{ROOMS[name.split(' ')[0].rstrip(',')]}")
    turn = room.VARIANTS[name](folder)
    print("ready", file=answers, flush=True)
    for line in sys.stdin:
        seconds, before = [], time.process_time()
        for _ in range(int(line)):
            started = time.perf_counter()
            turn()
            seconds.append(time.perf_counter() - started)
        print(json.dumps({"seconds": seconds, "cpu": time.process_time() - before}), file=answers, flush=True)
    os._exit(0)  # a peer's threads may never end


if __name__ == "__main__":
    main()
