"""Resume points: what is stored already is not stored again, and what is read back is what was written."""

from __future__ import annotations

import pytest

from journal import codec
from journal.errors import CheckpointCorrupt
from journal.ids import Digest
from journal.masking import Masker, Secret
from journal.trees import FAN_OUT, Pack, Tree

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
