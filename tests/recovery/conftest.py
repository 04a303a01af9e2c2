"""The same world and model as for the bridge."""

from __future__ import annotations

from tests.bridge.conftest import gate, model, world

__all__ = ["gate", "model", "world"]
