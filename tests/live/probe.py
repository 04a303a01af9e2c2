"""Asks the probe inside a running server which objects the host's functions are."""

from __future__ import annotations

import json
import socket

from .host import HERE, LiveHost

INJECT = HERE / "inject" / "probe.py"


def env(host: LiveHost) -> dict[str, str]:
    return {"LIVE_PROBE": str(host.folder / "probe")}


def picture(host: LiveHost) -> dict[str, list[int]]:
    """Name → identities of every function of the host's modules that are loaded now."""
    with socket.socket(socket.AF_UNIX) as asker:
        asker.settimeout(30)
        asker.connect(str(host.folder / "probe"))
        raw = b"".join(iter(lambda: asker.recv(1 << 16), b""))
    found: dict[str, list[int]] = json.loads(raw)
    assert "agent.AgentContext.communicate" in found, "the probe does not see the host"
    return found


def differing(before: dict[str, list[int]], after: dict[str, list[int]]) -> list[str]:
    """Functions that both pictures know and that are not the same objects."""
    return sorted(name for name in before.keys() & after.keys() if before[name] != after[name])
