"""A person's own export: everything stored about them, as one JSON-able object."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.chainlit_tables import ELEMENTS, FEEDBACKS, STEPS, THREADS, USERS
from heard.db.person_export_rows import export_rows, json_value
from heard.db.person_export_studies import export_studies, reply_without_source
from heard.db.tables import Base

_OURS = Base.metadata.tables


async def export_participant(session: AsyncSession, participant_id: str) -> dict[str, Any]:
    """Return every row about a person; times are ISO 8601 texts in UTC.

    Each object has the columns of its table. Shape:

        {"format": 1, "exported_at": ..., "participant": {...} or None, "consents": [...],
         "conversations": [{..., "messages": [{..., "reply": None or
             {..., "drafts": [{..., "score": None or {...}}]}}], "summaries": [{...}]}],
         "flags": [{...}], "thumbs": [{...}], "felt_heard": [{...}],
         "studies": [{...}],  as `db/person_export_studies.py` says
         "page_history": {"users": [...], "threads": [...], "steps": [...], "elements": [...], "feedbacks": [...]}}
    """
    participant, consent, flag = _OURS["participant"], _OURS["consent"], _OURS["flag"]
    thumb, heard = _OURS["thumb"], _OURS["felt_heard"]
    people = await export_rows(session, participant, participant.c.id == participant_id)
    studies, hidden = await export_studies(session, participant_id)
    return {
        "format": 1,
        "exported_at": json_value(datetime.now(UTC)),
        "participant": people[0] if people else None,
        "consents": await export_rows(session, consent, consent.c.participant_id == participant_id, consent.c.id),
        "conversations": await _conversations(session, participant_id, hidden),
        "flags": await export_rows(session, flag, flag.c.participant_id == participant_id, flag.c.created_at),
        "thumbs": await export_rows(session, thumb, thumb.c.participant_id == participant_id, thumb.c.given_at),
        "felt_heard": await export_rows(session, heard, heard.c.participant_id == participant_id, heard.c.asked_at),
        "studies": studies,
        "page_history": await _page_history(session, participant_id),
    }


async def _conversations(session: AsyncSession, participant_id: str, hidden: set[str]) -> list[dict[str, Any]]:
    """Return a person's conversations. `hidden` holds the ids of messages whose reply must not name its source."""
    conversation, message, reply, draft, score, summary = (
        _OURS[name] for name in ("conversation", "message", "reply", "draft", "score", "summary")
    )
    owned = select(conversation.c.id).where(conversation.c.participant_id == participant_id)
    messages_of = select(message.c.id).where(message.c.conversation_id.in_(owned))
    replies_of = select(reply.c.id).where(reply.c.message_id.in_(messages_of))
    drafts_of = select(draft.c.id).where(draft.c.reply_id.in_(replies_of))

    conversations = await export_rows(
        session, conversation, conversation.c.participant_id == participant_id, conversation.c.created_at
    )
    messages = await export_rows(session, message, message.c.conversation_id.in_(owned), message.c.position)
    replies = await export_rows(session, reply, reply.c.message_id.in_(messages_of))
    drafts = await export_rows(session, draft, draft.c.reply_id.in_(replies_of), draft.c.number)
    scores = await export_rows(session, score, score.c.draft_id.in_(drafts_of))
    summaries = await export_rows(session, summary, summary.c.conversation_id.in_(owned), summary.c.created_at)

    score_of = {row["draft_id"]: row for row in scores}
    reply_of = {row["message_id"]: row for row in replies}
    for row in drafts:
        row["score"] = score_of.get(row["id"])
    for row in replies:
        row["drafts"] = [item for item in drafts if item["reply_id"] == row["id"]]
    for row in messages:
        row["reply"] = reply_of.get(row["id"])
        if row["reply"] and row["id"] in hidden:
            row["reply"] = reply_without_source(row["reply"])
    for row in conversations:
        row["messages"] = [item for item in messages if item["conversation_id"] == row["id"]]
        row["summaries"] = [item for item in summaries if item["conversation_id"] == row["id"]]
    return conversations


async def _page_history(session: AsyncSession, participant_id: str) -> dict[str, list[dict[str, Any]]]:
    users = select(USERS.c.id).where(USERS.c.identifier == participant_id)
    own = or_(THREADS.c.userId.in_(users), THREADS.c.userIdentifier == participant_id)
    threads = select(THREADS.c.id).where(own)
    steps = select(STEPS.c.id).where(STEPS.c.threadId.in_(threads))
    return {
        "users": await export_rows(session, USERS, USERS.c.identifier == participant_id),
        "threads": await export_rows(session, THREADS, own, THREADS.c.createdAt),
        "steps": await export_rows(session, STEPS, STEPS.c.threadId.in_(threads), STEPS.c.createdAt),
        "elements": await export_rows(session, ELEMENTS, ELEMENTS.c.threadId.in_(threads)),
        "feedbacks": await export_rows(session, FEEDBACKS, FEEDBACKS.c.forId.in_(steps)),
    }
