"""`python -m refhost`: a small host with the plugin, brought into the state of a scenario, until Ctrl-C."""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from refhost import scenarios, vendor
from refhost.model import Model, answer
from refhost.world import World


def main() -> int:
    known = dict(scenarios.named())
    parser = argparse.ArgumentParser(prog="python -m refhost", description=__doc__)
    parser.add_argument("--scenario", choices=sorted(known), default="held")
    parser.add_argument("--port", type=int, default=0, help="of the page on 127.0.0.1; 0 takes a free one")
    parser.add_argument("--folder", type=Path, help="keeps the world there; without it the world goes when the host ends")
    parser.add_argument("--list", action="store_true", help="names the scenarios and ends")
    options = parser.parse_args()
    if options.list:
        print("\n".join(f"{name:12} {(each.__doc__ or '').strip()}" for name, each in known.items()))
        return 0
    signal.signal(signal.SIGTERM, _leave)
    try:
        with _folder(options.folder) as folder, Model.start(folder / "model") as model, _world(folder, model) as world:
            world.port = options.port
            fresh = not list(world.usr.glob("chats/*"))
            if fresh:
                known[options.scenario](world, model)
            else:
                world.start()
            model.script(answer(scenarios.GREETING), repeat=True)
            print(f"{world.url}\nCtrl-C ends it.", flush=True)
            world.wait_dead(None)
    except KeyboardInterrupt:
        return 0
    print("The server has ended by itself.", file=sys.stderr)
    return 1


def _world(folder: Path, model: Model) -> World:
    try:
        return World(folder / "world", model=model, page=True)
    except vendor.CannotFetch as missing:
        print(f"{missing} The page will not open; the routes answer.", file=sys.stderr)
        return World(folder / "world", model=model)


@contextmanager
def _folder(given: Path | None) -> Iterator[Path]:
    if given:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="refhost-", ignore_cleanup_errors=True) as made:
        yield Path(made)


def _leave(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
