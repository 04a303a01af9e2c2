"""The journal itself over the API, on a running host: health, the doctor, backups, and one put back while chats wait."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from refhost.world import World
from tests.support.scenes import API, begin_effect, ended, hold_in_effect, script_effect
from tests.support.story import Panel


def ask(world: World, call: str, **body: Any) -> Any:
    return world.client().call(API + call, body)


def test_health_storage_and_adapters_are_those_of_this_host(world: World) -> None:
    world.start()

    view = ask(world, "safety")

    assert view["health"] == {"level": "ok", "text": "New work is recorded and can go on after a restart. Nothing waits for you."}
    assert view["storage"]["journal"] > 0
    assert view["folder"] == str(world.data_folder)
    assert "agent.AgentContext" not in view["adapters"]
    assert view["backups"] == []


def test_the_doctor_reads_everything_in_the_background(world: World) -> None:
    world.start()
    ask(world, "doctor", start=True)

    view = world.client().wait(lambda: done if (done := ask(world, "safety"))["doctor"]["state"] == "done" else None, what="the doctor")

    found = {each["what"]: each for each in view["doctor"]["findings"]}
    assert found["records"] == {"what": "records", "ok": True, "text": "all as written"}
    assert found["journal"]["ok"]
    assert found["private files"]["ok"]


def test_a_backup_is_put_back_while_the_host_runs_and_what_came_after_waits_for_a_person(world: World, model: Any) -> None:
    gate = Path(world.folder) / "gate"
    script_effect(model, gate)
    world.start()
    chat = hold_in_effect(world)
    made = ask(world, "backup_make")
    assert made["backups"][0]["name"] == made["made"]
    assert ask(world, "backup_verify", name=made["made"])["verified"]["ok"]
    panel = Panel(world.client())
    detail = panel.wait_held(chat)
    assert panel.decide(detail, "stop").status == 200
    assert ended(world, chat) == "stopped"

    view = ask(world, "backup_restore", name=made["made"], ack=True)

    assert view["restored"]["held"] == 1
    aside = Path(view["restored"]["aside"])
    assert view["storage"]["replaced"] == sum(file.stat().st_size for file in aside.rglob("*") if file.is_file())
    assert view["health"]["text"].endswith("1 run waits for your decision.")
    again = panel.wait_held(chat)
    assert again["run"]["reason"]["code"] in ("restored", "chat_moved_on")
    assert len(world.effects()) == 1


def test_it_is_refused_without_consent_and_while_a_chat_runs_and_changes_nothing(world: World, model: Any) -> None:
    gate = Path(world.folder) / "gate"
    script_effect(model, gate)
    world.start()
    made = ask(world, "backup_make")["made"]
    reply = world.client().ask(API + "backup_restore", {"name": made})
    assert (reply.status, reply.json["code"]) == (422, "ack_missing")
    chat = begin_effect(world)

    reply = world.client().ask(API + "backup_restore", {"name": made, "ack": True})

    assert (reply.status, reply.json["code"]) == (422, "not_allowed")
    assert "1 chat is running" in reply.json["text"]
    assert world.client().ask(API + "backup_restore", {"name": "../x", "ack": True}).status == 404
    gate.touch()
    assert ended(world, chat) == "completed"
