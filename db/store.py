"""The store: every write of a turn, each in one transaction that raises, and the reads that a running chat needs.

All methods are coroutines and raise `StoreError` (see `db/errors.py`), whose text may be shown to a person. Texts are
cleaned on their way in (`db/text.py`), so no character in them can make a write fail. A write that has begun ends even
if the caller is cancelled.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from datetime import UTC, date, datetime
from functools import partial
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from heard.db import nudge_days, retention
from heard.db.consents import agreed_versions, latest_consent
from heard.db.conversation_reads import read_message_context, read_messages, read_outcome, read_owner, read_replies
from heard.db.edited_messages import replace_message
from heard.db.erase import delete_conversation_rows, delete_participant_rows, scrub
from heard.db.errors import (
    StoreBusy,
    StoreDenied,
    StoreDuplicate,
    StoreError,
    StoreFull,
    StoreGone,
    StoreReadOnly,
    StoreUnavailable,
)
from heard.db.flags import research_flags, save_flag
from heard.db.message_times import MessageTime, read_message_times
from heard.db.other_drafts import add_drafts
from heard.db.person_export import export_participant
from heard.db.prompt_history import (
    HISTORY_TURNS,
    newest_turns,
    read_prompt_history,
    read_unsummarised_history,
    save_summary,
)
from heard.db.records import (
    ConsentRecord,
    ConversationRecord,
    DraftRecord,
    FlagRecord,
    MessageRecord,
    Outcome,
    Participant,
    PastTurn,
    PromptHistory,
    ReplyRecord,
    SummaryRecord,
    UnsummarisedHistory,
)
from heard.db.rows import reply_row
from heard.db.safety_history import SafetyHistory, read_first_handoff, read_safety_history
from heard.db.tables import ConsentRow, ConversationRow, MessageRow, ParticipantRow, ReplyRow
from heard.db.transaction import Result, Work, transact

__all__ = [
    "Store", "StoreBusy", "StoreDenied", "StoreDuplicate", "StoreError", "StoreFull", "StoreGone", "StoreReadOnly",
    "StoreUnavailable",
]  # fmt: skip

CLOSE_ATTEMPTS = 3
"""Most attempts to store the end of a turn while the database is busy; each waits `lock_seconds`."""


class Store:
    """Reads and writes on one engine (`db.engine.create_engine`), whose database `upgrade` has brought to its head."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self._erased: set[str] = set()
        self._listeners: list[Callable[[set[str]], None]] = []

    async def _read(self, work: Work[Result]) -> Result:
        return await transact(self.engine, work, write=False)

    async def _write(self, work: Work[Result], *, attempts: int = 1) -> Result:
        return await transact(self.engine, work, write=True, attempts=attempts)

    def on_erased(self, listener: Callable[[set[str]], None]) -> None:
        """Register `listener` to be called with the ids of erased conversations, to erase what is not in the database.

        It is called in a worker thread after the rows are gone; its exceptions are raised to the caller who erased.
        """
        self._listeners.append(listener)

    async def _after_erasing(self, conversations: set[str]) -> None:
        self._erased |= conversations
        await scrub(self.engine)
        for listener in self._listeners:
            await asyncio.to_thread(listener, conversations)

    def is_erased(self, conversation_id: str) -> bool:
        """Return whether this process has erased the conversation; a reply that still streams must not restore it."""
        return conversation_id in self._erased

    # People

    async def ensure_participant(self, participant_id: str) -> None:
        """Insert the participant's row if there is none."""
        await self._write(lambda session: _ensure_participant(session, participant_id))

    async def save_consent(self, consent: ConsentRecord) -> None:
        """Add an answer to the notice (and the participant, if new). Earlier answers stay; the newest counts."""

        async def work(session: AsyncSession) -> None:
            await _ensure_participant(session, consent.participant_id)
            session.add(
                ConsentRow(
                    participant_id=consent.participant_id,
                    version=consent.version,
                    chat=consent.chat,
                    research=consent.research,
                    given_at=consent.given_at,
                )
            )

        await self._write(work)

    async def latest_consent(self, participant_id: str) -> ConsentRecord | None:
        """Return the person's newest answer to the notice, or None."""

        return await self._read(lambda session: latest_consent(session, participant_id))

    async def agreed_versions(self, participant_id: str) -> frozenset[str]:
        """Return the versions of all notices and texts that the person agrees to now."""
        return await self._read(lambda session: agreed_versions(session, participant_id))

    async def participant(self, participant_id: str) -> Participant | None:
        """Return the person and their newest consent, or None for an unknown person."""

        async def work(session: AsyncSession) -> Participant | None:
            row = await session.get(ParticipantRow, participant_id)
            return Participant(row.id, row.created_at, await latest_consent(session, row.id)) if row else None

        return await self._read(work)

    # Turns

    async def open_turn(
        self, conversation: ConversationRecord, message: MessageRecord, replaces: str | None = None
    ) -> PromptHistory:
        """Store a message before anything else happens with it, and its conversation if that is new.

        Returns the `prompt_history` before it, read in the same transaction, as the person waits for both. Raises
        StoreBusy after `lock_seconds` (at most twice that, if other writes of this process wait before it), StoreGone
        if the participant has been erased, StoreDenied if the conversation belongs to another participant,
        StoreDuplicate if a message with this id exists. Where it `replaces` one that cannot be edited, StoreDenied, or
        it is stored beside that if it is a hand-off.
        """
        if message.conversation_id != conversation.id:
            raise ValueError("the message belongs to another conversation than the one given")

        async def work(session: AsyncSession) -> PromptHistory:
            # The lock on the participant also keeps two tabs from taking the same position on PostgreSQL; so what
            # follows is a statement of its own, that sees what the other tab wrote.
            if await session.get(ParticipantRow, conversation.participant_id, with_for_update=True) is None:
                raise StoreGone("Your data here has been erased. Open the first page to start anew.")
            owner, known, last = await read_message_context(session, conversation.id, message.id)
            if owner is not None and owner != conversation.participant_id:
                raise StoreDenied
            if known is not None:
                raise StoreDuplicate
            if owner is None:
                made = ConversationRow(id=conversation.id, participant_id=conversation.participant_id)
                made.persona, made.created_at = conversation.persona, conversation.created_at
                session.add(made)
            if replaces and message.outcome is not Outcome.REFUSED:
                done = await replace_message(session, conversation.id, replaces, message.id)
                if not done and message.outcome is Outcome.PENDING:
                    raise StoreDenied("That message can no longer be changed.")
            session.add(
                MessageRow(
                    id=message.id,
                    conversation_id=conversation.id,
                    position=(last or 0) + 1,
                    text=message.text,
                    outcome=message.outcome.value,
                    created_at=message.created_at,
                    danger=message.danger,
                    language=message.language,
                    safety=message.safety.value if message.safety else None,
                )
            )
            return await read_prompt_history(session, conversation.id) if last else PromptHistory([], None)

        earlier = await self._write(work)
        self._erased.discard(conversation.id)
        return earlier

    async def close_turn(self, message_id: str, outcome: Outcome, reply: ReplyRecord | None) -> None:
        """Store the outcome of a message, and the reply with all its drafts and scores, if there is one.

        Idempotent for the same reply or, without one, the same outcome. A turn marked as interrupted may still be
        closed. Tried up to CLOSE_ATTEMPTS times while the database is busy, then raises StoreBusy. Raises StoreGone,
        and writes nothing, if the message has been erased meanwhile, StoreDuplicate if it has ended otherwise.
        """
        if outcome is Outcome.PENDING:
            raise ValueError("a turn cannot be closed as pending")
        if reply is not None and reply.message_id != message_id:
            raise ValueError("the reply answers another message")
        if reply is not None and sum(draft.kept for draft in reply.drafts) != 1:
            raise ValueError("exactly one draft of a reply is kept")

        async def work(session: AsyncSession) -> None:
            message = await session.get(MessageRow, message_id, with_for_update=True)
            if message is None:
                raise StoreGone
            stored = await session.scalar(select(ReplyRow.id).where(ReplyRow.message_id == message_id))
            if stored is not None or message.outcome not in (Outcome.PENDING, Outcome.INTERRUPTED):
                if message.outcome == outcome and stored == (reply.id if reply else None):
                    return
                raise StoreDuplicate("This message has ended already. Reload the page to see how.")
            message.outcome = outcome.value
            if reply is not None:
                session.add(reply_row(reply))

        await self._write(work, attempts=CLOSE_ATTEMPTS)

    async def add_drafts(self, reply_id: str, after: int, drafts: Sequence[DraftRecord]) -> ReplyRecord:
        """Add drafts to a stored reply and return it; see `db/other_drafts.py`."""
        work: Work[ReplyRecord] = partial(add_drafts, reply_id=reply_id, after=after, drafts=drafts)
        return await self._write(work, attempts=CLOSE_ATTEMPTS)

    async def mark_interrupted(self) -> int:
        """At start-up: mark messages that are still PENDING as interrupted, and return their number.

        Also clears the database's files of erased text, if that could not be done at once (`db.erase.scrub`).
        """

        async def work(session: AsyncSession) -> int:
            done = await session.execute(
                update(MessageRow)
                .where(MessageRow.outcome == Outcome.PENDING.value)
                .values(outcome=Outcome.INTERRUPTED.value)
                .returning(MessageRow.id)
            )
            return len(done.all())

        marked = await self._write(work)
        await scrub(self.engine)
        return marked

    # What a running chat reads

    async def history(self, conversation_id: str, limit: int = HISTORY_TURNS) -> list[PastTurn]:
        """Return the last `limit` turns that a prompt may tell, oldest first; see `db/prompt_history.py`."""
        return await self._read(lambda session: newest_turns(session, conversation_id, limit))

    async def prompt_history(
        self, conversation_id: str, *, summarised: bool = True, before: str | None = None
    ) -> PromptHistory:
        """Return the history that a prompt may quote, with `before` that before this message; see
        `db/prompt_history.py`. Unless `summarised`, any summary is ignored."""
        work: Work[PromptHistory] = partial(
            read_prompt_history, conversation_id=conversation_id, summarised=summarised, before=before
        )
        return await self._read(work)

    async def unsummarised_history(self, conversation_id: str) -> UnsummarisedHistory:
        """Return the input of a conversation's next summary."""
        return await self._read(lambda session: read_unsummarised_history(session, conversation_id))

    async def save_summary(self, summary: SummaryRecord) -> None:
        """Store a summary. Raises StoreGone, and writes nothing, if the conversation has been erased meanwhile."""
        await self._write(lambda session: save_summary(session, summary), attempts=CLOSE_ATTEMPTS)

    async def first_handoff(
        self, conversation_id: str, participant_id: str, dangers: Collection[str]
    ) -> MessageRecord | None:
        """Return a participant's first message of a conversation that was handed off for one of `dangers`, or None."""
        return await self._read(lambda session: read_first_handoff(session, conversation_id, participant_id, dangers))

    async def safety_history(self, conversation_id: str, participant_id: str) -> SafetyHistory:
        """Return what a participant's conversation tells of their safety; see `db/safety_history.py`."""
        return await self._read(lambda session: read_safety_history(session, conversation_id, participant_id))

    async def message_times(self, conversation_id: str) -> list[MessageTime]:
        """Return when each message of a conversation was written, in order, without its text."""
        return await self._read(lambda session: read_message_times(session, conversation_id))

    async def messages(self, conversation_id: str) -> list[MessageRecord]:
        """Return every message of a conversation in order, with its outcome."""
        return await self._read(lambda session: read_messages(session, conversation_id))

    async def outcome(self, message_id: str) -> Outcome | None:
        """Return how a stored message ended, or None if it is not stored."""
        return await self._read(lambda session: read_outcome(session, message_id))

    async def reply(self, reply_id: str) -> ReplyRecord | None:
        """Return one reply with its drafts and scores, or None."""
        found = await self._read(lambda session: read_replies(session, ReplyRow.id == reply_id))
        return next(iter(found), None)

    async def replies(self, conversation_id: str) -> dict[str, ReplyRecord]:
        """Return every reply of a conversation by the id of the message it answers, in order."""
        of = MessageRow.conversation_id == conversation_id
        return {reply.message_id: reply for reply in await self._read(lambda session: read_replies(session, of))}

    async def conversation_owner(self, conversation_id: str) -> str | None:
        """Return the participant's id, or None if there is no such conversation."""
        return await self._read(lambda session: read_owner(session, conversation_id))

    # The scorer's page

    async def save_flag(self, flag: FlagRecord) -> None:
        """Store a case that a person marked; the same case again gets the new note. Raises as `db/flags.py` says."""
        await self._write(lambda session: save_flag(session, flag))

    async def research_flags(self) -> list[FlagRecord]:
        """Return every flag of people who allow research and have not withdrawn, oldest first."""
        return await self._read(research_flags)

    # Reliance and retention

    async def nudged_on(self, participant_id: str) -> date | None:
        """Return the day (UTC) of a person's last nudge, or None."""
        return await self._read(lambda session: nudge_days.nudged_on(session, participant_id))

    async def take_nudge(self, participant_id: str, today: date) -> bool:
        """Note that a person is nudged today; False if they were already."""
        return await self._write(lambda session: nudge_days.take_nudge(session, participant_id, today))

    async def written_since(self, participant_id: str, since: datetime) -> Sequence[datetime]:
        """Return the times of a person's messages from `since` on, the newest first."""
        return await self._read(lambda session: nudge_days.written_since(session, participant_id, since))

    async def wrote_daily(self, participant_id: str, today: date, days: int) -> bool:
        """Return whether a person has written on each of the last `days` days, up to and with today."""
        return await self._read(lambda session: nudge_days.wrote_daily(session, participant_id, today, days))

    async def people_with_expired(self, before: datetime) -> list[str]:
        """Return the ids of the people of whom something is older than `before` and may go."""
        return await self._read(lambda session: retention.people_with_expired(session, before))

    async def delete_expired(self, participant_id: str, before: datetime) -> retention.Deleted:
        """Delete a batch of what is older than `before` of a person; see `db/retention.py`. The files of SQLite are
        cleared (`scrub_files`) by whoever has called it last, or at the next start."""
        deleted = await self._write(lambda session: retention.delete_expired(session, participant_id, before))
        for listener in self._listeners if deleted.conversations else ():
            await asyncio.to_thread(listener, set(deleted.conversations))
        return deleted

    async def count_expired(self, before: datetime) -> dict[str, int]:
        """Return what `delete_expired` would delete of everybody, and what it would keep for studies."""
        return await self._read(lambda session: retention.count_expired(session, before))

    async def kept_conversations(self, participant_id: str) -> list[retention.KeptConversation]:
        """Return a person's conversations with the dates of their messages."""
        return await self._read(lambda session: retention.kept_conversations(session, participant_id))

    async def count_hand_offs(self, since: datetime, until: datetime) -> int:
        """Return how many stored messages of `since` <= time < `until` were answered with a hand-off."""
        return await self._read(lambda session: retention.count_hand_offs(session, since, until))

    async def scrub_files(self) -> bool:
        """Clear SQLite's files of deleted rows (`db.erase.scrub`), which holds up writes meanwhile."""
        return await scrub(self.engine)

    # A person's rights

    async def export_participant(self, participant_id: str) -> dict[str, Any]:
        """Return everything stored about a person, JSON-able; see `db/person_export.py` for its shape."""
        return await self._read(lambda session: export_participant(session, participant_id))

    async def erase_participant(self, participant_id: str) -> dict[str, int]:
        """Delete every row about a person, ours and the page history's. Returns the number of rows by table.

        One transaction; then SQLite's files are cleared too (`db.erase.scrub`). A reply that streams meanwhile is not
        stored: its `close_turn` raises StoreGone.
        """
        removed, conversations = await self._write(lambda session: delete_participant_rows(session, participant_id))
        await self._after_erasing(conversations)
        return removed

    async def delete_conversation(self, conversation_id: str) -> dict[str, int]:
        """Delete one conversation and its thread in the page's history. Returns the number of rows by table."""
        self._erased.add(conversation_id)  # before the rows are gone, so that nothing is written after them
        try:
            removed = await self._write(lambda session: delete_conversation_rows(session, conversation_id))
        except StoreError:
            self._erased.discard(conversation_id)
            raise
        await self._after_erasing({conversation_id})
        return removed


async def _ensure_participant(session: AsyncSession, participant_id: str) -> None:
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    row = insert(ParticipantRow).values(id=participant_id, created_at=datetime.now(UTC))
    await session.execute(row.on_conflict_do_nothing())
