"""Opens a journal to change it: takes the lock, or says who has it."""

from __future__ import annotations

import argparse
import os

from ..errors import StoreLocked
from ..service import Journal
from ..store.heads import elsewhere
from .known import masker
from .output import Output


def own(asked: argparse.Namespace, out: Output) -> Journal:
    """The journal, owned by this process until it is closed. StoreLocked while a server runs."""
    boot = {"by": "command line", "pid": os.getpid()}
    try:
        journal = Journal.open(asked.folder, masker=masker(asked), boot=boot, other_heads=elsewhere(asked.folder))
    except StoreLocked as error:
        raise StoreLocked("A server is running. Decide in its Recovery panel, or stop it first.") from error
    out.say("The journal was locked for this command.")
    return journal
