"""From records of studies to rows and back."""

from dataclasses import fields
from typing import Any

from heard.db.records import ScoreRecord
from heard.db.study_records import (
    AnswerRecord,
    AnswerStatus,
    BallotRecord,
    Choice,
    EnrolmentRecord,
    ItemRecord,
    Phase,
    SlotRecord,
    StudyKind,
    StudyRecord,
    VoteRecord,
)
from heard.db.study_tables import AnswerRow, BallotRow, EnrolmentRow, ItemRow, SlotRow, StudyRow, VoteRow


def _names(record: type, *but: str) -> list[str]:
    return [field.name for field in fields(record) if field.name not in but]


_SCORE = _names(ScoreRecord)
_ANSWER = _names(AnswerRecord, "status", "score")
_ENROLMENT = _names(EnrolmentRecord)
_SLOT = _names(SlotRecord)
_BALLOT = _names(BallotRecord, "slots")
VOTE = _names(VoteRecord, "choice")
"""Columns of a vote's record that its row has under the same name."""


def answer_values(answer: AnswerRecord) -> dict[str, Any]:
    """Return an answer's values by column."""
    score = {f"score_{name}": getattr(answer.score, name) if answer.score else None for name in _SCORE}
    return {name: getattr(answer, name) for name in _ANSWER} | {"status": answer.status.value} | score


def answer_record(row: AnswerRow) -> AnswerRecord:
    """Return the record of an answer's row."""
    score = None
    if row.score_status is not None:
        score = ScoreRecord(**{name: getattr(row, f"score_{name}") for name in _SCORE})
    return AnswerRecord(status=AnswerStatus(row.status), score=score, **{name: getattr(row, name) for name in _ANSWER})


def study_record(row: StudyRow) -> StudyRecord:
    """Return the record of a study's row."""
    kind = StudyKind(row.kind)
    return StudyRecord(
        row.id, kind, row.definition, row.definition_sha256, row.created_at, row.ended_at,
        paused_at=row.paused_at, texts_version=row.texts_version, phase=Phase(row.phase), copy_of=row.copy_of,
    )  # fmt: skip


def item_record(row: ItemRow, *, answers: bool) -> ItemRecord:
    """Return the record of an item's row; with `answers` the row must have been loaded with them."""
    found = tuple(answer_record(answer) for answer in row.answers) if answers else ()
    return ItemRecord(
        row.id, row.study_id, row.number, row.message, row.attention, found, row.admitted_by, row.admitted_at
    )


def enrolment_record(row: EnrolmentRow) -> EnrolmentRecord:
    """Return the record of an enrolment's row, one person in one study."""
    return EnrolmentRecord(**{name: getattr(row, name) for name in _ENROLMENT})


def enrolment_values(enrolment: EnrolmentRecord) -> dict[str, Any]:
    """Return an enrolment's values by column."""
    return {name: getattr(enrolment, name) for name in _ENROLMENT}


def ballot_row(ballot: BallotRecord) -> BallotRow:
    """Return the row of a ballot with its slots, ready to add to a session."""
    slots = [SlotRow(**{name: getattr(slot, name) for name in _SLOT}) for slot in ballot.slots]
    return BallotRow(slots=slots, **{name: getattr(ballot, name) for name in _BALLOT})


def ballot_record(row: BallotRow) -> BallotRecord:
    """Return the record of a ballot's row, which must have been loaded with its slots."""
    slots = tuple(SlotRecord(**{name: getattr(slot, name) for name in _SLOT}) for slot in row.slots)
    return BallotRecord(slots=slots, **{name: getattr(row, name) for name in _BALLOT})


def vote_record(row: VoteRow) -> VoteRecord:
    """Return the record of a vote's row: the vote as it stands now."""
    return VoteRecord(choice=Choice(row.choice), **{name: getattr(row, name) for name in VOTE})
