"""From records to rows and back."""

from dataclasses import asdict, fields

from heard.db.records import (
    ConsentRecord,
    DraftRecord,
    DraftStatus,
    MessageRecord,
    Outcome,
    ReplyRecord,
    Safety,
    ScoreRecord,
    StepRecord,
)
from heard.db.tables import ConsentRow, DraftRow, MessageRow, ReplyRow, ScoreRow

# The columns that a row and its record hold alike, under the same name.
_SCORE = [field.name for field in fields(ScoreRecord)]
_DRAFT = [field.name for field in fields(DraftRecord) if field.name not in {"status", "score", "steps"}]


def reply_row(reply: ReplyRecord) -> ReplyRow:
    """Return the row of a reply, with its drafts and their scores, ready to add to a session."""
    return ReplyRow(
        id=reply.id,
        message_id=reply.message_id,
        persona=reply.persona,
        strategy=reply.strategy,
        policy=reply.policy,
        created_at=reply.created_at,
        drafts=[draft_row(draft) for draft in reply.drafts],
    )


def draft_row(draft: DraftRecord) -> DraftRow:
    """Return the row of a draft with its score, for a reply's `drafts`."""
    score = ScoreRow(**{name: getattr(draft.score, name) for name in _SCORE}) if draft.score else None
    steps = [asdict(step) for step in draft.steps]
    same = {name: getattr(draft, name) for name in _DRAFT}
    return DraftRow(status=draft.status.value, score=score, steps=steps, **same)


def reply_record(row: ReplyRow) -> ReplyRecord:
    """Return the record of a reply's row, which must have been loaded with its drafts and scores."""
    return ReplyRecord(
        id=row.id,
        message_id=row.message_id,
        persona=row.persona,
        strategy=row.strategy,
        drafts=tuple(_draft_record(draft) for draft in row.drafts),
        created_at=row.created_at,
        policy=row.policy,
    )


def _draft_record(row: DraftRow) -> DraftRecord:
    score = ScoreRecord(**{name: getattr(row.score, name) for name in _SCORE}) if row.score else None
    steps = tuple(StepRecord(**step) for step in row.steps)
    same = {name: getattr(row, name) for name in _DRAFT}
    return DraftRecord(status=DraftStatus(row.status), score=score, steps=steps, **same)


def message_record(row: MessageRow) -> MessageRecord:
    """Return the record of a message's row."""
    return MessageRecord(
        row.id,
        row.conversation_id,
        row.text,
        Outcome(row.outcome),
        row.created_at,
        safety=Safety(row.safety) if row.safety else None,
        danger=row.danger,
        language=row.language,
        replaced_by=row.replaced_by,
    )


def consent_record(row: ConsentRow) -> ConsentRecord:
    """Return the record of a consent row, one answer to the notice."""
    return ConsentRecord(row.participant_id, row.version, row.chat, row.research, row.given_at)
