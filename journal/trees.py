"""Resume points as content-addressed nodes: what a chat holds already is never written again (I13).

A node is an encoded, masked value, or a part of a persistent list. Lists are cut by position into parts of 32. A list
that grows keeps its last, incomplete part inside the root that names it, so that an append writes no node at all.
Reading verifies every node: a wrong or missing one is `CheckpointCorrupt`, never a shorter history.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Any

from . import codec
from .errors import CheckpointCorrupt, RecordCorrupt
from .ids import Digest
from .masking import Masker

FAN_OUT = 32
_SMALL = 8
"""Parts of a growing list are smaller: its root, which holds the last one, is written at each step."""
_LIST = b"L"  # no JSON text begins with it
_DIGEST_BYTES = 32
_A_DIGEST = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(rb"(?<=\")[0-9a-f]{64}(?=\")")

type Digests = list[Digest]
type Grown = dict[str, Any]
"""A growing list as a value: the tree of its complete parts, and what comes after them."""


class Pack:
    """Collects the new nodes of one resume point. `known` are the nodes that the journal already has.

    It is `Journal.known` of the chat, or empty: what somebody else remembers may have been collected meanwhile.
    """

    def __init__(self, masker: Masker, known: AbstractSet[Digest]) -> None:
        self._masker = masker
        self._known = known
        self.nodes: dict[Digest, bytes] = {}

    def put(self, value: Any) -> Digest:
        """Add one value, masked; the same value is the same node."""
        body = self._encoded(value)
        name = codec.digest(body)
        if name not in self._known:
            self.nodes[name] = body
        return name

    def root(self, value: Any) -> Digest:
        """Add the value that names all others. It is handed in each time: a checkpoint holds its own root."""
        body = self._encoded(value)
        name = codec.digest(body)
        self.nodes[name] = body
        return name

    def list(self, digests: Sequence[Digest]) -> Digest:
        """Add a list of nodes, in order."""
        level, height = tuple(digests), 0
        while len(level) > FAN_OUT:
            parts = (level[at : at + FAN_OUT] for at in range(0, len(level), FAN_OUT))
            level = tuple(self.part(height, part) for part in parts)
            height += 1
        return self.part(height, level)

    def has(self, name: Digest) -> bool:
        """Whether the journal has this node, or gets it with this resume point."""
        return name in self._known or name in self.nodes

    def _encoded(self, value: Any) -> bytes:
        """Masked, all but the nodes that it names: a secret of a few digits may stand in any digest by chance."""
        return codec.encode(self._masker.mask(value, names=False, ours=self._is_node).value)

    def _is_node(self, text: str) -> bool:
        return self.has(Digest(text))

    def part(self, height: int, part: tuple[Digest, ...]) -> Digest:
        """Add one part of a list; its items are values, or parts one level below."""
        name = _part_digest(height, part)
        if name not in self._known and name not in self.nodes:
            self.nodes[name] = _part_bytes(height, part)
        return name


class Growing:
    """A list that is packed again and again and mostly grows at its end. Appending costs O(log n), and seldom a node.

    Remembers what was packed. If the journal has it no longer, or not yet, it is handed in again.
    """

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._packed: Digests = []  # the items that stand in complete parts
        self._edge: list[Digests] = []  # for each height the complete parts that have no parent yet
        self._full = Digest("")
        self._tail: Digests = []

    def extend(self, pack: Pack, more: Sequence[Digest]) -> Grown:
        """The list with more items at its end."""
        items = [*self._tail, *more]
        if self._full and not pack.has(self._full):
            items = [*self._packed, *items]
            self._reset()
        complete = len(items) - len(items) % _SMALL
        for at in range(0, complete, _SMALL):
            self._push(pack, pack.part(0, tuple(items[at : at + _SMALL])), 0)
        if complete:
            self._packed += items[:complete]
            self._full = self._fold(pack)
        self._tail = items[complete:]
        return {"full": self._full, "tail": list(self._tail)}

    def update(self, pack: Pack, items: Digests) -> Grown:
        """The list as it is now, whatever changed. A change before its end costs all parts that are not known."""
        if items[: len(self._packed)] != self._packed:
            self._reset()
        self._tail = []
        return self.extend(pack, items[len(self._packed) :])

    def _push(self, pack: Pack, part: Digest, height: int) -> None:
        if height == len(self._edge):
            self._edge.append([])
        row = self._edge[height]
        row.append(part)
        if len(row) == _SMALL:
            self._edge[height] = []
            self._push(pack, pack.part(height + 1, tuple(row)), height + 1)

    def _fold(self, pack: Pack) -> Digest:
        """One tree of everything complete: the right edge gets parents for now."""
        below: Digests = []
        for height, row in enumerate(self._edge):
            level = [*row, *below]
            if height == len(self._edge) - 1 and len(level) == 1:
                return level[0]
            below = [pack.part(height + 1, tuple(level))] if level else []
        return below[0]


class Tree:
    """Reads nodes back. `read` raises or returns the bytes stored under a digest; `read_many` leaves out what is missing."""

    def __init__(self, read: Callable[[Digest], bytes], read_many: Callable[[Digests], Mapping[Digest, bytes]] | None = None) -> None:
        self._read = read
        self._read_many = read_many or (lambda digests: {digest: read(digest) for digest in digests})

    def under(self, root: Digest, body: bytes) -> Tree:
        """The same tree with a root that is stored elsewhere."""
        return Tree(lambda digest: body if digest == root else self._read(digest), self._read_many)

    def value(self, digest: Digest) -> Any:
        return self._decoded(digest, self._verified(digest))

    def values(self, digests: Digests) -> list[Any]:
        """Several values in their order, read together. None of them is the root."""
        return [self._decoded(digest, body) for digest, body in self._all_verified(digests)]

    def _decoded(self, digest: Digest, body: bytes) -> Any:
        if body.startswith(_LIST):
            raise CheckpointCorrupt("A list stands where a value was expected.")
        try:
            return codec.decode(body)
        except RecordCorrupt as error:
            raise CheckpointCorrupt(f"The node {digest[:12]} cannot be decoded.") from error

    def list(self, name: Digest | Grown) -> Digests:
        """The items of a list, by its digest or as the root holds it."""
        if isinstance(name, str):
            return self._items([name], None)
        full = self._items([name["full"]], None) if name["full"] else []
        return full + [Digest(each) for each in name["tail"]]

    def _items(self, parts: Digests, expected: int | None) -> Digests:
        """What stands below neighbouring parts of a list."""
        items: Digests = []
        for digest, body in self._all_verified(parts):
            below, height = _children(body), body[1]
            if expected is not None and height != expected:
                raise CheckpointCorrupt(f"The list part {digest[:12]} is out of place.")
            items += below if height == 0 else self._items(below, height - 1)
        return items

    def check(self, root: Digest, seen: set[Digest]) -> None:
        """Read every node that this one reaches and that is not in `seen`; raises at the first that is wrong or missing.

        Values hold digests as texts. In the root and in lists each of them names a node; elsewhere it may be
        anybody's text, so there it is followed only where a node of that name exists.
        """
        todo = [(root, True)]
        while todo:
            digest, is_certain = todo.pop()
            if digest in seen or not (is_certain or self._exists(digest)):
                continue
            body = self._verified(digest)
            seen.add(digest)
            if body.startswith(_LIST):
                todo += [(child, True) for child in _children(body)]
            else:
                todo += [(child, digest == root) for child in _named_in(self.value(digest))]

    def _exists(self, digest: Digest) -> bool:
        try:
            self._read(digest)
        except CheckpointCorrupt:
            return False
        return True

    def _all_verified(self, digests: Digests) -> Iterator[tuple[Digest, bytes]]:
        if len(digests) == 1:
            yield digests[0], self._verified(digests[0])
            return
        found = self._read_many(digests)
        for digest in digests:
            if digest not in found:
                raise CheckpointCorrupt(missing(digest))
            yield digest, _checked(digest, found[digest])

    def _verified(self, digest: Digest) -> bytes:
        return _checked(digest, self._read(digest))


def _checked(digest: Digest, body: bytes) -> bytes:
    if codec.digest(body) != digest:
        raise CheckpointCorrupt(f"The node {digest[:12]} is not what was written.")
    return body


def missing(digest: Digest) -> str:
    return f"The node {digest[:12]} is missing."


def _children(body: bytes) -> Digests:
    if len(body) % _DIGEST_BYTES != 2 or not body.startswith(_LIST):
        raise CheckpointCorrupt("A value stands where a list was expected.")
    return _parts(body)


def _parts(body: bytes) -> Digests:
    return [Digest(body[at : at + _DIGEST_BYTES].hex()) for at in range(2, len(body), _DIGEST_BYTES)]


def _named_in(value: Any) -> Iterator[Digest]:
    """Texts of a value that have the form of a digest."""
    if isinstance(value, str):
        if _A_DIGEST.fullmatch(value):
            yield Digest(value)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _named_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _named_in(each)


def children(body: bytes) -> Digests:
    """The nodes that a node names, perhaps with some that only look like it."""
    if body.startswith(_LIST):
        return _parts(body)
    return [Digest(found.decode()) for found in _NAME.findall(body)]


def _part_bytes(height: int, part: tuple[Digest, ...]) -> bytes:
    return b"".join((_LIST, bytes([height]), *(bytes.fromhex(digest) for digest in part)))


@lru_cache(maxsize=8192)
def _part_digest(height: int, part: tuple[Digest, ...]) -> Digest:
    """Remembered, so that a long history is not hashed again at each step."""
    return codec.digest(_part_bytes(height, part))
