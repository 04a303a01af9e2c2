"""Times of this host: always UTC, always with a zone."""

from __future__ import annotations

from datetime import UTC, datetime


class Localization:
    _instance: Localization | None = None

    @classmethod
    def get(cls) -> Localization:
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    def get_timezone(self) -> str:
        return "UTC"

    def now(self) -> datetime:
        return datetime.now(UTC)

    def now_iso(self) -> str:
        return self.now().isoformat()

    def serialize_datetime(self, dt: datetime | None) -> str | None:
        return dt.isoformat() if dt else None

    def localtime_str_to_utc_dt(self, text: str | None) -> datetime | None:
        if not text:
            return None
        dt = datetime.fromisoformat(text)
        return dt if dt.tzinfo else dt.replace(tzinfo=UTC)
