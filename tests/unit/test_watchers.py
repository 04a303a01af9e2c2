"""What the host's file watchers are kept from hearing: the journal's own files, and nothing else."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from usr.plugins.durable_execution.bridge.overrides import read

OVERRIDES = Path(__file__).resolve().parents[2] / "overrides"
OWN, OTHER = "/usr/plugin_data/durable_execution/journal.db-wal", "/usr/chats/a/chat.json"


class Journaled:
    @staticmethod
    def is_own_file(path: str) -> bool:
        return path == OWN


def heard(src_path: str, dest_path: str) -> bool:
    dispatch = next(each for each in read(OVERRIDES, Journaled) if each.target == "helpers.watchdog._DispatchHandler.dispatch")
    events: list[Any] = []
    dispatch.wrap(lambda handler, event: events.append(event), None, SimpleNamespace(src_path=src_path, dest_path=dest_path))
    return bool(events)


@pytest.mark.parametrize(
    ("src_path", "dest_path", "is_heard"),
    [(OWN, "", False), (OWN, OWN, False), (OTHER, "", True), (OTHER, OWN, True), (OWN, OTHER, True)],
)
def test_only_what_is_all_the_journals_is_not_heard_of(src_path: str, dest_path: str, is_heard: bool) -> None:
    assert heard(src_path, dest_path) is is_heard
