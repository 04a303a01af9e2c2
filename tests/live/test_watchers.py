"""The host's watchers of files under `usr/`: they start a thread for each change, and the journal writes often."""

from __future__ import annotations

from pathlib import Path

from .client import Client
from .host import HERE, LiveHost
from .model import ScriptedModel, say

INJECT = HERE / "inject" / "watcher.py"
LOCKS = HERE / "inject" / "watcher_locks.py"


def test_what_the_journal_writes_is_no_change_for_the_hosts_watchers(host: LiveHost, client: Client, model: ScriptedModel) -> None:
    watched = host.folder / "watched"
    host.restart(inject=INJECT, env={"LIVE_WATCHED": str(watched)})
    chat = client.new_chat()

    def told(since: int = 0) -> list[str]:
        return watched.read_text().splitlines()[since:] if watched.exists() else []

    def turn(since: int) -> None:
        model.script(say("Said."))
        client.ask(chat, "Say it")
        client.wait("the chat's own file", lambda: [path for path in told(since) if f"/chats/{chat}/" in path])

    turn(0)  # opening the journal comes before everything else of the plugin, and is heard of
    before, written = len(told()), host.journal.with_name("journal.db-wal").stat().st_mtime_ns
    (host.data / "asked.new").touch()  # what comes and goes in the folder changes the folder itself
    turn(before)

    assert host.journal.with_name("journal.db-wal").stat().st_mtime_ns > written
    journal = [str(host.data), str(host.home / "usr" / f"{host.data.name}.head")]
    assert [path for path in told(before) if path.startswith(tuple(journal))] == []


def test_what_the_journal_writes_cannot_stop_the_host_while_it_begins_to_watch(host: LiveHost, client: Client) -> None:
    """The host takes two locks there, and its watchers' thread takes the same two the other way round."""
    asked, answer = host.folder / "asked", host.folder / "answer"
    host.restart(inject=LOCKS, env={"LIVE_ASKED": str(asked), "LIVE_ANSWER": str(answer)})
    client.new_chat()

    def written(file: Path) -> str:
        answer.unlink(missing_ok=True)
        asked.with_suffix(".new").write_text(str(file), encoding="utf-8")
        asked.with_suffix(".new").rename(asked)
        return str(client.wait("an answer about the locks", lambda: answer.exists() and answer.read_text(encoding="utf-8")))

    assert written(host.home / "usr" / "somebody.txt") == "taken"
    assert written(host.data / "somebody.txt") == "free"
