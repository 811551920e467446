"""The reads and writes of what people say of a talk, beside `Store` on the same engine."""

from collections.abc import Mapping
from datetime import UTC, datetime

from sqlalchemy.ext.asyncio import AsyncEngine

from heard.db.feedback import FeltHeard, answer_heard, ask_heard, read_heard, read_thumbs, save_thumb
from heard.db.transaction import transact


class FeedbackStore:
    """Thumbs and answers. All methods are coroutines and raise `StoreError`, as `db/feedback.py` says."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine

    async def save_thumb(self, participant_id: str, conversation_id: str, reply_id: str, up: bool | None) -> None:
        """Store a thumb on the kept draft of a reply; None takes it back."""
        now = datetime.now(UTC)
        await transact(
            self.engine,
            lambda session: save_thumb(session, participant_id, conversation_id, reply_id, up, now),
            write=True,
        )

    async def thumbs(self, conversation_id: str) -> Mapping[str, bool]:
        """Return the thumbs of a conversation by the id of the draft; True is up."""
        return await transact(self.engine, lambda session: read_thumbs(session, conversation_id), write=False)

    async def ask_heard(self, participant_id: str, conversation_id: str, message_id: str) -> bool:
        """Return whether to ask, under the reply to a message, whether the person felt heard, and note that."""
        now = datetime.now(UTC)
        return await transact(
            self.engine,
            lambda session: ask_heard(session, participant_id, conversation_id, message_id, now),
            write=True,
        )

    async def answer_heard(self, participant_id: str, conversation_id: str, answer: int | None) -> None:
        """Store whether the person felt heard, 1 to 5; None if they skipped it."""
        now = datetime.now(UTC)
        await transact(
            self.engine,
            lambda session: answer_heard(session, participant_id, conversation_id, answer, now),
            write=True,
        )

    async def felt_heard(self, conversation_id: str) -> FeltHeard | None:
        """Return whether a conversation was asked about, and the answer; None where it was not."""
        return await transact(self.engine, lambda session: read_heard(session, conversation_id), write=False)
