"""The flow of a study in which every kind of drop-out happens, by the pages themselves: each step adds up."""

import re
from pathlib import Path
from xml.etree import ElementTree

from heard.chat_app.results.flow import Flow, study_flow
from heard.chat_app.results.records import VoteFilter
from heard.chat_app.results.study_results import study_results
from heard.db.desk_records import Actor
from heard.db.desk_store import DeskStore
from heard.db.store import Store
from heard.db.study_records import Choice
from heard.db.study_store import StudyStore
from tests.journeys.survey_steps import agree, begin, get, rows, vote, words
from tests.journeys.surveying import SOURCES, make
from tests.journeys.web import HERE, Web, built
from tests.journeys.web import store as store

TOKEN = "a-long-random-token-for-tests"
ALLOW = [f"p{number}" for number in range(1, 10)]
ITEMS, TEST = 3, 3
"""Items, and which of them is for attention."""


async def marks(web: Web, studies: StudyStore, number: int, *, right: bool = True) -> None:
    """A vote for the source that an attentive person marks, or for another."""
    ballot = (await studies.ballots_of_person("blind", web.participant))[number - 1][0]
    places = [slot.position for slot in ballot.slots if (slot.source == SOURCES[0]) is right]
    least = next(slot.position for slot in ballot.slots if slot.position != places[0])
    await vote(web, studies, number, choice=Choice.RANKED, most=places[0], least=least)


async def of_test(web: Web, studies: StudyStore) -> int:
    """The person's ballot on the attention item."""
    ballots = await studies.ballots_of_person("blind", web.participant)
    return next(ballot.number for ballot, _ in ballots if ballot.attention)


async def joins(web: Web, pid: str) -> None:
    web.client.cookies.clear()
    await agree(web)
    assert (await begin(web, pid)).status_code == 303


def adds_up(flow: Flow) -> None:
    for step, following in zip(flow.steps, flow.steps[1:], strict=False):
        assert step.on == following.people, step.name
    assert flow.invited is not None
    assert flow.invited.here + flow.invited.not_here == flow.invited.ids
    assert flow.finished + flow.unfinished == flow.began
    assert flow.steps[-1].left == []


async def test_every_drop_out_is_counted_once_and_the_steps_add_up(tmp_path: Path, store: Store) -> None:
    web, studies = built(tmp_path, store, researcher_token=TOKEN), StudyStore(store.engine)
    async with web.client:
        await make(studies, items=ITEMS, attention=True, allow=ALLOW, quota=6, open_question="")
        for path in ("/survey/blind", "/survey/blind?pid=stranger", "/survey/blind?pid=stranger"):
            assert (await get(web, path)).status_code == 403
        link = "/survey/blind?pid=p1"
        assert (await web.answer(chat="no", next=link)).status_code == 200
        assert (await web.answer(adult="no", next=link)).status_code == 200
        await agree(web, research="no")
        assert (await get(web, link)).headers["location"].startswith("/survey/blind/research")
        await agree(web)  # thinks better of it, and goes to the end
        await begin(web, "p1")
        for number in range(1, ITEMS + 1):
            await marks(web, studies, number)
        assert (await get(web, "/survey/blind/end")).status_code == 200
        await joins(web, "p2")  # to the end, and fails the test
        test = await of_test(web, studies)
        for number in range(1, ITEMS + 1):
            await marks(web, studies, number, right=number != test)
        assert (await get(web, "/survey/blind/end")).status_code == 200
        await joins(web, "p3")  # stops after one
        await marks(web, studies, 1 if await of_test(web, studies) != 1 else 2)
        await joins(web, "p4")  # never votes
        await joins(web, "p5")  # votes and withdraws, which is no visit that was turned away
        await marks(web, studies, 1)
        await web.answer(chat="no", next="/survey/blind?pid=p5")
        await joins(web, "p6")  # votes and is erased
        await marks(web, studies, 1)
        erased = await web.client.post("/you/erase", data={"sure": "yes"}, headers=HERE)
        assert erased.status_code == 200
        await joins(web, "p7")  # votes on the attention item alone
        await marks(web, studies, await of_test(web, studies))
        web.client.cookies.clear()
        assert "finished already, in another browser" in words(await get(web, link))
        await agree(web)
        assert "all the people" in words(await begin(web, "p8"))

        flow = await study_flow(studies, "blind", VoteFilter(), ALLOW)
        adds_up(flow)
        assert [(step.name, step.people) for step in flow.steps] == [
            ("Agreed and joined", 7), ("Stored", 6), ("Allow research", 5), ("Were given ballots", 5),
            ("Began to vote", 4), ("In the results", 3),
        ]  # fmt: skip
        assert {reason: number for step in flow.steps for reason, number in step.left} == {
            "Erased everything since": 1, "Withdrew": 1, "Never allowed research": 0, "Were given no ballot": 0,
            "Excluded by whoever runs the study": 0, "Screened out before a vote": 0,
            "Voted on none of them": 1, "None of their votes counts": 1,
        }  # fmt: skip
        assert (flow.finished, flow.unfinished) == (2, 2)
        assert flow.invited is not None
        assert (flow.invited.ids, flow.invited.here) == (9, 6)
        assert dict(flow.turned_away) == {
            "Declined the notice": 1, "Under the least age": 1, "Allowed the chat and not research": 1,
            "No id in the link": 1, "Id not on the list": 2, "Id in use in another browser, or finished there": 1,
            "Quota full": 1,
        }  # fmt: skip
        numbers = rows(web, "SELECT * FROM flow_count")  # of nobody: a study, a reason and how often
        assert {(type(study), type(reason), type(number)) for study, reason, number in numbers} == {(str, str, int)}
        for wanted in (VoteFilter(), VoteFilter(passed_attention=True), VoteFilter(min_seconds=2.0)):
            flow = await study_flow(studies, "blind", wanted, ALLOW)
            adds_up(flow)
            assert flow.steps[-1].people == (await study_results(studies, "blind", wanted)).people
        failed = await study_flow(studies, "blind", VoteFilter(passed_attention=True), ALLOW)
        assert ("Failed an attention item", 1) in failed.steps[2].left

        assert (await get(web, "/results/blind/flow")).status_code == 401
        await web.client.post("/results", data={"token": TOKEN}, headers=HERE)
        page = words(await get(web, "/results/blind/flow"))
        assert "Agreed and joined 7" in page
        assert "Of the 4 who began to vote, 2 finished and 2 did not." in page
        drawing = (await get(web, "/results/blind/flow.svg?attention=passed")).text
        texts = [text.text for text in ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text")]
        assert {"Agreed and joined: 7", "Failed an attention item: 1", "Finished: 1", "In the results: 2"} <= set(texts)
        assert not re.search(r"p\d\b|" + "|".join(SOURCES), drawing)

        [(cut,)] = rows(web, "SELECT participant_id FROM enrolment WHERE external_id = 'p3'")
        await DeskStore(studies.engine).exclude("blind", {cut: "Came twice."}, None, Actor("Ada"))
        flow = await study_flow(studies, "blind", VoteFilter(), ALLOW)
        adds_up(flow)
        assert ("Excluded by whoever runs the study", 1) in [reason for step in flow.steps for reason in step.left]
        found = await study_results(studies, "blind", VoteFilter())
        assert (flow.steps[-1].people, found.people, found.counted.excluded_people) == (2, 2, 1)
