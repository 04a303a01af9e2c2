"""Paths below the world's folder, small file operations and prompt templates."""

from __future__ import annotations

import glob
import json
import re
import shutil
from pathlib import Path
from typing import Any

USER_DIR = "usr"
PLUGINS_DIR = "plugins"
EXTENSIONS_DIR = "extensions"
API_DIR = "api"

_BASE = Path(__file__).resolve().parent.parent


def get_base_dir() -> str:
    return str(_BASE)


def get_abs_path(*relative_paths: str) -> str:
    return str(_BASE.joinpath(*relative_paths))


def deabsolute_path(path: str) -> str:
    full = Path(path)
    return str(full.relative_to(_BASE)) if full.is_relative_to(_BASE) else path


def exists(*relative_paths: str) -> bool:
    return Path(get_abs_path(*relative_paths)).exists()


def is_file(*relative_paths: str) -> bool:
    return Path(get_abs_path(*relative_paths)).is_file()


def is_in_dir(path: str, dir: str) -> bool:
    return Path(get_abs_path(path)).resolve().is_relative_to(Path(get_abs_path(dir)).resolve())


def read_file(relative_path: str, encoding: str = "utf-8") -> str:
    return Path(get_abs_path(relative_path)).read_text(encoding)


def write_file(relative_path: str, content: str, encoding: str = "utf-8") -> None:
    path = Path(get_abs_path(relative_path))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding)


def delete_file(relative_path: str) -> None:
    Path(get_abs_path(relative_path)).unlink(missing_ok=True)


def delete_dir(relative_path: str) -> None:
    shutil.rmtree(get_abs_path(relative_path), ignore_errors=True)


def list_files(relative_path: str, filter: str = "*") -> list[str]:
    folder = Path(get_abs_path(relative_path))
    return sorted(entry.name for entry in folder.glob(filter)) if folder.is_dir() else []


def find_existing_paths_by_pattern(pattern: str) -> list[str]:
    return sorted(glob.glob(get_abs_path(pattern), recursive=True))  # noqa: PTH207  absolute patterns


def basename(path: str, suffix: str = "") -> str:
    return Path(path).name.removesuffix(suffix)


def dirname(path: str) -> str:
    return str(Path(path).parent)


def read_prompt_file(file: str, directories: list[str], **values: Any) -> str:
    """Text of the first template with this name, `{{key}}` replaced by the value."""
    for directory in directories:
        path = Path(directory) / file
        if path.is_file():
            text = path.read_text("utf-8").strip()
            return re.sub(r"\{\{(\w+)\}\}", lambda found: _fill(values.get(found[1])), text)
    raise FileNotFoundError(f"There is no prompt {file}.")


def parse_prompt_file(file: str, directories: list[str], **values: Any) -> Any:
    """A template that is one JSON object becomes a dict, its placeholders keep their types."""
    text = read_prompt_file(file, directories, **{key: _Raw(value) for key, value in values.items()})
    return json.loads(text) if text.startswith("{") else read_prompt_file(file, directories, **values)


class _Raw:
    """A value that is put into a JSON template as JSON."""

    def __init__(self, value: Any) -> None:
        self.json = json.dumps(value, ensure_ascii=False)


def _fill(value: Any) -> str:
    if isinstance(value, _Raw):
        return value.json
    return "" if value is None else str(value)
