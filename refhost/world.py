"""A world: one installed host in one folder, run as a child process. Its `usr/` outlives the process."""

from __future__ import annotations

import json
import os
import secrets as random
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from refhost import pins, vendor
from refhost.client import Client
from refhost.model import Model

PLUGIN = "durable_execution"
HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent
NOT_SHIPPED = {"tests", "refhost", "bench", "node_modules", "build", "dist", "UPSTREAM.json", "config.json"}


class WorldDied(Exception):
    """The server ended before it answered, or did not answer in time. The message is the end of its output."""


class World:
    def __init__(
        self,
        folder: Path,
        *,
        model: Model | str | None = None,
        plugin: Path | None = CHECKOUT,
        enabled: bool | None = True,
        secrets: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        page: bool = False,
    ) -> None:
        self.folder = Path(folder).resolve()
        self.usr = self.folder / "usr"
        self.plugin_folder = self.usr / "plugins" / PLUGIN
        self.data_folder = self.usr / "plugin_data" / PLUGIN
        self.effects_file = self.folder / "effects.txt"
        self.port = 0
        self._held: socket.socket | None = None
        self._log = self.folder / "server.log"
        self._process: subprocess.Popen[bytes] | None = None
        (self.usr / "plugins").mkdir(parents=True, exist_ok=True)
        _lay(HERE / "site", self.folder)
        _lay(HERE / "webui", self.folder / "webui")
        self._lay_vendor(vendor.fetch() if page else vendor.cached())
        self._write_env(model.url if isinstance(model, Model) else model, env or {})
        if secrets is not None:
            lines = "".join(f"{key}={value}\n" for key, value in secrets.items())
            (self.usr / "secrets.env").write_text(lines, "utf-8")
        if plugin is not None:
            self.renew_plugin(plugin)
            if enabled is not None:
                self.toggle_file(enabled)

    # The installed files

    def renew_plugin(self, checkout: Path = CHECKOUT) -> None:
        """Lays the plugin's files again and pins this world; what was written into the plugin's folder stays."""
        kept = {path.name: path.read_bytes() for path in self.plugin_folder.glob("*") if path.name in _WRITTEN}
        shutil.rmtree(self.plugin_folder, ignore_errors=True)
        _lay(checkout, self.plugin_folder, NOT_SHIPPED)
        if kept:
            (self.plugin_folder / ".toggle-0").unlink(missing_ok=True)
        for name, content in kept.items():
            (self.plugin_folder / name).write_bytes(content)
        self.write_pins()

    def write_pins(self) -> None:
        pins.write(self.folder, self.plugin_folder)

    def toggle_file(self, enabled: bool, plugin: str = PLUGIN) -> None:
        folder = self.usr / "plugins" / plugin
        for name in (".toggle-0", ".toggle-1"):
            (folder / name).unlink(missing_ok=True)
        (folder / (".toggle-1" if enabled else ".toggle-0")).touch()

    def add_plugin(self, name: str, files: Mapping[str, str]) -> Path:
        folder = self.usr / "plugins" / name
        for path, text in {"plugin.yaml": f"name: {name}\nversion: 0.0.1\n", **files}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
        return folder

    def _lay_vendor(self, parts: Mapping[str, Path]) -> None:
        for name, path in parts.items():
            (self.folder / "webui" / "vendor").mkdir(exist_ok=True)
            shutil.copyfile(path, self.folder / "webui" / "vendor" / name)

    def _write_env(self, model_url: str | None, env: Mapping[str, str]) -> None:
        path = self.usr / ".env"
        known = dict(line.split("=", 1) for line in path.read_text("utf-8").splitlines()) if path.exists() else {}
        known.setdefault("A0_PERSISTENT_RUNTIME_ID", random.token_hex(16))
        known.setdefault("FLASK_SECRET_KEY", random.token_hex(16))
        if model_url:
            known["MODEL_URL"] = model_url
        known.update(env)
        path.write_text("".join(f"{key}={value}\n" for key, value in known.items()), "utf-8")

    # The process

    def start(
        self,
        *,
        env: Mapping[str, str] | None = None,
        inject: Path | None = None,
        port: int | None = None,
        wait: bool = True,
        dockerized: bool = True,
    ) -> World:
        if self.alive:
            raise RuntimeError("This world is already running.")
        self.port = port or self.port or self._hold_port()
        program = [str(HERE / "boot.py"), str(self.folder), str(inject)] if inject else [str(self.folder / "run_ui.py")]
        where = ["--dockerized=true"] if dockerized else []
        environment = {**os.environ, "EFFECTS": str(self.effects_file), **(env or {})}
        with self._log.open("ab") as log:
            self._process = self._launch([*program, f"--port={self.port}", *where], environment, log)
        if wait:
            self.wait_ready()
        return self

    def _hold_port(self) -> int:
        """A free port that stays this world's: between two of its servers nobody else is given it, to listen at or to speak from."""
        self._held = socket.socket()
        self._held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the servers do, who share it with us
        self._held.bind(("127.0.0.1", 0))
        return int(self._held.getsockname()[1])

    def _launch(self, program: list[str], environment: dict[str, str], log: BinaryIO) -> subprocess.Popen[bytes]:
        """The child process; tests that start very many have a quicker way."""
        return subprocess.Popen(
            [sys.executable, *program],
            cwd=self.folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )

    def wait_ready(self, timeout: float = 60) -> World:
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            if not self.alive:
                raise WorldDied(self.output()[-4000:])
            try:
                with urllib.request.urlopen(f"{self.url}/api/health", timeout=timeout):
                    return self
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.02)  # nothing listens yet; a port gives no sign when it opens
        raise WorldDied(f"No answer in {timeout} s.\n{self.output()[-4000:]}")

    def kill(self) -> None:
        """SIGKILL to the server and to nothing else."""
        if self._process and self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    def close(self) -> None:
        self.kill()
        if self._held is not None:
            self._held.close()

    def stop(self) -> None:
        if self._process and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()

    def signal(self, number: int = signal.SIGTERM) -> None:
        """A signal to the server and to nothing else; it ends in its own way, or not."""
        assert self._process is not None
        self._process.send_signal(number)

    def wait_dead(self, timeout: float | None = 60) -> int:
        """Waits for a server that ends by itself; returns its exit code, which is negative for a signal."""
        if self._process is None:
            raise RuntimeError("This world was never started.")
        return self._process.wait(timeout)

    def restart(self, **as_start: Any) -> World:
        self.kill()
        return self.start(**as_start)

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> Client:
        return Client(self.url)

    def __enter__(self) -> World:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    # What it left behind

    def effects(self) -> list[str]:
        return [line.rsplit(" ", 1)[0] for line in self._effect_lines()]

    def effect_pids(self) -> list[int]:
        return [int(line.rsplit(" ", 1)[1]) for line in self._effect_lines()]

    def _effect_lines(self) -> list[str]:
        return self.effects_file.read_text("utf-8").splitlines() if self.effects_file.exists() else []

    def chat_file(self, chat: str) -> dict[str, Any] | None:
        path = self.usr / "chats" / chat / "chat.json"
        return json.loads(path.read_text("utf-8")) if path.exists() else None

    def output(self) -> str:
        return self._log.read_text("utf-8", "replace") if self._log.exists() else ""


_WRITTEN = {".toggle-0", ".toggle-1", "config.json"}


def _lay(source: Path, target: Path, left_out: set[str] = frozenset()) -> None:  # type: ignore[assignment]
    """Copies a tree over another; caches, hidden folders and what is named stay behind."""

    def skip(folder: str, names: list[str]) -> set[str]:
        top = Path(folder) == source
        hidden = {name for name in names if name.startswith(".") and not name.startswith(".toggle-")}
        return hidden | ({"__pycache__"} & set(names)) | (left_out & set(names) if top else set())

    if source.is_dir():
        shutil.copytree(source, target, ignore=skip, dirs_exist_ok=True)
