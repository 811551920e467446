"""The ballots of a survey against a real database, in this process: where people stand, what is told when."""

import re
import sqlite3
from contextlib import closing

import pytest

from heard.chat_app.web.pages.markup import as_html
from heard.db.errors import VoteRefused
from heard.db.study_records import Choice
from heard.db.study_store import StudyStore
from tests.journeys.survey_steps import agree, begin, finish, get, rows, vote, words
from tests.journeys.survey_steps import studies as studies
from tests.journeys.surveying import CODE, SOURCES, make
from tests.journeys.web import Web
from tests.journeys.web import store as store
from tests.journeys.web import web as web


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
    study = await make(studies, attention=True, reveal=True)
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
    # Nor after the vote, until the last one is in.
    for number in range(1, 4):
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
        assert page.count(f'value="{letter}"') == 2  # one of each question's radio buttons
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


async def test_votes_are_final_once_the_sources_are_told(web: Web, studies: StudyStore) -> None:
    study = await make(studies, reveal=True)
    await agree(web)
    await begin(web)
    await vote(web, studies, 1, choice=Choice.SKIPPED)
    await vote(web, studies, 2, choice=Choice.RANKED, most=3, least=5)
    for number in (1, 2):
        page = await get(web, f"/survey/blind/{number}")
        assert "You may change it" in page.text
        assert 'id="save"' in page.text
        assert (await get(web, f"/survey/blind/{number}/answers")).headers["location"] == "/survey/blind/3"
    await vote(web, studies, 3)
    # A skip is told nothing, and is no vote that could still be cast blind.
    assert (await get(web, "/survey/blind/1/answers")).status_code == 303
    for number in (1, 2):
        with pytest.raises(VoteRefused, match="It stays as it is"):
            await vote(web, studies, number, choice=Choice.NONE)
    assert study.found((await get(web, "/survey/blind/2/answers")).content)
    page = (await get(web, "/survey/blind/2")).text
    assert "It stays as it is" in page
    assert 'id="save"' not in page
    assert page.count('type="radio"') == len(re.findall(r'type="radio"[^>]* disabled>', page)) == 10


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


async def test_who_wrote_what_comes_after_the_last_vote_or_never(web: Web, studies: StudyStore) -> None:
    study = await make(studies, reveal=True, open_question="")
    await agree(web)
    await begin(web)
    for number in (2, 3):
        await vote(web, studies, number)
    await vote(web, studies, 1, choice=Choice.RANKED, most=3, least=5)
    done = (await get(web, "/survey/blind/end")).text
    assert re.findall(r'href="(/survey/blind/\d/answers)"', done) == [f"/survey/blind/{n}/answers" for n in (1, 2, 3)]
    page = await get(web, "/survey/blind/1/answers")
    cards = page.text.split('<section class="card answer"')[1:]
    for place, card in enumerate(cards):
        text = re.search(r"Reply number \d in wording \d, with some comfort\.", card)
        assert text
        assert f"<strong>{study.source(text[0])}</strong>" in card
        assert ("your most empathetic" in card, "your least empathetic" in card) == (place == 2, place == 4)
    assert "Model: okapi-9b" in page.text
    assert 'id="onward" href="/survey/blind/end"' in page.text


async def test_a_study_that_does_not_reveal_goes_on_at_once(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web)
    await begin(web)
    await finish(web, studies)
    assert (await get(web, "/survey/blind/1/answers")).headers["location"] == "/survey/blind/end"


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
