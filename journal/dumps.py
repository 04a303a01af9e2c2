"""Hexadecimal dumps: lines of an offset, columns of bytes and the bytes as text, as xxd, hexdump, od and openssl print them.

The offsets and the texts stand between the columns of two lines, and the texts show what the columns hide. So the
columns are read on their own, and a dump in which a secret stands is hidden by whole lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .spellings import DIGITS

_LINE = re.compile(rb"\n[ \t]*+[0-9a-fA-F]{4,16}+:?[ \t]++(?:- )?((?:(?:[0-9a-fA-F]{2}){1,4}(?:[ \t]{1,2}|-|(?=[\r\n]|\Z)))+).*")
_WORD = re.compile(rb"(?<![0-9a-fA-F])([0-9a-fA-F]{2})([0-9a-fA-F]{2})(?![0-9a-fA-F])")
_MOST_DIGITS = 32  # sixteen bytes a line; what follows is their text, which may look like digits


def may_be_in(data: bytes) -> bool:
    """Whether one line of a text looks like a line of a dump."""
    return _LINE.search(_in_lines(data)) is not None


def find(data: bytes, needles: list[tuple[bytes, int]]) -> Iterator[tuple[int, int, int]]:
    """Yield (start, stop, number) of the whole lines over which a needle of hexadecimal digits stands."""
    text = _in_lines(data)
    lines = list(_LINE.finditer(text))
    if not lines:
        return
    columns = bytearray(len(text))
    for line in lines:
        left = _MOST_DIGITS
        for at in range(line.start(1), line.end(1)):
            columns[at] = text[at]
            left -= text[at] not in b" \t-"
            if left == 0:
                break
    for flat in {bytes(columns), _WORD.sub(rb"\2\1", bytes(columns))}:  # words are printed as bytes or as numbers
        for start, stop, number in _in_columns(flat, needles, lines):
            yield start, stop - 1, number


def _in_lines(data: bytes) -> bytes:
    """Every line begins after a line break, written ones too; one byte longer than the text."""
    return b"\n" + (data.replace(b"\\n", b"\n\n") if b"\\" in data else data)


def _in_columns(flat: bytes, needles: list[tuple[bytes, int]], lines: list[re.Match[bytes]]) -> Iterator[tuple[int, int, int]]:
    view = DIGITS.of(flat)
    for needle, number in needles:
        at = view.find(needle)
        while at >= 0:
            places = DIGITS.places(flat, (at, at + len(needle) - 1))
            first, last = places[at], places[at + len(needle) - 1]
            touched = [line for line in lines if line.end() > first and line.start() <= last]
            yield touched[0].start(), touched[-1].end(), number
            at = view.find(needle, at + len(needle))
