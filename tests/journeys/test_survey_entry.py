"""The way into a survey against a real database, in this process: links, consent, and who may take part."""

import html
import re
from urllib.parse import parse_qs, urlsplit

import pytest

from heard.chat_app.studies.survey_links import safe_next_url
from heard.db.study_store import StudyStore
from tests.journeys.survey_steps import PID, agree, begin, get, rows, vote, words
from tests.journeys.survey_steps import studies as studies
from tests.journeys.surveying import make
from tests.journeys.web import Web
from tests.journeys.web import store as store
from tests.journeys.web import web as web

LINKS = [
    ("study=blind", "/survey/blind"),
    (f"study=blind&pid={PID}", f"/survey/blind?pid={PID}"),
    (f"study=blind&pid=%20{PID}%20", f"/survey/blind?pid={PID}"),
    (f"study=blind&PROLIFIC_PID={PID}&STUDY_ID=other&SESSION_ID=1", f"/survey/blind?pid={PID}"),
    (f"PROLIFIC_PID={PID}&STUDY_ID=blind", f"/survey/blind?pid={PID}"),
    (f"study=blind&pid={PID}&PROLIFIC_PID=another", f"/survey/blind?pid={PID}"),
    ("study=blind&pid=", "/survey/blind"),
]


async def test_a_link_by_parameters_leads_to_the_study(web: Web, studies: StudyStore) -> None:
    await make(studies)
    for query, leads in LINKS:
        response = await get(web, f"/survey?{query}")
        assert (response.status_code, response.headers["location"]) == (303, leads)


@pytest.mark.parametrize(
    "path", ["/survey", "/survey/nothing", "/survey?study=nothing", "/survey/BLIND", "/survey/b%00"]
)
async def test_an_unknown_study_is_told_and_stores_nothing(web: Web, studies: StudyStore, path: str) -> None:
    await make(studies)
    before = web.rows()
    response = await get(web, path)
    assert response.status_code == 404
    assert "no study at this address" in words(response)
    assert web.rows() == before


async def test_a_live_study_is_no_survey(web: Web, studies: StudyStore) -> None:
    arms = [{"name": name, "persona": "listener", "model": "echo"} for name in ("one", "two")]
    await make(studies, items=0, kind="live", arms=arms)
    assert (await get(web, "/survey/blind")).status_code == 404


DAMAGED = [
    "x" * 101, "x" * 201, "x" * 5_000, "it's", 'say"so"', "../../etc/passwd", "..", "=1+1", "-5", "+5", "@SUM(A1)",
    "a b", "a\tb", "a\nb", "\x00", "a\x7f", "<b>", "{{%PROLIFIC_PID%}}", "é", "１２",
]  # fmt: skip


async def test_a_damaged_id_is_told_never_repeated_and_nothing_is_stored(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web)
    before = web.rows()
    for pid in DAMAGED:
        responses = [
            await web.client.get("/survey/blind", params={"pid": pid}),
            await web.client.get("/survey", params={"study": "blind", "PROLIFIC_PID": pid}),
            await begin(web, pid),
        ]
        for response in responses:
            assert response.status_code == 400, pid[:20]
            assert "The id in this link is damaged" in words(response)
            assert len(pid) < 6 or html.escape(pid) not in response.text
    assert web.rows() == before


@pytest.mark.parametrize("pid", ["x" * 100, PID, "0"])
async def test_a_good_id_is_kept_with_the_enrolment(web: Web, studies: StudyStore, pid: str) -> None:
    await make(studies)
    await agree(web)
    assert (await begin(web, pid)).headers["location"] == "/survey/blind"
    assert rows(web, "SELECT participant_id, external_id FROM enrolment") == [(web.participant, pid)]


async def test_consent_comes_first_and_leads_back_with_the_id(web: Web, studies: StudyStore) -> None:
    await make(studies)
    before = web.rows()
    there = (await get(web, f"/survey/blind?pid={PID}")).headers["location"]
    assert urlsplit(there).path == "/consent"
    assert parse_qs(urlsplit(there).query) == {"next": [f"/survey/blind?pid={PID}"]}
    page = await get(web, there)
    assert "invited to a study" in words(page)
    assert web.rows() == before
    carried = re.search(r'name="next" value="([^"]*)"', page.text)
    assert carried
    # A fault on the way keeps it, and so does the answer.
    wrong = await web.answer(research="", next=html.unescape(carried[1]))
    assert wrong.status_code == 422
    assert f'name="next" value="/survey/blind?pid={PID}"' in wrong.text
    right = await web.answer(research="yes", next=html.unescape(carried[1]))
    assert right.headers["location"] == f"/survey/blind?pid={PID}"
    page = await get(web, right.headers["location"])
    assert "Kind words" in page.text
    assert f'name="pid" value="{PID}"' in page.text
    assert (await get(web, f"/?next=/survey/blind%3Fpid={PID}")).headers["location"] == f"/survey/blind?pid={PID}"


FOREIGN = [
    "https://evil.example", "//evil.example", "/\\evil.example", "/survey/blind@evil.example", "javascript:alert(1)",
    "/survey/../you/erase", "/survey/blind?pid=x&next=//evil", "/survey/blind\r\nSet-Cookie: a=b",
    "/survey/blind?pid=%0d", "/chat/", "survey/blind", "/survey/", "/survey/blind#x", "/survey/blind/1",
    "/survey/blind\n", "",
]  # fmt: skip


async def test_the_questions_lead_nowhere_else(web: Web) -> None:
    for where in FOREIGN:
        assert safe_next_url(where) == ""
        page = await web.client.get("/consent", params={"next": where})
        assert 'name="next"' not in page.text
        assert (await web.answer(next=where)).headers["location"] == "/chat/"
        assert (await web.client.get("/", params={"next": where})).headers["location"] == "/chat/"


async def test_no_to_research_is_told_with_the_way_back(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web, "no")
    before = web.rows()
    where = (await get(web, f"/survey/blind?pid={PID}")).headers["location"]
    page = await get(web, where)
    assert page.status_code == 200
    assert "needs a yes to research" in words(page)
    link = re.search(r'href="(/consent[^"]*)"', page.text)
    assert link
    assert parse_qs(urlsplit(html.unescape(link[1])).query) == {"next": [f"/survey/blind?pid={PID}"]}
    assert (await begin(web, PID)).headers["location"] == where
    assert web.rows() == before
    await agree(web)
    assert (await get(web, where)).headers["location"] == f"/survey/blind?pid={PID}"


async def test_no_to_everything_leaves_no_trace(web: Web, studies: StudyStore) -> None:
    await make(studies)
    before = web.rows()
    page = await web.answer(chat="no", next=f"/survey/blind?pid={PID}")
    assert "will not take part in the study" in words(page)
    assert web.rows() == before
    assert "set-cookie" not in page.headers


async def test_withdrawing_closes_every_page(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web)
    await begin(web)
    await vote(web, studies, 1)
    for answer, leads in (({"research": "no"}, "/survey/blind/research"), ({"chat": "no"}, "/consent?next=")):
        await web.answer(**answer)
        for path in ("/survey/blind", "/survey/blind/1", "/survey/blind/1/answers", "/survey/blind/end"):
            assert (await get(web, path)).headers["location"].startswith(leads)


async def test_a_form_of_another_site_is_refused(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web)
    before = web.rows()
    for headers in ({}, {"origin": "https://evil.example"}):
        for path in ("/survey/blind", "/survey/blind/end"):
            assert (await web.client.post(path, headers=headers)).status_code == 403
    assert web.rows() == before


async def test_an_allow_list_lets_in_its_own(web: Web, studies: StudyStore) -> None:
    await make(studies, allow=["one", "two"])
    before = web.rows()
    for path, said in (("/survey/blind", "invited people only"), ("/survey/blind?pid=three", "not on its list")):
        response = await get(web, path)
        assert response.status_code == 403
        assert said in words(response)
    assert web.rows() == before
    await agree(web)
    assert (await begin(web, "three")).status_code == 403
    assert (await begin(web, "two")).status_code == 303
    assert (await get(web, "/survey/blind")).headers["location"] == "/survey/blind/1"


async def test_a_full_study_says_so(web: Web, studies: StudyStore) -> None:
    await make(studies, quota=1)
    await agree(web)
    await begin(web)
    first = web.participant
    web.client.cookies.clear()
    await agree(web)
    assert web.participant != first
    response = await begin(web)
    assert response.status_code == 403
    assert "all the people that it needs" in words(response)
    assert rows(web, "SELECT participant_id FROM enrolment") == [(first,)]


async def test_an_id_is_one_person_and_a_browser_is_one_id(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web)
    await begin(web, "one")
    for response in (await get(web, "/survey/blind?pid=two"), await begin(web, "two")):
        assert response.status_code == 409
        assert "under another link" in words(response)
    assert (await get(web, "/survey/blind?pid=one")).headers["location"] == "/survey/blind/1"
    await vote(web, studies, 1)
    before = web.rows()
    web.client.cookies.clear()
    for path in ("/survey/blind?pid=one", "/survey?study=blind&pid=one"):  # told before consent, not after it
        response = await web.client.get(path, follow_redirects=True)
        assert response.status_code == 403
        assert "used in another browser" in words(response)
    assert web.rows() == before
    await agree(web)
    assert (await begin(web, "one")).status_code == 403
    assert rows(web, "SELECT external_id FROM enrolment") == [("one",)]


async def test_a_study_without_items_binds_nobody(web: Web, studies: StudyStore) -> None:
    await make(studies, items=0)
    await agree(web)
    response = await begin(web)
    assert response.status_code == 403
    assert "nothing to judge yet" in words(response)
    assert rows(web, "SELECT * FROM enrolment") == []
