"""What a chat hands in for its resume point: what the journal does not have yet, whatever became of earlier points.

The chats here are plain stand-ins with the attributes that a projection reads; real ones are in tests/bridge.
"""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import pytest
from usr.plugins.durable_execution.bridge import projection
from usr.plugins.durable_execution.bridge.projection import Projector
from usr.plugins.durable_execution.journal.ids import Digest

from journal.masking import Masker
from journal.records import ResumePoint
from journal.trees import Tree


@pytest.fixture(autouse=True)
def no_host_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """How the host writes a moment down is the host's; these chats have none."""
    monkeypatch.setattr(projection, "_time", lambda moment: moment)


class Message:
    def __init__(self, text: str) -> None:
        self.content, self.metadata, self.summary, self.tokens = text, {}, "", 1

    def to_dict(self) -> dict[str, Any]:
        return {"text": self.content}


class Line:
    def __init__(self, text: str) -> None:
        self.text = text

    def output(self) -> dict[str, Any]:
        return {"text": self.text}


def chat(*texts: str) -> Any:
    """A chat with these messages, each with a line in its log."""
    current = SimpleNamespace(summary="", messages=[Message(text) for text in texts])
    history = SimpleNamespace(counter=len(texts), bulks=[], topics=[], current=current)
    config = SimpleNamespace(profile="")
    agent = SimpleNamespace(number=0, history=history, data={}, config=config, last_user_message=None)
    log = SimpleNamespace(
        _lock=threading.Lock(), guid="g", updates=list(range(len(texts))), logs=[Line(text) for text in texts], progress="", progress_no=0
    )
    return SimpleNamespace(
        id="chat",
        name="",
        type=SimpleNamespace(value="user"),
        created_at=None,
        last_message=None,
        agent0=agent,
        streaming_agent=None,
        log=log,
        data={},
        output_data={},
    )


def say(ctx: Any, text: str) -> None:
    ctx.agent0.history.current.messages.append(Message(text))
    ctx.log.updates.append(len(ctx.log.logs))
    ctx.log.logs.append(Line(text))


class Journal:
    """Nodes of the points that were stored; reading one that was never handed in fails."""

    def __init__(self) -> None:
        self.nodes: dict[Digest, bytes] = {}

    def store(self, projector: Projector, point: ResumePoint) -> None:
        self.nodes.update(point.nodes)
        projector.stored(point)

    def all_texts(self, point: ResumePoint) -> list[str]:
        """Every message of the first agent, those in topics and bulks too, in order."""
        tree = Tree(lambda digest: self.nodes[digest])
        agent = tree.value(point.root)["agents"][0]

        def under(node: Any) -> list[str]:
            if node["kind"] == "Message":
                return [node["value"]["text"]]
            return [text for child in tree.list(node["children"]) for text in under(tree.value(child))]

        records = [*map(tree.value, tree.list(agent["bulks"])), *map(tree.value, tree.list(agent["topics"])), agent["current"]]
        return [text for record in records for text in under(record)]

    def texts(self, point: ResumePoint) -> list[str]:
        tree = Tree(lambda digest: self.nodes[digest])
        root = tree.value(point.root)
        topic = root["agents"][0]["current"]
        messages = [tree.value(each)["value"]["text"] for each in tree.list(topic["children"])]
        lines = [tree.value(each)["text"] for each in tree.list(root["log"]["items"])]
        assert messages == lines
        return messages


def test_a_point_that_was_never_stored_is_handed_in_again_with_the_next_one() -> None:
    journal, projector, ctx = Journal(), Projector(Masker(list), set()), chat("one")
    journal.store(projector, projector.project(ctx, {}))
    say(ctx, "two")
    projector.project(ctx, {})  # refused: the journal was locked

    say(ctx, "three")
    point = projector.project(ctx, {})
    journal.store(projector, point)

    assert journal.texts(point) == ["one", "two", "three"]


def test_what_is_stored_is_not_handed_in_again() -> None:
    journal, projector, ctx = Journal(), Projector(Masker(list), set()), chat(*(f"{number}" for number in range(100)))
    first = projector.project(ctx, {})
    journal.store(projector, first)
    say(ctx, "more")

    second = projector.project(ctx, {})

    assert len(second.nodes) < 10 < 100 < len(first.nodes)


def test_a_content_that_another_one_replaced_is_handed_in() -> None:
    """Python gives the place of the old one to the new one, so that its address tells nothing."""
    journal, projector, ctx = Journal(), Projector(Masker(list), set()), chat("0000")
    message = ctx.agent0.history.current.messages[0]
    for number in range(50):
        message.content = None
        message.content = [number]

        point = projector.project(ctx, {})
        journal.store(projector, point)

        tree = Tree(lambda digest: journal.nodes[digest])
        topic = tree.value(point.root)["agents"][0]["current"]
        assert [tree.value(each)["value"]["text"] for each in tree.list(topic["children"])] == [[number]]


def test_a_chat_whose_nodes_were_forgotten_hands_all_in_again() -> None:
    known: set[Digest] = set()
    journal, projector, ctx = Journal(), Projector(Masker(list), known), chat("one", "two")
    journal.store(projector, projector.project(ctx, {}))

    known.clear()
    journal.nodes.clear()
    point = projector.project(ctx, {})
    journal.store(projector, point)

    assert journal.texts(point) == ["one", "two"]


def test_a_compression_between_its_two_steps_neither_loses_nor_doubles_a_topic() -> None:
    """It works on another thread: first the bulk is there, then its topics are taken out."""
    ctx = chat("now")
    history = ctx.agent0.history
    old = [SimpleNamespace(summary="", messages=[Message(f"old {number}")]) for number in range(4)]
    history.topics = list(old)
    whole = Projector(Masker(list), set())

    def seen() -> list[str]:
        point = whole.project(ctx, {})
        journal.store(whole, point)
        return journal.all_texts(point)

    journal = Journal()
    before = seen()
    history.bulks.append(SimpleNamespace(summary="a summary", records=old[:3]))
    between = seen()
    del history.topics[:3]
    after = seen()

    assert before == ["old 0", "old 1", "old 2", "old 3", "now"]
    assert between == after == before


def test_a_compression_that_happens_while_a_history_is_read_loses_nothing() -> None:
    old = [SimpleNamespace(summary="", messages=[Message(f"old {number}")]) for number in range(3)]

    class Compressing(list[Any]):
        """Once its topics were read, the whole compression is done before the next line."""

        def __iter__(self) -> Any:
            topics = list.__iter__(self.copy())
            history.bulks = [SimpleNamespace(summary="a summary", records=old)]
            history.topics = []
            return topics

    ctx, journal, projector = chat("now"), Journal(), Projector(Masker(list), set())
    history = ctx.agent0.history
    history.topics = Compressing(old)

    point = projector.project(ctx, {})
    journal.store(projector, point)

    assert journal.all_texts(point) == ["old 0", "old 1", "old 2", "now"]
