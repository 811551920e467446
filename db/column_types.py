"""Column types that SQLAlchemy lacks: cleaned texts, UTC times on SQLite, and JSON in a text."""

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, Dialect, Text
from sqlalchemy.types import TypeDecorator

from heard.db.text import clean_text, clean_value


class CleanText(TypeDecorator[str]):
    """Text of any length, cleaned by `db.text.clean_text` when it is stored."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Return the cleaned text."""
        return None if value is None else clean_text(value)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time, stored as UTC. SQLite forgets time zones, so a naive time is refused rather than guessed at."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return an aware time in UTC. Raises ValueError for a naive one."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a time zone cannot be stored")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Return the time aware, in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class JsonText(TypeDecorator[dict[str, Any]]):
    """A JSON object in a text column, on SQLite and PostgreSQL alike. What JSON lacks is stored as its `str()`."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: dict[str, Any] | None, dialect: Dialect) -> str | None:
        """Return the object as JSON with sorted keys."""
        return (
            None if value is None else json.dumps(clean_value(value), ensure_ascii=False, sort_keys=True, default=str)
        )

    def process_result_value(self, value: str | None, dialect: Dialect) -> dict[str, Any] | None:
        """Return the parsed object."""
        return None if value is None else dict(json.loads(value))


class JsonList(TypeDecorator[list[Any]]):
    """A JSON list in a text column."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: list[Any] | None, dialect: Dialect) -> str | None:
        """Return the list as JSON."""
        return (
            None if value is None else json.dumps(clean_value(value), ensure_ascii=False, sort_keys=True, default=str)
        )

    def process_result_value(self, value: str | None, dialect: Dialect) -> list[Any] | None:
        """Return the parsed list."""
        return None if value is None else list(json.loads(value))
