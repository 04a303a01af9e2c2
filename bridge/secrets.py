"""Names the secrets that must never reach the journal (I8): the masker's source.

The host's and the projects' stores (they have the host's own placeholder and can be
filled in again) and the environment (it has none: a mask over it is lossy).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ..journal.masking import Secret
from ..journal.telling import is_secret
from . import paths


def known() -> Iterator[Secret]:
    """Yield every secret known now; the masker drops values under eight characters."""
    named: set[str] = set()
    for name, value in _host_store():
        named.add(value)
        yield Secret(name, value, _placeholder(name))
    for name, value in os.environ.items():
        if value not in named and is_secret(name, value):
            yield Secret(name, value, None)


def _host_store() -> Iterator[tuple[str, str]]:
    from helpers import secrets

    managers = [secrets.get_default_secrets_manager()]
    projects = paths.host_root() / "usr" / "projects"
    if projects.is_dir():
        managers += [
            secrets.get_project_secrets_manager(folder.name)
            for folder in sorted(Path(projects).iterdir())
            if (folder / ".a0proj" / "secrets.env").exists()
        ]
    for manager in managers:
        yield from manager.load_secrets().items()


def _placeholder(name: str) -> str:
    from helpers import secrets

    return str(secrets.alias_for_key(name))
