"""A link that is opened in another browser: the id of one person, who is there under a new participant id.

As long as nothing is voted the person goes on in the newer browser. After that an id alone is not enough, because
whoever has the link could vote on for them: whoever runs the study releases it first. A conversation stays where it was
held, so in a live study only the id goes over.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import exists, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from heard.db.desk_tables import DeskLogRow, ExclusionRow
from heard.db.errors import StoreGone, StudyRefused
from heard.db.exclusions import copy
from heard.db.study_records import EnrolmentRecord
from heard.db.study_rows import enrolment_record, enrolment_values
from heard.db.study_tables import BallotRow, EnrolmentRow, QuestionAnswerRow, VoteRow
from heard.sentences import sentence

USED = sentence(
    "This link has been used in another browser already, and something was judged there. Go on there. If you cannot, "
    "ask whoever sent the link to release it for you."
)
FINISHED = sentence(
    "The study behind this link has been finished already, in another browser. Thank you for taking part."
)


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has an external id in a study, and how far they are."""

    participant_id: str
    voted: bool
    """Whether any of their ballots has a vote."""
    completed: bool
    released: bool

    @property
    def refusal(self) -> str | None:
        """Why the id cannot go on in another browser, as a sentence for its page; None if it can."""
        if self.completed:
            return FINISHED
        return USED if self.voted and not self.released else None


async def holder(session: AsyncSession, study_id: str, external_id: str) -> Holder | None:
    """Return who has an external id in a study; None for nobody."""
    row = await _row(session, study_id, external_id)
    return await _holder(session, row) if row else None


async def holdings(session: AsyncSession, external_id: str) -> list[tuple[str, str]]:
    """Return each study in which an id is taken, with the id as it is spelt there: as given, or in lower case."""
    spelt = (external_id, external_id.lower())
    rows = await session.execute(
        select(EnrolmentRow.study_id, EnrolmentRow.external_id)
        .where(EnrolmentRow.external_id.in_(spelt))
        .order_by(EnrolmentRow.study_id, EnrolmentRow.external_id)
    )
    found: dict[str, str] = {}
    for study, one in rows:
        if one is not None and (study not in found or one == external_id):
            found[study] = one
    return list(found.items())


async def release(session: AsyncSession, study_id: str, external_id: str, at: datetime) -> None:
    """Let an id go on in the next browser that opens its link. Raises StoreGone if nobody has it, StudyRefused if the
    person has finished."""
    row = await _row(session, study_id, external_id)
    if row is None:
        raise StoreGone("Nobody has taken part in this study under this id.")
    if row.completed_at is not None:
        raise StudyRefused("This person has finished the study, so there is nothing left to go on with.")
    row.released_at = at


async def take_up(session: AsyncSession, new: EnrolmentRecord) -> EnrolmentRecord | None:
    """Give a person the enrolment of their id from another browser, and return it; None if nobody has the id.

    The caller has locked the person and the study. Of a survey all ballots come along, votes and exclusions too.
    Raises StudyRefused.
    """
    row = await _row(session, new.study_id, new.external_id) if new.external_id else None
    if row is None:
        return None
    before = row.participant_id
    of_before = (BallotRow.study_id == new.study_id) & (BallotRow.participant_id == before)
    # A vote that is under way there comes first, or finds the ballot gone. The ballots are locked and not their person,
    # who may be waiting for the study at this moment.
    await session.execute(select(BallotRow.id).where(of_before).order_by(BallotRow.id).with_for_update())
    if sentence := (await _holder(session, row)).refusal:
        raise StudyRefused(sentence)
    resumed = replace(
        enrolment_record(row), participant_id=new.participant_id, released_at=None, resumed_at=new.started_at
    )
    if await session.scalar(select(exists().where(of_before, BallotRow.conversation_id.is_not(None)))):
        row.external_id = row.released_at = None
        await session.flush()  # the id is free before it is taken
        resumed = replace(resumed, seed=new.seed, started_at=new.started_at)
        session.add(EnrolmentRow(**enrolment_values(resumed)))
        await copy(session, new.study_id, before, new.participant_id)
        return resumed
    session.expunge(row)
    for table in (BallotRow, VoteRow, QuestionAnswerRow, EnrolmentRow, ExclusionRow, DeskLogRow):
        own = (table.study_id == new.study_id) & (table.participant_id == before)
        await session.execute(update(table).where(own).values(participant_id=new.participant_id))
    taken = (EnrolmentRow.study_id == new.study_id) & (EnrolmentRow.participant_id == new.participant_id)
    await session.execute(update(EnrolmentRow).where(taken).values(released_at=None, resumed_at=new.started_at))
    return resumed


async def _row(session: AsyncSession, study_id: str, external_id: str) -> EnrolmentRow | None:
    found: EnrolmentRow | None = await session.scalar(
        select(EnrolmentRow).where(EnrolmentRow.study_id == study_id, EnrolmentRow.external_id == external_id)
    )
    return found


async def _holder(session: AsyncSession, row: EnrolmentRow) -> Holder:
    voted = exists().where(VoteRow.study_id == row.study_id, VoteRow.participant_id == row.participant_id)
    return Holder(
        row.participant_id,
        voted=bool(await session.scalar(select(voted))),
        completed=row.completed_at is not None,
        released=row.released_at is not None,
    )
