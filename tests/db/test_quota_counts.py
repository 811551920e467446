"""Who counts towards quotas and balance: who has finished, and who is at it; on both databases."""

from datetime import timedelta

import pytest

from heard.db.desk_records import Actor
from heard.db.desk_store import DeskStore
from heard.db.quota_counts import Counts, Drawn
from heard.db.store import Store
from heard.db.study_records import BallotRecord, EnrolmentRecord
from tests.db.conftest import Make
from tests.db.studying import Studying


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


@pytest.fixture
async def s(store: Store, make: Make) -> Studying:
    made = Studying(store, make)
    await made.survey(number=1)
    return made


async def test_the_finished_and_the_active_count_and_nobody_else(s: Studying) -> None:
    (item,) = await s.studies.items("blind")
    now = s.make.now

    async def came(hours_ago: float, *, voted: bool = False, done: bool = False) -> str:
        person = await s.agree()
        new = EnrolmentRecord("blind", person, None, None, 3, now - timedelta(hours=hours_ago))

        def draw(enrolled: EnrolmentRecord, _: Drawn) -> list[BallotRecord]:
            return [s.ballot("blind", person, 1, item)]

        await s.studies.enrol(new, lambda _: "warm", draw)
        if voted or done:
            ((ballot, _),) = await s.studies.ballots_of_person("blind", person)
            await s.studies.vote(s.cast(ballot))
        if done:
            await s.studies.complete("blind", person, None, now)
        return person

    await came(5, done=True)
    await came(5, voted=True)  # long under way, and judged something just now
    await came(0.5)
    await came(5)  # gone away
    await s.studies.screen_out("blind", await came(0.5), now)
    await DeskStore(s.studies.engine).exclude("blind", {await came(5, done=True): "Bot."}, None, Actor("Ada"))
    seen: list[tuple[Counts, Drawn]] = []

    def look(counts: Counts) -> str:
        seen.append((dict(counts), Drawn()))
        return "warm"

    def draw(_: EnrolmentRecord, drawn: Drawn) -> list[BallotRecord]:
        seen[-1] = (seen[-1][0], drawn)
        return []

    for since in (now - timedelta(hours=1), None):
        newcomer = EnrolmentRecord("blind", await s.agree(), None, None, 3, now - timedelta(hours=9))
        await s.studies.enrol(newcomer, look, draw, since)
    (active, drawn), (everybody, _) = seen
    assert active == {"warm": 3}
    assert everybody == {"warm": 5}  # the one who went away, and the newcomer before
    assert (drawn.ballots, drawn.counting) == ({("blind/1", None): 6}, {"blind/1": 3})
