"""Where the next reply of a run stands: a count of its own that begins anew at each resume point."""

from __future__ import annotations

from usr.plugins.durable_execution.bridge.senders import SENDERS, Sends
from usr.plugins.durable_execution.journal.records import CallKind

MAIL, UPDATE, TELEGRAM = SENDERS["email_reply"], SENDERS["telegram_update"], SENDERS["telegram_reply"]


def places(sends: Sends, *senders: object) -> list[tuple[int, int]]:
    keys = [sends.key(sender) for sender in senders]  # type: ignore[arg-type]
    assert {key.kind for key in keys} == {CallKind.DELIVERY}
    return [(key.step, key.ordinal) for key in keys]


def test_each_update_of_a_step_has_a_place_and_a_later_step_counts_anew() -> None:
    sends = Sends()
    sends.begin("A0", 1)
    assert places(sends, MAIL, MAIL) == [(1, 0), (1, 1)]
    sends.begin("A0", 2)
    assert places(sends, MAIL) == [(2, 0)]


def test_a_step_that_begins_again_gives_the_same_places() -> None:
    sends = Sends()
    sends.begin("A0", 3)
    before = places(sends, UPDATE, TELEGRAM)
    sends.begin("A0", 3)
    assert places(sends, UPDATE, TELEGRAM) == before


def test_at_the_end_of_a_chain_each_sender_has_one_place_after_those_of_the_step() -> None:
    sends = Sends()
    sends.begin("A0", 1)
    update = places(sends, UPDATE)
    sends.end()
    first = places(sends, TELEGRAM, MAIL)
    sends.end()  # the chain's next level
    assert places(sends, TELEGRAM, MAIL) == first
    assert len({*update, *first}) == 3


def test_a_reply_of_an_agent_that_waited_for_another_stands_at_its_own_step() -> None:
    """In a later life the other one's work may be given back whole: the place must be the same."""
    worked, given_back = Sends(), Sends()
    for sends in (worked, given_back):
        sends.begin("A0", 2)
        assert places(sends, MAIL) == [(2, 0)]
    worked.begin("A0.2:0", 1)
    assert places(worked, MAIL) == [(1, 0)]

    for sends in (worked, given_back):
        sends.turn_to("A0")
        assert [sends.key(MAIL).text, sends.key(UPDATE).text] == ["A0/2/delivery/1", "A0/2/delivery/2"]  # type: ignore[arg-type]
