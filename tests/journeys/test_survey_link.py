"""Links as platforms and people make them: names and spellings of the id, other devices, double posts, no cookies."""

import asyncio
import html
import re
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from heard.chat_app.export.study_export import ExportOptions, export_study
from heard.db.study_store import StudyStore
from tests.commands import Done, heard
from tests.journeys.survey_steps import agree, begin, finish, get, rows, vote, words
from tests.journeys.survey_steps import studies as studies
from tests.journeys.surveying import CODE, make
from tests.journeys.web import HERE, YES, Web
from tests.journeys.web import store as store
from tests.journeys.web import web as web

SPELT = [
    "pid=A7", "PID=A7", "Pid=A7", "p_id=A7", "prolific_pid=A7", "PROLIFIC-PID=A7", "ProlificPid=A7", "Prolific.PID=A7",
    "prolificId=A7", "participantId=A7", "Participant_ID=A7", "participant-id=A7", "pid=&PROLIFIC_PID=A7",
    "PROLIFIC_PID=other&Pid=A7", "pid=A7&PID=A7", "utm_source=x&pid=A7&SESSION_ID=3",
]  # fmt: skip


@pytest.mark.parametrize("query", SPELT)
async def test_the_name_of_the_id_may_be_spelt_in_any_way(web: Web, studies: StudyStore, query: str) -> None:
    await make(studies)
    for link in (f"/survey?Study=blind&{query}", f"/survey?study-id=blind&{query}", f"/survey?{query}&STUDY=blind"):
        assert (await get(web, link)).headers["location"] == "/survey/blind?pid=A7"
    there = (await get(web, f"/survey/blind?{query}")).headers["location"]
    assert there == "/consent?next=/survey/blind%3Fpid%3DA7"


@pytest.mark.parametrize(
    "query",
    ["pid=A7&PID=B8", "pid=A7&pid=B8", "prolific_pid=a7&PROLIFIC_PID=A7", "pid=PID", "PROLIFIC_PID=PROLIFIC_PID",
     "pid=undefined", "pid=NULL", "participantId=participant_id", "pid=%7B%7B%25PROLIFIC_PID%25%7D%7D", "PID=[pid]"],
)  # fmt: skip
async def test_an_id_that_is_none_is_told(web: Web, studies: StudyStore, query: str) -> None:
    await make(studies)
    before = web.rows()
    for link in (f"/survey?study=blind&{query}", f"/survey/blind?{query}"):
        response = await get(web, link)
        assert response.status_code == 400
        assert "The id in this link is damaged" in words(response)
        assert "Nothing was stored" in words(response)
    assert web.rows() == before


async def test_a_study_names_its_own_parameters(web: Web, studies: StudyStore) -> None:
    await make(studies, id_parameters=["respondent.key", "rid"])
    # The usual names are another thing there, such as the panel's project.
    for query, leads in (
        ("RespondentKey=A7&pid=project9", "?respondent.key=A7"),
        ("RID=A7", "?respondent.key=A7"),
        ("rid=B8&respondent_key=A7", "?respondent.key=A7"),
        ("pid=project9", ""),
    ):
        assert (await get(web, f"/survey?study=blind&{query}")).headers["location"] == "/survey/blind" + leads
    there = (await get(web, "/survey/blind?rid=A7&pid=project9")).headers["location"]
    page = await get(web, there)
    carried = re.search(r'name="next" value="([^"]*)"', page.text)
    assert carried
    assert html.unescape(carried[1]) == "/survey/blind?respondent.key=A7"
    back = (await web.answer(research="yes", next=html.unescape(carried[1]))).headers["location"]
    form = re.search(r'name="pid" value="([^"]*)"', (await get(web, back)).text)
    assert form
    await begin(web, form[1])
    assert rows(web, "SELECT external_id FROM enrolment") == [("A7",)]


async def test_a_panel_study_refuses_people_without_an_id(web: Web, studies: StudyStore) -> None:
    await make(studies, require_id=True)
    before = web.rows()
    for link in ("/survey/blind", "/survey?study=blind", "/survey/blind?pid=", "/survey/blind?worker=7"):
        response = await web.client.get(link, follow_redirects=True)
        assert response.status_code == 403
        assert "needs a link with an id of your own" in words(response)
    assert web.rows() == before
    await agree(web)
    assert (await begin(web)).status_code == 403
    assert (await begin(web, "A7")).status_code == 303
    assert (await get(web, "/survey/blind")).headers["location"] == "/survey/blind/1"  # known by now


@pytest.mark.parametrize("ignored", [True, False])
async def test_case_counts_as_the_study_says(web: Web, studies: StudyStore, ignored: bool) -> None:
    await make(studies, ids_ignore_case=ignored, allow=["P1", "p1"])
    for pid in ("P1", "p1"):
        web.client.cookies.clear()
        await agree(web)
        assert (await begin(web, pid)).status_code == 303
    assert rows(web, "SELECT external_id FROM enrolment ORDER BY 1") == ([("p1",)] if ignored else [("P1",), ("p1",)])


async def test_an_allow_list_in_capitals_lets_in_small_letters_if_case_is_ignored(
    web: Web, studies: StudyStore
) -> None:
    await make(studies, ids_ignore_case=True, allow=["Anna"])
    await agree(web)
    assert (await begin(web, "Berta")).status_code == 403
    assert (await begin(web, "aNNA")).status_code == 303
    assert (await get(web, "/survey/blind?pid=ANNA")).headers["location"] == "/survey/blind/1"


async def command(*arguments: str, folder: Path) -> Done:
    """`heard ...` beside the running server: it has an event loop of its own."""
    return await asyncio.to_thread(heard, *arguments, HEARD_DATA_DIR=str(folder))


# --- another device -------------------------------------------------------------------------------------------------


async def test_another_device_goes_on_where_nothing_is_voted(web: Web, studies: StudyStore) -> None:
    await make(studies, quota=1)
    await agree(web)
    await begin(web, "P1")
    drawn = rows(web, "SELECT id, number FROM ballot ORDER BY number")
    phone = dict(web.client.cookies)
    web.client.cookies.clear()
    await agree(web)
    assert (await begin(web, "P1")).status_code == 303
    assert rows(web, "SELECT participant_id, external_id FROM enrolment") == [(web.participant, "P1")]
    assert rows(web, "SELECT id, number FROM ballot ORDER BY number") == drawn
    assert rows(web, "SELECT DISTINCT participant_id FROM ballot") == [(web.participant,)]
    await vote(web, studies, 1)
    web.client.cookies.clear()
    web.client.cookies.update(phone)
    response = await get(web, "/survey/blind?pid=P1")
    assert (response.status_code, "release it for you" in words(response)) == (403, True)


async def test_a_released_link_goes_on_elsewhere_and_shows_no_words(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web)
    await begin(web, "P1")
    await vote(web, studies, 1, reason="because of my mother")
    first = web.participant
    web.client.cookies.clear()
    assert (await get(web, "/survey/blind?pid=P1")).status_code == 403
    done = await command("study", "release", "P1", folder=web.settings.data_dir)
    assert (done.status, "study blind" in done.stdout) == (0, True), done.stderr
    assert (await get(web, "/survey/blind?pid=P1")).headers["location"].startswith("/consent?next=")
    await agree(web)
    assert (await begin(web, "P1")).status_code == 303
    assert (await get(web, "/survey/blind")).headers["location"] == "/survey/blind/2"
    for page in ("/survey/blind/1", "/survey/blind/1/answers"):
        assert (await get(web, page)).headers["location"] == "/survey/blind/2"
    own = (await web.client.get("/you/export")).text
    assert '"P1"' in own
    assert "because of my mother" not in own
    await vote(web, studies, 2, reason="and of my father")
    assert "and of my father" in (await web.client.get("/you/export")).text
    assert first != web.participant
    # A release is for one device.
    web.client.cookies.clear()
    assert (await get(web, "/survey/blind?pid=P1")).status_code == 403


async def test_a_released_person_is_once_in_the_export(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web)
    await begin(web, "P1")
    await vote(web, studies, 1)
    await studies.release("blind", "P1", datetime.now(UTC))
    web.client.cookies.clear()
    await agree(web)
    await begin(web, "P1")
    await vote(web, studies, 2)
    manifest = await export_study(
        studies.engine, ExportOptions("blind"), web.settings.data_dir / "out", force=False, progress=lambda *_: None
    )
    assert (manifest["rows"]["people"], manifest["rows"]["votes_wide"]) == (1, 2)


async def test_a_finished_link_is_told_and_gives_no_code(web: Web, studies: StudyStore) -> None:
    await make(studies, open_question="")
    await agree(web)
    await begin(web, "P1")
    await finish(web, studies)
    assert CODE in (await get(web, "/survey/blind/end")).text
    web.client.cookies.clear()
    response = await get(web, "/survey/blind?pid=P1")
    assert (response.status_code, "finished already" in words(response)) == (403, True)
    assert CODE not in response.text
    done = await command("study", "release", "P1", folder=web.settings.data_dir)
    assert "has finished the study" in done.sentence


async def test_what_cannot_be_released_is_told(web: Web, studies: StudyStore) -> None:
    for name in ("blind", "second"):
        await make(studies, id=name, ids_ignore_case=True)
        await agree(web, name=name)
        await begin(web, "P1", name)
    folder = web.settings.data_dir
    for arguments, said in (
        (("nobody",), "Nobody has taken part under this id"),
        (("P1",), "in several studies: blind, second"),
        (("P1", "--study", "blend"), "Did you mean blind?"),
    ):
        assert said in (await command("study", "release", *arguments, folder=folder)).sentence
    assert (await command("study", "release", "P1", "--study", "second", folder=folder)).status == 0
    assert rows(web, "SELECT study_id FROM enrolment WHERE released_at IS NOT NULL") == [("second",)]


# --- double posts and cookies ---------------------------------------------------------------------------------------


async def form(client: httpx.AsyncClient, path: str) -> dict[str, str]:
    """The hidden fields of the questions, as a browser sends them, with a yes to everything."""
    page = (await client.get(path)).text
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page)
    return {**YES, "research": "yes"} | {name: html.unescape(value) for name, value in hidden}


async def test_parallel_posts_make_one_person(web: Web, studies: StudyStore) -> None:
    await make(studies)
    answers = await form(web.client, "/consent?next=/survey/blind%3Fpid%3DP1")
    browsers = [
        httpx.AsyncClient(transport=web.client._transport, base_url=web.client.base_url, headers=HERE)
        for _ in range(5)
    ]  # fmt: skip
    agreed = await asyncio.gather(*(one.post("/consent", data=answers, follow_redirects=True) for one in browsers))
    assert {response.status_code for response in agreed} == {200}
    assert len(rows(web, "SELECT id FROM participant")) == 1
    started = await asyncio.gather(*(one.post("/survey/blind", data={"pid": "P1"}) for one in browsers))
    assert {response.status_code for response in started} == {303}
    assert rows(web, "SELECT external_id FROM enrolment") == [("P1",)]
    assert rows(web, "SELECT count(*) FROM ballot") == [(3,)]


async def test_the_same_link_in_two_browsers_at_once_is_one_person(web: Web, studies: StudyStore) -> None:
    await make(studies)
    jars = []
    for _ in range(4):
        web.client.cookies.clear()
        await agree(web)
        jars.append(dict(web.client.cookies))
    browsers = [
        httpx.AsyncClient(transport=web.client._transport, base_url=web.client.base_url, headers=HERE, cookies=jar)
        for jar in jars
    ]
    await asyncio.gather(*(one.post("/survey/blind", data={"pid": "P1"}) for one in browsers))
    assert rows(web, "SELECT external_id FROM enrolment") == [("P1",)]
    assert rows(web, "SELECT count(*), count(DISTINCT participant_id) FROM ballot") == [(3, 1)]


@pytest.mark.parametrize("where", ["/consent?next=/survey/blind%3Fpid%3DP1", "/consent", "/"])
async def test_blocked_cookies_get_a_sentence_and_no_row(web: Web, studies: StudyStore, where: str) -> None:
    await make(studies)
    before = web.rows()
    for _ in range(2):
        answers = await form(web.client, where)
        path = "/consent"
        for _ in range(2):
            response = await web.client.post(path, data=answers, headers=HERE)
            web.client.cookies.clear()
            path = response.headers.get("location", "")
        assert response.status_code == 422
        assert "has not kept this page's cookie" in words(response)
        assert 'value="P1"' not in response.text
    assert web.rows() == before


async def test_a_made_up_visitor_of_the_form_is_nobody(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web)
    known, answers = web.participant, await form(web.client, "/consent")
    assert "visitor" not in answers  # somebody known stays who they are
    signed = web.client.cookies[web.named("heard_visitor")]
    web.client.cookies.clear()
    for made_up in (signed, known, "x"):
        await web.answer(research="yes", visitor=made_up)
        assert web.participant != known
        web.client.cookies.clear()
