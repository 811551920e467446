"""The end of a survey against a real database, in this process: the last question, the code, a crisis in the words."""

import sqlite3
from contextlib import closing

import httpx
import pytest

from heard.db.study_store import StudyStore
from tests.journeys.survey_steps import PID, agree, begin, finish, get, judged, rows, vote, words
from tests.journeys.survey_steps import studies as studies
from tests.journeys.surveying import BACK, CODE, make
from tests.journeys.web import HERE, Web
from tests.journeys.web import store as store
from tests.journeys.web import web as web

CRISIS = "I want to kill myself"
CLOSING = "SELECT closing, completed_at IS NOT NULL FROM enrolment"


async def close(web: Web, text: str) -> httpx.Response:
    return await web.client.post("/survey/blind/end", data={"closing": text}, headers=HERE)


async def test_the_open_question_comes_once_and_then_the_code(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web)
    await begin(web, PID)
    assert (await close(web, "too early")).headers["location"] == "/survey/blind/1"
    assert rows(web, CLOSING) == [(None, 0)]
    await finish(web, studies)
    assert (await get(web, "/survey/blind")).headers["location"] == "/survey/blind/end"
    page = await get(web, "/survey/blind/end")
    assert "What made certain responses" in page.text
    assert CODE not in page.text
    assert rows(web, CLOSING) == [(None, 0)]
    assert (await close(web, " Warm\r\nwords. ")).headers["location"] == "/survey/blind/end"
    assert rows(web, CLOSING) == [("Warm\nwords.", 1)]
    page = await get(web, "/survey/blind/end")
    assert CODE in page.text
    assert f'href="{BACK}"' in page.text
    assert 'href="/you"' in page.text
    assert 'href="/consent?next=/survey/blind"' in page.text
    assert "withdraw" in page.text
    assert "<form" not in page.text
    await close(web, "another")
    assert rows(web, CLOSING) == [("Warm\nwords.", 1)]


async def test_an_empty_answer_or_no_question_ends_it_too(web: Web, studies: StudyStore) -> None:
    await judged(web, studies, open_question="", completion_code="", completion_url="")
    page = await get(web, "/survey/blind/end")
    assert "Thank you" in page.text
    assert "code" not in words(page)
    assert rows(web, CLOSING) == [(None, 1)]


async def test_blanks_are_no_answer(web: Web, studies: StudyStore) -> None:
    await judged(web, studies)
    await close(web, " \n\u200b\x00")
    assert rows(web, CLOSING) == [(None, 1)]


async def test_a_long_answer_is_told_and_kept_on_the_page(web: Web, studies: StudyStore) -> None:
    await judged(web, studies)
    response = await close(web, "word " * 1_000 + "end")
    assert response.status_code == 422
    assert "5,003 characters, and 5,000 fit" in words(response)
    assert "word end</textarea>" in response.text
    assert rows(web, CLOSING) == [(None, 0)]


async def test_a_locked_database_keeps_the_answer_on_the_page(web: Web, studies: StudyStore) -> None:
    await judged(web, studies)
    with closing(sqlite3.connect(web.settings.data_dir / "heard.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        response = await close(web, "My <words>")
        other.execute("ROLLBACK")
    assert response.status_code == 503
    assert "busy" in words(response)
    assert "My &lt;words&gt;</textarea>" in response.text
    assert rows(web, CLOSING) == [(None, 0)]


@pytest.mark.parametrize(("text", "language"), [(CRISIS, "en"), ("Ich will mich umbringen", "de")])
async def test_a_crisis_in_the_last_answer_gets_people_and_is_not_stored(
    web: Web, studies: StudyStore, text: str, language: str
) -> None:
    await make(studies)
    await web.answer(research="yes", country="DE", next="/survey/blind")
    await begin(web)
    await finish(web, studies)
    response = await close(web, f"It was fine. {text}")
    assert response.status_code == 200
    assert f'<section class="hh" lang="{language}"' in response.text
    assert 'href="tel:08001110111"' in response.text
    assert "What you wrote is not stored" in words(response)
    assert text not in response.text
    assert rows(web, CLOSING) == [(None, 1)]
    for path in web.settings.data_dir.iterdir():
        assert text.encode() not in path.read_bytes()
    assert CODE in (await get(web, "/survey/blind/end")).text


async def test_the_hand_off_after_a_vote_speaks_a_known_language(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web)
    await begin(web)
    await vote(web, studies, 1)
    for language, said in (("de", "de"), ("xx", "en"), ("<b>", "en")):
        page = await web.client.get("/survey/blind/1/help", params={"language": language})
        assert f'class="hh" lang="{said}"' in page.text
        assert "your vote is stored, without it" in words(page)
        assert 'href="/survey/blind"' in page.text
