"""Stands in for the package of the same name: an embedding made of word hashes.

The host imports the package when it loads; the live suite has no use for a neural one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

SIZE = 64


def embed(text: str) -> list[float]:
    vector = [0.0] * SIZE
    for word in text.lower().split() or [""]:
        value = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:4])
        vector[value % SIZE] += 1.0
    length = sum(part * part for part in vector) ** 0.5
    return [part / length for part in vector]


class SentenceTransformer:
    def __init__(self, *_args: object, **_kwargs: object) -> None:
        pass

    def encode(self, sentences: str | Sequence[str], **_kwargs: object) -> object:
        import numpy

        if isinstance(sentences, str):
            return numpy.array(embed(sentences), dtype="float32")
        return numpy.array([embed(sentence) for sentence in sentences], dtype="float32")

    def get_sentence_embedding_dimension(self) -> int:
        return SIZE
