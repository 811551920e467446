"""A study that is paused, full or over, people who are screened out or decline, and the codes with which they go."""

from datetime import UTC, datetime, timedelta

import pytest

from heard.db.desk_records import Actor, Role
from heard.db.desk_store import DeskStore
from heard.db.study_records import Choice
from heard.db.study_store import StudyStore
from heard.db.transaction import run_sql
from tests.journeys.survey_steps import agree, begin, finish, get, vote, words
from tests.journeys.survey_steps import studies as studies
from tests.journeys.surveying import make
from tests.journeys.web import HERE, Web
from tests.journeys.web import store as store
from tests.journeys.web import web as web

LEAD = Actor("Ada")
CODES = {
    "screen_out_code": "OUT 1", "screen_out_url": "https://panel.example/back?cc=&x={code}",
    "decline_code": "NO-1", "decline_url": "https://panel.example/back?cc=",
}  # fmt: skip


@pytest.fixture
def desk(web: Web) -> DeskStore:
    return DeskStore(web.store.engine)


async def test_a_pause_is_told_to_all_and_loses_nothing(web: Web, studies: StudyStore, desk: DeskStore) -> None:
    await make(studies, **CODES)
    await agree(web)
    await begin(web)
    await vote(web, studies, 1)
    await desk.pause("blind", LEAD, paused=True)
    for path in ("", "/2", "/end"):
        page = await get(web, f"/survey/blind{path}")
        assert page.status_code == 403
        assert "paused for now" in words(page)
        assert "OUT 1" not in words(page)  # who is within goes on later
    mine = dict(web.client.cookies)
    web.client.cookies.clear()
    page = await get(web, "/survey/blind?pid=new")
    assert (page.status_code, "paused" in words(page), "OUT 1" in words(page)) == (403, True, True)
    assert 'href="https://panel.example/back?cc=&amp;x=OUT%201"' in page.text
    web.client.cookies.update(mine)
    await desk.pause("blind", LEAD, paused=False)
    assert (await get(web, "/survey/blind")).headers["location"] == "/survey/blind/2"
    await vote(web, studies, 2)
    await desk.end("blind", LEAD)
    assert "has ended" in words(await get(web, "/survey/blind/3"))
    await vote(web, studies, 3)  # it was on its way
    assert (await get(web, "/survey/blind/end")).status_code == 200
    await web.client.post("/survey/blind/end", data={"closing": ""}, headers=HERE)
    assert "CODE-7Q4" in (await get(web, "/survey/blind/end")).text


async def test_attention_screens_out_and_says_no_more(web: Web, studies: StudyStore, desk: DeskStore) -> None:
    await make(studies, attention=True, screen_out_after=1, **CODES)
    await agree(web)
    await begin(web, "anna")
    ballots = [ballot for ballot, _ in await studies.ballots_of_person("blind", web.participant)]
    watch = next(ballot for ballot in ballots if ballot.attention)
    wrong = next(slot.position for slot in watch.slots if slot.source != watch.attention)
    await vote(web, studies, watch.number, choice=Choice.RANKED, most=wrong, least=wrong % 5 + 1)
    page = await get(web, "/survey/blind/1")
    assert page.status_code == 403
    assert "OUT 1" in words(page)
    assert "attention" not in words(page)
    (person,) = await desk.people("blind")
    assert person.screened_out_at is not None
    await finish_others(web, studies, watch.number)
    assert (await web.client.post("/survey/blind/end", data={"closing": "x"}, headers=HERE)).status_code == 403
    assert (await desk.people("blind"))[0].completed_at is None


async def finish_others(web: Web, studies: StudyStore, number: int) -> None:
    for other in {1, 2, 3} - {number}:
        await vote(web, studies, other)


async def test_a_place_is_free_again_when_somebody_went_away(web: Web, studies: StudyStore) -> None:
    await make(studies, quota=1, **CODES)
    await agree(web)
    await begin(web, "anna")
    web.client.cookies.clear()
    await agree(web)
    full = await begin(web, "ben")
    assert (full.status_code, "OUT 1" in words(full)) == (403, True)
    before = datetime.now(UTC) - timedelta(minutes=121)
    await run_sql(studies.engine, "UPDATE enrolment SET started_at = :at", {"at": f"{before:%Y-%m-%d %H:%M:%S.%f}"})
    assert (await begin(web, "ben")).status_code == 303
    await finish(web, studies)
    await web.client.post("/survey/blind/end", data={"closing": ""}, headers=HERE)
    await run_sql(studies.engine, "UPDATE enrolment SET started_at = :at", {"at": f"{before:%Y-%m-%d %H:%M:%S.%f}"})
    web.client.cookies.clear()
    await agree(web)
    assert (await begin(web, "carl")).status_code == 403


async def test_declining_has_a_code_of_its_own(web: Web, studies: StudyStore) -> None:
    await make(studies, **CODES)
    no = await web.answer(chat="no", next="/survey/blind?pid=anna")
    assert "NO-1" in words(no)
    assert 'href="https://panel.example/back?cc=NO-1"' in no.text
    assert "NO-1" not in words(await web.answer(chat="no", next="/survey/other"))
    assert "OUT 1" in words(await web.answer(adult="no", next="/survey/blind"))
    await agree(web, research="no")
    assert "NO-1" in words(await get(web, "/survey/blind/research"))


async def test_an_invitation_opens_a_closed_list_until_it_is_revoked(
    web: Web, studies: StudyStore, desk: DeskStore
) -> None:
    await make(studies, allow=["somebody-else"], require_id=True, ids_ignore_case=True)
    link, token = await desk.invite("blind", Role.RATER, "Grace", LEAD)
    _, of_staff = await desk.invite("blind", Role.LEAD, "Joan", LEAD)
    await agree(web)
    assert (await begin(web, "ben")).status_code == 403
    assert (await get(web, f"/survey/blind?pid={of_staff}")).status_code == 403
    assert (await begin(web, token)).status_code == 303
    (person,) = await desk.people("blind")
    assert person.external_id == link.external_id
    stored = (web.settings.data_dir / "heard.db").read_bytes() + (web.settings.data_dir / "heard.db-wal").read_bytes()
    assert token.encode() not in stored  # a hash of it is
    assert "not whole" in words(await get(web, f"/survey/blind?pid={link.external_id}"))
    assert (await get(web, f"/survey/blind?pid={token}")).headers["location"] == "/survey/blind/1"
    assert (await get(web, "/survey/blind/1")).status_code == 200
    await desk.revoke(link.id, LEAD)
    for path in ("/survey/blind/1", f"/survey/blind?pid={token}"):
        page = await get(web, path)
        assert (page.status_code, "taken back" in words(page)) == (403, True)
