"""Our own tables: who (participant, consent), what was said (conversation, message), what came back (reply, draft,
score), what a long conversation was about (summary), what people said of it (thumb, felt_heard), and what somebody
marked on the scorer's page (flag).

Every foreign key cascades from participant down. The page's history has tables of its own (`chainlit_tables.py`);
a conversation and its thread there share one UUID.
"""

from datetime import date, datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, MetaData, UniqueConstraint, text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from heard.db.column_types import CleanText, JsonList, JsonText, UtcDateTime
from heard.db.records import AskedBy, DraftStatus, Outcome, Safety

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}


def one_of(column: str, values: type[StrEnum]) -> str:
    """Return an SQL condition: the column has one of an enumeration's values."""
    return f"{column} IN ({', '.join(repr(value.value) for value in values)})"


class Base(DeclarativeBase):
    """All tables share this metadata; constraints have names so that a later migration can change them."""

    metadata = MetaData(naming_convention=NAMES)
    type_annotation_map = {str: CleanText, datetime: UtcDateTime, dict[str, Any]: JsonText}  # noqa: RUF012


class ParticipantRow(Base):
    """A pseudonymous person."""

    __tablename__ = "participant"
    id: Mapped[str] = mapped_column(primary_key=True)
    created_at: Mapped[datetime]
    nudged_on: Mapped[date | None]
    """Day (UTC) on which a note last spoke of turning to people; neither why nor in which words."""


class ConsentRow(Base):
    """One answer to one version of the notice; the row with the highest id counts."""

    __tablename__ = "consent"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    participant_id: Mapped[str] = mapped_column(ForeignKey("participant.id", ondelete="CASCADE"), index=True)
    version: Mapped[str]
    chat: Mapped[bool]
    research: Mapped[bool]
    given_at: Mapped[datetime]


class ConversationRow(Base):
    """One thread of messages with one persona."""

    __tablename__ = "conversation"
    id: Mapped[str] = mapped_column(primary_key=True)
    participant_id: Mapped[str] = mapped_column(ForeignKey("participant.id", ondelete="CASCADE"), index=True)
    persona: Mapped[str]
    created_at: Mapped[datetime]


class MessageRow(Base):
    """One message of a person; `position` counts from 1 in its conversation, because two times can be equal."""

    __tablename__ = "message"
    __table_args__ = (
        UniqueConstraint("conversation_id", "position"),
        CheckConstraint("position >= 1", name="position"),
        CheckConstraint(one_of("outcome", Outcome), name="outcome"),
        Index(
            "ix_message_pending",
            "outcome",
            sqlite_where=text("outcome = 'pending'"),
            postgresql_where=text("outcome = 'pending'"),
        ),
        Index("ix_message_created_at", "created_at"),
    )
    id: Mapped[str] = mapped_column(primary_key=True)
    conversation_id: Mapped[str] = mapped_column(ForeignKey("conversation.id", ondelete="CASCADE"))
    position: Mapped[int]
    text: Mapped[str]
    outcome: Mapped[str]
    created_at: Mapped[datetime]
    danger: Mapped[str | None]
    language: Mapped[str | None]
    replaced_by: Mapped[str | None]
    """The message in its place, where the person has edited it."""
    safety: Mapped[str | None] = mapped_column(CheckConstraint(one_of("safety", Safety), name="safety"))


class ReplyRow(Base):
    """The reply to one message: at most one each."""

    __tablename__ = "reply"
    __table_args__ = (UniqueConstraint("message_id"),)
    id: Mapped[str] = mapped_column(primary_key=True)
    message_id: Mapped[str] = mapped_column(ForeignKey("message.id", ondelete="CASCADE"))
    persona: Mapped[str]
    strategy: Mapped[str]
    policy: Mapped[str | None]
    created_at: Mapped[datetime]
    drafts: Mapped[list["DraftRow"]] = relationship(order_by="DraftRow.number", lazy="raise", passive_deletes=True)


class DraftRow(Base):
    """One generation. Seconds and counts are never negative; one draft of a reply is kept."""

    __tablename__ = "draft"
    __table_args__ = (
        UniqueConstraint("reply_id", "number"),
        CheckConstraint("number BETWEEN 1 AND 99", name="number"),
        CheckConstraint(one_of("status", DraftStatus), name="status"),
        CheckConstraint(one_of("asked_by", AskedBy), name="asked_by"),
        CheckConstraint("length(prompt_sha256) = 64", name="prompt_sha256"),
        CheckConstraint("first_token_seconds >= 0", name="first_token_seconds"),
        CheckConstraint("total_seconds >= 0", name="total_seconds"),
        CheckConstraint("prompt_tokens >= 0", name="prompt_tokens"),
        CheckConstraint("completion_tokens >= 0", name="completion_tokens"),
        Index("uq_draft_kept", "reply_id", unique=True, sqlite_where=text("kept"), postgresql_where=text("kept")),
    )
    id: Mapped[str] = mapped_column(primary_key=True)
    reply_id: Mapped[str] = mapped_column(ForeignKey("reply.id", ondelete="CASCADE"))
    number: Mapped[int]
    text: Mapped[str]
    status: Mapped[str]
    kept: Mapped[bool]
    guidance: Mapped[str | None]
    prompt_sha256: Mapped[str]
    model: Mapped[str]
    parameters: Mapped[dict[str, Any]]
    first_token_seconds: Mapped[float | None]
    total_seconds: Mapped[float]
    prompt_tokens: Mapped[int | None]
    completion_tokens: Mapped[int | None]
    error: Mapped[str | None]
    cut: Mapped[bool]
    fallback_for: Mapped[str | None]
    steps: Mapped[list[Any]] = mapped_column(JsonList)
    caught: Mapped[str | None]
    caught_by: Mapped[str | None]
    ended_by: Mapped[str | None]
    asked_by: Mapped[str | None]
    created_at: Mapped[datetime]
    score: Mapped["ScoreRow | None"] = relationship(lazy="raise", passive_deletes=True, uselist=False)


def _score_rules() -> tuple[CheckConstraint, ...]:
    return (
        CheckConstraint("cognitive BETWEEN 1 AND 3", name="cognitive"),
        CheckConstraint("emotional BETWEEN 1 AND 3", name="emotional"),
        CheckConstraint("behavioral BETWEEN 1 AND 3", name="behavioral"),
        CheckConstraint("empathy BETWEEN 1 AND 3", name="empathy"),
        CheckConstraint(
            "(status = 'scored') = (cognitive IS NOT NULL) AND (status = 'scored') = (emotional IS NOT NULL) AND "
            "(status = 'scored') = (behavioral IS NOT NULL) AND (status = 'scored') = (empathy IS NOT NULL)",
            name="numbers_when_scored",
        ),
        # The mean is the study's equation; the slack leaves room for numbers rounded to two places.
        CheckConstraint("abs(empathy - (cognitive + emotional + behavioral) / 3) <= 0.02", name="mean"),
        CheckConstraint("length(head_sha256) = 64", name="head_sha256"),
        CheckConstraint("length(encoder_sha256) = 64", name="encoder_sha256"),
    )


class ScoreColumns:
    """A score: four numbers on 1..3 exactly when `status` is "scored", and otherwise none.

    `perceived` may be missing then too: not every head was taught it.
    """

    status: Mapped[str]
    reason: Mapped[str | None]
    cognitive: Mapped[float | None]
    emotional: Mapped[float | None]
    behavioral: Mapped[float | None]
    empathy: Mapped[float | None]
    perceived: Mapped[float | None] = mapped_column(CheckConstraint("perceived BETWEEN 1 AND 3", name="perceived"))
    head_name: Mapped[str]
    head_sha256: Mapped[str]
    encoder_sha256: Mapped[str]
    details: Mapped[dict[str, Any] | None]


class ScoreRow(ScoreColumns, Base):
    """The score of one draft."""

    __tablename__ = "score"
    __table_args__ = _score_rules()
    draft_id: Mapped[str] = mapped_column(ForeignKey("draft.id", ondelete="CASCADE"), primary_key=True)


class SummaryRow(Base):
    """A running summary of a conversation up to one message; the one that reaches furthest counts."""

    __tablename__ = "summary"
    __table_args__ = (
        UniqueConstraint("message_id"),
        CheckConstraint("length(prompt_sha256) = 64", name="prompt_sha256"),
        CheckConstraint("seconds >= 0", name="seconds"),
        CheckConstraint("prompt_tokens >= 0", name="prompt_tokens"),
        CheckConstraint("completion_tokens >= 0", name="completion_tokens"),
    )
    id: Mapped[str] = mapped_column(primary_key=True)
    conversation_id: Mapped[str] = mapped_column(ForeignKey("conversation.id", ondelete="CASCADE"), index=True)
    message_id: Mapped[str] = mapped_column(ForeignKey("message.id", ondelete="CASCADE"))
    text: Mapped[str]
    model: Mapped[str]
    prompt_sha256: Mapped[str]
    seconds: Mapped[float]
    prompt_tokens: Mapped[int | None]
    completion_tokens: Mapped[int | None]
    created_at: Mapped[datetime]


class ThumbRow(Base):
    """A thumb, up or down, that a person has given to one draft of a reply; another one replaces it."""

    __tablename__ = "thumb"
    draft_id: Mapped[str] = mapped_column(ForeignKey("draft.id", ondelete="CASCADE"), primary_key=True)
    participant_id: Mapped[str] = mapped_column(ForeignKey("participant.id", ondelete="CASCADE"), index=True)
    up: Mapped[bool]
    given_at: Mapped[datetime]


class FeltHeardRow(Base):
    """That a person was asked, once in a conversation, whether they felt heard, and from 1 (not at all) to 5 (fully)
    what they said. No answer with a time is a question that they skipped."""

    __tablename__ = "felt_heard"
    __table_args__ = (
        CheckConstraint("answer BETWEEN 1 AND 5", name="answer"),
        CheckConstraint("answer IS NULL OR answered_at IS NOT NULL", name="answered_at"),
    )
    conversation_id: Mapped[str] = mapped_column(ForeignKey("conversation.id", ondelete="CASCADE"), primary_key=True)
    participant_id: Mapped[str] = mapped_column(ForeignKey("participant.id", ondelete="CASCADE"), index=True)
    message_id: Mapped[str] = mapped_column(ForeignKey("message.id", ondelete="CASCADE"), index=True)
    answer: Mapped[int | None]
    asked_at: Mapped[datetime]
    answered_at: Mapped[datetime | None]


class FlagRow(ScoreColumns, Base):
    """A case marked on the scorer's page; the same case marked again by the same person is the same row."""

    __tablename__ = "flag"
    __table_args__ = _score_rules()
    id: Mapped[str] = mapped_column(primary_key=True)
    participant_id: Mapped[str] = mapped_column(ForeignKey("participant.id", ondelete="CASCADE"), index=True)
    seeker: Mapped[str]
    reply: Mapped[str]
    note: Mapped[str | None]
    created_at: Mapped[datetime]
