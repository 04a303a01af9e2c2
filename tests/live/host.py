"""One private copy of a real Agent Zero checkout, and the server process that runs in it.

Owns the copy, its set-up and the process: start, kill, stop, and what is left running afterwards.
It must never write to the checkout it copies from, nor touch a process that it did not start.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from .model import CHAT_MODEL, EMBEDDING_MODEL, RESPONSES_MODEL, UTILITY_MODEL

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
PLUGIN = "durable_execution"
OFF_AT_START = ("_office", "_desktop", "_document_query")  # these install system packages
CHANGING = ("usr", "tmp", "logs")  # the host's own places for what it writes
READY_SECONDS = 120.0


def make_seed(root: Path, python: Path, folder: Path) -> Path:
    """Copy the files of a checkout once and compile them, so that every private copy starts warm.

    That is more than speed: a bytecode file that appears below plugins/ while the host sets up its file watchers can
    hang its start for ever.
    """
    for name in source_files(root):
        _copy(root / name, folder / name)
    command = [str(python), "-m", "compileall", "-q", "-j", "0", "-x", "/tests/", "."]
    beside = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}  # not in a cache elsewhere
    subprocess.run(command, cwd=folder, env=beside, check=True, capture_output=True)
    return folder


class LiveHost:
    def __init__(self, folder: Path, *, seed: Path, python: Path, model_url: str, responses: bool = False) -> None:
        self.folder = folder
        self.home = folder / "a0"
        self.work = folder / "work"
        self.effects = folder / "effects"  # outside the agent's folder: its prompt lists that one
        self.repository = folder / "plugin.git"  # what the installer is given
        self.output = folder / "server.log"
        self.port = _free_port()
        self.secret = f"no-key-{secrets.token_hex(8)}"  # a value that the host knows as secret
        self.starts = 0
        self._python, self._model_url, self._responses = python, model_url, responses
        self._mark = f"live-{secrets.token_hex(8)}"
        self._process: subprocess.Popen[bytes] | None = None
        shutil.copytree(seed, self.home)
        for name in ("standins", "inject"):  # copied, so that no bytecode lands in this checkout
            shutil.copytree(HERE / name, folder / "path" / name)
        self._set_up()
        self._digests = self.digests()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def plugin(self) -> Path:
        return self.home / "usr" / "plugins" / PLUGIN

    @property
    def data(self) -> Path:
        return self.home / "usr" / "plugin_data" / PLUGIN

    @property
    def journal(self) -> Path:
        return self.data / "journal.db"

    @property
    def pid(self) -> int:
        assert self._process is not None, "the server was not started"
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    # The copy

    def _set_up(self) -> None:
        plugins = self.home / "usr" / "plugins"
        for name in OFF_AT_START:
            (plugins / name).mkdir(parents=True, exist_ok=True)
            (plugins / name / ".toggle-0").touch()
        for folder in (self.work, self.folder / "home", self.home / "tmp", self.home / "logs"):
            folder.mkdir(parents=True, exist_ok=True)
        settings = {
            "API_KEY_OTHER": self.secret,
            "A0_PERSISTENT_RUNTIME_ID": secrets.token_hex(16),
            "FLASK_SECRET_KEY": secrets.token_hex(16),
            "A0_SET_workdir_path": str(self.work),
        }
        lines = [f"{name}={value}\n" for name, value in settings.items()]
        (self.home / "usr" / ".env").write_text("".join(lines), encoding="utf-8")
        presets = plugins / "_model_config" / "presets.yaml"
        presets.parent.mkdir(parents=True, exist_ok=True)
        presets.write_text(_presets(self._model_url, responses=self._responses), encoding="utf-8")

    def digests(self) -> dict[str, str]:
        """SHA-256 of every file of the copy outside the places where the host may write."""
        found = {}
        for folder, folders, names in os.walk(self.home):
            here = Path(folder)
            skipped = CHANGING if here == self.home else ()
            folders[:] = [name for name in folders if name != "__pycache__" and name not in skipped]
            for name in names:
                path = here / name
                found[str(path.relative_to(self.home))] = hashlib.sha256(path.read_bytes()).hexdigest()
        return found

    def changed_files(self) -> list[str]:
        """Files of the checkout that are not as they were copied: added, removed or different."""
        now = self.digests()
        names = sorted(self._digests.keys() | now.keys())
        return [name for name in names if self._digests.get(name) != now.get(name)]

    # The plugin

    def put_plugin(self, *, enabled: bool) -> None:
        """Copy this checkout into the host's plugin folder, as a user does by hand."""
        for name in source_files(CHECKOUT):
            _copy(CHECKOUT / name, self.plugin / name)
        self.toggle_file(enabled=enabled)

    def toggle_file(self, *, enabled: bool) -> None:
        """Switch by file, the manual way: it takes effect at the next start."""
        for name in (".toggle-0", ".toggle-1"):
            (self.plugin / name).unlink(missing_ok=True)
        (self.plugin / (".toggle-1" if enabled else ".toggle-0")).touch()

    def git_repository(self) -> str:
        """A repository with this checkout as its only commit; returns its address for the installer."""
        if self.repository.exists():
            shutil.rmtree(self.repository)
        for name in source_files(CHECKOUT):
            _copy(CHECKOUT / name, self.repository / name)
        self._git("init", "-q", "-b", "main")
        self.publish("plugin")
        return self.repository.as_uri()

    def publish(self, message: str) -> None:
        """Commit what stands in the repository, for the installer's update to find."""
        self._git("add", "-A", "-f")
        self._git("-c", "user.name=live", "-c", "user.email=live@localhost", "-c", "commit.gpgsign=false", "commit", "-q", "-m", message)

    def _git(self, *words: str) -> None:
        subprocess.run(["git", "-C", str(self.repository), *words], check=True, capture_output=True)

    # The process

    def start(self, *, inject: Path | None = None, env: dict[str, str] | None = None) -> LiveHost:
        """Start the server and return when it answers. `inject` runs inside it before its first line."""
        assert not self.running, "the server is running"
        self.starts += 1
        with self.output.open("ab") as log:
            log.write(f"\n===== start {self.starts} =====\n".encode())
            log.flush()
            self._process = subprocess.Popen(
                self._command(),
                cwd=self.home,
                env=self._environment(inject) | (env or {}),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.wait_ready()
        return self

    def _command(self) -> list[str]:
        flags = ["--host=127.0.0.1", f"--port={self.port}", "--dockerized=true"]
        return [str(self._python), "run_ui.py", *flags]

    def _environment(self, inject: Path | None) -> dict[str, str]:
        path = [self.folder / "path" / "standins"]
        given = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.folder / "home"),
            "LANG": "C.UTF-8",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "HF_HUB_OFFLINE": "1",
            "A0_SELF_UPDATE_MANAGER_PATH": str(self.folder / "home" / "none"),
            "LIVE_HOST": self._mark,
            "PYTHONUNBUFFERED": "1",
            "PYTHONFAULTHANDLER": "1",
        }
        if inject is not None:
            path.append(self.folder / "path" / "inject")
            given["LIVE_INJECT"] = str(inject)
        return given | {"PYTHONPATH": os.pathsep.join(str(part) for part in path)}

    def wait_ready(self, seconds: float = READY_SECONDS) -> None:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if not self.running:
                raise RuntimeError(f"the server ended while it started:\n{self.tail()}")
            if self._answers():
                return
            time.sleep(0.05)
        self._end(signal.SIGABRT)  # prints where every thread stands
        raise TimeoutError(f"the server does not answer after {seconds:.0f} s:\n{self.tail(400)}")

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/api/health", timeout=5):
                return True
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def kill(self) -> None:
        """SIGKILL the server process alone. What its tools started goes on."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        if self.running:
            self._process.send_signal(number)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(20)

    def wait_dead(self, seconds: float = 60.0) -> None:
        """Wait until the server has ended by itself, as an injected kill makes it."""
        assert self._process is not None
        self._process.wait(seconds)

    def restart(self, *, inject: Path | None = None, env: dict[str, str] | None = None) -> LiveHost:
        """kill -9, then start again."""
        self.kill()
        return self.start(inject=inject, env=env)

    def leftovers(self) -> Iterator[int]:
        """Processes that this host's server or its tools started and that still live."""
        wanted = f"LIVE_HOST={self._mark}".encode()
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                with contextlib.suppress(OSError):
                    if wanted in (entry / "environ").read_bytes().split(b"\0"):
                        yield int(entry.name)

    def close(self) -> None:
        self.kill()
        for pid in list(self.leftovers()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def tail(self, lines: int = 60) -> str:
        text = self.output.read_text(encoding="utf-8", errors="replace")
        return "\n".join(text.splitlines()[-lines:])


def source_files(root: Path) -> list[str]:
    """The files that belong to a checkout: what git lists, or all without the host's own places."""
    if (root / ".git").exists():
        command = ["git", "-c", "safe.directory=*", "-C", str(root), "ls-files", "-z", "-co", "--exclude-standard"]
        listed = subprocess.run(command, check=True, capture_output=True).stdout
        names = [name for name in listed.decode().split("\0") if name]
    else:
        names = [str(path.relative_to(root)) for path in root.rglob("*")]
        names = [name for name in names if "__pycache__" not in name and name.split("/")[0] not in CHANGING]
    return [name for name in names if (root / name).is_file()]


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def _presets(model_url: str, *, responses: bool) -> str:
    def slot(kind: str, name: str) -> str:
        lines = [f"  {kind}:", "    provider: other", f"    name: {name}", f"    api_base: {model_url}"]
        return "\n".join(lines) + "\n"

    chat = slot("chat", RESPONSES_MODEL if responses else CHAT_MODEL) + "    ctx_length: 100000\n"
    if responses:
        chat += "    kwargs:\n      a0_api_mode: responses\n"
    return "- name: Default\n" + chat + slot("utility", UTILITY_MODEL) + slot("embedding", f"openai/{EMBEDDING_MODEL}")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
