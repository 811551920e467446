"""Erase rows of our tables and of the page's history in one transaction, then what SQLite's files still hold."""

import logging
import secrets

from sqlalchemy import ColumnElement, Table, delete, or_, select, text, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, AsyncSession

from heard.db.access_links import forget
from heard.db.ballot_erase import delete_ballot_rows
from heard.db.chainlit_tables import ELEMENTS, FEEDBACKS, STEPS, THREADS, USERS
from heard.db.engine import BEGIN, NONE, write_queue
from heard.db.errors import StoreError
from heard.db.flow_counts import count_erased
from heard.db.study_tables import BallotRow, EnrolmentRow
from heard.db.tables import Base, ConversationRow, ParticipantRow

log = logging.getLogger(__name__)

_OURS = Base.metadata.tables
Condition = ColumnElement[bool]


async def delete_participant_rows(session: AsyncSession, participant_id: str) -> tuple[dict[str, int], set[str]]:
    """Delete all rows of a person. Returns the number of rows by table, and the ids of conversations and threads."""
    # The person's row first, as in every write about them: nothing of theirs is written while this runs.
    await session.get(ParticipantRow, participant_id, with_for_update=True)
    users = select(USERS.c.id).where(USERS.c.identifier == participant_id)
    thread = or_(THREADS.c.userId.in_(users), THREADS.c.userIdentifier == participant_id)
    owned = ConversationRow.participant_id == participant_id
    ids = set(await session.scalars(select(ConversationRow.id).where(owned)))
    ids |= set(await session.scalars(select(THREADS.c.id).where(thread)))
    await count_erased(session, participant_id)
    removed = await delete_ballot_rows(session, BallotRow.participant_id == participant_id)
    removed |= await _delete_conversations(session, owned, thread)
    flag, enrolment, consent, participant = (_OURS[name] for name in ("flag", "enrolment", "consent", "participant"))
    asked = _OURS["question_answer"]
    removed["question_answer"] = await delete_rows(session, asked, asked.c.participant_id == participant_id)
    removed["flag"] = await delete_rows(session, flag, flag.c.participant_id == participant_id)
    exclusion, log_line = _OURS["exclusion"], _OURS["desk_log"]
    removed["exclusion"] = await delete_rows(session, exclusion, exclusion.c.participant_id == participant_id)
    own_lines = log_line.c.participant_id == participant_id  # who did what at the desk stays; about whom does not
    await session.execute(update(log_line).where(own_lines).values(participant_id=None))
    external = select(EnrolmentRow.external_id).where(EnrolmentRow.participant_id == participant_id)
    removed["access_link"] = await forget(session, list(await session.scalars(external)))
    removed["enrolment"] = await delete_rows(session, enrolment, enrolment.c.participant_id == participant_id)
    removed["consent"] = await delete_rows(session, consent, consent.c.participant_id == participant_id)
    removed["participant"] = await delete_rows(session, participant, participant.c.id == participant_id)
    removed["users"] = await delete_rows(session, USERS, USERS.c.identifier == participant_id)
    return removed, ids


async def delete_conversation_rows(session: AsyncSession, conversation_id: str) -> dict[str, int]:
    """Delete one conversation, ours and the page's. Returns the number of rows by table."""
    owner = select(ConversationRow.participant_id).where(ConversationRow.id == conversation_id)
    await session.get(ParticipantRow, await session.scalar(owner) or "", with_for_update=True)
    removed = await delete_ballot_rows(session, BallotRow.conversation_id == conversation_id)
    owned, thread = ConversationRow.id == conversation_id, THREADS.c.id == conversation_id
    return removed | await _delete_conversations(session, owned, thread)


async def _delete_conversations(session: AsyncSession, owned: Condition, thread: Condition) -> dict[str, int]:
    """Delete conversations bottom up, though the foreign keys would cascade, to count the rows of each table."""
    conversation, message, reply, draft, score, summary = (
        _OURS[name] for name in ("conversation", "message", "reply", "draft", "score", "summary")
    )
    conversations = select(conversation.c.id).where(owned)
    messages = select(message.c.id).where(message.c.conversation_id.in_(conversations))
    replies = select(reply.c.id).where(reply.c.message_id.in_(messages))
    drafts = select(draft.c.id).where(draft.c.reply_id.in_(replies))
    thumb, felt_heard = _OURS["thumb"], _OURS["felt_heard"]
    threads = select(THREADS.c.id).where(thread)
    steps = select(STEPS.c.id).where(STEPS.c.threadId.in_(threads))
    removed: dict[str, int] = {}
    for table, condition in (
        (thumb, thumb.c.draft_id.in_(drafts)),
        (score, score.c.draft_id.in_(drafts)),
        (draft, draft.c.reply_id.in_(replies)),
        (reply, reply.c.message_id.in_(messages)),
        (summary, summary.c.conversation_id.in_(conversations)),
        (felt_heard, felt_heard.c.conversation_id.in_(conversations)),
        (message, message.c.conversation_id.in_(conversations)),
        (conversation, owned),
        (FEEDBACKS, or_(FEEDBACKS.c.forId.in_(steps), FEEDBACKS.c.threadId.in_(threads))),
        (ELEMENTS, ELEMENTS.c.threadId.in_(threads)),
        (STEPS, STEPS.c.threadId.in_(threads)),
        (THREADS, thread),
    ):
        removed[table.name] = await delete_rows(session, table, condition)
    await mark_unscrubbed(session)
    return removed


async def delete_rows(session: AsyncSession, table: Table, condition: Condition) -> int:
    """Delete the rows of a table that meet a condition. Returns their number."""
    result = await session.execute(delete(table).where(condition))
    return int(result.rowcount)  # type: ignore[attr-defined]


async def mark_unscrubbed(session: AsyncSession) -> None:
    """Mark the file, in the same transaction, as not scrubbed yet.

    The mark is a new number each time, so that `scrub` sees whether another process has erased meanwhile.
    """
    if session.get_bind().dialect.name == "sqlite":
        await session.execute(text(f"PRAGMA user_version = {1 + secrets.randbelow(2**31 - 1)}"))


async def scrub(engine: AsyncEngine) -> bool:
    """Clear SQLite's files of erased rows; does nothing if there are none since the last time.

    `PRAGMA secure_delete` overwrites a deleted row, but not the copies of it that were left behind when pages were
    split and merged before (`tests/db/test_erase.py` shows it). So the file is written anew (VACUUM, which takes about
    a second per 100 MB, and as much room again on the disk), and the write-ahead file is truncated. Waits
    `lock_seconds` for others; returns False, with a warning, if they stayed, and then the next erasure or start does
    it. Returns True on PostgreSQL, whose server reclaims the space of deleted rows by itself.
    """
    if engine.dialect.name != "sqlite":
        return True
    clean = False
    try:
        async with write_queue(engine), engine.execution_options(**{BEGIN: NONE}).connect() as connection:
            mark = await _scrub_mark(connection)
            if mark == 0:
                return True
            await connection.execute(text("VACUUM"))
            clean = await _empty_wal(connection)
            if clean:
                await connection.execute(text("BEGIN IMMEDIATE"))
                if await _scrub_mark(connection) == mark:
                    await connection.execute(text("PRAGMA user_version = 0"))
                await connection.execute(text("COMMIT"))
                await _empty_wal(connection)
    except (SQLAlchemyError, StoreError):
        clean = False  # the rows are gone either way, so this is no failure of the erasure
    if not clean:
        log.warning("Erased text may stay in unused parts of the database's files until heard erases or starts again.")
    return clean


async def _scrub_mark(connection: AsyncConnection) -> int:
    return int((await connection.execute(text("PRAGMA user_version"))).scalar_one())


async def _empty_wal(connection: AsyncConnection) -> bool:
    return not bool((await connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))).scalar_one())
