"""The pages of a survey against a real database, in this process: who gets in, where they stand, what is told when."""

import html
import re
import shutil
import sqlite3
import uuid
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from chat_app.pages.markup import as_html
from chat_app.settings import Settings
from chat_app.survey_links import onward
from db.engine import create_engine, upgrade_sync
from db.store import Store
from db.study_records import Choice, VoteRecord
from db.study_store import StudyStore
from tests.chat_app.surveying import BACK, CODE, SOURCES, make
from tests.chat_app.web import HERE, Web
from tests.chat_app.web import web as web

CRISIS = "I want to kill myself"
PID = "5f2c-A_b.9"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with all tables and no row, made once: the migrations take longer than most tests here."""
    folder = tmp_path_factory.mktemp("empty")
    upgrade_sync(Settings(data_dir=folder).database)
    return folder / "heard.db"


@pytest.fixture
async def store(tmp_path: Path, empty: Path) -> AsyncIterator[Store]:
    shutil.copy(empty, tmp_path)
    engine = create_engine(Settings(data_dir=tmp_path).database, lock_seconds=0.2)
    yield Store(engine)
    await engine.dispose()


@pytest.fixture
def studies(web: Web) -> StudyStore:
    return StudyStore(web.store.engine)


async def get(web: Web, path: str) -> httpx.Response:
    return await web.client.get(path)


async def agree(web: Web, research: str = "yes") -> None:
    assert (await web.answer(research=research)).status_code == 303


async def begin(web: Web, pid: str = "", name: str = "blind") -> httpx.Response:
    return await web.client.post(f"/survey/{name}", data={"pid": pid}, headers=HERE)


async def vote(web: Web, studies: StudyStore, number: int, **fields: Any) -> None:
    """A vote through the store, as `POST /vote` gives it on."""
    ballot = (await studies.ballots_of_person("blind", web.participant))[number - 1][0]
    values = {"choice": Choice.SAME, "most": None, "least": None, "reason": None, **fields}
    await studies.vote(
        VoteRecord(
            ballot.id, web.participant, seconds=1.0, width_class="desktop", request_id=str(uuid.uuid4()),
            voted_at=datetime.now(UTC), **values,
        )
    )  # fmt: skip


async def finish(web: Web, studies: StudyStore, items: int = 3) -> None:
    for number in range(1, items + 1):
        await vote(web, studies, number)


def rows(web: Web, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(web.settings.data_dir / "heard.db")) as database:
        return database.execute(sql).fetchall()


def words(response: httpx.Response) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", response.text)).split())


# --- links ----------------------------------------------------------------------------------------------------------


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


# --- consent --------------------------------------------------------------------------------------------------------


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
        assert onward(where) == ""
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


# --- who may take part ----------------------------------------------------------------------------------------------


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
    web.client.cookies.clear()
    await agree(web)
    response = await begin(web, "one")
    assert response.status_code == 403
    assert "used in another browser" in words(response)
    assert rows(web, "SELECT external_id FROM enrolment") == [("one",)]


async def test_a_study_without_items_binds_nobody(web: Web, studies: StudyStore) -> None:
    await make(studies, items=0)
    await agree(web)
    response = await begin(web)
    assert response.status_code == 403
    assert "nothing to judge yet" in words(response)
    assert rows(web, "SELECT * FROM enrolment") == []


# --- ballots --------------------------------------------------------------------------------------------------------


async def test_start_twice_and_come_back(web: Web, studies: StudyStore) -> None:
    await make(studies, items_per_person=2)
    await agree(web)
    page = await get(web, "/survey/blind")
    assert "up to 2" in words(page)
    assert "Please <strong>read</strong> &lt;i&gt;slowly&lt;/i&gt;." in page.text
    assert rows(web, "SELECT * FROM ballot") == []
    for _ in range(2):
        assert (await begin(web)).status_code == 303
    assert rows(web, "SELECT number FROM ballot ORDER BY number") == [(1,), (2,)]
    assert (await get(web, "/survey/blind")).headers["location"] == "/survey/blind/1"
    # Nobody runs ahead.
    for path in ("/survey/blind/2", "/survey/blind/99", "/survey/blind/0", "/survey/blind/end"):
        assert (await get(web, path)).headers["location"] == "/survey/blind/1"
    await vote(web, studies, 1)
    assert (await get(web, "/survey/blind")).headers["location"] == "/survey/blind/2"
    page = await get(web, "/survey/blind/2")
    assert "2 of 2" in words(page)
    assert '<progress aria-label="Done so far" value="1" max="2">' in page.text
    assert (await get(web, "/survey/blind/words")).status_code == 404


async def test_a_ballot_tells_nothing_before_the_vote(web: Web, studies: StudyStore) -> None:
    study = await make(studies, attention=True)
    await agree(web)
    await begin(web)
    for number in range(1, 4):
        response = await get(web, f"/survey/blind/{number}")
        sent = response.content + str(response.headers.raw).encode()
        assert study.found(sent) == set()
        assert "attention" not in response.text
        assert CODE not in response.text
        assert response.headers["cache-control"] == "no-store"
        assert "etag" not in response.headers
        assert response.text.count("Reply number") == 5
        # Not by asking directly either.
        asked = await get(web, f"/survey/blind/{number}/answers")
        assert asked.headers["location"] == f"/survey/blind/{number}"
        assert study.found(asked.content) == set()
        await vote(web, studies, number)
        assert set(SOURCES) <= study.found((await get(web, f"/survey/blind/{number}/answers")).content)


async def test_every_answer_has_the_same_markup(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web)
    await begin(web)
    page = (await get(web, "/survey/blind/1")).text
    cards = re.findall(r'<section class="card answer".*?</section>', page, re.DOTALL)
    assert len(cards) == 5
    plain = set()
    for place, card in enumerate(cards):
        letter = "ABCDE"[place]
        assert f'value="{letter}"' in card
        plain.add(card.replace(f"Answer {letter}", "Answer").replace(f'"{letter}"', '""').replace(f"-{letter}", ""))
    assert len({re.sub(r"in wording \d", "", card) for card in plain}) == 1


async def test_two_answers_have_no_least(web: Web, studies: StudyStore) -> None:
    await make(studies, sources=2, ask_reason=False)
    await agree(web)
    await begin(web)
    page = await get(web, "/survey/blind/1")
    assert "Least" not in page.text
    assert page.text.count('name="most"') == 2
    assert "textarea" not in page.text


async def test_what_cannot_be_chosen_says_why(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web)
    await begin(web)
    with closing(sqlite3.connect(web.settings.data_dir / "heard.db")) as database, database:
        database.execute("UPDATE slot SET votable = 0, reason = 'This answer did not arrive.' WHERE position = 2")
        database.execute("UPDATE ballot SET closed_reason = 'Nothing to compare.' WHERE number = 2")
    page = await get(web, "/survey/blind/1")
    card = page.text.split('data-letter="B"')[1].split("</section>")[0]
    assert "This answer did not arrive." in card
    assert "<input" not in card
    assert page.text.count("Reply number") == 4
    assert page.text.count('name="most"') == 4
    await vote(web, studies, 1)
    assert (await get(web, "/survey/blind")).headers["location"] == "/survey/blind/3"
    page = await get(web, "/survey/blind/2")
    assert "Nothing to compare." in words(page)
    assert "<form" not in page.text


async def test_a_stored_vote_is_shown_again(web: Web, studies: StudyStore) -> None:
    await make(studies, reveal=False)
    await agree(web)
    await begin(web)
    await vote(web, studies, 1, choice=Choice.RANKED, most=3, least=5, reason="</textarea><b>warm")
    page = (await get(web, "/survey/blind/1")).text
    assert re.findall(r'name="(\w+)" value="(\w)" checked', page) == [("most", "C"), ("least", "E")]
    assert "&lt;/textarea&gt;&lt;b&gt;warm</textarea>" in page
    assert "Your vote on this one is stored" in page
    await vote(web, studies, 1, choice=Choice.NONE)
    page = (await get(web, "/survey/blind/1")).text
    assert " checked" not in page
    assert re.findall(r'value="(\w+)" aria-pressed="true"', page) == ["none"]


async def test_a_vote_is_final_once_the_sources_are_told(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web)
    await begin(web)
    await vote(web, studies, 1, choice=Choice.SKIPPED)
    skipped = (await get(web, "/survey/blind/1")).text
    assert "You may change it" in skipped
    assert 'id="save"' in skipped
    # A skip is told nothing.
    assert (await get(web, "/survey/blind/1/answers")).status_code == 303
    await vote(web, studies, 1, choice=Choice.RANKED, most=3, least=5)
    page = (await get(web, "/survey/blind/1")).text
    assert "It stays as it is" in page
    assert 'id="save"' not in page
    assert page.count('type="radio"') == page.count(" disabled>\n        <span>") == 10


async def test_nobody_sees_another_s_ballots(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web)
    await begin(web)
    await finish(web, studies)
    web.client.cookies.clear()
    for path in ("/survey/blind/1", "/survey/blind/1/answers", "/survey/blind/end"):
        assert (await get(web, path)).headers["location"].startswith("/consent")
    await agree(web)
    for path in ("/survey/blind/1", "/survey/blind/1/answers", "/survey/blind/end"):
        assert (await get(web, path)).headers["location"] == "/survey/blind"


async def test_who_wrote_what_comes_after_the_vote_or_never(web: Web, studies: StudyStore) -> None:
    study = await make(studies)
    await agree(web)
    await begin(web)
    await vote(web, studies, 1, choice=Choice.RANKED, most=3, least=5)
    page = await get(web, "/survey/blind/1/answers")
    cards = page.text.split('<section class="card answer"')[1:]
    for place, card in enumerate(cards):
        text = re.search(r"Reply number \d in wording \d, with some comfort\.", card)
        assert text
        assert f"<strong>{study.source(text[0])}</strong>" in card
        assert ("your most empathetic" in card, "your least empathetic" in card) == (place == 2, place == 4)
    assert "Model: okapi-9b" in page.text
    assert 'id="onward" href="/survey/blind/2"' in page.text


async def test_a_study_that_does_not_reveal_goes_on_at_once(web: Web, studies: StudyStore) -> None:
    await make(studies, reveal=False)
    await agree(web)
    await begin(web)
    await vote(web, studies, 1)
    assert (await get(web, "/survey/blind/1/answers")).headers["location"] == "/survey/blind/2"


# --- the end --------------------------------------------------------------------------------------------------------


async def close(web: Web, text: str) -> httpx.Response:
    return await web.client.post("/survey/blind/end", data={"closing": text}, headers=HERE)


CLOSING = "SELECT closing, completed_at IS NOT NULL FROM enrolment"


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
    assert 'href="/consent"' in page.text
    assert "withdraw" in page.text
    assert "<form" not in page.text
    await close(web, "another")
    assert rows(web, CLOSING) == [("Warm\nwords.", 1)]


async def test_an_empty_answer_or_no_question_ends_it_too(web: Web, studies: StudyStore) -> None:
    await make(studies, open_question="", completion_code="", completion_url="")
    await agree(web)
    await begin(web)
    await finish(web, studies)
    page = await get(web, "/survey/blind/end")
    assert "Thank you" in page.text
    assert "code" not in words(page)
    assert rows(web, CLOSING) == [(None, 1)]


async def test_blanks_are_no_answer(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web)
    await begin(web)
    await finish(web, studies)
    await close(web, " \n\u200b\x00")
    assert rows(web, CLOSING) == [(None, 1)]


async def test_a_long_answer_is_told_and_kept_on_the_page(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web)
    await begin(web)
    await finish(web, studies)
    response = await close(web, "word " * 1_000 + "end")
    assert response.status_code == 422
    assert "5,003 characters, and 5,000 fit" in words(response)
    assert "word end</textarea>" in response.text
    assert rows(web, CLOSING) == [(None, 0)]


async def test_a_locked_database_keeps_the_answer_on_the_page(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web)
    await begin(web)
    await finish(web, studies)
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
    await web.answer(research="yes", country="DE")
    await begin(web)
    await finish(web, studies)
    response = await close(web, f"It was fine. {text}")
    assert response.status_code == 200
    assert "You matter" in response.text
    assert f'<div lang="{language}">' in response.text
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
    for language, said in (("de", '<div lang="de">'), ("xx", '<div lang="en">'), ("<b>", '<div lang="en">')):
        page = await web.client.get("/survey/blind/1/help", params={"language": language})
        assert said in page.text
        assert "your vote is stored, without it" in words(page)
        assert 'href="/survey/blind/1/answers"' in page.text


# --- the page itself ------------------------------------------------------------------------------------------------


async def test_only_our_script_may_run_and_only_here(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web)
    await begin(web)
    policy = (await get(web, "/survey/blind/1")).headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "script-src" not in (await get(web, "/you")).headers["content-security-policy"]


async def test_attacks_in_messages_and_answers_stay_text() -> None:
    shown = as_html(
        "<script>x</script> [a](javascript:x) ![p](http://x/y.png) http://evil.example <http://e.x>\n\n# Big"
    )
    assert re.findall(r"<(\w+)", shown) == ["p", "p", "strong"]
    assert "&lt;script&gt;" in shown
    assert as_html("one\ntwo") == "<p>one<br>\ntwo</p>\n"
    assert "<li>a</li>" in as_html("- a\n- b")
    assert "<code" not in as_html("    four spaces\n\n`tick`")
