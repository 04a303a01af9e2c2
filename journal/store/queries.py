"""Loads the named queries: `-- name --` above each statement, in the `.sql` files of a dialect."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

SQL = Path(__file__).resolve().parent.parent / "sql"
_NAME = re.compile(r"^-- (\w+) --$", re.M)
_MIGRATION = re.compile(r"\d{4}_.+\.sql")


@cache
def load(dialect: str) -> dict[str, str]:
    """All queries of a dialect by name. A name that is given twice is an error."""
    found: dict[str, str] = {}
    for path in query_files(dialect):
        parts = _NAME.split(path.read_text(encoding="utf-8"))[1:]
        for name, statement in zip(parts[::2], parts[1::2], strict=True):
            if name in found:
                raise ValueError(f"{path.name}: {name} is defined twice")
            found[name] = statement.strip()
    return found


def query_files(dialect: str) -> list[Path]:
    return [path for path in sorted((SQL / dialect).glob("*.sql")) if not _is_schema(path)]


def migration_files(dialect: str) -> list[Path]:
    return [path for path in sorted((SQL / dialect).glob("*.sql")) if _MIGRATION.fullmatch(path.name)]


def _is_schema(path: Path) -> bool:
    return bool(_MIGRATION.fullmatch(path.name)) or path.name == "schema.snapshot.sql"
