"""Random secrets in random surroundings, in every form that the contract names: no long piece of one comes out again."""

from __future__ import annotations

import base64
import html
import json
import random
import shlex
import string
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from journal import spellings
from journal.masking import Masked, Masker, Secret

ROOT = Path(__file__).resolve().parents[2]
PIECE = 12
ROUNDS = 25
ALPHABETS = (
    string.ascii_letters + string.digits,
    string.ascii_letters + string.digits + "-_.",
    string.ascii_letters + string.digits + "!@#$%^&*()+=/\\'\"`~<>,;: ",
    string.ascii_letters + string.digits + "äß€é漢😀",
    string.ascii_lowercase,
    string.hexdigits,
)
WORDS = [
    "the",
    "a",
    "of",
    "deploy",
    "to",
    "staging",
    "failed",
    "with",
    "code",
    "log",
    "and",
    "retry",
    "connection",
    "refused",
    "by",
    "peer",
    "2026-11-29",
    "port",
    "8080",
    "=",
    "(",
    ")",
    "{",
    "}",
    ",",
    ".",
    ";",
    ":",
]


def secret_of(chance: random.Random) -> str:
    alphabet = chance.choice(ALPHABETS)
    middle = "".join(chance.choice(alphabet) for _ in range(chance.choice([6, 8, 10, 14, 15, 22, 30, 38, 62, 119])))
    return f"k{middle}z"


def around(chance: random.Random) -> str:
    return chance.choice(["", " ", "\n", "=", ": ", '"']).join(chance.choice(WORDS) for _ in range(chance.randrange(1, 12)))


# -- forms ----------------------------------------------------------------------------------------

Form = Callable[[str, random.Random], str]


def utf8(value: str) -> bytes:
    return value.encode()


def ansi_c(value: str) -> str:
    """As bash writes it in $'..'."""
    return "$'" + "".join(f"\\{c}" if c in "'\\" else c if c.isascii() else "".join(f"\\{b:03o}" for b in c.encode()) for c in value) + "'"


def double_quoted(value: str) -> str:
    return '"' + "".join(f"\\{c}" if c in '$`\\"' else c for c in value) + '"'


def backslashed(value: str) -> str:
    return "".join(c if c.isalnum() or c in "-_./" else f"\\{c}" for c in value)


def all_unicode(value: str) -> str:
    units = value.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def in_base64(value: str, chance: random.Random, encode: Callable[[bytes], bytes] = base64.b64encode) -> str:
    whole = chance.randbytes(chance.randrange(30)) + utf8(value) + chance.randbytes(chance.randrange(30))
    return encode(whole).decode()


def xxd(data: bytes, chance: random.Random) -> str:
    lines = []
    for at in range(0, len(data), 16):
        line = data[at : at + 16]
        words = " ".join(line[i : i + 2].hex() for i in range(0, len(line), 2))
        lines.append(f"{at:08x}: {words:<39}  {''.join(chr(b) if 32 <= b < 127 else '.' for b in line)}")
    return "\n".join(lines)


def hexdump_c(data: bytes, chance: random.Random) -> str:
    lines = []
    for at in range(0, len(data), 16):
        line = data[at : at + 16]
        halves = "  ".join(part.hex(" ") for part in (line[:8], line[8:]) if part)
        lines.append(f"{at:08x}  {halves:<48}  |{''.join(chr(b) if 32 <= b < 127 else '.' for b in line)}|")
    return "\n".join(lines)


def hexdump_words(data: bytes, chance: random.Random) -> str:
    data += bytes(len(data) % 2)
    lines = []
    for at in range(0, len(data), 16):
        line = data[at : at + 16]
        lines.append(f"{at:07x} " + " ".join(f"{line[i + 1]:02x}{line[i]:02x}" for i in range(0, len(line), 2)))
    return "\n".join(lines)


def openssl_dump(data: bytes, chance: random.Random) -> str:
    lines = []
    for at in range(0, len(data), 16):
        line = data[at : at + 16]
        halves = "-".join(part.hex(" ") for part in (line[:8], line[8:]) if part)
        lines.append(f"{at:04x} - {halves:<47}   {''.join(chr(b) if 32 <= b < 127 else '.' for b in line)}")
    return "\n".join(lines)


def dumped(how: Callable[[bytes, random.Random], str]) -> Form:
    def form(value: str, chance: random.Random) -> str:
        before = chance.randbytes(chance.randrange(40) // 2 * 2)
        return "\n" + how(before + utf8(value) + b"rest\n", chance) + "\n"

    return form


WRAPPABLE: dict[str, Form] = {
    "verbatim": lambda value, chance: value,
    "JSON": lambda value, chance: json.dumps(value),
    "JSON, not ASCII": lambda value, chance: json.dumps(value, ensure_ascii=False),
    "JSON in JSON": lambda value, chance: json.dumps(json.dumps(value)),
    "JSON for pages": lambda value, chance: json.dumps(value).replace("/", "\\/").replace("&", "\\u0026").replace("<", "\\u003c"),
    "JSON, escaped throughout": lambda value, chance: all_unicode(value),
    "URL": lambda value, chance: quote(value),
    "URL, nothing safe": lambda value, chance: quote(value, safe=""),
    "URL, twice": lambda value, chance: quote(quote(value, safe=""), safe=""),
    "form": lambda value, chance: quote_plus(value),
    "URL, escaped throughout": lambda value, chance: "".join(f"%{b:02X}" for b in utf8(value)),
    "shell, single quotes": lambda value, chance: shlex.quote(value + " "),
    "shell, double quotes": lambda value, chance: double_quoted(value),
    "shell, backslashes": lambda value, chance: backslashed(value),
    "shell, $'..'": lambda value, chance: ansi_c(value),
    "Python": lambda value, chance: repr(value),
    "Python, bytes": lambda value, chance: repr(utf8(value)),
    "HTML": lambda value, chance: html.escape(value),
    "HTML, numbers": lambda value, chance: "".join(f"&#{ord(c)};" if c in "&<>\"'" or ord(c) > 127 else c for c in value),
    "hex": lambda value, chance: utf8(value).hex(),
    "hex, upper": lambda value, chance: utf8(value).hex().upper(),
    "hex inside": lambda value, chance: (chance.randbytes(9) + utf8(value) + chance.randbytes(9)).hex(),
    "hex, colons": lambda value, chance: utf8(value).hex(":"),
    "hex, spaces": lambda value, chance: utf8(value).hex(" "),
    "hex, dashes": lambda value, chance: utf8(value).hex("-").upper(),
    "hex, \\x": lambda value, chance: "".join(f"\\x{b:02x}" for b in utf8(value)),
    "hex, 0x": lambda value, chance: ", ".join(f"0x{b:02x}" for b in utf8(value)),
    "hex, 0x once": lambda value, chance: "0x" + utf8(value).hex(),
    "base64": in_base64,
    "base64, URL-safe": lambda value, chance: in_base64(value, chance, base64.urlsafe_b64encode),
    "base64, no padding": lambda value, chance: in_base64(value, chance).rstrip("="),
    "Basic": lambda value, chance: base64.b64encode(b"user:" + utf8(value)).decode(),
}
FORMS: dict[str, Form] = {
    **WRAPPABLE,
    "base64 in a URL": lambda value, chance: quote(in_base64(value, chance), safe=""),
    "MIME": lambda value, chance: in_base64(value, chance, base64.encodebytes),
    "PEM": lambda value, chance: "-----BEGIN X-----\n" + wrapped(in_base64(value, chance), 64, "\n") + "\n-----END X-----\n",
    "xxd": dumped(xxd),
    "hexdump -C": dumped(hexdump_c),
    "hexdump": dumped(hexdump_words),
    "openssl": dumped(openssl_dump),
    "HTML, numbers throughout": lambda value, chance: "".join(f"&#{b};" for b in utf8(value)) if value.isascii() else value,
}


def wrapped(text: str, column: int, line_break: str) -> str:
    return line_break.join(text[at : at + column] for at in range(0, len(text), column))


def encodings(value: str) -> set[str]:
    """What must not be left, each in one piece of condensed text."""
    found = {value, utf8(value).hex()}
    for offset in range(3):
        data = bytes(offset) + utf8(value)
        found.add(base64.b64encode(data).decode()[offset + 1 : len(data) * 4 // 3 - 1])
    return found


def leaks(value: str, text: str, surroundings: str) -> list[str]:
    """Pieces of a secret, in any encoding, that stand in what came out and not in what stood around it."""
    condensed = {text, "".join(text.split()), text.replace("\\n", "").replace("\\r", ""), text.replace("\\", "")}
    low = text.lower().replace("\\x", "").replace("0x", "")
    condensed.add("".join(c for c in low if c in "0123456789abcdef"))
    condensed.add(text.translate(str.maketrans("-_", "+/", "\r\n\t \\")))
    pieces = {each[at : at + PIECE] for each in encodings(value) for at in range(len(each) - PIECE + 1)} | {value}
    return [piece for piece in pieces if any(piece in each for each in condensed) and piece not in surroundings]


def masked(value: str, text: str, placeholder: str | None = None) -> str:
    masker = Masker(lambda: [Secret("TOKEN", value, placeholder)])
    once = masker.text(text)
    assert masker.text(once) is once, "masking twice changes nothing"
    in_bytes = masker.mask(text.encode()).value
    assert in_bytes.decode() == once, "bytes are masked as the text is"
    return once


@pytest.mark.parametrize("name", FORMS)
def test_no_form_of_a_secret_comes_through(name: str) -> None:
    chance = random.Random(name)
    for _ in range(ROUNDS):
        value, before, after = secret_of(chance), around(chance), around(chance)
        text = before + FORMS[name](value, chance) + after

        once = masked(value, text)

        assert "[hidden:TOKEN]" in once, (value, text)
        assert leaks(value, once, before + " " + after) == [], (value, text, once)
        assert once.startswith(before[:-4]), "what stands before it stays"
        assert once.endswith(after[4:]), "what stands after it stays"


@pytest.mark.parametrize("name", WRAPPABLE)
def test_no_form_comes_through_a_line_wrap(name: str) -> None:
    chance = random.Random(name)
    for _ in range(ROUNDS):
        value = secret_of(chance)
        column = chance.choice([7, 16, 40, 64, 76, 80])
        line_break = chance.choice(["\n", "\r\n", "\n    ", "\r\n\t", "\\n", "\\r\\n", "\\n  "])
        text = "note: " + wrapped(WRAPPABLE[name](value, chance), column, line_break) + " end"

        once = masked(value, text)

        assert leaks(value, once, "") == [], (value, text, once)
        assert once.startswith("note: ")
        assert once.endswith(" end")


# -- cut off --------------------------------------------------------------------------------------

LONG = "sk-live-0aB1cD2eF3gH4iJ5kL6mN7oP8qR9"


@pytest.mark.parametrize(
    "text",
    [
        f"the key is {LONG[:14]}",
        f"the key is {LONG[:-1]}",
        f'{{"key": "{LONG[:20]}"',
        f"{LONG[-14:]} was the key",
        f"the key is {LONG[:14]}…",
        f"the key is {LONG[:14]}... and so on",
        f"head {LONG[:20]}\n<< 1200 CHARACTERS REMOVED TO SAVE SPACE >>\n{LONG[-20:]} tail",
        f"head {LONG[:20]} [output truncated] tail",
        f"curl -H 'Authorization: Basic {base64.b64encode(b'user:' + LONG.encode()).decode()[:40]}",
        f"{LONG.encode().hex()[:40]}",
        f"{LONG.encode().hex(':')[-60:]}",
    ],
)
def test_what_a_cut_left_of_a_secret_does_not_come_through(text: str) -> None:
    once = masked(LONG, text)

    assert "[hidden:TOKEN]" in once
    assert leaks(LONG, once, "") == []


def test_a_few_characters_at_the_end_are_no_secret() -> None:
    for text in (f"it begins with {LONG[:8]}", f"{LONG[-8:]} is its end", f"{LONG[:14]} in the middle"):
        assert masked(LONG, text) is text


# -- what stays -----------------------------------------------------------------------------------


def thirty() -> Masker:
    chance = random.Random("thirty")
    secrets = [Secret(f"N{number}", secret_of(chance)) for number in range(30)]
    return Masker(lambda: secrets)


def test_ordinary_texts_are_the_same_objects_afterwards() -> None:
    chance, masker = random.Random("ordinary"), thirty()
    texts = [
        path.read_text(encoding="utf-8") for pattern in ("*.md", "docs/*.md", "journal/*.py", "bridge/*.py") for path in ROOT.glob(pattern)
    ]
    data = chance.randbytes(5000)
    texts += [base64.encodebytes(data).decode(), data.hex(), xxd(data, chance), hexdump_c(data, chance), json.dumps(texts), quote(texts[0])]

    for text in texts:
        assert masker.text(text) is text
        assert masker.mask(text.encode()).value == text.encode()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("12345678", "12, 34, 56, 78 and 12 34 56 78 and 1234.5678"),
        ("password", "pass word, pass-word, Password, passwor"),
        ("correct horse", "correct, horse; correct-horse"),
        ("deadbeef", "dead beef DEADBEEF dead:beef"),
        ("a1-b2-c3-d4", "a1b2c3d4 a1 b2 c3 d4"),
        ("2026-11-29", "20261129 2026/11/29"),
    ],
)
def test_what_only_looks_alike_stays(value: str, text: str) -> None:
    assert masked(value, text) is text


# -- long texts -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["verbatim", "JSON", "URL, nothing safe", "hex, colons", "base64", "MIME", "hexdump -C"])
def test_a_secret_is_found_at_any_place_of_a_long_text(name: str) -> None:
    chance = random.Random(name)
    line = "an ordinary line of a log with a number 4711 and a path /usr/lib/x\n"
    for _ in range(12):
        value = secret_of(chance)
        before = (line * 8000)[: chance.randrange(120_000, 280_000)]
        text = before + "\n" + FORMS[name](value, chance) + "\n" + line * 3000

        once = masked(value, text)

        assert leaks(value, once[len(before) - 200 : len(before) + 2000], "") == []
        assert once.startswith(before)
        assert once.endswith(line * 3000)
        assert once.count("[hidden:TOKEN]") >= 1


@pytest.mark.parametrize("how", [xxd, hexdump_c, hexdump_words])
def test_a_secret_is_found_far_behind_the_zeros_at_which_a_dump_begins(how: Callable[[bytes, random.Random], str]) -> None:
    chance = random.Random("far")
    for at in (90_000, 250_000):
        file = bytes(chance.choices(b"abcdefghij klmnop", k=at)) + LONG.encode() + b"and so on " * 3_000

        assert "[hidden:TOKEN]" in masked(LONG, how(file, chance)), at


@pytest.mark.parametrize("how", [xxd, hexdump_c, hexdump_words])
def test_a_secret_is_found_in_a_few_lines_from_the_middle_of_a_dump(how: Callable[[bytes, random.Random], str]) -> None:
    chance = random.Random("tail")
    file = bytes(chance.choices(b"abcdefghij klmnop", k=100_000)) + LONG.encode() + b"and so on " * 20

    assert "[hidden:TOKEN]" in masked(LONG, "".join(how(file, chance).splitlines(keepends=True)[-30:]))


@pytest.mark.parametrize("before", ["", "\n", "\r\n  ", "\\\n", "\\n", "%0A", " \n", "\t\n"])
def test_no_form_of_a_character_begins_with_anything_else(before: str) -> None:
    seen = 0
    for character in string.printable + "é漢😀":
        code, data = ord(character), character.encode()
        octal, hexadecimal, percent = ("".join(form % byte for byte in data) for form in ("\\%03o", "\\x%02x", "%%%02X"))
        numbered = [f"&#{code};", f"&#x{code:x};", f"&amp;#{code};", json.dumps(character)[1:-1], all_unicode(character)]
        named = [
            character,
            html.escape(character),
            shlex.quote(character)[1:-1],
            repr(character)[1:-1],
            quote_plus(character),
            "\\" + character,
        ]
        for form in [octal, hexadecimal, percent, quote(percent), *numbered, *named]:
            text = (before + form).encode()
            if any(way.match(text) for way in spellings.ways(character)):
                seen += 1
                assert spellings.beginning(character).match(text), (character, text)

    assert seen > 900


def test_a_key_of_many_lines_is_found_whole_wrapped_and_encoded() -> None:
    chance = random.Random("key")
    body = base64.encodebytes(chance.randbytes(1200)).decode()
    key = f"-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----\n"
    indented = "".join(f"    {line}\n" for line in key.splitlines())

    assert masked(key, f"a\n{key}b", "§§secret(KEY)") == "a\n§§secret(KEY)b"
    for text in (json.dumps({"key": key}), indented, in_base64(key, chance), quote(key), key.encode().hex()):
        once = masked(key, f"before {text} after")
        assert leaks(body.splitlines()[5], once, "") == []


# -- the host's own -------------------------------------------------------------------------------


KEY = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nnEFAASCBKcwggSjAgEAAoIBAQC7\n-----END KEY-----\n"
IN_ONE_LINE = KEY.replace("\n", "\\n")
AT_A_TERMINAL = KEY.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(IN_ONE_LINE, KEY, id="in a variable in one line, shown in many"),
        pytest.param(IN_ONE_LINE, AT_A_TERMINAL, id="in a variable in one line, shown by a terminal"),
        pytest.param(IN_ONE_LINE, wrapped(IN_ONE_LINE, 17, "\n"), id="in one line, wrapped"),
        pytest.param(IN_ONE_LINE, wrapped(json.dumps(IN_ONE_LINE), 17, "\r\n  "), id="in one line, in JSON, wrapped"),
        pytest.param(AT_A_TERMINAL, KEY, id="kept with carriage returns, shown without"),
        pytest.param(KEY, "".join(f"%{byte:02X}" for byte in KEY.encode()), id="every byte of many lines percent-encoded"),
        pytest.param("C7tW\\üb>C5H", json.dumps("C7tW\\üb>C5H"), id="a backslash before a character that JSON names"),
        pytest.param("abababab", "abababababab, ab\nababab", id="one that repeats itself, and wrapped"),
        pytest.param("nAbCdEfGh1", "C:\\nAbCdEfGh1, nAbCd\\nEfGh1", id="one that looks like a line break, and wrapped"),
    ],
)
def test_what_looks_like_a_line_break_or_repeats_itself_hides_no_secret(value: str, text: str) -> None:
    left = masked(value, f"{text}\nand more")

    assert all(text[at : at + 7] not in left for at in range(len(text) - 6)), left


def test_only_a_whole_verbatim_secret_of_the_host_gets_its_placeholder() -> None:
    masker = Masker(lambda: [Secret("KEY", LONG, "§§secret(KEY)")])

    assert masker.mask({"a": f"say {LONG}!"}) == Masked({"a": "say §§secret(KEY)!"}, lossy=False)
    for name, form in FORMS.items():
        text = form(LONG, random.Random(name))
        result = masker.mask({"a": f"say {text}"})
        assert result.lossy is (LONG not in text), name
        assert result.lossy is ("§§secret" not in result.value["a"]), name


def test_values_that_are_compared_have_one_mark_for_every_form() -> None:
    masker = Masker(lambda: [Secret("KEY", LONG, "§§secret(KEY)")])

    for form in (LONG, "§§secret(KEY)", LONG.encode().hex(), f"{LONG[:9]}\n{LONG[9:]}"):
        assert masker.uniform([f"a {form} b"]) == ["a [hidden:KEY] b"]
