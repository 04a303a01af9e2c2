"""Checks the files given as arguments: final newline, trailing blanks, size, private keys, journals."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

MOST_BYTES = 512 * 1024
BINARY = {".png", ".jpg", ".gif", ".ico", ".woff2"}
PRIVATE_NAME = re.compile(r"\.sqlite(-wal|-shm)?$|^\.env$|^secrets\.env$")
PRIVATE_TEXT = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----|\b(sk|ghp|xox[abp])[-_][A-Za-z0-9_-]{24,}")


def faults(path: Path) -> Iterator[str]:
    content = path.read_bytes()
    if PRIVATE_NAME.search(path.name):
        yield "private data does not belong in the repository"
    if len(content) > MOST_BYTES:
        yield f"larger than {MOST_BYTES // 1024} KiB"
    if path.suffix in BINARY or not content:
        return
    if PRIVATE_TEXT.search(content):
        yield "looks like a secret"
    if not content.endswith(b"\n"):
        yield "no final newline"
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.endswith((b" ", b"\t", b"\r")):
            yield f"line {number} ends in blanks"


def main(names: list[str]) -> int:
    found = [f"{name}: {fault}" for name in names if Path(name).is_file() for fault in faults(Path(name))]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
