"""A few at a time, a suspect alone, and nobody waits for ever."""

from __future__ import annotations

import threading

from usr.plugins.durable_execution.bridge.turnstile import Turnstile


def entered(turnstile: Turnstile, *, alone: bool) -> threading.Event:
    """Somebody who wants to go through, and has when the event is set."""
    inside = threading.Event()

    def go() -> None:
        turnstile.enter(alone=alone, patience=60)
        inside.set()

    threading.Thread(target=go, daemon=True).start()
    return inside


def test_no_more_than_so_many_at_a_time() -> None:
    turnstile = Turnstile(2)
    first, _ = turnstile.enter(alone=False), turnstile.enter(alone=False)

    third = entered(turnstile, alone=False)

    assert not third.wait(0.05)
    first()
    assert third.wait(60)


def test_a_suspect_goes_alone_and_nobody_beside_it() -> None:
    turnstile = Turnstile(4)
    other = turnstile.enter(alone=False)
    suspect = threading.Event()
    leaves = []

    def go() -> None:
        leaves.append(turnstile.enter(alone=True, patience=60))
        suspect.set()

    threading.Thread(target=go, daemon=True).start()
    assert not suspect.wait(0.05)
    other()
    assert suspect.wait(60)
    behind = entered(turnstile, alone=False)
    assert not behind.wait(0.05)

    leaves[0]()

    assert behind.wait(60)


def test_whoever_is_stuck_does_not_close_the_way_for_ever() -> None:
    turnstile = Turnstile(1)
    turnstile.enter(alone=True)

    assert turnstile.enter(alone=False, patience=0.01)


def test_leaving_twice_is_leaving_once() -> None:
    turnstile = Turnstile(1)
    leave = turnstile.enter(alone=False)
    leave()
    leave()
    turnstile.enter(alone=False)

    assert not entered(turnstile, alone=False).wait(0.05)
