"""What must be true when a story is over, wherever it was killed."""

from __future__ import annotations

from collections import Counter
from typing import Any

from refhost.model import Request, answer
from tests.points import record
from tests.points.play import CHAT, Play

Order = tuple[tuple[str, ...], ...]

ONE_MORE, FINE = "and one more thing", "that is fine too"


def check(play: Play) -> None:
    """All of it. The chat is then used once more: that shows that it can be, and the model its whole history."""
    check_order(play)
    check_holds(play)
    check_effects(play)
    check_bubbles(play)
    check_one_more_turn(play)
    check_requests(play)
    play.world.stop()
    check_record(play)


BEGINS = {"effect.model.asking": "model", "effect.tool.starting": "tool", "effect.delivery.starting": "delivery"}
ENDS = {"model": "effect.model.answering", "tool": "effect.tool.ended", "delivery": "effect.delivery.ended"}


def check_order(play: Play) -> None:
    """I1 in the trace of each life: an intent is durable before its effect, a result before the next intent is asked."""
    for trace in play.traces:
        passed: Counter[str] = Counter()
        unrecorded = {"model": play.story.unrecorded if "off.begun:1" in trace else 0, "tool": 0, "delivery": 0}
        for passage in trace:
            name = passage.rpartition(":")[0]
            passed[name] += 1
            if name in BEGINS:
                kind = BEGINS[name]
                begun = passed[f"begin_call.{kind}.committed"]
                assert begun + unrecorded[kind] >= passed[name], f"{passage} came before its intent"
            elif name in ("begin_call.model.asked", "begin_call.tool.asked", "begin_call.delivery.asked"):
                for kind, end in ENDS.items():
                    cut_off = passed["suspend.aside"] if kind == "model" else 0  # an answer that we stopped ourselves has no result
                    ended = passed[f"finish_call.{kind}.committed"] + cut_off
                    assert ended + unrecorded[kind] >= passed[end], f"{passage} came before the result of a {kind} call"


def check_holds(play: Play) -> None:
    """A run is held exactly when the record of its last death demands it, and for that reason."""
    last = len(play.lives) - 1
    assert play.story.must_meet <= play.met, f"held for {play.met}, and not for {play.story.must_meet - play.met}"
    for number, life in enumerate(play.lives):
        from_crash = [reason for reason in life.holds if reason not in play.story.live_holds]
        if life.demanded is None:
            assert not from_crash, f"life {number} was held for {from_crash}, and nothing in its record demands that"
            continue
        asked = [reason for reason in life.holds if reason in from_crash or reason == life.demanded]
        if number == last:
            assert life.demanded in life.seen, f"life {number} must be held for {life.demanded}, and showed {life.seen}"
        if asked:
            assert asked[:1] == [life.demanded], f"life {number} must be held for {life.demanded}, and was for {life.holds}"
            assert len(from_crash) <= 1, f"life {number} was held again: {life.holds}"


def check_effects(play: Play) -> None:
    """Exactly one effect where one is due, counted outside."""
    lines = play.world.effects()
    begun = {name: lines.count(f"start {name}") for name in {line.rpartition(" ")[2] for line in lines}}
    assert begun == dict(play.story.effects), f"effects {lines}"
    for name, count in begun.items():
        assert lines.count(f"end {name}") <= count


def check_bubbles(play: Play) -> None:
    """One bubble for each message and answer, one warning for each hold, as if nothing had happened."""
    logs = play.client.logs(CHAT)
    said = [item["content"] for item in logs if item["type"] == "user"]
    answers = [item["content"] for item in logs if item["type"] == "response"][1:]  # the chat begins with a greeting
    ids = [(item["type"], item["id"]) for item in logs if item["id"]]
    assert said == list(play.story.said), f"bubbles of the person: {said}"
    assert answers == list(play.story.answers), f"bubbles of the model: {answers}"
    assert len(ids) == len(set(ids)), "a bubble stands twice"
    tools = [item for item in logs if item["type"] == "tool" and "durable_plan" not in item["heading"]]
    assert len(tools) <= sum(play.story.effects.values())
    warned = [item for item in logs if item["type"] == "warning" and "Open Recovery" in item["content"]]
    holds = sum(len(life.holds) for life in play.lives)
    assert len(warned) <= max(holds, sum(life.demanded is not None for life in play.lives)), "more warnings than holds"
    context = play.client.context(CHAT)
    assert context is not None
    assert "_durable_execution" not in context, "the badge of a hold is left"


def check_one_more_turn(play: Play) -> None:
    """There is a way on: the chat takes a message and answers it."""
    play.model.clear()
    play.model.script(answer(FINE), when=ONE_MORE, repeat=True)
    states = [run["state"] for run in play.panel.all_runs() if run["chat_id"] == CHAT]
    assert sorted(states) == sorted(play.story.states), f"the runs ended as {states}"
    assert play.client.say(CHAT, ONE_MORE) == FINE
    play.client.wait_idle(CHAT)


def check_requests(play: Play) -> None:
    """I14: the model saw each message, call and result exactly once and in order, and nothing that it saw was lost later."""
    requests = play.model.requests("chat")
    assert len(requests) >= 2
    assert play.model.unscripted() == []
    so_far: dict[Order, set[tuple[str, ...]]] = {}
    for number, request in enumerate(requests, 1):
        order, first = _agent_of(play, request)
        seen = _seen(request, order, f"request {number}")
        earlier = so_far.setdefault(order, set())
        assert play.story.emptied or earlier <= set(seen), f"request {number} lacks {earlier - set(seen)}"
        earlier |= set(seen)
        roles = [message["role"] for message in request.messages if message["role"] != "system"]
        assert roles == first + ["assistant", "user"] * (len(roles) // 2), f"request {number}: {roles}"
        assert _empty(request) == [], f"request {number} has an empty message"
    last = _seen(requests[-1], (*play.story.order, (ONE_MORE,)), "the last request")
    assert last == [*play.story.order, (ONE_MORE,)], f"the last request has {last}"


def _agent_of(play: Play, request: Request) -> tuple[Order, list[str]]:
    """What the agent that makes this request must see, and how its history begins: only the chat's first agent greets."""
    heard = "\n".join(str(message["content"]) for message in request.messages if message["role"] == "user")
    below = next((order for order in play.story.below if order[0][0] in heard), None)
    return (play.story.order, []) if below is None else (below, ["user"])


def _empty(request: Request) -> list[str]:
    """Messages without content. Neighbours of one side are one message, a line each; the last ends with the extras."""
    told = [str(message["content"]).partition("[EXTRAS]")[0] for message in request.messages if message["role"] == "user"]
    return [line for text in told for line in text.rstrip("\n").split("\n") if line.strip() in ("", "{}", '""')]


def _seen(request: Request, order: Order, what: str) -> list[tuple[str, ...]]:
    """Which of the expected parts stand in a request, each at most once, in the expected order."""
    told = [(m["role"], str(m["content"])) for m in request.messages if m["role"] != "system"]
    places = {}
    for part in order:
        kind = "assistant" if part[0].startswith('"') else "user"
        found = [(at, text.find(word)) for at, (role, text) in enumerate(told) if role == kind for word in part if word in text]
        count = sum(text.count(word) for role, text in told if role == kind for word in part)
        assert count <= 1, f"{what} has {part} {count} times"
        if found:
            places[part] = found[0]
    seen = list(places)
    assert sorted(places.values()) == list(places.values()), f"{what} is out of order: {places}"
    return seen


def check_record(play: Play) -> None:
    """The journal is sound, nothing in it waits, and no call began more often than it was allowed to."""
    record.verify(play.world.data_folder)
    found = record.look(play.world.data_folder)
    assert {run["state"] for run in found.runs} <= {"completed", "stopped"}
    assert found.beyond_allowed() == []
    least, most = found.requests()
    count = len(play.model.requests("chat"))
    count -= play.story.unrecorded
    assert least <= count <= most, f"{count} requests, and the journal knows of {least} answers and {most} attempts"
    for name in play.story.effects:
        begun: list[dict[str, Any]] = [c for c in found.calls if c["name"] in ("effect", "odd", "email_reply")]
        starts = sum(line.startswith("start ") for line in play.world.effects())
        assert starts <= sum(c["attempts"] for c in begun), f"an effect of {name} began without an intent"
