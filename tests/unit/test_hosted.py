"""When a provider may run tools of its own in a model call: in doubt it may, and then nothing asks twice by itself."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from usr.plugins.durable_execution.bridge import hosted


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The host's settings for every request."""
    settings: dict[str, Any] = {}
    models, helpers = ModuleType("models"), ModuleType("helpers")
    models.get_litellm_global_kwargs = lambda: dict(settings)  # type: ignore[attr-defined]
    helpers.settings = SimpleNamespace(_settings=None)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "models", models)
    monkeypatch.setitem(sys.modules, "helpers", helpers)
    return settings


FUNCTION = {"type": "function", "function": {"name": "response"}}


@pytest.mark.parametrize("arguments", [{}, {"tools": [FUNCTION]}, {"tools": []}, {"functions": [{"name": "response"}]}, {"temperature": 0}])
def test_function_tools_are_run_by_the_agent_itself(arguments: dict[str, Any]) -> None:
    assert not hosted.are_offered(SimpleNamespace(kwargs={}), arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"responses_builtin_tools": ["web_search"]},
        {"tools": [FUNCTION, {"type": "code_interpreter"}]},
        {"tools": "web_search"},
        {"web_search_options": {"search_context_size": "low"}},
        {"mcp_servers": [{"url": "https://example.org"}]},
        {"extra_body": {"plugins": [{"id": "web"}]}},
    ],
)
def test_everything_else_may_be_run_by_the_provider_wherever_it_is_set(arguments: dict[str, Any], host: dict[str, Any]) -> None:
    assert hosted.are_offered(SimpleNamespace(kwargs={}), arguments)
    assert hosted.are_offered(SimpleNamespace(kwargs=arguments), {})
    host.update(arguments)
    assert hosted.are_offered(SimpleNamespace(), {})


def test_settings_that_the_host_replaced_count_at_the_next_request(host: dict[str, Any]) -> None:
    kept = sys.modules["helpers"].settings
    kept._settings = {"litellm_global_kwargs": {}}
    assert not hosted.are_offered(SimpleNamespace(kwargs={}), {})

    host["web_search_options"] = {"search_context_size": "low"}
    kept._settings = {"litellm_global_kwargs": dict(host)}
    assert hosted.are_offered(SimpleNamespace(kwargs={}), {})


def test_the_host_is_asked_once_about_the_same_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[None] = []
    monkeypatch.setattr(sys.modules["models"], "get_litellm_global_kwargs", lambda: asked.append(None) or {})
    sys.modules["helpers"].settings._settings = {"litellm_global_kwargs": {}}

    for _ in range(3):
        hosted.are_offered(SimpleNamespace(kwargs={}), {})

    assert len(asked) == 1
