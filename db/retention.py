"""Delete what has become older than a site keeps it, person by person and a few messages at a time.

What goes: messages with their replies, drafts, scores and what was said of them, the running summaries of their
conversations (each of which covers the oldest messages), flags, and the same in the page's history. What stays: the
person's id and answers to the notice, votes on a survey's items, and every conversation with a ballot of a study that
has not ended, whole: what was said before a message belongs to what was voted on.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, exists, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.ballot_erase import delete_ballot_rows
from heard.db.chainlit_tables import ELEMENTS, FEEDBACKS, STEPS, THREADS
from heard.db.erase import delete_rows, mark_unscrubbed
from heard.db.records import Outcome
from heard.db.study_records import Phase
from heard.db.study_tables import BallotRow, StudyRow
from heard.db.tables import Base, ConversationRow, FlagRow, MessageRow, ParticipantRow, ReplyRow

BATCH = 100
"""Messages in one transaction, which so takes some milliseconds: a turn that writes meanwhile waits no longer."""
NAMELESS = "Conversation"
"""Title in the page's list of a conversation whose first message, from which the title was, is gone."""

_OURS = Base.metadata.tables


@dataclass(frozen=True, slots=True)
class Deleted:
    """What one transaction deleted."""

    rows: Mapping[str, int]
    """By table."""
    conversations: frozenset[str]
    """Ids of those that lost something."""
    whole: bool
    """Whether nothing older is left of the person."""


@dataclass(frozen=True, slots=True)
class KeptConversation:
    """When a conversation goes, as far as its dates say."""

    id: str
    messages: int
    oldest: datetime
    newest: datetime
    held: bool
    """Whether a study that has not ended needs it."""


def _held() -> ColumnElement[bool]:
    """Of a conversation: whether a running study has a ballot in it."""
    return exists().where(
        BallotRow.conversation_id == ConversationRow.id, StudyRow.id == BallotRow.study_id, StudyRow.ended_at.is_(None),
        StudyRow.phase != Phase.PREVIEW.value,
    )  # fmt: skip


def _old_messages(before: datetime, *columns: Any) -> Select[Any]:
    """Select columns of the messages, and their conversations, that are older than `before` and may go."""
    query: Select[Any] = (
        select(*columns)
        .select_from(MessageRow)
        .join(ConversationRow, ConversationRow.id == MessageRow.conversation_id)
        .where(MessageRow.created_at < before, ~_held())
    )
    return query


async def people_with_expired(session: AsyncSession, before: datetime) -> list[str]:
    """Return the ids of the people of whom something is older than `before` and may go."""
    old = _old_messages(before, ConversationRow.participant_id).distinct()
    flagged = select(FlagRow.participant_id).where(FlagRow.created_at < before).distinct()
    empty = select(ConversationRow.participant_id).where(_empty(before)).distinct()
    found: set[str] = set()
    for query in (old, flagged, empty):
        found |= set(await session.scalars(query))
    return sorted(found)


def _empty(before: datetime) -> ColumnElement[bool]:
    return (ConversationRow.created_at < before) & ~exists().where(MessageRow.conversation_id == ConversationRow.id)


async def delete_expired(session: AsyncSession, participant_id: str, before: datetime) -> Deleted:
    """Delete up to BATCH messages of a person that are older than `before`; with the last of them, all else that is."""
    # The person's row first, as in every write about them: no turn of theirs writes while this runs.
    await session.get(ParticipantRow, participant_id, with_for_update=True)
    own = ConversationRow.participant_id == participant_id
    old_own = _old_messages(before, MessageRow.id, MessageRow.conversation_id).where(own)
    found = (await session.execute(old_own.limit(BATCH))).all()
    conversations = {conversation for _, conversation in found}
    removed = Counter(await _delete_messages(session, [message for message, _ in found], conversations))
    whole = len(found) < BATCH
    if whole:
        empty = set(await session.scalars(select(ConversationRow.id).where(own, _empty(before))))
        conversation, flag = _OURS["conversation"], _OURS["flag"]
        removed["conversation"] += await delete_rows(session, conversation, conversation.c.id.in_(empty))
        old = (flag.c.participant_id == participant_id) & (flag.c.created_at < before)
        removed["flag"] += await delete_rows(session, flag, old)
        removed.update(await _delete_history(session, participant_id, before))
        conversations |= empty
    if removed.total():
        await mark_unscrubbed(session)
    return Deleted({table: rows for table, rows in removed.items() if rows}, frozenset(conversations), whole)


async def _delete_messages(session: AsyncSession, messages: list[str], conversations: set[str]) -> dict[str, int]:
    if not messages:
        return {}
    message, reply, draft, score, summary = (_OURS[name] for name in ("message", "reply", "draft", "score", "summary"))
    replies = select(reply.c.id).where(reply.c.message_id.in_(messages))
    drafts = select(draft.c.id).where(draft.c.reply_id.in_(replies))
    thumb, felt_heard = _OURS["thumb"], _OURS["felt_heard"]
    removed = await delete_ballot_rows(session, BallotRow.message_id.in_(messages))
    for table, condition in (
        (thumb, thumb.c.draft_id.in_(drafts)),
        (felt_heard, felt_heard.c.message_id.in_(messages)),
        (score, score.c.draft_id.in_(drafts)),
        (draft, draft.c.reply_id.in_(replies)),
        (reply, reply.c.message_id.in_(messages)),
        (summary, summary.c.conversation_id.in_(conversations)),
        (message, message.c.id.in_(messages)),
    ):
        removed[table.name] = await delete_rows(session, table, condition)
    return removed


async def _delete_history(session: AsyncSession, participant_id: str, before: datetime) -> dict[str, int]:
    """Delete the same of the page's history, whose times are texts and whose threads have the conversations' ids."""
    moment = before.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
    held = select(ConversationRow.id).where(ConversationRow.participant_id == participant_id, _held())
    own = (THREADS.c.userIdentifier == participant_id) & THREADS.c.id.not_in(held)
    threads = select(THREADS.c.id).where(own)
    old = STEPS.c.threadId.in_(threads) & (STEPS.c.createdAt < moment)
    steps = select(STEPS.c.id).where(old)
    removed = {}
    for table, condition in (
        (FEEDBACKS, FEEDBACKS.c.forId.in_(steps)),
        (ELEMENTS, ELEMENTS.c.forId.in_(steps)),
        (STEPS, old),
    ):
        removed[table.name] = await delete_rows(session, table, condition)
    begun = own & (THREADS.c.createdAt < moment)
    has_steps = exists().where(STEPS.c.threadId == THREADS.c.id)
    has_messages = exists().where(MessageRow.conversation_id == THREADS.c.id)
    removed[THREADS.name] = await delete_rows(session, THREADS, begun & ~has_steps & ~has_messages)
    renamed = begun & or_(THREADS.c.name.is_(None), THREADS.c.name != NAMELESS)
    await session.execute(update(THREADS).where(renamed).values(name=NAMELESS))
    return removed


async def count_expired(session: AsyncSession, before: datetime) -> dict[str, int]:
    """Return how many messages, replies, conversations and flags `delete_expired` would delete, and how many old
    messages it would keep because a running study needs them."""
    messages = _old_messages(before, MessageRow.id).subquery()
    replies = select(func.count()).select_from(ReplyRow).join(messages, messages.c.id == ReplyRow.message_id)
    younger = exists().where(MessageRow.conversation_id == ConversationRow.id, MessageRow.created_at >= before)
    whole = select(func.count()).select_from(ConversationRow).where(
        ConversationRow.created_at < before, ~younger, ~_held()
    )  # fmt: skip
    old = select(func.count()).select_from(MessageRow).where(MessageRow.created_at < before)
    number = int(await session.scalar(select(func.count()).select_from(messages)) or 0)
    return {
        "message": number,
        "reply": int(await session.scalar(replies) or 0),
        "conversation": int(await session.scalar(whole) or 0),
        "flag": int(
            await session.scalar(select(func.count()).select_from(FlagRow).where(FlagRow.created_at < before)) or 0
        ),
        "kept for a study": int(await session.scalar(old) or 0) - number,
    }


async def kept_conversations(session: AsyncSession, participant_id: str) -> list[KeptConversation]:
    """Return a person's conversations with the dates of their messages, the one that goes first at the front."""
    held = _held().label("held")
    oldest, newest = func.min(MessageRow.created_at), func.max(MessageRow.created_at)
    rows = await session.execute(
        select(ConversationRow.id, func.count(), oldest, newest, held)
        .join(MessageRow, MessageRow.conversation_id == ConversationRow.id)
        .where(ConversationRow.participant_id == participant_id)
        .group_by(ConversationRow.id)
        .order_by(oldest)
    )
    return [KeptConversation(row[0], row[1], row[2], row[3], bool(row[4])) for row in rows]


async def count_hand_offs(session: AsyncSession, since: datetime, until: datetime) -> int:
    """Return how many stored messages of `since` <= time < `until` were answered with a hand-off."""
    shown = select(func.count()).select_from(MessageRow).where(
        MessageRow.outcome == Outcome.CRISIS.value, MessageRow.created_at >= since, MessageRow.created_at < until
    )  # fmt: skip
    return int(await session.scalar(shown) or 0)
