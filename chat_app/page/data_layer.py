"""History and resume for the page: Chainlit's SQL data layer (2.12.0) on our engine, with its security holes closed.

Conversations are stored by `db/store.py`; these tables only serve the sidebar and reopened conversations. Differences
from Chainlit's class:

- A failure is a `StoreError` (a plain sentence; no SQL, no words of anybody) where Chainlit's class swallows it. Reads,
  renaming and deleting raise it: Chainlit's routes then answer 500, and its sockets log the sentence. Steps are
  written by tasks that nobody waits for, so there it is logged and kept for `pop_failure`, which the app may ask after
  a turn: the turn itself has been stored in our tables, or has said that it was not. Writes wait for a lock like the
  store's, and try again.
- A thread is written only for a user who is a participant in our tables, and never again once it is erased. So a
  reply that still streams after "erase my data" brings nothing back, and nobody without consent gets a row.
- Every write is checked against the session's user, because the browser chooses the ids of messages.
- Thread ids that are no UUIDs never reach SQL (Chainlit puts them there by interpolation).
- Of a thread's metadata only KEPT_METADATA stays: the rest of `user_session` would be sent to the browser.
- A thread's title is the beginning of its first message, unless that was a crisis.

Elements are not kept here: the page's own, cards and ballots, are drawn again from our tables, and a person sends none.
"""

import asyncio
import json
import logging
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast
from weakref import WeakValueDictionary

from chainlit.context import ChainlitContextException, context
from chainlit.data.sql_alchemy import SQLAlchemyDataLayer
from chainlit.data.utils import queue_until_user_message
from chainlit.element import Element, ElementDict
from chainlit.step import StepDict
from chainlit.types import Feedback, ThreadDict
from chainlit.user import PersistedUser, User
from chainlit.utils import utc_now

from heard.chat_app.common.fair_queue import FairQueue, QueueFull
from heard.chat_app.common.ids import is_uuid
from heard.chat_app.page.history_rows import (
    NEUTRAL_TITLE,
    as_json_texts,
    kept_metadata,
    parse_json_fields,
    parse_step,
    title_of,
    upsert,
)
from heard.chat_app.page.wording import gap_text
from heard.chat_app.safety.bounded_text import bounded_text
from heard.chat_app.safety.reading_queue import reading_queue
from heard.db.chainlit_tables import STEP_COLUMNS
from heard.db.errors import StoreDenied, StoreError
from heard.db.records import Outcome
from heard.db.store import Store
from heard.db.text import clean_value
from heard.db.transaction import run_sql

NAME_LENGTH = 200
"""Longest name of a thread that a person may give, in characters."""
ATTEMPTS = 3
"""Most attempts of a write while the database is busy."""
_USER_SPACE = uuid.UUID("8d1c5c1e-6f0e-4a57-9f43-0b7f2c1f6a10")

log = logging.getLogger(__name__)


Method = TypeVar("Method", bound=Callable[..., Any])


def _queued(method: Method) -> Method:
    """Apply Chainlit's decorator that delays writes until the first user message, with types."""
    return cast(Method, queue_until_user_message()(method))


class HeardDataLayer(SQLAlchemyDataLayer):
    """See the module's docstring. Shares the store's engine and does not close it."""

    def __init__(self, store: Store, reading: FairQueue | None = None, limit: int = 8000) -> None:
        """Does not call the constructor of Chainlit's class, which would open a second engine with other settings.

        `reading`: where first messages are read for danger before they become titles; default: a queue of its own.
        `limit`: characters that are read of them.
        """
        self._reading, self._limit = reading or reading_queue(), limit
        self.store = store
        self.engine = store.engine
        self.storage_provider = None
        self.user_thread_limit = 1000
        self.show_logger = False
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._failures: dict[str, str] = {}

    async def _title(self, user_id: str, text: str) -> str:
        try:
            return await self._reading.run(user_id, partial(title_of, text))
        except QueueFull:
            return NEUTRAL_TITLE

    async def execute_sql(self, query: str, parameters: dict[str, Any]) -> list[dict[str, Any]] | int:
        """Run a statement; lists and objects among the parameters become JSON. Raises StoreError."""
        return await run_sql(self.engine, query, as_json_texts(parameters), attempts=ATTEMPTS)

    async def close(self) -> None:
        """Do nothing: the engine belongs to the store."""

    def pop_failure(self, thread_id: str) -> str | None:
        """Return and forget the sentence for the last step of this thread that could not be stored, or None."""
        return self._failures.pop(thread_id, None)

    async def told_failure(self, thread_id: str, message_id: str) -> str | None:
        """Like `pop_failure`, as a notice that says whether the turn of this message is in our tables all the same."""
        failure = self.pop_failure(thread_id)
        if failure is None:
            return None
        try:
            outcome = await self.store.outcome(message_id)
        except StoreError:
            outcome = None
        return gap_text(failure, stored=outcome not in (None, Outcome.PENDING))

    # Users

    async def create_user(self, user: User) -> PersistedUser:
        """Return the user's row, inserted if the user is a participant in our tables; else a user without a row."""
        identifier = str(user.identifier)
        if (stored := await self.get_user(identifier)) is not None:
            return stored  # without a write, so that a locked or read-only database excludes nobody
        query = """
            INSERT INTO users ("id", "identifier", "createdAt", "metadata")
            SELECT :id, p.id, :created, '{}' FROM participant p WHERE p.id = :identifier
            ON CONFLICT DO NOTHING
        """
        user_id, created = str(uuid.uuid5(_USER_SPACE, clean_value(identifier))), _now()
        await self.execute_sql(query, {"id": user_id, "created": created, "identifier": identifier})
        return await self.get_user(identifier) or PersistedUser(id=user_id, identifier=identifier, createdAt=created)

    # Threads

    async def get_thread_author(self, thread_id: str) -> str:
        """Return the identifier of the thread's user, or "", which Chainlit's routes answer with 404."""
        return await self._author(thread_id) or ""

    async def _author(self, thread_id: str) -> str | None:
        if not is_uuid(thread_id):
            return None
        rows = await self.execute_sql('SELECT "userIdentifier" FROM threads WHERE id = :id', {"id": thread_id})
        return str(rows[0]["userIdentifier"]) if isinstance(rows, list) and rows else None

    async def get_thread(self, thread_id: str) -> ThreadDict | None:
        """Return a thread with its steps and elements, or None."""
        return await super().get_thread(thread_id) if is_uuid(thread_id) else None

    async def get_all_user_threads(
        self, user_id: str | None = None, thread_id: str | None = None
    ) -> list[ThreadDict] | None:
        """Return Chainlit's result with JSON fields and booleans parsed."""
        threads = await super().get_all_user_threads(user_id, thread_id)
        for thread in cast(list[dict[str, Any]], threads or []):
            parse_json_fields(thread, metadata={}, tags=None)
            for step in thread["steps"]:
                parse_step(step)
        return threads

    async def update_thread(
        self,
        thread_id: str,
        name: str | None = None,
        user_id: str | None = None,
        metadata: dict[str, Any] | None = None,
        tags: list[str] | None = None,
    ) -> None:
        """Store a thread's name, metadata or tags, and the thread if it is new. Raises StoreError.

        A name that comes with a user is Chainlit's, the whole first message: it becomes a title, and does not replace a
        name that the person has given. Nothing is written to another user's thread or an erased one.
        """
        async with self._lock(thread_id):
            if not await self._may_write(thread_id):
                return
            if name is not None and user_id is not None:
                title = await self._title(user_id, bounded_text(name, self._limit))
                await self.execute_sql(
                    "UPDATE threads SET name = :name WHERE id = :id AND name IS NULL",
                    {"name": title, "id": thread_id},
                )
            elif name is not None:
                await self.set_thread_name(thread_id, name)
            if tags is not None:
                query = "UPDATE threads SET tags = :tags WHERE id = :id"
                await self.execute_sql(query, {"tags": tags, "id": thread_id})
            if metadata is not None:
                await self._merge_metadata(thread_id, metadata)

    async def set_thread_name(self, thread_id: str, name: str) -> None:
        """Rename a thread; the name is cut to NAME_LENGTH characters."""
        name = " ".join(name.split())[:NAME_LENGTH] or NEUTRAL_TITLE
        await self.execute_sql("UPDATE threads SET name = :name WHERE id = :id", {"name": name, "id": thread_id})

    async def profiles_of(self, identifier: str) -> set[str]:
        """Return the ids of the personas that a person's threads were with, as far as their metadata tell."""
        sql = 'SELECT metadata FROM threads WHERE "userIdentifier" = :person'
        rows = await self.execute_sql(sql, {"person": identifier})
        stored = [json.loads(row["metadata"] or "{}") for row in rows] if isinstance(rows, list) else []
        return {str(one["chat_profile"]) for one in stored if one.get("chat_profile")}

    async def _merge_metadata(self, thread_id: str, metadata: dict[str, Any]) -> None:
        rows = await self.execute_sql("SELECT metadata FROM threads WHERE id = :id", {"id": thread_id})
        stored = json.loads((rows[0]["metadata"] if isinstance(rows, list) and rows else None) or "{}")
        merged = kept_metadata({**stored, **metadata})
        await self.execute_sql("UPDATE threads SET metadata = :new WHERE id = :id", {"new": merged, "id": thread_id})

    async def delete_thread(self, thread_id: str) -> None:
        """Delete a thread here and its conversation in our tables, in one transaction. Raises StoreError."""
        if is_uuid(thread_id):
            await self.store.delete_conversation(thread_id)

    async def _may_write(self, thread_id: str, *, revive: bool = False) -> bool:
        """Return whether the session's user may write to the thread, which is inserted if it is new.

        Without a session (the program's own calls) the thread must exist. `revive` is for a message that a person sends
        on a page whose thread they have deleted, which begins a new thread.
        """
        if not is_uuid(thread_id) or (self.store.is_erased(thread_id) and not revive):
            return False
        visitor, author = _visitor(), await self._author(thread_id)
        if author is None and visitor:
            author = await self._begin_thread(thread_id, visitor)
        return author is not None and visitor in (None, author)

    async def _begin_thread(self, thread_id: str, visitor: str) -> str | None:
        query = """
            INSERT INTO threads ("id", "createdAt", "userId", "userIdentifier", "metadata")
            SELECT :id, :created, u."id", u."identifier", '{}' FROM users u WHERE u."identifier" = :visitor
            ON CONFLICT DO NOTHING
        """
        await self.execute_sql(query, {"id": thread_id, "created": _now(), "visitor": visitor})
        return await self._author(thread_id)

    # Steps

    @_queued
    async def create_step(self, step_dict: StepDict) -> None:
        """Insert or update a step. A step whose id is in another thread is left alone."""
        await self._write_step(step_dict)

    @_queued
    async def update_step(self, step_dict: StepDict) -> None:
        """Insert or update a step, like `create_step`."""
        await self._write_step(step_dict)

    async def _write_step(self, step_dict: StepDict) -> None:
        thread_id = str(step_dict.get("threadId", ""))
        values = {key: value for key, value in step_dict.items() if key in STEP_COLUMNS and value is not None}
        values.setdefault("name", "")
        if "showInput" in values:
            values["showInput"] = str(values["showInput"]).lower()
        # In the order of their tasks: a late first write must not replace the finished text.
        async with self._lock(thread_id):
            try:
                if await self._may_write(thread_id, revive=step_dict.get("type") == "user_message"):
                    await self.execute_sql(upsert("steps", values), values)
            except StoreError as failure:
                self._note_failure(thread_id, failure)

    @_queued
    async def delete_step(self, step_id: str) -> None:
        """Delete a step of the session's user, with its feedback. Raises StoreError."""
        rows = await self.execute_sql('SELECT "threadId" FROM steps WHERE id = :id', {"id": step_id})
        if isinstance(rows, list) and rows and await self._may_write(rows[0]["threadId"]):
            await self.execute_sql("DELETE FROM steps WHERE id = :id", {"id": step_id})

    async def get_step(self, step_id: str) -> StepDict | None:
        """Return a step, or None."""
        step = await super().get_step(step_id)
        if step is not None:
            parse_step(cast(dict[str, Any], step))
        return step

    # Feedback: Chainlit's own thumbs are not taken. They can be put on anything by anybody who knows an id, a crisis
    # hand-off included, and Chainlit writes a row for every click. `page/feedback.py` has those under a reply.

    async def upsert_feedback(self, feedback: Feedback) -> str:
        """Raise StoreDenied, whose sentence the page shows."""
        raise StoreDenied("Replies are not rated in this way here. Nothing was saved.")

    async def delete_feedback(self, feedback_id: str) -> bool:
        """Return False: there is no feedback."""
        return False

    # Elements: none is kept (see the head of this file), whatever a browser asks for.

    async def create_element(self, element: Element) -> None:
        """Do nothing, and fetch nothing from an element's URL, which the browser can choose."""

    async def get_element(self, thread_id: str, element_id: str) -> ElementDict | None:
        """Return None: no element is stored."""
        return None

    async def delete_element(self, element_id: str, thread_id: str | None = None) -> None:
        """Do nothing: no element is stored."""

    # Helpers

    def _lock(self, thread_id: str) -> asyncio.Lock:
        return self._locks.setdefault(thread_id, asyncio.Lock())

    def _note_failure(self, thread_id: str, failure: StoreError) -> None:
        log.warning("The page's history was not saved: %s", failure)
        self._failures[thread_id] = str(failure)


def _now() -> str:
    return str(utc_now())


def _visitor() -> str | None:
    """Return the identifier of the current session's user; None outside of a session."""
    try:
        user = context.session.user
    except ChainlitContextException:
        return None
    return str(user.identifier) if user else ""
