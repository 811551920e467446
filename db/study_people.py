"""Who came to a study and how they took part: one record a person, read in six statements whatever their number.

Everything is counted in the database, so that the desk shows five thousand people within half a second. Nothing here
may reach a participant: an attention item that was failed tells its right answer.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from statistics import median
from typing import Any

from sqlalchemy import Select, Text, case, cast, func, literal, select, text
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from heard.db.desk_records import Exclusion
from heard.db.exclusions import of_study
from heard.db.study_records import LETTERS, WIDTHS, Choice
from heard.db.study_tables import BallotRow, EnrolmentRow, SlotRow, VoteRow
from heard.db.transaction import transact
from heard.db.vote_reads import refusing


@dataclass(frozen=True, slots=True)
class StudyPerson:
    """One person in one study."""

    participant_id: str
    external_id: str | None
    """None for a walk-in."""
    condition: str | None
    started_at: datetime | None
    """None for somebody who votes in a live study's chat without having come by a link."""
    completed_at: datetime | None
    screened_out_at: datetime | None
    last_at: datetime | None
    """Time of the newest vote."""
    research: bool
    """Whether the newest answer to the notice allows the chat and research."""
    given: int
    """Ballots that can be judged: drawn and not closed."""
    judged: int
    """Ballots with a vote that is no skip."""
    skipped: int
    attention_passed: int
    attention_failed: int
    attention_open: int
    """Attention items without a vote."""
    median_seconds: float | None
    """Median over the ballots with a vote of the seconds from seeing a ballot to the click; None without a vote."""
    least_seconds: float | None
    ranked: int
    """Votes that marked a most empathetic answer."""
    same: int
    """Votes "about the same"."""
    top_place: int
    """Of `ranked`, those that marked the place that was marked most often."""
    devices: tuple[str, ...]
    """Width classes of the votes, of WIDTHS."""
    leaks: int
    """Votes on ballots where an answer gave its source away."""
    exclusions: tuple[Exclusion, ...] = ()
    """In force, oldest first."""
    lifted_rules: tuple[str, ...] = ()
    """Rules of exclusions that were lifted: they do not catch the person again."""

    @property
    def same_place(self) -> float | None:
        """Share of the ranked votes at one place, 0..1: 1 is straight-lining; None without a ranked vote."""
        return self.top_place / self.ranked if self.ranked else None

    @property
    def same_share(self) -> float | None:
        """Share of "about the same" among the ballots that were judged, 0..1; None if none was."""
        return self.same / self.judged if self.judged else None

    @property
    def excluded(self) -> bool:
        """Whether any exclusion is in force."""
        return bool(self.exclusions)


async def study_people(engine: AsyncEngine, study_id: str, participant_id: str | None = None) -> list[StudyPerson]:
    """Return the people of a study in the order in which they came, or one of them; [] for an unknown study.

    All statements read one snapshot. Raises StoreError.
    """

    async def work(session: AsyncSession) -> list[StudyPerson]:
        if session.get_bind().dialect.name == "postgresql":
            # SQLite reads one snapshot anyway.
            await session.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))

        async def by_person(query: Select[Any]) -> dict[str, dict[str, Any]]:
            return {row["person"]: dict(row) for row in (await session.execute(query)).mappings()}

        def own(table: Any) -> Any:
            of_person = literal(True) if participant_id is None else table.participant_id == participant_id
            return (table.study_id == study_id) & of_person

        enrolled, given = await by_person(_enrolled(own(EnrolmentRow))), await by_person(_given(own(BallotRow)))
        votes, attention = await by_person(_votes(own(VoteRow))), await by_person(_attention(own(VoteRow)))
        refused = set(await session.scalars(refusing()))
        exclusions = await of_study(session, study_id)
        people = (*enrolled, *(person for person in given if person not in enrolled))
        return [
            _person(
                enrolled.get(person, {}) | given.get(person, {}) | votes.get(person, {}) | attention.get(person, {}),
                person,
                research=person not in refused,
                exclusions=tuple(exclusions.get(person, ())),
            )
            for person in people
        ]

    return await transact(engine, work, write=False)


def _enrolled(where: Any) -> Any:
    return (
        select(
            EnrolmentRow.participant_id.label("person"), EnrolmentRow.external_id, EnrolmentRow.condition,
            EnrolmentRow.started_at, EnrolmentRow.completed_at, EnrolmentRow.screened_out_at,
        )
        .where(where)
        .order_by(EnrolmentRow.started_at, EnrolmentRow.participant_id)
    )  # fmt: skip


def _given(where: Any) -> Select[Any]:
    return (
        select(
            BallotRow.participant_id.label("person"),
            _number(BallotRow.closed_reason.is_(None)).label("given"),
            func.count(BallotRow.attention).label("attention_given"),
            func.max(BallotRow.condition).label("condition_of_ballots"),
        )
        .where(where)
        .group_by(BallotRow.participant_id)
        .order_by(BallotRow.participant_id)
    )


def _votes(where: Any) -> Select[Any]:
    """Count in one pass over the votes. The seconds come as one text a person, for the median: by window functions it
    takes three times as long on SQLite."""
    return (
        select(
            VoteRow.participant_id.label("person"),
            func.count().label("votes"),
            _number(VoteRow.choice == Choice.SKIPPED.value).label("skipped"),
            _number(VoteRow.choice == Choice.RANKED.value).label("ranked"),
            _number(VoteRow.choice == Choice.SAME.value).label("same"),
            _number(VoteRow.leaks != "").label("leaks"),
            func.aggregate_strings(cast(VoteRow.seconds, Text), ",").label("seconds"),
            func.max(VoteRow.voted_at).label("last_at"),
            *(_number(VoteRow.most == place).label(f"place_{place}") for place in _PLACES),
            *(_number(VoteRow.width_class == width).label(width) for width in WIDTHS),
        )
        .where(where)
        .group_by(VoteRow.participant_id)
    )


def _attention(where: Any) -> Select[Any]:
    return (
        select(
            VoteRow.participant_id.label("person"),
            func.count().label("attention_voted"),
            _number(SlotRow.source == VoteRow.attention).label("attention_passed"),
        )
        .outerjoin(SlotRow, (SlotRow.ballot_id == VoteRow.ballot_id) & (SlotRow.position == VoteRow.most))
        .where(where, VoteRow.attention.is_not(None))
        .group_by(VoteRow.participant_id)
    )


def _number(holds: Any) -> Any:
    return func.sum(case((holds, 1), else_=0))


def _person(row: Mapping[str, Any], person: str, *, research: bool, exclusions: tuple[Exclusion, ...]) -> StudyPerson:
    seconds = sorted(map(float, row.get("seconds", "").split(","))) if row.get("seconds") else []
    voted, passed = row.get("attention_voted", 0), row.get("attention_passed", 0)
    return StudyPerson(
        participant_id=person,
        external_id=row.get("external_id"),
        condition=row.get("condition", row.get("condition_of_ballots")),
        started_at=row.get("started_at"),
        completed_at=row.get("completed_at"),
        screened_out_at=row.get("screened_out_at"),
        last_at=row.get("last_at"),
        research=research,
        given=row.get("given", 0),
        judged=row.get("votes", 0) - row.get("skipped", 0),
        skipped=row.get("skipped", 0),
        attention_passed=passed,
        attention_failed=voted - passed,
        attention_open=row.get("attention_given", 0) - voted,
        median_seconds=median(seconds) if seconds else None,
        least_seconds=seconds[0] if seconds else None,
        ranked=row.get("ranked", 0),
        same=row.get("same", 0),
        top_place=max(row.get(f"place_{place}", 0) for place in _PLACES),
        devices=tuple(width for width in WIDTHS if row.get(width)),
        leaks=row.get("leaks", 0),
        exclusions=tuple(one for one in exclusions if one.lifted_at is None),
        lifted_rules=tuple(one.rule for one in exclusions if one.rule and one.lifted_at is not None),
    )


_PLACES = range(1, len(LETTERS) + 1)
