"""Which edition of the plugin this process runs, and whether the files on disk are another.

After an update in place the disk is newer than the memory: what is in force goes on with
the code that it was made from, and new work waits for the restart.
"""

from __future__ import annotations

import hashlib

from . import anchor, paths
from .unread import files

VERSION = "0.1.0"
RESTART = "Agent Zero must restart before new work is recorded: the plugin's files changed after they were loaded."


def code_digest() -> str:
    """Digest of the plugin's own Python files on disk: tells a half updated plugin. Raises OSError where one cannot be read."""
    total = hashlib.sha256()
    for folder in ("journal", "bridge", "overrides"):
        for path in sorted(files.below(f"{paths.ROOT}/{folder}")):
            if path.endswith(".py"):
                if not (found := files.digest(path)):
                    raise OSError(f"{path} cannot be read.")  # no other code than before: nothing is known of it
                total.update(f"{path.removeprefix(str(paths.ROOT))} {found}\n".encode("utf-8", "surrogateescape"))
    return total.hexdigest()


CODE = code_digest()  # of the files that this copy was loaded from


def files_changed() -> None:
    """Compare our files on disk with the code in force, or else with this copy."""
    holder = anchor.holder()
    in_force = holder.activation.code if holder.activation else CODE
    holder.outdated = code_digest() != in_force


def is_outdated() -> bool:
    """Other code is in force than the code on disk: guard mode until the restart."""
    return anchor.holder().outdated
