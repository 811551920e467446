"""One id in several browsers at once, on SQLite and on a real PostgreSQL: one person, and no vote in two hands."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from sqlalchemy import text

from heard.db.engine import create_engine, upgrade
from heard.db.errors import StoreError, StudyRefused, VoteRefused
from heard.db.store import Store
from heard.db.study_records import EnrolmentRecord
from tests.db.conftest import PATIENT_SECONDS, Make
from tests.db.postgres import NEEDED
from tests.db.studying import Studying


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=NEEDED)])
async def s(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Studying]:
    url = f"sqlite+aiosqlite:///{tmp_path / 'heard.db'}"
    if request.param == "postgres":
        url = request.getfixturevalue("server")
        emptied = create_engine(url)
        async with emptied.begin() as connection:
            await connection.execute(text("DROP SCHEMA public CASCADE"))
            await connection.execute(text("CREATE SCHEMA public"))
        await emptied.dispose()
    await upgrade(url)
    engine = create_engine(url, lock_seconds=PATIENT_SECONDS)
    yield Studying(Store(engine), Make())
    await engine.dispose()


async def enrol(s: Studying, person: str) -> EnrolmentRecord:
    """Come by the link of p1; whoever is new gets two ballots."""
    items = s.items()
    new = EnrolmentRecord("blind", person, "p1", None, 3, s.make.now)
    enrolled, _ = await s.studies.enrol(
        new,
        lambda _: None,
        lambda one, _: [s.ballot("blind", one.participant_id, n, i) for n, i in enumerate(items, 1)],
    )
    return enrolled


async def test_many_browsers_at_once_are_one_person(s: Studying) -> None:
    await s.survey()
    people = [await s.agree() for _ in range(8)]
    for _ in range(3):  # those who had it come again, while others take it up
        results = await asyncio.gather(*(enrol(s, person) for person in people), return_exceptions=True)
        assert [result for result in results if isinstance(result, BaseException)] == []
    places = [await s.studies.enrolment("blind", person) for person in people]
    assert [place.external_id for place in places if place] == ["p1"]
    ballots = [len(await s.studies.ballots_of_person("blind", person)) for person in people]
    assert sorted(ballots) == [0] * 7 + [2]
    assert ballots.index(2) == next(n for n, place in enumerate(places) if place)


async def test_a_vote_and_a_take_over_at_once_are_one_or_the_other(s: Studying) -> None:
    await s.survey()
    for _ in range(6):
        first, second = await s.agree(), await s.agree()
        await enrol(s, first)
        ballot = (await s.studies.ballots_of_person("blind", first))[0][0]
        voted, taken = await asyncio.gather(s.studies.vote(s.cast(ballot)), enrol(s, second), return_exceptions=True)
        owner = second if isinstance(taken, EnrolmentRecord) else first
        assert isinstance(voted, StoreError) == (owner == second)
        assert isinstance(voted, VoteRefused) or owner == first
        assert isinstance(taken, StudyRefused) == (owner == first)
        assert len(await s.studies.ballots_of_person("blind", owner)) == 2
        await s.store.erase_participant(owner)


async def test_a_release_takes_votes_along_once(s: Studying) -> None:
    await s.survey()
    first, second, third = [await s.agree() for _ in range(3)]
    await enrol(s, first)
    ballot = (await s.studies.ballots_of_person("blind", first))[0][0]
    await s.studies.vote(s.cast(ballot, reason="own words"))
    with pytest.raises(StudyRefused, match="used in another browser"):
        await enrol(s, second)
    await s.studies.release("blind", "p1", s.make.now)
    taken = await enrol(s, second)
    assert (taken.participant_id, taken.released_at, taken.resumed_at) == (second, None, s.make.now)
    assert await s.studies.enrolment("blind", second) == taken
    assert await s.studies.enrolment("blind", first) is None
    (_, vote), _ = await s.studies.ballots_of_person("blind", second)
    assert vote is not None
    assert vote.participant_id == second
    with pytest.raises(StudyRefused):
        await enrol(s, third)
    own = await s.store.export_participant(second)
    assert "own words" not in str(own)
    # Erasing in the browser that goes on takes everything along.
    await s.store.erase_participant(second)
    assert await s.studies.holder("blind", "p1") is None
