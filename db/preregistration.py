"""The preregistration of a study: stored once, never changed, and what keeps the results closed until its stop rule.

The results open when the stop rule is met, for good, or when somebody opens them earlier with a name and a reason,
which stay with the study. Functions take the engine, are coroutines and raise StoreError.
"""

import hashlib
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from heard.db.errors import StudyRefused
from heard.db.study_records import StudyKind
from heard.db.study_tables import EnrolmentRow, PreregistrationRow, StudyRow, VoteRow
from heard.db.transaction import transact
from heard.db.vote_reads import refusing

MOST_BYTES = 10_000_000
"""Longest file."""
UNKNOWN = "There is no such study in this database."


@dataclass(frozen=True, slots=True)
class Preregistration:
    """What is stored of one study. Times are UTC and aware."""

    study: str
    file_name: str
    """Name of the file, without its folder."""
    sha256: str
    """Of the file's bytes."""
    registered_at: datetime
    heard: str
    """Version of heard that stored it."""
    definition_sha256: str
    """Of the study's definition at that time."""
    definition_now: str
    """The same now: another one, if the study was changed before anybody took part."""
    votes_before: int
    """Votes that were stored already when it was registered."""
    stop_people: int | None
    """People who have to finish (in a live study: to vote) before the results open; None is no such rule."""
    stop_at: datetime | None
    """When the results open at the latest; None is no such rule."""
    people: int
    """Those who have finished (voted) now, of those who allow research."""
    live: bool
    """Whether it is a live study."""
    met_at: datetime | None
    """When the stop rule was first seen to be met; None if it is not."""
    opened_at: datetime | None
    """When somebody opened the results before; None for nobody."""
    opened_by: str | None
    opened_reason: str | None

    @property
    def closed(self) -> bool:
        """Whether the results must not be shown."""
        return self.met_at is None and self.opened_at is None

    @property
    def stop_rule(self) -> str:
        """The stop rule in words."""
        return self._rule(now=False)

    @property
    def sentence(self) -> str:
        """Why the results are closed, when they open, and how they are opened before; "" if they are open."""
        if not self.closed:
            return ""
        return (
            f'The results of "{self.study}" are closed by its preregistration ({self.file_name}, '
            f"{self.registered_at:%Y-%m-%d}) until {self._rule(now=True)}. To open them before: "
            f"heard study open-results {self.study} --reason TEXT --by NAME, which is noted in every export."
        )

    def _rule(self, *, now: bool) -> str:
        so_far = f" (now {self.people})" if now else ""
        rules = []
        if self.stop_people is not None:
            noun = "person has" if self.stop_people == 1 else "people have"
            rules.append(f"{self.stop_people} {noun} {'voted' if self.live else 'finished'}{so_far}")
        if self.stop_at is not None:
            rules.append(f"{self.stop_at:%Y-%m-%d %H:%M} UTC")
        return ", or ".join(rules) + (", whichever comes first" if len(rules) > 1 else "")

    def as_json(self) -> dict[str, Any]:
        """Return the values for a manifest: times as ISO 8601 in UTC, the stop rule in words too."""
        values = {
            name: value.astimezone(UTC).isoformat(timespec="seconds") if isinstance(value, datetime) else value
            for name, value in asdict(self).items()
        }
        return {"stop_rule": self.stop_rule, **values}


async def register(
    engine: AsyncEngine, study_id: str, file_name: str, content: bytes, *, people: int | None, at: datetime | None,
    now: datetime, heard: str,
) -> None:  # fmt: skip
    """Store the preregistration of a study. Raises StudyRefused if there is one already, or no such study."""

    async def work(session: AsyncSession) -> None:
        study = await session.get(StudyRow, study_id, with_for_update=True)
        if study is None:
            raise StudyRefused(UNKNOWN)
        before = await session.get(PreregistrationRow, study_id)
        if before is not None:
            raise StudyRefused(
                f'"{study_id}" was preregistered on {before.registered_at:%Y-%m-%d} already ({before.file_name}), and '
                "that is never changed. Give a study with another plan another id."
            )
        votes = await session.scalar(select(func.count()).where(VoteRow.study_id == study_id))
        session.add(
            PreregistrationRow(
                study_id=study_id, file_name=file_name, content=content, sha256=hashlib.sha256(content).hexdigest(),
                registered_at=now, heard=heard, definition_sha256=study.definition_sha256, votes_before=votes or 0,
                stop_people=people, stop_at=at,
            )
        )  # fmt: skip

    await transact(engine, work, write=True)


async def preregistration(engine: AsyncEngine, study_id: str, now: datetime | None = None) -> Preregistration | None:
    """Return the preregistration of a study, or None. If its stop rule is met since, that is noted for good."""
    now = now or datetime.now(UTC)

    async def read(session: AsyncSession) -> Preregistration | None:
        return await _found(session, study_id)

    async def note(session: AsyncSession) -> Preregistration | None:
        row = await session.get(PreregistrationRow, study_id, with_for_update=True)
        if row is not None and row.met_at is None:
            row.met_at = now
            await session.flush()
        return await _found(session, study_id)

    found = await transact(engine, read, write=False)
    if found is None or found.met_at is not None or not _is_met(found, now):
        return found
    return await transact(engine, note, write=True)


async def registered_file(engine: AsyncEngine, study_id: str) -> bytes | None:
    """Return the bytes of a study's preregistration, or None."""

    async def work(session: AsyncSession) -> bytes | None:
        query = select(PreregistrationRow.content).where(PreregistrationRow.study_id == study_id)
        found: bytes | None = await session.scalar(query)
        return found

    return await transact(engine, work, write=False)


async def open_results(engine: AsyncEngine, study_id: str, *, by: str, reason: str, now: datetime) -> None:
    """Open the results before the stop rule is met. Raises StudyRefused where they are open."""
    found = await preregistration(engine, study_id, now)
    if found is None:
        raise StudyRefused(f'"{study_id}" has no preregistration, so its results are open.')
    if not found.closed:
        since = found.opened_at or found.met_at
        raise StudyRefused(f'The results of "{study_id}" are open since {since:%Y-%m-%d %H:%M} UTC.')

    async def work(session: AsyncSession) -> None:
        row = await session.get(PreregistrationRow, study_id, with_for_update=True)
        if row is not None and row.opened_at is None:
            row.opened_at, row.opened_by, row.opened_reason = now, by, reason

    await transact(engine, work, write=True)


def _is_met(found: Preregistration, now: datetime) -> bool:
    by_people = found.stop_people is not None and found.people >= found.stop_people
    return by_people or (found.stop_at is not None and now >= found.stop_at)


async def _found(session: AsyncSession, study_id: str) -> Preregistration | None:
    # Without the file, which may be large.
    columns = [column for column in PreregistrationRow.__table__.columns if column.key not in ("study_id", "content")]
    query = select(*columns, StudyRow.kind, StudyRow.definition_sha256.label("definition_now"))
    query = query.join(StudyRow, StudyRow.id == PreregistrationRow.study_id)
    row = (await session.execute(query.where(PreregistrationRow.study_id == study_id))).mappings().first()
    if row is None:
        return None
    values = dict(row)
    live = values.pop("kind") == StudyKind.LIVE
    who: Any = VoteRow if live else EnrolmentRow
    people = select(func.count(who.participant_id.distinct())).where(
        who.study_id == study_id, who.participant_id.not_in(refusing())
    )
    if not live:
        people = people.where(EnrolmentRow.completed_at.is_not(None))
    return Preregistration(study=study_id, live=live, people=await session.scalar(people) or 0, **values)
