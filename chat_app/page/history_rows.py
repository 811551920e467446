"""Rows of the page's history: what of a thread is kept, and the way from Chainlit's objects to columns and back."""

import json
from collections.abc import Mapping
from typing import Any, cast

from heard.chat_app.safety import crisis_check
from heard.db.text import clean

KEPT_METADATA = frozenset({"chat_profile"})
KEPT_SETTINGS = frozenset({"strategy", "live_scores", "auto_improve", "threshold", "country"})
"""Of `chat_settings`, one of the metadata. The model is left out: no thread may tell which model answers in it."""

NEUTRAL_TITLE = "Conversation"
TITLE_LENGTH = 60


def title_of(text: str) -> str:
    """A thread's title in the sidebar: the message's first words, at most TITLE_LENGTH characters.

    A crisis does not stand in the sidebar for whoever looks over a shoulder; nor does an empty line.
    """
    words = " ".join(str(clean(text)).split())
    if not words or crisis_check.check(text).crisis:
        return NEUTRAL_TITLE
    if len(words) <= TITLE_LENGTH:
        return words
    head, space, _ = words[:TITLE_LENGTH].rpartition(" ")
    return (head if space else words[: TITLE_LENGTH - 1]) + "…"


def kept_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a thread's metadata that is stored."""
    kept = {key: metadata[key] for key in KEPT_METADATA if metadata.get(key) is not None}
    settings = metadata.get("chat_settings")
    if isinstance(settings, Mapping):
        kept["chat_settings"] = {key: settings[key] for key in KEPT_SETTINGS if key in settings}
    return cast(dict[str, Any], clean(kept))


def upsert(table: str, values: Mapping[str, Any]) -> str:
    """SQL for a row with these columns, all of them known ones; an older row gives way only within its thread."""
    columns = ", ".join(f'"{column}"' for column in values)
    places = ", ".join(f":{column}" for column in values)
    updates = ", ".join(f'"{column}" = EXCLUDED."{column}"' for column in values if column not in ("id", "threadId"))
    return (
        f"INSERT INTO {table} ({columns}) VALUES ({places}) "  # noqa: S608 - names come from our own table definitions
        f'ON CONFLICT ("id") DO UPDATE SET {updates} WHERE {table}."threadId" = EXCLUDED."threadId"'
    )


def plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Lists and objects as JSON texts, which both databases take."""
    return {
        key: json.dumps(clean(value), default=str) if isinstance(value, (dict, list, tuple)) else value
        for key, value in parameters.items()
    }


def parse(row: dict[str, Any], **defaults: Any) -> None:
    """Turn these fields from JSON texts into values, with a default where there is nothing."""
    for key, default in defaults.items():
        value = row.get(key)
        row[key] = json.loads(value) if isinstance(value, str) and value else default if value is None else value


def parse_step(step: dict[str, Any]) -> None:
    """`parse` for a step, with its truth values as such."""
    parse(step, metadata={}, tags=None, generation=None)
    # Chainlit's search reads it as a text without looking.
    step["output"] = step.get("output") or ""
    for key in ("streaming", "waitForAnswer", "isError"):  # SQLite gives 0 and 1
        step[key] = None if step.get(key) is None else bool(step[key])
