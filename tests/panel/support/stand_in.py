"""A plugin folder with the real page and the real handlers, over the canned service.

It is what a host would have in `usr/plugins/durable_execution`, without journal, hooks
and adapters, so that a page can be shown in any state in no time.
"""

from __future__ import annotations

import shutil
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]
SUPPORT = CHECKOUT / "tests" / "panel" / "support"


def build(folder: Path) -> Path:
    """Lay the folder out anew and return it."""
    if folder.exists():
        shutil.rmtree(folder)
    for room in ("webui", "extensions/webui", "api"):
        shutil.copytree(CHECKOUT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "bridge").mkdir()
    for source, target in (
        (CHECKOUT / "plugin.yaml", "plugin.yaml"),
        (CHECKOUT / "bridge" / "web.py", "bridge/web.py"),
        (SUPPORT / "canned.py", "bridge/canned.py"),
        (SUPPORT / "canned_documents.py", "bridge/canned_documents.py"),
        (SUPPORT / "stand_in_files" / "anchor.py", "bridge/anchor.py"),
        (SUPPORT / "stand_in_files" / "stage.py", "api/stage.py"),
    ):
        shutil.copyfile(source, folder / target)
    (folder / ".toggle-1").touch()
    return folder
