"""Rows of the page's history: which metadata of a thread is stored, and conversions from and to Chainlit's objects."""

import json
from collections.abc import Mapping
from typing import Any, cast

from heard.chat_app.safety.assessment import assess
from heard.chat_app.safety.verdict import Level
from heard.db.text import clean_value

KEPT_METADATA = frozenset({"chat_profile"})
KEPT_SETTINGS = frozenset({"strategy", "live_scores", "auto_improve", "threshold", "country"})
"""Keys of `chat_settings` in the metadata. The model is left out, as no thread may reveal which model answers."""

NEUTRAL_TITLE = "Conversation"
TITLE_LENGTH = 60


def title_of(text: str) -> str:
    """Return a thread's title for the sidebar: the message's first words, at most TITLE_LENGTH characters.

    Blocking: call it from a worker thread. What the safety check finds anything in, a danger long past included, is not
    shown there, where others may see it, and gets NEUTRAL_TITLE, as does an empty message.
    """
    words = " ".join(str(clean_value(text)).split())
    if not words or assess(text).level is not Level.NONE:
        return NEUTRAL_TITLE
    if len(words) <= TITLE_LENGTH:
        return words
    head, space, _ = words[:TITLE_LENGTH].rpartition(" ")
    return (head if space else words[: TITLE_LENGTH - 1]) + "…"


def kept_metadata(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a thread's metadata that is stored."""
    kept = {key: metadata[key] for key in KEPT_METADATA if metadata.get(key) is not None}
    settings = metadata.get("chat_settings")
    if isinstance(settings, Mapping):
        kept["chat_settings"] = {key: settings[key] for key in KEPT_SETTINGS if key in settings}
    return cast(dict[str, Any], clean_value(kept))


def upsert(table: str, values: Mapping[str, Any]) -> str:
    """Return SQL that inserts a row, or updates the one with its id in the same thread. `values` has known columns."""
    columns = ", ".join(f'"{column}"' for column in values)
    places = ", ".join(f":{column}" for column in values)
    updates = ", ".join(f'"{column}" = EXCLUDED."{column}"' for column in values if column not in ("id", "threadId"))
    return (
        f"INSERT INTO {table} ({columns}) VALUES ({places}) "  # noqa: S608 - names come from our own table definitions
        f'ON CONFLICT ("id") DO UPDATE SET {updates} WHERE {table}."threadId" = EXCLUDED."threadId"'
    )


def as_json_texts(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return parameters with lists and objects as JSON texts, which both databases accept."""
    return {
        key: json.dumps(clean_value(value), default=str) if isinstance(value, (dict, list, tuple)) else value
        for key, value in parameters.items()
    }


def parse_json_fields(row: dict[str, Any], **defaults: Any) -> None:
    """Parse these fields of a row in place from JSON texts; missing ones get their default."""
    for key, default in defaults.items():
        value = row.get(key)
        row[key] = json.loads(value) if isinstance(value, str) and value else default if value is None else value


def parse_step(step: dict[str, Any]) -> None:
    """Parse the JSON fields and booleans of a step in place."""
    parse_json_fields(step, metadata={}, tags=None, generation=None)
    # Chainlit's search reads it as a text without looking.
    step["output"] = step.get("output") or ""
    for key in ("streaming", "waitForAnswer", "isError"):  # SQLite gives 0 and 1
        step[key] = None if step.get(key) is None else bool(step[key])
