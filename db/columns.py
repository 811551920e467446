"""Column types that SQLAlchemy lacks: texts made storable, times that stay UTC on SQLite, and JSON in a text."""

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, Dialect, Text
from sqlalchemy.types import TypeDecorator

from heard.db.text import clean, clean_text


class CleanText(TypeDecorator[str]):
    """Text of any length, cleaned by `db.text.clean_text` on its way in."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Clean a text before it reaches the driver."""
        return None if value is None else clean_text(value)


class UtcDateTime(TypeDecorator[datetime]):
    """An aware time, stored as UTC. SQLite forgets time zones, so a naive time is refused rather than guessed at."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Turn any aware time into UTC; raises ValueError for a naive one."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a time zone cannot be stored")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Give the time back aware, in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class JsonText(TypeDecorator[dict[str, Any]]):
    """A JSON object in a text column: the same on SQLite and PostgreSQL; what JSON cannot say is stored as its text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: dict[str, Any] | None, dialect: Dialect) -> str | None:
        """Write the object with its keys in order."""
        return None if value is None else json.dumps(clean(value), ensure_ascii=False, sort_keys=True, default=str)

    def process_result_value(self, value: str | None, dialect: Dialect) -> dict[str, Any] | None:
        """Read the object back."""
        return None if value is None else dict(json.loads(value))


class JsonList(TypeDecorator[list[Any]]):
    """A JSON list in a text column."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: list[Any] | None, dialect: Dialect) -> str | None:
        """Write the list."""
        return None if value is None else json.dumps(clean(value), ensure_ascii=False, sort_keys=True, default=str)

    def process_result_value(self, value: str | None, dialect: Dialect) -> list[Any] | None:
        """Read the list back."""
        return None if value is None else list(json.loads(value))
