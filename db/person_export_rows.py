"""Rows as JSON-able objects, for a person's export."""

from collections.abc import Sequence
from datetime import date
from enum import Enum
from typing import Any

from sqlalchemy import ColumnElement, Table, select
from sqlalchemy.ext.asyncio import AsyncSession


async def export_rows(
    session: AsyncSession, table: Table, condition: ColumnElement[bool], *order: ColumnElement[Any]
) -> list[dict[str, Any]]:
    """Return the rows that meet the condition as dicts by column; times are ISO 8601 texts in UTC."""
    query = select(table).where(condition).order_by(*order)
    result: Sequence[Any] = (await session.execute(query)).mappings().all()
    return [{name: json_value(value) for name, value in row.items()} for row in result]


def json_value(value: Any) -> Any:
    """Return a value as JSON can represent it."""
    if isinstance(value, date):  # a time is one too
        return value.isoformat()
    return value.value if isinstance(value, Enum) else value
