"""Known secrets. The model writes `§§secret(KEY)`; tools get the value; what comes back is masked again."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from helpers import dotenv, files
from helpers.errors import RepairableException
from helpers.extension import extensible

if TYPE_CHECKING:
    from agent import AgentContext

ALIAS_PATTERN = r"§§secret\(([A-Za-z_][A-Za-z0-9_]*)\)"
DEFAULT_SECRETS_FILE = "usr/secrets.env"
_CREDENTIALS = {
    dotenv.KEY_AUTH_LOGIN,
    dotenv.KEY_AUTH_PASSWORD,
    dotenv.KEY_RFC_PASSWORD,
    dotenv.KEY_ROOT_PASSWORD,
}


def alias_for_key(key: str, placeholder: str = "§§secret({key})") -> str:
    return placeholder.format(key=key.upper())


class SecretsManager:
    """Values are read once and kept until the cache is cleared."""

    _instances: ClassVar[dict[tuple[str, ...], SecretsManager]] = {}

    def __init__(self, *secrets_files: str) -> None:
        self._lock = threading.RLock()
        self._files = secrets_files or (DEFAULT_SECRETS_FILE,)
        self._known: dict[str, str] | None = None

    @classmethod
    def get_instance(cls, *secrets_files: str) -> SecretsManager:
        return cls._instances.setdefault(secrets_files, cls(*secrets_files))

    def load_secrets(self) -> dict[str, str]:
        with self._lock:
            if self._known is None:
                known: dict[str, str] = {}
                for name in self._files:
                    path = Path(files.get_abs_path(name))
                    found = dotenv.parse(path.read_text("utf-8")) if path.is_file() else {}
                    if str(path) == dotenv.get_dotenv_file_path():
                        # Of the host's own settings only keys and passwords are secrets.
                        found = {k: v for k, v in found.items() if k.startswith("API_KEY_") or k in _CREDENTIALS}
                    known.update(found)
                self._known = known
            return self._known

    def get_keys(self) -> list[str]:
        return list(self.load_secrets())

    def replace_placeholders(self, text: str) -> str:
        known = self.load_secrets()

        def value_of(found: re.Match[str]) -> str:
            key = found[1].upper()
            if key not in known:
                raise RepairableException(f"There is no secret for {alias_for_key(key)}.")
            return known[key]

        return re.sub(ALIAS_PATTERN, value_of, text)

    def mask_values(self, text: str, min_length: int = 4, placeholder: str = "§§secret({key})") -> str:
        for key, value in sorted(self.load_secrets().items(), key=lambda pair: -len(pair[1])):
            if len(value.strip()) >= min_length:
                text = text.replace(value, alias_for_key(key, placeholder))
        return text

    def clear_cache(self) -> None:
        with self._lock:
            self._known = None


@extensible
def get_secrets_manager(context: AgentContext | None = None) -> SecretsManager:
    return SecretsManager.get_instance(DEFAULT_SECRETS_FILE, dotenv.get_dotenv_file_path())


@extensible
def get_default_secrets_manager() -> SecretsManager:
    return SecretsManager.get_instance()


@extensible
def get_project_secrets_manager(project_name: str, merge_with_global: bool = False) -> SecretsManager:
    return SecretsManager.get_instance(f"usr/projects/{project_name}/.a0proj/secrets.env")
