"""Where records become durable. Nothing outside this package writes SQL or knows SQLite."""

from __future__ import annotations
