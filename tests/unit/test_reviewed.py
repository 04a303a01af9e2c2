"""The list of what may be repeated: declared beside the functions, not by them, and bound to their source (I4)."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from journal import Checked, Idempotent, Safe, unknown
from journal.evidence import Finding
from journal.records import Permission
from journal.reviewed import Reviewed


def read() -> str:
    return ""


def pay(cents: int, *, idempotency_key: str) -> None: ...


def look() -> Finding:
    return unknown()


def test_only_the_very_function_is_on_the_list() -> None:
    reviewed = Reviewed([Safe(read)])

    def imposter() -> str:
        return ""

    imposter.__name__ = "read"

    assert reviewed.permission(read).policy == "safe:read"
    assert reviewed.permission(imposter) == reviewed.permission(pay) == Permission()


def module(path: Path, text: str) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("reviewed_tools", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules["reviewed_tools"] = made
    spec.loader.exec_module(made)
    return made


def test_an_edited_file_is_another_source(tmp_path: Path) -> None:
    first = Reviewed([Safe(module(tmp_path / "tools.py", "def read(): return 1\n").read)]).allowlist
    before = module(tmp_path / "tools.py", "def read(): return 1\n").read
    old = Reviewed([Safe(before)]).permission(before)
    after = module(tmp_path / "tools.py", "def read(): return 2\n").read

    new = Reviewed([Safe(after)]).permission(after)

    assert list(first) == ["safe:read"]
    assert old.policy == new.policy
    assert old.source_digest != new.source_digest


def test_a_version_of_the_author_stands_in_for_the_source(tmp_path: Path) -> None:
    digests = set()
    for text in ("def read(): return 1\n", "def read(): return 2\n"):
        function = module(tmp_path / "tools.py", text).read
        digests.add(Reviewed([Safe(function, version="7")]).permission(function).source_digest)

    assert len(digests) == 1


def test_a_function_without_source_needs_a_version() -> None:
    with pytest.raises(TypeError, match="give its entry a version"):
        Reviewed([Safe(len)])

    assert Reviewed([Safe(len, version="1")]).permission(len).policy == "safe:len"


def test_an_idempotent_function_takes_its_key() -> None:
    with pytest.raises(TypeError, match="does not take idempotency_key"):
        Reviewed([Idempotent(read)])

    assert list(Reviewed([Idempotent(pay)]).allowlist) == ["idempotent:pay"]


def test_a_name_is_declared_once_and_must_be_one() -> None:
    with pytest.raises(ValueError, match="read is declared twice"):
        Reviewed([Safe(read), Checked(read, look)])
    with pytest.raises(TypeError, match="a function with a name"):
        Reviewed([Safe(lambda: 1)])
