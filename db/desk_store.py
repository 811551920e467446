"""The store of the desk: who came, who is excluded, links with a role, a study's pause and end, and the log of it all.

Each write is one transaction with its line in the log. All methods are coroutines and raise StoreError.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession

from heard.db import access_links, exclusions, quota_counts, studies
from heard.db.desk_records import AccessLink, Actor, Exclusion, LogLine, Role
from heard.db.desk_tables import DeskLogRow
from heard.db.study_people import StudyPerson, study_people
from heard.db.study_tables import EnrolmentRow
from heard.db.transaction import Result, Work, transact


class DeskStore:
    """Reads and writes of the desk, on the engine of the `Store`."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine

    async def _read(self, work: Work[Result]) -> Result:
        return await transact(self.engine, work, write=False)

    async def _write(self, work: Work[Result]) -> Result:
        return await transact(self.engine, work, write=True, attempts=3)

    # People

    async def people(self, study_id: str) -> list[StudyPerson]:
        """Return the people of a study in the order in which they came."""
        return await study_people(self.engine, study_id)

    async def person(self, study_id: str, participant_id: str) -> StudyPerson | None:
        """Return one person of a study, or None."""
        return next(iter(await study_people(self.engine, study_id, participant_id)), None)

    async def exclusions_of(self, study_id: str, participant_id: str) -> list[Exclusion]:
        """Return every exclusion of a person, lifted ones too."""
        return await self._read(lambda session: exclusions.exclusions_of(session, study_id, participant_id))

    async def exclude(self, study_id: str, people: Mapping[str, str], rule: str | None, by: Actor) -> list[str]:
        """Exclude people (id -> reason) from the results. Returns the ids of those who were not yet by this rule."""

        async def work(session: AsyncSession) -> list[str]:
            new = Exclusion(rule, "", by.name, datetime.now(UTC))
            added = await exclusions.exclude(session, study_id, people, new)
            if rule is not None:
                _note(session, by, f"excluded {len(added)} people by the rule {rule}", study_id)
            for person in added:
                _note(session, by, f"excluded by the rule {rule}" if rule else "excluded by hand", study_id, person)
            return added

        return await self._write(work)

    async def include(self, study_id: str, people: Sequence[str], reason: str, by: Actor) -> int:
        """Lift every exclusion of these people. Returns how many there were."""

        async def work(session: AsyncSession) -> int:
            lifted = await exclusions.lift(session, study_id, people, reason, by.name, datetime.now(UTC))
            for person in people if lifted else ():
                _note(session, by, "included again", study_id, person)
            return lifted

        return await self._write(work)

    # The study

    async def numbers(self) -> dict[str, tuple[int, int]]:
        """Return by study how many people came by its link or walked in, and how many of them have finished."""

        async def work(session: AsyncSession) -> dict[str, tuple[int, int]]:
            rows = await session.execute(
                select(EnrolmentRow.study_id, func.count(), func.count(EnrolmentRow.completed_at)).group_by(
                    EnrolmentRow.study_id
                )
            )
            return {study: (came, finished) for study, came, finished in rows}

        return await self._read(work)

    async def counting(self, study_id: str, active_since: datetime | None) -> quota_counts.Counts:
        """Return how many people count in the quotas of a study, by condition."""
        return await self._read(lambda session: quota_counts.people_counts(session, study_id, active_since))

    async def pause(self, study_id: str, by: Actor, *, paused: bool) -> None:
        """Pause a study, or let it go on. Raises StudyRefused if it has ended, StoreGone if there is none."""

        async def work(session: AsyncSession) -> None:
            await studies.pause_study(session, study_id, datetime.now(UTC) if paused else None)
            _note(session, by, "paused the study" if paused else "let the study go on", study_id)

        await self._write(work)

    async def end(self, study_id: str, by: Actor) -> None:
        """End a study for good. Raises StoreGone if there is none."""

        async def work(session: AsyncSession) -> None:
            await studies.end_study(session, study_id, datetime.now(UTC))
            _note(session, by, "closed the study", study_id)

        await self._write(work)

    # Links with a role

    async def invite(self, study_id: str, role: Role, name: str, by: Actor) -> tuple[AccessLink, str]:
        """Make a link. Returns it with its token, which cannot be read again."""
        token, now = access_links.new_token(), datetime.now(UTC)

        async def work(session: AsyncSession) -> AccessLink:
            link = AccessLink(access_links.digest(token)[:8], study_id, role, name, by.name, now)
            await access_links.add(session, link, token)
            _note(session, by, f"made the link {link.id} for a {role.value}", study_id)
            return link

        return await self._write(work), token

    async def revoke(self, link_id: str, by: Actor) -> AccessLink | None:
        """Revoke a link for good, and return it as it was; None if there is none."""

        async def work(session: AsyncSession) -> AccessLink | None:
            link = await access_links.revoke(session, link_id, datetime.now(UTC))
            if link is not None and link.revoked_at is None:
                _note(session, by, f"revoked the link {link.id} of a {link.role.value}", link.study_id)
            return link

        return await self._write(work)

    async def links(self, study_id: str) -> list[AccessLink]:
        """Return every link of a study, oldest first."""
        return await self._read(lambda session: access_links.of_study(session, study_id))

    async def link_of_token(self, token: str) -> AccessLink | None:
        """Return the link with this token, revoked or not; None if there is none."""
        return await self._read(lambda session: access_links.of_token(session, token))

    async def link(self, link_id: str) -> AccessLink | None:
        """Return a link, revoked or not; None if there is none."""
        return await self._read(lambda session: access_links.of_id(session, link_id))

    async def any_staff(self) -> bool:
        """Return whether anybody has a link to the desk that is not revoked."""
        return await self._read(access_links.any_staff)

    # The log

    async def note(self, by: Actor, did: str, study_id: str | None = None, participant_id: str | None = None) -> None:
        """Write a line of the log, such as a page that was seen. `did` is in words of ours."""

        async def work(session: AsyncSession) -> None:
            _note(session, by, did, study_id, participant_id)

        await self._write(work)

    async def log(self, study_id: str, most: int, participant_id: str | None = None) -> list[LogLine]:
        """Return the newest lines about a study, or about one person in it, newest first; at most `most`."""

        async def work(session: AsyncSession) -> list[LogLine]:
            query = select(DeskLogRow).where(DeskLogRow.study_id == study_id)
            if participant_id is not None:
                query = query.where(DeskLogRow.participant_id == participant_id)
            rows = await session.scalars(query.order_by(DeskLogRow.id.desc()).limit(most))
            return [LogLine(row.at, row.who, Role(row.role), row.did, row.participant_id) for row in rows]

        return await self._read(work)


def _note(session: AsyncSession, by: Actor, did: str, study_id: str | None, participant_id: str | None = None) -> None:
    session.add(
        DeskLogRow(
            study_id=study_id, participant_id=participant_id, who=by.name, role=by.role.value, did=did,
            at=datetime.now(UTC),
        )
    )  # fmt: skip
