"""Which names tell of a secret, and what a file of `KEY=value` lines holds. Masks nothing itself and keeps nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TELLING = re.compile(r"KEY|TOKEN|SECRET|PASSW|DSN", re.IGNORECASE)
_OWN = re.compile(r"^(A0_|API_KEY)", re.IGNORECASE)
_SETTING = re.compile(r"^A0_SET_", re.IGNORECASE)
_PLAIN = re.compile(r"^(true|false|yes|no|on|off|none|[\d.,:]+)$", re.IGNORECASE)
_PAIR = re.compile(
    r"""^[ \t]*(?:export[ \t]+)?'?(?P<name>[^\s='#]+)'?[ \t]*=[ \t]*
        (?:'(?P<single>(?:\\'|[^'])*)'|"(?P<double>(?:\\"|[^"])*)"|(?P<bare>[^\r\n]*))""",
    re.MULTILINE | re.VERBOSE,
)
_REMARK = re.compile(r"\s+#.*")
_ESCAPE = re.compile(r"\\([\\'\"abfnrtv])")
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def tells(name: str) -> bool:
    """Whether the name alone says that its value is a secret."""
    return bool(_TELLING.search(name))


def is_secret(name: str, value: str) -> bool:
    """Whether a variable of the environment, or of a file that is loaded into it, holds a secret."""
    if tells(name):
        return True
    # A0_* may also be a plain setting: masking a folder's path or a number would make
    # every command that names it impossible to run again.
    return bool(_OWN.match(name)) and not _SETTING.match(name) and not _PLAIN.match(value) and not _is_path(value)


def _is_path(value: str) -> bool:
    return value.startswith(("/", "./", "~")) and len(value) < 4096


def pairs(text: str) -> Iterator[tuple[str, str]]:
    """Names and values of such a file, quotes and remarks taken off. A value in doubt comes in both readings."""
    for found in _PAIR.finditer(text):
        name, bare = found["name"].upper(), found["bare"]
        if bare is None:
            quoted = found["double"] if found["single"] is None else found["single"]
            yield name, quoted
            yield name, _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[1], escape[1]), quoted)
        else:
            yield name, bare.strip()
            yield name, _REMARK.sub("", bare).strip()
