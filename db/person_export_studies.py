"""A person's part in studies, for their own export: only what they may know, so that an export cannot unblind them.

The sources are left out of a ballot that they have not voted on, of every ballot until the person's last vote in that
study, and of every ballot whose study reveals nothing; so is everything from which they could be inferred. What tells
the order of ballots to come is never given out.
"""

from dataclasses import fields
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.access_links import link_id, of_id
from heard.db.person_export_rows import export_rows, json_value
from heard.db.records import ScoreRecord
from heard.db.study_records import Choice
from heard.db.study_rows import study_record
from heard.db.study_tables import AnswerRow, BallotRow, ItemRow, SlotRow, StudyRow
from heard.db.tables import Base
from heard.db.voting import has_finished

_OURS = Base.metadata.tables
_NEVER_GIVEN = ("order_seed", "order_row")
"""Columns of a ballot that tell the orders of ballots to come, this person's and others': no vote reveals them."""
_UNBLINDING_BALLOT = ("attention", "condition")
"""Columns that unblind: an attention item names the right answer."""
_UNBLINDING_VOTE = ("sources", "leaks", "attention", "condition")
_REVEALED_OF_ANSWER = (
    "human", "persona", "strategy", "model", "parameters", "prompt_sha256", "first_token_seconds", "total_seconds",
    "prompt_tokens", "completion_tokens", "improve_assigned", "improved", "policy", "guard", "guard_kinds", "cut",
    "drafts", "characters", "words", "formatting", "leak", *(f"score_{field.name}" for field in fields(ScoreRecord)),
)  # fmt: skip


async def export_studies(session: AsyncSession, participant_id: str) -> tuple[list[dict[str, Any]], set[str]]:
    """Return a person's enrolments and ballots by study, and the ids of messages whose reply must not name its source.

    Shape of each: {"study": id, "enrolment": None or {...}, "ballots": [{..., "message": the item's or None,
    "slots": [{"position", "votable", "reason", "text", and, once known, "source", "model" ...}],
    "vote": None or {..., "before": [{...}]}}], "question_answers": [{...}],
    "exclusions": [{...}] once the study has ended, "invitation": None or {"name", "role", "made_at", "revoked_at"}}.
    """
    enrolment, ballot = _OURS["enrolment"], _OURS["ballot"]
    enrolments = await export_rows(session, enrolment, enrolment.c.participant_id == participant_id)
    asked = _OURS["question_answer"]
    answers = await export_rows(session, asked, asked.c.participant_id == participant_id, asked.c.answered_at)
    ballots = await export_rows(session, ballot, ballot.c.participant_id == participant_id, ballot.c.number)
    votes = await _votes(session, participant_id)
    slots = await _slots(session, participant_id)
    messages = await _messages(session, participant_id)
    names = sorted({row["study_id"] for row in (*enrolments, *ballots, *answers)})
    revealing, ended = await _revealing(session, names, participant_id), await _ended(session, names)
    exclusions = await _exclusions(session, participant_id)
    links = {row["study_id"]: await _invitation(session, row["external_id"]) for row in enrolments}
    hidden_messages = set()
    resumed = {row["study_id"]: row["resumed_at"] for row in enrolments}
    for row in ballots:
        for name in _NEVER_GIVEN:
            del row[name]
        row["vote"], row["slots"] = votes.get(row["id"]), slots.get(row["id"], [])
        row["message"] = messages.get(row["item_id"])
        # A skip does not count: whoever skipped has not judged it, and is told nothing of it.
        judged = row["vote"] is not None and row["vote"]["choice"] != Choice.SKIPPED
        if not judged or row["study_id"] not in revealing:
            _hide_sources(row)
            hidden_messages.add(row["message_id"])
        _hide_words_of_another_browser(row, resumed.get(row["study_id"]))
    for row in answers:
        if _before(row["answered_at"], resumed.get(row["study_id"])):
            row["value"] = None
    for row in enrolments:
        del row["seed"]  # of the ballots that this person is to get
        if row["study_id"] not in revealing:
            del row["condition"]
    exported = [
        {
            "study": name,
            "enrolment": next((row for row in enrolments if row["study_id"] == name), None),
            "ballots": [row for row in ballots if row["study_id"] == name],
            "question_answers": [row for row in answers if row["study_id"] == name],
            "invitation": links.get(name),
            # While a study runs, why somebody was excluded can tell the right answer of an attention item.
            "exclusions": [row for row in exclusions if row["study_id"] == name] if name in ended else [],
        }
        for name in names
    ]
    return exported, hidden_messages - {None}


def _hide_sources(ballot: dict[str, Any]) -> None:
    for name in _UNBLINDING_BALLOT:
        del ballot[name]
    for name in _UNBLINDING_VOTE if ballot["vote"] else ():
        del ballot["vote"][name]
    ballot["slots"] = [
        {name: slot[name] for name in ("position", "votable", "reason", "text")} for slot in ballot["slots"]
    ]


def _hide_words_of_another_browser(ballot: dict[str, Any], resumed_at: str | None) -> None:
    """Leave out what was written before a link went on in this browser: an id in a link proves nobody."""
    vote = ballot["vote"]
    for cast in (vote, *vote["before"]) if vote else ():
        if _before(cast["voted_at"], resumed_at):
            cast["reason"] = None


def _before(at: str, resumed_at: str | None) -> bool:
    """Return whether something was written before its person's link went on in this browser."""
    return resumed_at is not None and datetime.fromisoformat(at) <= datetime.fromisoformat(resumed_at)


def reply_without_source(reply: dict[str, Any]) -> dict[str, Any]:
    """Return a reply with its text and nothing about its source."""
    kept = [draft for draft in reply["drafts"] if draft["kept"]]
    drafts = [{name: draft[name] for name in ("text", "status", "kept")} | {"score": None} for draft in kept]
    return {"id": reply["id"], "message_id": reply["message_id"], "created_at": reply["created_at"], "drafts": drafts}


async def _votes(session: AsyncSession, participant_id: str) -> dict[str, dict[str, Any]]:
    vote, change = _OURS["vote"], _OURS["vote_change"]
    own = vote.c.participant_id == participant_id
    found = {row["ballot_id"]: row | {"before": []} for row in await export_rows(session, vote, own)}
    of_person = change.c.ballot_id.in_(select(vote.c.ballot_id).where(own))
    for row in await export_rows(session, change, of_person, change.c.number):
        if row["ballot_id"] in found:  # a vote may have come since the query above
            found[row["ballot_id"]]["before"].append(row)
    return found


async def _slots(session: AsyncSession, participant_id: str) -> dict[str, list[dict[str, Any]]]:
    revealed = [getattr(AnswerRow, name) for name in ("text", *_REVEALED_OF_ANSWER)]
    columns = (SlotRow.ballot_id, SlotRow.position, SlotRow.votable, SlotRow.reason, SlotRow.source)
    rows = await session.execute(
        select(*columns, *revealed)
        .join(BallotRow, BallotRow.id == SlotRow.ballot_id)
        .join(AnswerRow, AnswerRow.id == SlotRow.answer_id)
        .where(BallotRow.participant_id == participant_id)
        .order_by(SlotRow.position)
    )
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows.mappings():
        slot = dict(row)
        found.setdefault(slot.pop("ballot_id"), []).append(slot)
    return found


async def _messages(session: AsyncSession, participant_id: str) -> dict[str | None, str]:
    shown = select(BallotRow.item_id).where(BallotRow.participant_id == participant_id)
    rows = await session.execute(select(ItemRow.id, ItemRow.message).where(ItemRow.id.in_(shown)))
    return {item_id: message for item_id, message in rows}


async def _invitation(session: AsyncSession, external_id: str | None) -> dict[str, Any] | None:
    own = link_id(external_id)
    link = await of_id(session, own) if own else None
    names = ("name", "role", "made_at", "revoked_at")
    return {name: json_value(getattr(link, name)) for name in names} if link else None


async def _exclusions(session: AsyncSession, participant_id: str) -> list[dict[str, Any]]:
    exclusion = _OURS["exclusion"]
    own = exclusion.c.participant_id == participant_id
    names = ("study_id", "rule", "reason", "made_at", "lifted_at", "lifted_reason")  # and not who works at the desk
    rows = await export_rows(session, exclusion, own, exclusion.c.id)
    return [{name: row[name] for name in names} for row in rows]


async def _ended(session: AsyncSession, studies: list[str]) -> set[str]:
    """Return those of the studies that have ended."""
    ended = select(StudyRow.id).where(StudyRow.id.in_(studies), StudyRow.ended_at.is_not(None))
    return set(await session.scalars(ended))


async def _revealing(session: AsyncSession, studies: list[str], participant_id: str) -> set[str]:
    """Return those of the studies that reveal the sources to this person by now."""
    rows = await session.scalars(select(StudyRow).where(StudyRow.id.in_(studies)))
    records = [record for row in rows if (record := study_record(row)).reveals]
    return {record.id for record in records if await has_finished(session, record, participant_id)}
