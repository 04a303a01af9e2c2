"""Fixtures of the live suite, and its refusal to run on nothing.

A module gets one host of its own: `HOST = "bare"` (no plugin), `"off"` (installed, disabled) or
`"on"` (installed, enabled; the default) says which. `RESPONSES = True` gives it a model that speaks the
Responses protocol, and a host that uses it for its chats. Without A0_ROOT and A0_PYTHON nothing is
skipped: the run ends with what it needs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.conftest import PATIENCE_MS

from .browser import Browser, Tab
from .client import Client
from .effects import Effect
from .host import LiveHost, make_seed
from .model import ScriptedModel
from .outside import Outside
from .recovery import Recovery

HERE = Path(__file__).resolve().parent
TEST_SECONDS = 240
NEEDS = """These tests run a real Agent Zero. They need:
  A0_ROOT    a checkout of an Agent Zero version that UPSTREAM.json lists
  A0_PYTHON  a Python 3.12 with the requirements of that checkout installed
Both stay as they are: the tests work on a private copy."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.host)
            if config.pluginmanager.hasplugin("timeout"):
                item.add_marker(pytest.mark.timeout(TEST_SECONDS))


def pytest_collection_finish(session: pytest.Session) -> None:
    if any(HERE in item.path.parents for item in session.items) and missing():
        pytest.exit(f"{NEEDS}\nMissing or wrong: {', '.join(missing())}", returncode=2)


def missing() -> list[str]:
    root, python = os.environ.get("A0_ROOT", ""), os.environ.get("A0_PYTHON", "")
    wrong = []
    if not root or not (Path(root) / "run_ui.py").is_file():
        wrong.append("A0_ROOT")
    if not python or not os.access(python, os.X_OK):
        wrong.append("A0_PYTHON")
    return wrong


@pytest.fixture(scope="session")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root, python = Path(os.environ["A0_ROOT"]), Path(os.environ["A0_PYTHON"])
    return make_seed(root, python, tmp_path_factory.mktemp("seed") / "a0")


@pytest.fixture(scope="module")
def module_model(request: pytest.FixtureRequest) -> Iterator[ScriptedModel]:
    model = ScriptedModel(responses=getattr(request.module, "RESPONSES", False))
    yield model
    model.close()


@pytest.fixture
def model(module_model: ScriptedModel) -> Iterator[ScriptedModel]:
    """The scripted model; after the test nothing of its script may be left over or missing."""
    module_model.forget()
    yield module_model
    left, unscripted = module_model.left, module_model.unscripted
    module_model.forget()
    assert not left, f"never asked for: {[answer.text[:80] for answer in left]}"
    assert not unscripted, f"asked without a script: {[asked.text[-300:] for asked in unscripted]}"


MakeHost = Callable[[str], LiveHost]


@pytest.fixture(scope="module")
def make_host(seed: Path, module_model: ScriptedModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeHost]:
    """Make further private hosts, not yet started: "bare", "off" or "on"."""
    made: list[LiveHost] = []

    def make(kind: str) -> LiveHost:
        folder = tmp_path_factory.mktemp("host")
        python = Path(os.environ["A0_PYTHON"])
        responses = module_model.provider is not None
        host = LiveHost(folder, seed=seed, python=python, model_url=module_model.url, responses=responses)
        if kind != "bare":
            host.put_plugin(enabled=kind == "on")
        made.append(host)
        return host

    yield make
    for host in made:
        host.close()


@pytest.fixture(scope="module")
def module_host(request: pytest.FixtureRequest, make_host: MakeHost) -> LiveHost:
    return make_host(getattr(request.module, "HOST", "on"))


@pytest.fixture
def host(module_host: LiveHost) -> Iterator[LiveHost]:
    """The module's host, running; afterwards no file of its checkout may have changed."""
    if not module_host.running:
        module_host.start()
    yield module_host
    assert module_host.changed_files() == []


@pytest.fixture
def client(host: LiveHost) -> Client:
    return Client(host)


@pytest.fixture
def recovery(client: Client) -> Recovery:
    return Recovery(client)


@pytest.fixture
def make_effect(host: LiveHost, request: pytest.FixtureRequest) -> Iterator[Callable[[str], Effect]]:
    """Make countable effects; those that still wait at the end of the test are let go."""
    made: list[Effect] = []

    def make(name: str) -> Effect:
        made.append(Effect(host.effects / request.node.name, name))
        return made[-1]

    yield make
    for effect in made:
        effect.let_go()


@pytest.fixture
def effect(make_effect: Callable[[str], Effect]) -> Effect:
    return make_effect("effect")


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    pictures = Path(os.environ.get("LIVE_PICTURES") or tmp_path_factory.mktemp("pictures"))
    expect.set_options(timeout=PATIENCE_MS)
    browser = Browser(pictures)
    yield browser
    browser.close()


@pytest.fixture
def tab(browser: Browser, host: LiveHost) -> Iterator[Tab]:
    with browser.tab(host.url) as tab:
        yield tab


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A failed live test shows the end of what its server printed."""
    report = yield
    host = getattr(item, "funcargs", {}).get("host")
    if report.failed and host is not None:
        report.sections.append(("server output", host.tail()))
    return report


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outside]:
    """Where replies go: stand-ins for three services, for one module."""
    made = Outside(tmp_path_factory.mktemp("outside") / "flags")
    yield made
    made.close()
