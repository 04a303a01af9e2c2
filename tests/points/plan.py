"""Which cases there are: every passage of every story, and for the richest every point followed by every recovery point."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tests.points.catalogue import POINTS
from tests.points.play import Case
from tests.points.stories import RICHEST, STORIES, Story

IN_PAUSES = ("merge.", "head.")  # how often they are passed depends on how writes fall together


def name_of(passage: str) -> str:
    return passage.rpartition(":")[0]


def unknown(passages: Iterable[str]) -> set[str]:
    """What was passed and is not in the catalogue: a write, a sync or a door that nobody listed."""
    return {name_of(passage) for passage in passages} - POINTS.keys()


def singles(story: Story, trace: list[str]) -> list[Case]:
    """One case for each passage of the first story and of the richest; elsewhere one of each point.

    A point that is passed several times there is hit at its first or at its last passage, by turns, so that over the
    stories it is hit at both. What comes before the first message is explored by the first story alone.
    """
    passages = [passage for passage in trace if not passage.startswith(IN_PAUSES) or passage.endswith(":1")]
    if story.only:
        passages = [passage for passage in passages if passage.startswith(story.only)]
    elif "admit.asked:1" in trace:
        passages = passages[passages.index("admit.asked:1") :]
    if story.name not in (RICHEST, next(iter(STORIES))):
        firsts, lasts = {name_of(p): p for p in reversed(passages)}, {name_of(p): p for p in passages}
        turn = [*STORIES].index(story.name)
        chosen = {(firsts, lasts)[(turn + place) % 2][name] for place, name in enumerate(lasts)}
        passages = [passage for passage in passages if passage in chosen]
    return [Case(story.name, (passage,)) for passage in passages]


def recovery_points(trace: list[str]) -> list[str]:
    """The passages of a recovery, the first of each point."""
    return [passage for passage in trace if passage.endswith(":1") and POINTS[name_of(passage)].recovery]


def pairs(recoveries: Mapping[str, list[str]]) -> list[Case]:
    """Every point of the richest story with every point of the recovery that follows it.

    `recoveries` has the trace of the life after each kill. What leaves the same record takes turns: the passages of a
    point that is passed several times, and the moments of a write before its commit, and those after it. So each of them
    is followed by a part of the recovery points and all of them together by each.
    """
    alike: dict[str, list[str]] = {}
    for passage in recoveries:
        alike.setdefault(_side(name_of(passage)), []).append(passage)
    found = []
    for passages in alike.values():
        seconds: dict[str, list[str]] = {}
        for passage in passages:
            for second in recovery_points(recoveries[passage]):
                seconds.setdefault(second, []).append(passage)
        for turn, (second, firsts) in enumerate(seconds.items()):
            found.append(Case(RICHEST, (firsts[turn % len(firsts)], second)))
    return found


_SIDES = {"asked": "before", "written": "before", "committed": "after", "answered": "after"}


def _side(name: str) -> str:
    """The point, or for a moment of a write which side of its commit it is on."""
    write, _, moment = name.rpartition(".")
    return f"{write}.{_SIDES[moment]}" if moment in _SIDES else name


def is_elsewhere(expected: str | None, unpassed: list[str | None]) -> bool:
    """Whether a pair whose second point was never passed shows why: each time its first kill left another record than in the plan.

    Then the recovery that the plan saw did not take place. One try with the record of the plan makes it a failure.
    """
    return expected is not None and bool(unpassed) and all(found is not None and found != expected for found in unpassed)


def story_of(case: Case) -> Story:
    return STORIES[case.story]


def uncovered(cases: Iterable[Case]) -> list[str]:
    """Points of the catalogue at which none of these cases kills. Kills that lead up to a story count."""
    killed = {name_of(kill) for case in cases for kill in (*story_of(case).before, *case.kills)}
    return [name for name in POINTS if name not in killed]
