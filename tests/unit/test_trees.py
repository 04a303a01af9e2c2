"""Resume points: what is stored already is not stored again, and what is read back is what was written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from journal import codec
from journal.errors import CheckpointCorrupt
from journal.ids import Digest
from journal.masking import Masker, Secret
from journal.trees import FAN_OUT, Growing, Pack, Tree

OPEN = Masker(list)


def stored(history: list[str], known: dict[Digest, bytes]) -> tuple[Digest, int]:
    """Pack a history on top of what is known; answers the list's root and the new bytes."""
    pack = Pack(OPEN, known.keys())
    root = pack.list([pack.put(message) for message in history])
    known.update(pack.nodes)
    return root, sum(len(body) for body in pack.nodes.values())


@pytest.mark.parametrize("count", [0, 1, FAN_OUT, FAN_OUT + 1, FAN_OUT**2, FAN_OUT**2 + 1, 40_000])
def test_a_list_comes_back_in_order(count: int) -> None:
    nodes: dict[Digest, bytes] = {}
    history = [f"message {number}" for number in range(count)]

    root, _ = stored(history, nodes)

    tree = Tree(nodes.__getitem__)
    assert [tree.value(digest) for digest in tree.list(root)] == history


def test_an_append_costs_the_same_in_a_long_history_as_in_a_short_one() -> None:
    nodes: dict[Digest, bytes] = {}
    history: list[Digest] = []
    cost = []
    for number in range(3000):
        pack = Pack(OPEN, nodes.keys())
        history.append(pack.put(f"message {number:06d}"))
        pack.list(history)
        nodes.update(pack.nodes)
        cost.append(sum(len(body) for body in pack.nodes.values()))

    assert max(cost[2900:]) <= 3 * (FAN_OUT * 32 + 100)
    assert sum(cost[2000:]) <= 1.3 * sum(cost[1000:2000])


def test_the_same_state_again_costs_nothing() -> None:
    nodes: dict[Digest, bytes] = {}
    root, _ = stored(["a", "b"], nodes)

    assert stored(["a", "b"], nodes) == (root, 0)


def test_a_rewritten_beginning_shares_what_stayed() -> None:
    nodes: dict[Digest, bytes] = {}
    history = [f"message {number}" for number in range(1024)]
    _, before = stored(history, nodes)

    _, after = stored(["summary", *history[1:]], nodes)

    assert after < before / 10


def test_values_are_masked_before_they_become_nodes() -> None:
    pack = Pack(Masker(lambda: [Secret("TOKEN", "a-long-token")]), set())

    pack.put({"content": "use a-long-token"})

    assert b"a-long-token" not in b"".join(pack.nodes.values())


def test_a_changed_node_is_found() -> None:
    nodes: dict[Digest, bytes] = {}
    root, _ = stored([f"message {number}" for number in range(100)], nodes)
    victim = Tree(nodes.__getitem__).list(root)[50]
    nodes[victim] = codec.encode("message 51")

    with pytest.raises(CheckpointCorrupt):
        Tree(nodes.__getitem__).value(victim)


@pytest.mark.parametrize("change", [lambda nodes, name: nodes.pop(name), lambda nodes, name: nodes.update({name: codec.encode("other")})])
def test_values_that_are_read_together_are_each_verified(change: Callable[[dict[Digest, bytes], Digest], object]) -> None:
    nodes: dict[Digest, bytes] = {}
    history = [f"message {number}" for number in range(3000)]
    root, _ = stored(history, nodes)
    tree = Tree(nodes.__getitem__, lambda digests: {each: nodes[each] for each in digests if each in nodes})
    items = tree.list(root)
    assert tree.values(items) == history
    assert tree.values([]) == []

    change(nodes, items[2000])

    with pytest.raises(CheckpointCorrupt, match=items[2000][:12]):
        tree.values(items)


def test_a_list_part_out_of_place_is_found() -> None:
    nodes: dict[Digest, bytes] = {}
    root, _ = stored([f"message {number}" for number in range(100)], nodes)
    pack = Pack(OPEN, set())
    wrong = b"L\x01" + bytes.fromhex(root) * 2
    forged = codec.digest(wrong)
    nodes |= pack.nodes | {forged: wrong}

    with pytest.raises(CheckpointCorrupt):
        Tree(nodes.__getitem__).list(forged)


def test_a_value_is_no_list_and_a_list_is_no_value() -> None:
    nodes: dict[Digest, bytes] = {}
    root, _ = stored(["a"], nodes)
    tree = Tree(nodes.__getitem__)

    with pytest.raises(CheckpointCorrupt):
        tree.value(root)
    with pytest.raises(CheckpointCorrupt):
        tree.list(tree.list(root)[0])


class Chat:
    """A growing list that is packed again and again, and the nodes that a journal has of it."""

    def __init__(self) -> None:
        self.nodes: dict[Digest, bytes] = {}
        self.growing = Growing()

    def pack(self, items: list[Digest], *, is_stored: bool = True) -> tuple[Any, dict[Digest, bytes]]:
        pack = Pack(OPEN, self.nodes.keys())
        grown = self.growing.update(pack, items)
        if is_stored:
            self.nodes |= pack.nodes
        return grown, pack.nodes

    def read(self, grown: Any) -> list[Digest]:
        return Tree(self.nodes.__getitem__).list(grown)


def digests(count: int) -> list[Digest]:
    return [codec.digest(str(number).encode()) for number in range(count)]


def test_a_growing_list_comes_back_in_order_after_every_step() -> None:
    chat, items = Chat(), digests(700)

    for count in range(len(items) + 1):
        grown, _ = chat.pack(items[:count])
        assert chat.read(grown) == items[:count]


def test_to_append_writes_seldom_and_costs_the_same_in_a_long_list() -> None:
    chat, items = Chat(), digests(5000)
    cost = []
    for count in range(len(items)):
        grown, new = chat.pack(items[:count])
        cost.append(sum(len(body) for body in new.values()) + len(codec.encode(grown)))

    assert max(cost) <= 3000
    assert sum(cost[4000:]) <= 1.3 * sum(cost[1000:2000])


@pytest.mark.parametrize("at", [0, 1, 100, 699])
def test_a_growing_list_may_change_anywhere(at: int) -> None:
    chat, items = Chat(), digests(700)
    chat.pack(items)

    for changed in ([*items[:at], codec.digest(b"other"), *items[at + 1 :]], items[:at], items):
        grown, _ = chat.pack(changed)
        assert chat.read(grown) == changed


def test_what_was_not_stored_is_handed_in_again() -> None:
    chat, items = Chat(), digests(100)
    chat.pack(items[:50])
    chat.pack(items[:90], is_stored=False)

    grown, _ = chat.pack(items)

    assert chat.read(grown) == items


def test_what_the_journal_let_go_is_handed_in_again() -> None:
    chat, items = Chat(), digests(100)
    chat.pack(items)
    chat.nodes.clear()

    grown, _ = chat.pack([*items, codec.digest(b"one more")])

    assert chat.read(grown) == [*items, codec.digest(b"one more")]


def test_a_secret_that_stands_in_a_digest_by_chance_takes_no_node_away() -> None:
    message = Pack(OPEN, set()).put("a message")
    pack = Pack(Masker(lambda: [Secret("PIN", message[10:18])]), set())

    said = pack.put("a message")
    topic = pack.put({"messages": said, "summary": f"the PIN is {message[10:18]}"})
    root = pack.root({"topics": [topic], "history": Growing().extend(pack, [said]), "title": f"about {message[10:18]}"})

    tree = Tree(pack.nodes.__getitem__)
    value = tree.value(root)
    assert tree.values(tree.list(value["history"])) == ["a message"]
    assert tree.value(tree.value(value["topics"][0])["messages"]) == "a message"
    assert (value["title"], tree.value(topic)["summary"]) == ("about [hidden:PIN]", "the PIN is [hidden:PIN]")
