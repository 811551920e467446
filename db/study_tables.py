"""Tables of blind votes. The secret, which answer stands where, is in `slot` and nowhere else.

A person's rows (enrolment, question_answer, ballot, slot, vote, vote_change, and the answers of their live ballots) go
when they are erased; a study, its items and the items' answers belong to nobody and stay.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from heard.db.column_types import JsonList
from heard.db.study_records import AnswerStatus, Choice, FlowReason, StudyKind
from heard.db.tables import Base, one_of

_CASCADE = "CASCADE"


class StudyRow(Base):
    """One study and its file as parsed."""

    __tablename__ = "study"
    __table_args__ = (CheckConstraint(one_of("kind", StudyKind), name="kind"),)
    id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    definition: Mapped[dict[str, Any]]
    definition_sha256: Mapped[str]
    created_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    """From then on nobody takes part any more, and retention deletes what only its votes needed."""
    paused_at: Mapped[datetime | None]
    """Since then nobody goes on for a while; null while it runs."""
    texts_version: Mapped[str | None]
    """Of `study_texts`: what new people are told. None if no texts are stored yet."""
    phase: Mapped[str] = mapped_column(server_default="study")
    """A `Phase`: whether this is the study itself, or a copy for a preview or a pilot."""
    copy_of: Mapped[str | None]
    """Of a copy: the study's id."""


class StudyTextsRow(Base):
    """One version of what a study tells its people, from the information to the debrief: never changed."""

    __tablename__ = "study_texts"
    study_id: Mapped[str] = mapped_column(ForeignKey("study.id", ondelete=_CASCADE), primary_key=True)
    version: Mapped[str] = mapped_column(primary_key=True)
    texts: Mapped[dict[str, Any]]
    stored_at: Mapped[datetime]


class ItemRow(Base):
    """One message of a survey."""

    __tablename__ = "item"
    __table_args__ = (UniqueConstraint("study_id", "number"),)
    id: Mapped[str] = mapped_column(primary_key=True)
    study_id: Mapped[str] = mapped_column(ForeignKey("study.id", ondelete=_CASCADE))
    number: Mapped[int]
    message: Mapped[str]
    attention: Mapped[str | None]
    admitted_by: Mapped[str | None]
    """Who admitted this message, which reads like a crisis; see `held_item`."""
    admitted_at: Mapped[datetime | None]
    answers: Mapped[list["AnswerRow"]] = relationship(order_by="AnswerRow.source", lazy="raise", passive_deletes=True)


class AnswerRow(Base):
    """One answer, of a survey's item or (item_id null) of a live ballot. At most one of a source for an item."""

    __tablename__ = "answer"
    __table_args__ = (
        UniqueConstraint("item_id", "source"),
        CheckConstraint(one_of("status", AnswerStatus), name="status"),
        CheckConstraint("score_empathy BETWEEN 1 AND 3", name="score_empathy"),
        Index("ix_answer_study_id", "study_id"),
        Index(
            "ix_answer_pending",
            "status",
            sqlite_where=text("status = 'pending'"),
            postgresql_where=text("status = 'pending'"),
        ),
    )
    id: Mapped[str] = mapped_column(primary_key=True)
    study_id: Mapped[str] = mapped_column(ForeignKey("study.id", ondelete=_CASCADE))
    item_id: Mapped[str | None] = mapped_column(ForeignKey("item.id", ondelete=_CASCADE))
    source: Mapped[str]
    created_at: Mapped[datetime]
    text: Mapped[str]
    status: Mapped[str]
    error: Mapped[str | None]
    human: Mapped[bool]
    persona: Mapped[str | None]
    strategy: Mapped[str | None]
    model: Mapped[str | None]
    parameters: Mapped[dict[str, Any]]
    prompt_sha256: Mapped[str | None]
    first_token_seconds: Mapped[float | None]
    total_seconds: Mapped[float | None]
    prompt_tokens: Mapped[int | None]
    completion_tokens: Mapped[int | None]
    improve_assigned: Mapped[bool | None]
    improved: Mapped[bool]
    policy: Mapped[str | None]
    guard: Mapped[str | None]
    guard_kinds: Mapped[list[Any]] = mapped_column(JsonList, server_default="[]")
    cut: Mapped[bool | None]
    drafts: Mapped[list[Any]] = mapped_column(JsonList)
    characters: Mapped[int]
    words: Mapped[int]
    formatting: Mapped[dict[str, Any]]
    leak: Mapped[list[Any]] = mapped_column(JsonList)
    score_status: Mapped[str | None]
    score_reason: Mapped[str | None]
    score_cognitive: Mapped[float | None]
    score_emotional: Mapped[float | None]
    score_behavioral: Mapped[float | None]
    score_empathy: Mapped[float | None]
    score_perceived: Mapped[float | None] = mapped_column(
        CheckConstraint("score_perceived BETWEEN 1 AND 3", name="score_perceived")
    )
    score_head_name: Mapped[str | None]
    score_head_sha256: Mapped[str | None]
    score_encoder_sha256: Mapped[str | None]
    score_details: Mapped[dict[str, Any] | None]


class HeldItemRow(Base):
    """One message that an import held back as a crisis: where it stands, why, and who admitted it, if anybody."""

    __tablename__ = "held_item"
    study_id: Mapped[str] = mapped_column(ForeignKey("study.id", ondelete=_CASCADE), primary_key=True)
    item_id: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int]
    place: Mapped[str]
    reason: Mapped[str]
    held_at: Mapped[datetime]
    admitted_by: Mapped[str | None]
    admitted_at: Mapped[datetime | None]


class ArchivedAnswerRow(Base):
    """An answer that an import no longer named: `answer` has its values by column, `recipe` what wrote it."""

    __tablename__ = "archived_answer"
    answer_id: Mapped[str] = mapped_column(primary_key=True)
    study_id: Mapped[str] = mapped_column(ForeignKey("study.id", ondelete=_CASCADE), index=True)
    item_id: Mapped[str]
    source: Mapped[str]
    recipe: Mapped[str]
    answer: Mapped[dict[str, Any]]
    archived_at: Mapped[datetime]


class EnrolmentRow(Base):
    """One person in one study; an external id stands for one person of a study."""

    __tablename__ = "enrolment"
    __table_args__ = (UniqueConstraint("study_id", "external_id"),)
    study_id: Mapped[str] = mapped_column(ForeignKey("study.id", ondelete=_CASCADE), primary_key=True)
    participant_id: Mapped[str] = mapped_column(
        ForeignKey("participant.id", ondelete=_CASCADE), primary_key=True, index=True
    )
    external_id: Mapped[str | None]
    condition: Mapped[str | None]
    seed: Mapped[int]
    started_at: Mapped[datetime]
    completed_at: Mapped[datetime | None]
    closing: Mapped[str | None]
    released_at: Mapped[datetime | None]
    resumed_at: Mapped[datetime | None]
    texts_version: Mapped[str | None]
    """Of the study's texts that the person agreed to."""
    screened_out_at: Mapped[datetime | None]


class QuestionAnswerRow(Base):
    """One person's answer to one item of a study's question pages, as in `QuestionAnswerRecord`."""

    __tablename__ = "question_answer"
    __table_args__ = (CheckConstraint("after_ballots >= 0", name="after_ballots"),)
    study_id: Mapped[str] = mapped_column(ForeignKey("study.id", ondelete=_CASCADE), primary_key=True)
    participant_id: Mapped[str] = mapped_column(
        ForeignKey("participant.id", ondelete=_CASCADE), primary_key=True, index=True
    )
    item: Mapped[str] = mapped_column(primary_key=True)
    after_ballots: Mapped[int] = mapped_column(primary_key=True)
    value: Mapped[str | None]
    answered_at: Mapped[datetime]


class BallotRow(Base):
    """One ballot of one person."""

    __tablename__ = "ballot"
    __table_args__ = (
        UniqueConstraint("study_id", "participant_id", "number"),
        UniqueConstraint("message_id"),
        Index("ix_ballot_item_id", "item_id"),
    )
    id: Mapped[str] = mapped_column(primary_key=True)
    study_id: Mapped[str] = mapped_column(ForeignKey("study.id", ondelete=_CASCADE))
    participant_id: Mapped[str] = mapped_column(ForeignKey("participant.id", ondelete=_CASCADE), index=True)
    number: Mapped[int]
    item_id: Mapped[str | None] = mapped_column(ForeignKey("item.id", ondelete=_CASCADE))
    conversation_id: Mapped[str | None] = mapped_column(ForeignKey("conversation.id", ondelete=_CASCADE), index=True)
    message_id: Mapped[str | None] = mapped_column(ForeignKey("message.id", ondelete=_CASCADE))
    order_seed: Mapped[int]
    order_row: Mapped[int]
    condition: Mapped[str | None]
    drawn_at: Mapped[datetime]
    closed_reason: Mapped[str | None]
    attention: Mapped[str | None]
    slots: Mapped[list["SlotRow"]] = relationship(order_by="SlotRow.position", lazy="raise", passive_deletes=True)
    vote: Mapped["VoteRow | None"] = relationship(lazy="raise", passive_deletes=True, uselist=False)


class SlotRow(Base):
    """One place on a ballot."""

    __tablename__ = "slot"
    __table_args__ = (
        CheckConstraint("position BETWEEN 1 AND 5", name="position"),
        Index("ix_slot_answer_id", "answer_id"),
    )
    ballot_id: Mapped[str] = mapped_column(ForeignKey("ballot.id", ondelete=_CASCADE), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    answer_id: Mapped[str] = mapped_column(ForeignKey("answer.id", ondelete=_CASCADE))
    source: Mapped[str]
    votable: Mapped[bool]
    reason: Mapped[str | None]


class FlowCountRow(Base):
    """A number of one study, about nobody: of visits that were turned away for one reason, or of people erased."""

    __tablename__ = "flow_count"
    __table_args__ = (
        CheckConstraint(one_of("reason", FlowReason), name="reason"),
        CheckConstraint("number >= 1", name="number"),
    )
    study_id: Mapped[str] = mapped_column(ForeignKey("study.id", ondelete=_CASCADE), primary_key=True)
    reason: Mapped[str] = mapped_column(primary_key=True)
    number: Mapped[int]


class PreregistrationRow(Base):
    """The preregistration of one study, about nobody who takes part. Until the stop rule is met, or somebody has opened
    them for a reason, its results are closed."""

    __tablename__ = "preregistration"
    __table_args__ = (
        CheckConstraint("length(sha256) = 64", name="sha256"),
        CheckConstraint("stop_people IS NOT NULL OR stop_at IS NOT NULL", name="stop_rule"),
        CheckConstraint("stop_people >= 1", name="stop_people"),
        CheckConstraint(
            "(opened_at IS NULL) = (opened_by IS NULL) AND (opened_at IS NULL) = (opened_reason IS NULL)",
            name="opened",
        ),
    )
    study_id: Mapped[str] = mapped_column(ForeignKey("study.id", ondelete=_CASCADE), primary_key=True)
    file_name: Mapped[str]
    content: Mapped[bytes]
    sha256: Mapped[str]
    registered_at: Mapped[datetime]
    heard: Mapped[str]
    definition_sha256: Mapped[str]
    votes_before: Mapped[int]
    stop_people: Mapped[int | None]
    stop_at: Mapped[datetime | None]
    met_at: Mapped[datetime | None]
    """When the stop rule was first seen to be met: who erases everything later does not close the results again."""
    opened_at: Mapped[datetime | None]
    opened_by: Mapped[str | None]
    opened_reason: Mapped[str | None]


class CastColumns:
    """Columns of one click on a ballot, as in `VoteRecord`: of the present vote, and of its earlier states."""

    choice: Mapped[str]
    most: Mapped[int | None]
    least: Mapped[int | None]
    reason: Mapped[str | None]
    seconds: Mapped[float]
    width_class: Mapped[str]
    request_id: Mapped[str]
    voted_at: Mapped[datetime]


class VoteRow(CastColumns, Base):
    """One vote for each ballot, and so for each (ballot, participant).

    `sources` (the slots' sources in their order, as a JSON list), `unvotable` and `leaks` (positions, "" or like
    "2,4") repeat what `slot` and `answer` say, and `item_id` (null in a live study) what `ballot` says, so that results
    over a million votes are one pass over an index of this table.
    """

    __tablename__ = "vote"
    __table_args__ = (
        CheckConstraint(one_of("choice", Choice), name="choice"),
        CheckConstraint("(choice = 'ranked') = (most IS NOT NULL)", name="most_when_ranked"),
        CheckConstraint("least IS NULL OR choice = 'ranked'", name="least_when_ranked"),
        CheckConstraint("most <> least", name="most_is_not_least"),
        CheckConstraint("most BETWEEN 1 AND 5 AND least BETWEEN 1 AND 5", name="positions"),
        CheckConstraint("seconds >= 0", name="seconds"),
        CheckConstraint("width_class IN ('phone', 'tablet', 'desktop')", name="width_class"),
        Index(
            # In the order of the GROUP BY of db/vote_reads.py, which so needs no sorting; it reads the last two.
            "ix_vote_counts", "study_id", "sources", "unvotable", "leaks", "choice", "most", "least", "attention",
            "condition", "participant_id", "item_id",
        ),
        Index(
            "ix_vote_attention", "study_id",
            sqlite_where=text("attention IS NOT NULL"), postgresql_where=text("attention IS NOT NULL"),
        ),
    )  # fmt: skip
    ballot_id: Mapped[str] = mapped_column(ForeignKey("ballot.id", ondelete=_CASCADE), primary_key=True)
    study_id: Mapped[str] = mapped_column(ForeignKey("study.id", ondelete=_CASCADE))
    participant_id: Mapped[str] = mapped_column(ForeignKey("participant.id", ondelete=_CASCADE), index=True)
    changes: Mapped[int]
    sources: Mapped[str]
    unvotable: Mapped[str]
    leaks: Mapped[str]
    attention: Mapped[str | None]
    condition: Mapped[str | None]
    item_id: Mapped[str | None]
    texts_version: Mapped[str | None]
    """As in the enrolment when the vote was first cast."""


class VoteChangeRow(CastColumns, Base):
    """A vote as it was before it was changed; `number` 1 is the first one."""

    __tablename__ = "vote_change"
    ballot_id: Mapped[str] = mapped_column(ForeignKey("vote.ballot_id", ondelete=_CASCADE), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
