"""The saved settings are read again when something changed that they depend on, and not at each turn."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from usr.plugins.durable_execution.bridge import settings

LONG_AGO = time.time() - 60


class Host:
    """Answers from one file for all, or from a project's own, and counts how often it reads."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.reads = folder, 0

    def save(self, value: Any, *, project: str = "", at: float = LONG_AGO) -> None:
        file = self.folder / project / "config.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(value))
        os.utime(file, (at, at))

    def find_plugin_asset(self, plugin: str, name: str, *, project_name: str, agent_profile: str) -> dict[str, str] | None:
        places = [self.folder / project_name / name, self.folder / name]
        return next(({"path": str(each)} for each in places if each.exists()), None)

    def get_plugin_config(self, plugin: str, agent: Any) -> Any:
        self.reads += 1
        found = self.find_plugin_asset(plugin, "config.json", project_name=_project(agent), agent_profile="")
        return json.loads(Path(found["path"]).read_text()) if found else None


def _project(agent: Any) -> str:
    return agent.context.get_data("project") if agent is not None else ""


def agent_in(project: str) -> Any:
    return SimpleNamespace(context=SimpleNamespace(get_data=lambda key: project), config=SimpleNamespace(profile="agent0"))


@pytest.fixture(autouse=True)
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    made, helpers = Host(tmp_path), ModuleType("helpers")
    helpers.plugins = made  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "helpers", helpers)
    monkeypatch.setattr(settings, "_read", {})
    monkeypatch.setattr(settings, "_SETTLED_MS", 0)  # a file's change time cannot be set back
    return made


def test_a_file_that_is_the_same_is_read_once_for_all_and_once_for_the_chat(host: Host) -> None:
    host.save({"on_restart": "ask"})

    modes = [settings.mode_for(agent_in(""))[0]["on_restart"] for _ in range(3)]

    assert (modes, host.reads) == (["ask"] * 3, 2)


def test_a_change_counts_from_the_next_turn_on(host: Host) -> None:
    host.save({"on_restart": "ask"})
    settings.mode_for(agent_in(""))

    host.save({"on_restart": "off"}, at=LONG_AGO + 1)

    assert settings.mode_for(agent_in(""))[0]["on_restart"] == "off"


def test_a_project_that_gets_settings_of_its_own_has_them_from_then_on(host: Host) -> None:
    host.save({"on_restart": "ask"})
    settings.mode_for(agent_in("careful"))

    host.save({"on_restart": "off"}, project="careful")

    assert settings.mode_for(agent_in("careful"))[0]["on_restart"] == "off"
    assert settings.mode_for(agent_in("other"))[0]["on_restart"] == "ask"


def test_a_file_that_was_written_a_moment_ago_is_read_again(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "_SETTLED_MS", 3600 * 1000)
    host.save({"on_restart": "ask"})
    settings.mode_for(agent_in(""))

    assert settings.mode_for(agent_in(""))[0]["on_restart"] == "ask"
    assert host.reads == 4


def test_a_variable_of_the_environment_counts_from_the_next_turn_on(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    host.save({"on_restart": "ask"})
    settings.mode_for(agent_in(""))

    monkeypatch.setenv("A0_SET_durable_execution__on_restart", "off")
    settings.mode_for(agent_in(""))

    assert host.reads == 4


def test_a_file_that_cannot_be_read_is_the_defaults_and_is_read_again(
    host: Host, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings.notify, "write", print)
    host.save({})
    (host.folder / "config.json").write_text("{")

    assert settings.mode_for(agent_in(""))[0]["on_restart"] == "auto"
    host.save({"on_restart": "ask"})
    assert settings.mode_for(agent_in(""))[0]["on_restart"] == "ask"
    assert "cannot be read" in capsys.readouterr().out
