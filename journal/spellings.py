"""How a known secret may be written: condensed views of a text, what to look for in them, and a check at one place.

A *dense* view keeps letters and digits, so that line wraps, separators and escapes fall away at once; a *digits*
view keeps hexadecimal ones. Views are made by functions that change no length before they drop bytes, so that a
place in a view is a place in the text. This room holds no secret: what it remembers are patterns of single characters.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from functools import lru_cache
from html.entities import codepoint2name
from itertools import compress, islice
from typing import NamedTuple

_WORD = re.compile(rb"[A-Za-z0-9_-]+")
_PLAIN = re.compile(rb"[A-Za-z0-9]")
_ENTITY = re.compile(rb"&#(\d{2,5});")
_FOREIGN_LETTER = re.compile(rb"[g-tv-wyzG-TV-WYZ]")  # x and u announce digits


class View:
    """Which bytes of a text are kept, and as what."""

    def __init__(self, kept: bytes, become: bytes) -> None:
        self._table = bytes.maketrans(kept, become)
        self._drop = bytes(set(range(256)) - set(kept))
        self._flags = bytes(byte in kept for byte in range(256))

    def of(self, flat: bytes) -> bytes:
        return flat.translate(self._table, self._drop)

    def places(self, flat: bytes, wanted: Iterable[int]) -> dict[int, int]:
        """Where in the text the bytes at these indexes of its view stand."""
        kept, passed, found = compress(range(len(flat)), flat.translate(self._flags)), 0, {}
        for index in sorted(set(wanted)):
            found[index] = next(islice(kept, index - passed, None))
            passed = index + 1
        return found


_UPPER = bytes(range(0x41, 0x5B)) + b"0123456789"
_LETTERS = _UPPER + bytes(range(0x61, 0x7B))
DENSE = View(_LETTERS + b"+/-_", _LETTERS + b"+/+/")  # both alphabets of base64 at once
DIGITS = View(b"0123456789abcdefABCDEF", b"0123456789abcdefabcdef")

# Thin views of these two, in the same order: of what common texts hold least, and encoded secrets much.
RARE = View(_UPPER + b"+/-_", _UPPER + b"+/+/")
DECIMALS = View(b"0123456789", b"0123456789")


# -- texts of the same length, easier to condense -------------------------------------------------

_BREAK = re.compile(rb"\\[nrt]")
_PERCENT_BREAK = re.compile(rb"%0[AaDd]")
_SIGNS = (
    ("%", re.compile(rb"%2[BbFf]"), ((b"%2B", b"+\0\0"), (b"%2b", b"+\0\0"), (b"%2F", b"/\0\0"), (b"%2f", b"/\0\0"))),
    (
        "\\",
        re.compile(rb"\\u002[BbFf]"),
        tuple((b"\\u002" + code, sign + bytes(5)) for code, sign in ((b"B", b"+"), (b"b", b"+"), (b"F", b"/"), (b"f", b"/"))),
    ),
)


def unbroken(data: bytes, text: str) -> bytes:
    """Line breaks that are written as characters are blanked; the same object if there are none."""
    flat = data
    if "\\" in text:
        flat = _BREAK.sub(b"\0\0", flat)
    if "%" in text:
        flat = _PERCENT_BREAK.sub(b"\0\0\0", flat)
    return data if flat == data else flat


def has_percent_break(data: bytes, text: str) -> bool:
    """Whether a line break stands there as in a URL: around a secret in hexadecimal digits, or in one that has many lines."""
    return "%" in text and _PERCENT_BREAK.search(data) is not None


def plain_signs(data: bytes, text: str) -> bytes:
    """The two characters of base64 that are no letters, where a URL or a page escapes them."""
    for first, written, pairs in _SIGNS:
        if first in text and written.search(data):
            for each, becomes in pairs:
                data = data.replace(each, becomes)
    return data


def bare_digits(data: bytes, text: str) -> bytes:
    """Characters that are named by decimal numbers are named by hexadecimal ones."""
    return _ENTITY.sub(_as_hex, data) if "&" in text else data


def _as_hex(found: re.Match[bytes]) -> bytes:
    digits = b"%02x" % int(found[1])
    return digits.ljust(len(found[0]), b"\0")


def is_hex(part: bytes) -> bool:
    """Whether nothing but digits and separators stands in a part of a text."""
    return _FOREIGN_LETTER.search(part) is None


# -- what to look for -----------------------------------------------------------------------------


class Core(NamedTuple):
    """The longest part of a secret that no escape changes, as it stands in a dense view; `before`: characters of the secret before it."""

    text: str
    before: int


class Base64(NamedTuple):
    """The characters that a secret alone determines, in one alignment; `lead`, `trail`: neighbours that hold a part of it."""

    text: str
    lead: int
    trail: int


def core(value: str) -> Core | None:
    data = value.encode("utf-8", "surrogatepass")
    data = plain_signs(unbroken(data, value), value)  # as in a text: what looks like a written line break is one there, too
    longest = max(_WORD.finditer(data), key=lambda found: len(found[0]), default=None)
    if longest is None or not _PLAIN.search(longest[0]):
        return None
    return Core(DENSE.of(longest[0]).decode(), len(data[: longest.start()].decode("utf-8", "surrogatepass")))


def misread(core: str) -> list[str]:
    """What of a core looks like a line break with what stands before it."""
    return ["\\" + core] if core[0] in "nrt" else ["%" + core] if core[:2].lower() in ("0a", "0d") else []


def digit_forms(value: str) -> set[str]:
    """Of the bytes, bare or each after a `0x`; of the characters, named one by one with all four digits or as few as will do."""
    data, units = value.encode("utf-8", "surrogatepass"), value.encode("utf-16-be", "surrogatepass").hex()
    named = [units[at : at + 4] for at in range(0, len(units), 4)]
    shortest = [unit.removeprefix("00") for unit in named]
    return {data.hex(), "0".join(f"{byte:02x}" for byte in data), "".join([shortest[0], *named[1:]]), "".join(shortest)}


def base64_forms(data: bytes) -> list[Base64]:
    """One for each place that a secret may have among the threes of bytes."""
    forms = []
    for offset in range(3):
        written = base64.b64encode(bytes(offset) + data)
        first, last = -(-8 * offset // 6), 8 * (offset + len(data)) // 6
        forms.append(Base64(written[first:last].decode(), first - 8 * offset // 6, 1 if 8 * (offset + len(data)) % 6 else 0))
    return forms


# -- a check at one place -------------------------------------------------------------------------

_END_OF_LINE = rb"(?:\\?\r?\n|\r|\\{1,16}[nr]|%0[aAdD])"
_GAP = rb"(?>[ \t]{0,256}(?:" + _END_OF_LINE + rb"(?:[ \t]|\\{1,16}t){0,256}){1,16})"
_ONE = rb"(?:[ \t]{0,256}" + _END_OF_LINE + rb"{1,2}[ \t]{0,256})"
_MAYBE = _GAP + rb"?"
_LATE = _GAP + rb"??"  # only if what follows is not the character itself
_TWICE = rb"(?:2" + _MAYBE + rb"5" + _MAYBE + rb"){0,8}"  # a percent sign that is escaped again and again
_AMPS = rb"(?:" + _MAYBE.join([b"a", b"m", b"p", b";"]) + _MAYBE + rb"){0,8}"
_NAMED = {"'": [b"'\\''", b"'\"'\"'", b"''", b"&apos;"], '"': [b'""'], "\n": [b"\r\n"]}
_AMBIGUOUS = "%&'\""  # themselves the beginning of a way to write them
_LETTER_ESCAPES = {"\n": b"n", "\r": b"r", "\t": b"t", "\b": b"b", "\f": b"f", "\v": b"v", "\a": b"a", "\x1b": b"[eE]", "\x00": b"0"}


type Reading = tuple[tuple[re.Pattern[bytes], ...], ...]
"""For each character of a secret the ways to write it."""


def readings(value: str) -> tuple[Reading, ...]:
    """A secret as it is kept, and with its line breaks as they may be shown. Who remembers it holds the secret."""
    texts = dict.fromkeys((value, value.replace("\r\n", "\n"), _WRITTEN_BREAK.sub("\n", value)))
    return tuple(tuple(ways(character) for character in _RUNS.sub(r"\1", text)) for text in texts)


def match(data: bytes, at: int, secret: tuple[Reading, ...]) -> int:
    """Where a secret ends that begins at a place of a text, in whatever form, wrapped or not; -1 if it does not stand there."""
    for reading in secret:
        if (stop := _match(data, at, reading)) >= 0:
            return stop
    return -1


def _match(data: bytes, at: int, reading: Reading) -> int:
    """Some texts can be read in two ways, such as a backslash and an n: as written, and as a line break. All are followed."""
    places = {at}
    for character in reading:
        places = {found.end() for place in places for way in character if (found := way.match(data, place))}
        if not places:
            return -1
    return max(places)


_WRITTEN_BREAK = re.compile(r"(?:\\r)?\\n")  # a variable holds a key of many lines in one, and a program shows the lines
_RUNS = re.compile(r"([\\ \n])\1+")  # how many there are depends on how often they were escaped, or on the wrap


@lru_cache(maxsize=4096)
def ways(character: str) -> tuple[re.Pattern[bytes], ...]:
    """One character in every form, perhaps after a line wrap: one pattern for each way to read a text."""
    raw = _raw(character)
    if _PLAIN.fullmatch(raw):  # nothing escapes these, or everything is escaped, and then it is found by its digits
        return (re.compile(_MAYBE + raw),)
    every = rb"|".join([*_escapes(character), raw])
    if character == "\\":
        either = rb"(?:" + _ONE + rb"?(?:" + every + rb")){1,64}"
        patterns = [rb"(?:" + every + rb"){1,64}", either, either + rb"(?=" + _GAP + rb")", either + rb"(?=\\)"]  # the last begins another
    elif character == " ":
        patterns = [_LATE + rb" ", *(_LATE + rb"(?:" + each + rb"|" + _GAP + rb"){1,64}" for each in (raw, every + rb"|\+"))]
    elif character == "\n":
        patterns = [_LATE + rb"(?:" + every + rb")", _GAP]  # with the indentation of the next line
    else:
        patterns = [_LATE + rb"(?:" + every + rb")"]
        patterns += [_MAYBE + rb"(?:" + every + rb")", _MAYBE + raw] if character in _AMBIGUOUS else []
    return tuple(re.compile(each) for each in patterns)


@lru_cache(maxsize=4096)
def beginning(character: str) -> re.Pattern[bytes]:
    """The bytes with which any form of a character begins: itself, an escape, or a wrap before it."""
    return re.compile(rb"[%b\\%%&'\"+ \t\r\n]" % re.escape(character.encode("utf-8", "surrogatepass")[:1]))


def _raw(character: str) -> bytes:
    written = re.escape(character.encode("utf-8", "surrogatepass"))
    return written if _PLAIN.fullmatch(written) or character == "\\" else rb"(?:\\" + _ONE + rb"?){0,16}" + written


def _escapes(character: str) -> list[bytes]:
    code, encoded = ord(character), character.encode("utf-8", "surrogatepass")
    units = character.encode("utf-16-be", "surrogatepass")
    percent = [_spread([b"%", _TWICE, *_digits(b"%02x" % byte)]) for byte in encoded]
    unicode = [_spread([rb"\\{1,16}", b"u", *_digits(units[at : at + 2].hex().encode())]) for at in range(0, len(units), 2)]
    octal = [_spread([rb"\\{1,16}", b"0?", *_digits(b"%03o" % byte)]) for byte in encoded]
    hexadecimal = [_spread([rb"\\{1,16}", b"x", *_digits(b"%02x" % byte)]) for byte in encoded]
    ways = [_spread(way) for way in (percent, unicode, hexadecimal, octal)]
    ways += [_spread([b"&", _AMPS, b"#", b"0{0,8}", *_digits(b"%d" % code), b";"])]
    ways += [_spread([b"&", _AMPS, b"#", b"[xX]", b"0{0,8}", *_digits(b"%x" % code), b";"])]
    if 0x80 <= code < 0x100:
        ways += [_spread([rb"\\{1,16}", b"x", *_digits(b"%02x" % code)])]
    if name := codepoint2name.get(code):
        ways += [_spread([b"&", _AMPS, *_letters(name.encode()), b";"])]
    if letter := _LETTER_ESCAPES.get(character):
        ways += [_spread([rb"\\{1,16}", letter])]
    return ways + [_spread(_letters(written)) for written in _NAMED.get(character, ())]


def _letters(written: bytes) -> list[bytes]:
    return [re.escape(bytes([byte])) for byte in written]


def _digits(written: bytes) -> list[bytes]:
    return [b"[%c%c]" % (byte, ord(chr(byte).upper())) if chr(byte).isalpha() else bytes([byte]) for byte in written]


def _spread(parts: list[bytes]) -> bytes:
    """Parts one after another, where a line may be wrapped between any two of them."""
    return (_ONE + rb"?").join(parts)
