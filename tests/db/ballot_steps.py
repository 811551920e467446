"""What tests of ballots do again and again, on both databases: open one, have a vote refused, look at the rows."""

import pytest
from sqlalchemy import text

from heard.db.errors import VoteRefused
from heard.db.store import Store
from heard.db.study_records import AnswerRecord, BallotRecord, StudyKind
from tests.db.conftest import Make
from tests.db.studying import Studying


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


@pytest.fixture
async def s(store: Store, make: Make) -> Studying:
    return Studying(store, make, reveal=False)  # else a vote is final


async def rows(s: Studying, query: str) -> list[tuple[object, ...]]:
    async with s.store.engine.connect() as connection:
        return [tuple(row) for row in await connection.execute(text(query))]


async def count(s: Studying, table: str) -> int:
    return int(str((await rows(s, f"SELECT count(*) FROM {table}"))[0][0]))  # noqa: S608 - names of tables


async def first_ballot(
    s: Studying, *broken: str, sources: tuple[str, ...] = ("human", "north", "south")
) -> BallotRecord:
    """The first ballot of a new person who allows research, of a new survey."""
    await s.survey(sources=sources)
    return (await s.enrolled(await s.agree(), *broken, sources=sources))[0]


async def open_live(s: Studying, *sources: str) -> tuple[BallotRecord, list[AnswerRecord]]:
    """A live ballot whose answers have not come, of a new person who allows no research."""
    await s.studies.save_study(s.study("talk", StudyKind.LIVE))
    _, message = await s.asked(await s.agree(research=False))
    return await s.live(await owner(s, message.conversation_id), message, sources=sources or ("left", "right"))


async def owner(s: Studying, conversation_id: str) -> str:
    found = await s.store.conversation_owner(conversation_id)
    assert found
    return found


async def refused(s: Studying, cast: object, sentence: str, *, votes: int = 0) -> None:
    """The vote is refused with a sentence that has `sentence` in it, and nothing is written."""
    with pytest.raises(VoteRefused) as caught:
        await s.studies.vote(cast)  # type: ignore[arg-type]
    assert sentence in str(caught.value)
    assert str(caught.value).endswith(".")
    assert (await count(s, "vote"), await count(s, "vote_change")) == (votes, 0)
