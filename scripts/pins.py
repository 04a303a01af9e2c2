"""Writes UPSTREAM.json from an Agent Zero checkout, or compares the two.

Pinned is what the plugin touches or relies on: the module of every hook path, every
override target, every host module that our code imports, and the reviewed list in
scripts/pinned_files.txt. Bytes are hashed, not text; nothing is pinned by hand.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UPSTREAM = ROOT / "UPSTREAM.json"
LIST = ROOT / "scripts" / "pinned_files.txt"
SCHEMA = 1

# The rooms that are loaded into the host, and the names under which a hook path means another file.
ROOMS = ("api", "bridge", "extensions", "tools")
SPELLED = {"__main__": "run_ui.py", "plugins": "api/plugins.py"}  # an API file is loaded by path, under its bare name


class Refused(Exception):
    """The checkout cannot be pinned as it is. UPSTREAM.json was not changed."""


def listed(kind: str) -> Iterator[str]:
    """Yield the reviewed paths: kind is "files" or "replay"."""
    for line in LIST.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if (words[0] == "replay") == (kind == "replay"):
            yield words[-1]


def hooked(host: Path) -> Iterator[str]:
    """Yield the host file of each hook path: extensions/python/_functions/<module>/<qualname>/<start|end>."""
    functions = ROOT / "extensions" / "python" / "_functions"
    for stub in sorted(functions.rglob("*.py")):
        parts = stub.relative_to(functions).parts[:-2]
        yield module_file(host, parts) or _missing(f"no host module for the hook {stub.relative_to(ROOT)}")


def overridden() -> Iterator[str]:
    """Yield the host file of each override: the folder mirrors the host's paths."""
    for path in sorted((ROOT / "overrides").rglob("*.py")):
        yield path.relative_to(ROOT / "overrides").as_posix()


def imported(host: Path) -> Iterator[str]:
    """Yield the host file of each host module that our code imports."""
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            for parts in _imports(ast.parse(path.read_bytes(), str(path))):
                found = module_file(host, parts)
                if found:
                    yield found


def _imports(tree: ast.Module) -> Iterator[tuple[str, ...]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (tuple(alias.name.split(".")) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # `from helpers import files` names a module, `from agent import Agent` does not: the longest file wins.
            yield from ((*node.module.split("."), alias.name) for alias in node.names)


def module_file(host: Path, parts: tuple[str, ...]) -> str | None:
    """Return the file of the longest leading part of a dotted name that is one, or None."""
    if parts and parts[0] in SPELLED:
        return SPELLED[parts[0]]
    for length in range(len(parts), 0, -1):
        name = "/".join(parts[:length]) + ".py"
        if (host / name).is_file():
            return name
    return None


def entry(host: Path, label: str) -> dict[str, object]:
    """Return the entry of UPSTREAM.json for a checkout."""
    files = {*listed("files"), *hooked(host), *overridden(), *imported(host)}
    replay = set(listed("replay"))
    absent = sorted(name for name in files | replay if not (host / name).is_file())
    if absent:
        raise Refused(f"not in {host}: {', '.join(absent)}")
    changed = _git(host, "diff", "--name-only", "HEAD", "--", *sorted(files | replay)).split()
    if changed:
        raise Refused(f"changed in {host} since its commit: {', '.join(changed)}")
    return {
        "label": label or _git(host, "describe", "--tags", "--exact-match").strip(),
        "commit": _git(host, "rev-parse", "HEAD").strip(),
        "files": {name: digest(host / name) for name in sorted(files)},
        "replay": {name: digest(host / name) for name in sorted(replay)},
    }


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _git(host: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(host), *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(f"git {words[0]} in {host}: {done.stderr.strip()} (a checkout without a tag needs --label)")
    return done.stdout


def _missing(text: str) -> str:
    raise Refused(text)


def read(file: Path) -> list[dict[str, object]]:
    return json.loads(file.read_text(encoding="utf-8"))["hosts"] if file.exists() else []


def write(host: Path, label: str, file: Path) -> None:
    """Replace the entry of this label, or add it. Other entries stay."""
    new = entry(host, label)
    hosts = [old for old in read(file) if old["label"] != new["label"]] + [new]
    text = json.dumps({"schema": SCHEMA, "hosts": sorted(hosts, key=lambda each: str(each["label"]))}, indent=2, sort_keys=True)
    file.write_text(text + "\n", encoding="utf-8")
    print(f"{file.name}: {new['label']}, {len(dict(new['files']))} files, {len(dict(new['replay']))} replay sources")


def check(host: Path, label: str, file: Path) -> int:
    """Print what differs between the checkout and its entry; return an exit code."""
    new = entry(host, label)
    old = next((each for each in read(file) if each["label"] == new["label"]), None)
    if old is None:
        print(f"{file.name} has no entry {new['label']}")
        return 1
    wrong = 0
    for part in ("files", "replay"):
        stored, found = dict(old[part]), dict(new[part])
        for name in sorted(stored.keys() | found.keys()):
            if stored.get(name) != found.get(name):
                wrong += 1
                state = "not pinned" if name not in stored else "pinned without need" if name not in found else "differs"
                print(f"{part}: {name}: {state}")
    print(f"{new['label']}: {wrong} differences" if wrong else f"{new['label']}: {len(dict(new['files']))} files as pinned")
    return 1 if wrong else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("host", type=Path, help="a git checkout of Agent Zero")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--label", default="", help="name of the version; the tag of the checkout's commit by default")
    parser.add_argument("--file", type=Path, default=UPSTREAM, help="the file to write or compare; UPSTREAM.json by default")
    asked = parser.parse_args()
    try:
        if asked.check:
            return check(asked.host, asked.label, asked.file)
        write(asked.host, asked.label, asked.file)
    except Refused as reason:
        print(f"Refused: {reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
