"""Stands in for the speech package that the host imports when it loads. Nothing here listens."""

from __future__ import annotations


def load_model(*_args: object, **_kwargs: object) -> None:
    raise RuntimeError("The live suite has no speech model.")
