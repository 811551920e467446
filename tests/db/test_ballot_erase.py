"""Erasing takes the ballots and votes it should and no others, while votes come: on both databases the same."""

import asyncio
from dataclasses import replace

import pytest

from heard.db.ballots import ERASED
from heard.db.errors import StoreGone
from heard.db.study_records import BallotRecord
from heard.db.voting import NOT_THERE
from tests.db.ballot_steps import count, first_ballot, open_live
from tests.db.ballot_steps import s as s
from tests.db.ballot_steps import url as url
from tests.db.studying import Studying


async def test_no_vote_of_an_erased_person(s: Studying) -> None:
    ballot = await first_ballot(s)
    await s.store.erase_participant(ballot.participant_id)
    with pytest.raises(StoreGone) as caught:
        await s.studies.vote(s.cast(ballot))
    assert str(caught.value) == ERASED
    other = await s.agree()
    with pytest.raises(StoreGone) as caught:
        await s.studies.vote(replace(s.cast(ballot), participant_id=other))
    assert str(caught.value) == NOT_THERE
    assert await count(s, "vote") == 0


async def test_votes_and_erasure_at_once_leave_nothing_and_never_lock_up(s: Studying) -> None:
    await s.survey()
    for _ in range(6):
        ballot = (await s.enrolled(await s.agree()))[0]
        casts = [s.cast(ballot, reason=str(number)) for number in range(5)]
        erasing = s.store.erase_participant(ballot.participant_id)
        results = await asyncio.gather(*(s.studies.vote(cast) for cast in casts), erasing, return_exceptions=True)
        assert all(not isinstance(result, BaseException) or isinstance(result, StoreGone) for result in results)
        assert isinstance(results[-1], dict)
    assert [await count(s, table) for table in ("vote", "vote_change", "slot", "ballot", "enrolment")] == [0] * 5


async def test_finishing_and_erasing_at_once(s: Studying) -> None:
    for _ in range(6):
        ballot, answers = await open_live(s, "left", "middle", "right")
        results = await asyncio.gather(
            s.studies.finish_ballot(ballot.id, [s.came(answer) for answer in answers]),
            s.store.erase_participant(ballot.participant_id),
            return_exceptions=True,
        )
        assert isinstance(results[0], BallotRecord | StoreGone)
        assert isinstance(results[1], dict)
        with pytest.raises(StoreGone):
            await s.studies.finish_ballot(ballot.id, [])
    assert [await count(s, table) for table in ("ballot", "slot", "answer")] == [0, 0, 0]


async def test_a_conversation_takes_its_ballots_and_no_others(s: Studying) -> None:
    gone, answers = await open_live(s)
    await s.studies.finish_ballot(gone.id, [s.came(answer) for answer in answers])
    _, message = await s.asked(gone.participant_id)
    stays, _ = await s.live(gone.participant_id, message)
    await s.survey()
    await s.agree(gone.participant_id)
    (judged, _) = await s.enrolled(gone.participant_id)
    for ballot, least in ((gone, None), (judged, 2)):
        for most in (1, 3 if least else 2):
            await s.studies.vote(s.cast(ballot, most, least))
    assert gone.conversation_id
    removed = await s.store.delete_conversation(gone.conversation_id)
    assert {name: removed[name] for name in ("ballot", "slot", "vote", "vote_change", "answer")} == {
        "ballot": 1, "slot": 2, "vote": 1, "vote_change": 1, "answer": 2,
    }  # fmt: skip
    assert await s.studies.ballot(gone.id) is None
    assert await s.studies.ballot(stays.id) is not None
    assert (await s.studies.progress("blind", gone.participant_id)).voted == 1
    assert (await count(s, "vote_change"), await count(s, "answer"), await count(s, "item")) == (1, 8, 2)


async def test_a_person_takes_their_ballots_and_no_others(s: Studying) -> None:
    mine = await first_ballot(s)
    theirs = (await s.enrolled(await s.agree()))[0]
    for ballot in (mine, theirs):
        await s.studies.vote(s.cast(ballot))
        await s.studies.vote(s.cast(ballot, 2, 1))
    removed = await s.store.erase_participant(mine.participant_id)
    assert (removed["ballot"], removed["vote"], removed["vote_change"], removed["answer"]) == (2, 1, 1, 0)
    assert await s.studies.enrolment("blind", mine.participant_id) is None
    found = await s.studies.ballot(theirs.id)
    assert found
    assert found[1]
    assert (await count(s, "vote"), await count(s, "vote_change"), await count(s, "answer")) == (1, 1, 6)
