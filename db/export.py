"""Everything stored about one person, as one JSON-able object."""

from collections.abc import Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from sqlalchemy import ColumnElement, Table, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from db.history_tables import ELEMENTS, FEEDBACKS, STEPS, THREADS, USERS
from db.tables import Base

_OURS = Base.metadata.tables


async def export_participant(session: AsyncSession, participant_id: str) -> dict[str, Any]:
    """Read every row about a person; times are ISO 8601 texts in UTC. Shape, where each object has the columns of its
    table:

        {"format": 1, "exported_at": ..., "participant": {...} or None, "consents": [...],
         "conversations": [{..., "messages": [{..., "reply": None or
             {..., "drafts": [{..., "score": None or {...}}]}}]}],
         "flags": [{...}],
         "page_history": {"users": [...], "threads": [...], "steps": [...], "elements": [...], "feedbacks": [...]}}
    """
    participant, consent, flag = _OURS["participant"], _OURS["consent"], _OURS["flag"]
    people = await _rows(session, participant, participant.c.id == participant_id)
    return {
        "format": 1,
        "exported_at": _plain(datetime.now(UTC)),
        "participant": people[0] if people else None,
        "consents": await _rows(session, consent, consent.c.participant_id == participant_id, consent.c.id),
        "conversations": await _conversations(session, participant_id),
        "flags": await _rows(session, flag, flag.c.participant_id == participant_id, flag.c.created_at),
        "page_history": await _page_history(session, participant_id),
    }


async def _conversations(session: AsyncSession, participant_id: str) -> list[dict[str, Any]]:
    conversation, message, reply, draft, score = (
        _OURS[name] for name in ("conversation", "message", "reply", "draft", "score")
    )
    owned = select(conversation.c.id).where(conversation.c.participant_id == participant_id)
    messages_of = select(message.c.id).where(message.c.conversation_id.in_(owned))
    replies_of = select(reply.c.id).where(reply.c.message_id.in_(messages_of))
    drafts_of = select(draft.c.id).where(draft.c.reply_id.in_(replies_of))

    conversations = await _rows(
        session, conversation, conversation.c.participant_id == participant_id, conversation.c.created_at
    )
    messages = await _rows(session, message, message.c.conversation_id.in_(owned), message.c.position)
    replies = await _rows(session, reply, reply.c.message_id.in_(messages_of))
    drafts = await _rows(session, draft, draft.c.reply_id.in_(replies_of), draft.c.number)
    scores = await _rows(session, score, score.c.draft_id.in_(drafts_of))

    score_of = {row["draft_id"]: row for row in scores}
    reply_of = {row["message_id"]: row for row in replies}
    for row in drafts:
        row["score"] = score_of.get(row["id"])
    for row in replies:
        row["drafts"] = [item for item in drafts if item["reply_id"] == row["id"]]
    for row in messages:
        row["reply"] = reply_of.get(row["id"])
    for row in conversations:
        row["messages"] = [item for item in messages if item["conversation_id"] == row["id"]]
    return conversations


async def _page_history(session: AsyncSession, participant_id: str) -> dict[str, list[dict[str, Any]]]:
    users = select(USERS.c.id).where(USERS.c.identifier == participant_id)
    own = or_(THREADS.c.userId.in_(users), THREADS.c.userIdentifier == participant_id)
    threads = select(THREADS.c.id).where(own)
    steps = select(STEPS.c.id).where(STEPS.c.threadId.in_(threads))
    return {
        "users": await _rows(session, USERS, USERS.c.identifier == participant_id),
        "threads": await _rows(session, THREADS, own, THREADS.c.createdAt),
        "steps": await _rows(session, STEPS, STEPS.c.threadId.in_(threads), STEPS.c.createdAt),
        "elements": await _rows(session, ELEMENTS, ELEMENTS.c.threadId.in_(threads)),
        "feedbacks": await _rows(session, FEEDBACKS, FEEDBACKS.c.forId.in_(steps)),
    }


async def _rows(
    session: AsyncSession, table: Table, condition: ColumnElement[bool], order: ColumnElement[Any] | None = None
) -> list[dict[str, Any]]:
    query = select(table).where(condition)
    result: Sequence[Any] = (await session.execute(query if order is None else query.order_by(order))).mappings().all()
    return [{name: _plain(value) for name, value in row.items()} for row in result]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    return value.value if isinstance(value, Enum) else value
