"""Notices what changes under the running server: the plugin's files, the host's pinned ones, the journal.

Against an agent with a shell of its own this prevents nothing: it is seen, said and recorded.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..journal.errors import JournalError
from . import notify, paths
from .unread import files

if TYPE_CHECKING:
    from .activation import Activation

_ROOMS = ("journal", "bridge", "overrides", "extensions", "api", "tools", "prompts", "webui")
_AT_THE_TOP = (".py", ".yaml", "/UPSTREAM.json")
PLUGIN, HOST, JOURNAL = "plugin", "host", "journal"
TOUCHED = "journal.db"

Fingerprint = dict[str, str]


def own_files() -> Fingerprint:
    """Every file of the plugin that is code, page or pin, with its digest. What is written at run time is not among them."""
    root = f"{paths.ROOT}/"
    found = [path for room in _ROOMS for path in files.below(root + room)]
    found += [path for path in files.directly_in(str(paths.ROOT)) if path.endswith(_AT_THE_TOP)]
    return {path.removeprefix(root): files.digest(path) for path in found}


def pinned_files(label: str) -> Fingerprint:
    """What the host's files were reviewed as, by the pins as they stood when the plugin was switched on."""
    hosts = json.loads((paths.ROOT / "UPSTREAM.json").read_text(encoding="utf-8"))["hosts"]
    pins: Fingerprint = next(host["files"] for host in hosts if host["label"] == label)
    return pins


def look(active: Activation) -> None:
    """Compare with what was there at the activation; what is new is written down and said once."""
    now, root = own_files(), paths.host_root()
    found = {
        PLUGIN: sorted(name for name in now.keys() | active.own_files.keys() if now.get(name) != active.own_files.get(name)),
        HOST: sorted(name for name, pin in active.pinned_files.items() if files.digest(f"{root}/{name}") != pin),
        JOURNAL: [TOUCHED] if active.journal.touched else [],
    }
    fresh = {where: [name for name in names if name not in active.changed[where]] for where, names in found.items()}
    active.changed = found
    if not any(fresh.values()):
        return
    notify.write(f"Changed while Agent Zero runs: {', '.join(name for names in fresh.values() for name in names)}")
    try:
        active.journal.note_changes(fresh)
    except JournalError as error:  # it is said all the same
        notify.write(str(error))
