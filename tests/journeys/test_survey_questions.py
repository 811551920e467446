"""Questions round the ballots against a real database, in this process: every kind, branching, screening, reloads."""

import re
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from heard.chat_app.studies.study_file import parse_study
from heard.db.store import Store
from heard.db.study_records import EnrolmentRecord
from heard.db.study_store import StudyStore
from tests.journeys.survey_steps import agree, begin, finish, get, rows, vote, words
from tests.journeys.survey_steps import studies as studies
from tests.journeys.surveying import make
from tests.journeys.test_live_link import STUDY as LIVE
from tests.journeys.test_live_link import judge, save
from tests.journeys.web import HERE, Web, built
from tests.journeys.web import store as store
from tests.journeys.web import web as web

ABOUT: dict[str, Any] = tomllib.loads(
    (Path(__file__).parents[2] / "docs" / "example-study" / "about-you.toml").read_text(encoding="utf-8")
)
FIRST, SECOND = "/survey/blind/questions/about-you/1/0", "/survey/blind/questions/about-you/2/0"
STORED = "SELECT item, after_ballots, value FROM question_answer ORDER BY after_ballots, item"
WHOLE = {"q-easy": "4", "q-hard": "2", "q-reading": "3", "q-tired": "50"}
MOOD = {
    "id": "mood", "title": "Mood", "range": {"min": 0, "max": 10},
    "pages": [{"items": [{"id": "now", "kind": "slider", "text": "How are you?"}]}],
}  # fmt: skip


async def send(web: Web, path: str, fields: dict[str, Any]) -> httpx.Response:
    return await web.client.post(path, data=fields, headers=HERE)


async def where(web: Web) -> str:
    """Where the study leads now."""
    return str((await get(web, "/survey/blind")).headers["location"])


async def test_a_person_answers_goes_back_and_comes_to_the_ballots(web: Web, studies: StudyStore) -> None:
    await make(studies, questions=[ABOUT])
    await agree(web)
    assert "You are asked some questions too" in words(await get(web, "/survey/blind"))
    await begin(web)
    assert await where(web) == FIRST
    for early in ("/survey/blind/1", "/survey/blind/end", SECOND, "/survey/blind/questions/about-you/9/0"):
        assert (await get(web, early)).headers["location"] == FIRST
    page = await get(web, FIRST)
    assert page.headers["cache-control"] == "no-store"
    assert len(re.findall(r'<input type="radio" name="q-helps"', page.text)) == 3
    assert "<legend>Do you help people" in page.text
    assert re.search(r'<label for="q-age">.*<input type="text"[^>]* id="q-age"', page.text, re.DOTALL)
    assert 'value="0" max="2"' in page.text
    assert "checked" not in page.text
    # What is sound is kept, and the fault is told at its place and above.
    page = await send(web, FIRST, {"q-age": "30"})
    assert page.status_code == 422
    assert '<a href="#q-helps">' in page.text
    assert 'id="q-helps-fault"' in page.text
    assert 'aria-describedby="q-helps-fault" aria-invalid="true"' in page.text
    assert rows(web, STORED) == [("about-you.age", 0, "30")]
    assert 'value="30"' in (await get(web, FIRST)).text  # after a reload too
    assert (await send(web, FIRST, {"q-age": "30", "q-helps": "paid"})).headers["location"] == "/survey/blind"
    assert await where(web) == SECOND
    page = await get(web, SECOND)
    assert '<input type="checkbox" name="q-where" value="phone"' in page.text
    assert "No answer yet" in page.text
    assert 'max="100" step="1"' in page.text
    assert "fully" in page.text
    assert f'href="{FIRST}"' in page.text
    for wrong in ({"q-easy": "6"}, {"q-reading": "<b>"}, {"q-words": "w" * 1001}):
        assert (await send(web, SECOND, {**WHOLE, "q-where": "room", **wrong})).status_code == 422
    assert await where(web) == SECOND
    # The slider was not moved, and the text has nothing to see.
    done = {**WHOLE, "q-where": ["room", "phone"], "q-words": " \u200b"}
    assert (await send(web, SECOND, done)).status_code == 303
    values = {item: value for item, _, value in rows(web, STORED)}
    assert values["about-you.where"] == "phone;room"
    assert (values["about-you.tired"], values["about-you.words"]) == (None, None)
    assert await where(web) == "/survey/blind/1"
    assert (await get(web, FIRST)).headers["location"] == "/survey/blind/1"
    await send(web, FIRST, {"q-age": "99", "q-helps": "no"})
    assert ("about-you.age", 0, "30") in rows(web, STORED)
    assert 'id="ballot"' in (await get(web, "/survey/blind/1")).text


async def test_an_answer_that_is_changed_takes_what_hung_on_it_along(web: Web, studies: StudyStore) -> None:
    late = {**ABOUT["pages"][1], "title": "Last page", "items": [{"id": "end", "kind": "text", "text": "?"}]}
    await make(studies, questions=[{**ABOUT, "pages": [*ABOUT["pages"], late]}])
    await agree(web)
    await begin(web)
    await send(web, FIRST, {"q-age": "30", "q-helps": "paid"})
    await send(web, SECOND, {**WHOLE, "q-where": "room", "q-tired": "0", "q-words": "two\r\nlines"})
    assert (await where(web)).endswith("/3/0")
    page = await get(web, SECOND)
    assert 'value="room" checked' in page.text
    assert re.search(r'name="q-tired-set" value="yes" checked', page.text)
    assert "two\nlines</textarea>" in page.text
    await send(web, FIRST, {"q-age": "30", "q-helps": "no"})
    assert "about-you.where" not in [row[0] for row in rows(web, STORED)]
    assert "Where do you help" not in (await get(web, SECOND)).text
    assert (await where(web)).endswith("/3/0")


async def test_a_slider_that_was_not_moved_is_no_answer(web: Web, studies: StudyStore) -> None:
    pages = [{"items": [{**MOOD["pages"][0]["items"][0], "id": f"at{number}"}]} for number in (1, 2)]
    await make(studies, questions=[{**MOOD, "pages": pages}])
    await agree(web)
    await begin(web)
    path = "/survey/blind/questions/mood/1/0"
    assert (await send(web, path, {"q-at1": "5"})).status_code == 422
    assert rows(web, STORED) == []
    assert (await send(web, path, {"q-at1": "0"})).status_code == 303
    assert (await send(web, await where(web), {"q-at2": "5", "q-at2-set": "yes"})).status_code == 303
    assert rows(web, STORED) == [("mood.at1", 0, "0"), ("mood.at2", 0, "5")]


async def test_an_optional_answer_can_be_taken_back(web: Web, studies: StudyStore) -> None:
    ends = {"min": 1, "max": 7, "labels": ["cold", "<warm>"]}
    items = [
        {"id": "felt", "kind": "likert", "text": "How was it?", "range": ends, "required": False},
        {"id": "again", "kind": "single", "text": "Again?", "required": False,
         "options": [{"value": "yes", "label": "Yes"}, {"value": "no", "label": "No"}]},
    ]  # fmt: skip
    await make(studies, questions=[{**MOOD, "pages": [{"items": items}, {"items": MOOD["pages"][0]["items"]}]}])
    await agree(web)
    await begin(web)
    path = await where(web)
    page = await get(web, path)
    assert '7<span class="unseen">, &lt;warm&gt;</span>' in page.text
    assert page.text.count("No answer</span>") == page.text.count("No answer") == 2
    await send(web, path, {"q-felt": "7", "q-again": "yes"})
    assert rows(web, STORED) == [("mood.again", 0, "yes"), ("mood.felt", 0, "7")]
    await send(web, path, {"q-felt": "", "q-again": ""})
    assert rows(web, STORED) == [("mood.again", 0, None), ("mood.felt", 0, None)]
    assert (await get(web, path)).text.count('value="" checked') == 2


async def test_who_is_screened_out_gets_a_page_and_nothing_more(web: Web, studies: StudyStore) -> None:
    await make(studies, questions=[ABOUT])
    await agree(web)
    await begin(web)
    assert (await get(web, "/survey/blind/screened-out")).headers["location"] == FIRST
    assert (await send(web, FIRST, {"q-age": "17"})).status_code == 422  # the page is not whole
    await send(web, FIRST, {"q-age": "17", "q-helps": "no"})
    assert await where(web) == "/survey/blind/screened-out"
    page = await get(web, "/survey/blind/screened-out")
    assert "it ends for you here" in words(page)
    assert "CODE-7Q4" not in page.text
    for path in (FIRST, "/survey/blind/1", "/survey/blind/end"):
        assert (await get(web, path)).headers["location"] == "/survey/blind/screened-out"
    await send(web, FIRST, {"q-age": "30", "q-helps": "no"})
    assert rows(web, STORED)[0] == ("about-you.age", 0, "17")
    assert rows(web, "SELECT count(*) FROM ballot") == [(0,)]


async def test_pages_come_between_ballots_and_after_them(web: Web, studies: StudyStore) -> None:
    after = {**MOOD, "id": "last", "place": "after"}
    often = {**MOOD, "place": "between", "every": 1}
    once = {**MOOD, "id": "once", "place": "between", "after_ballot": 2}
    await make(studies, questions=[after, once, often], items_per_person=3)
    await agree(web)
    await begin(web)
    seen = []
    for number in (1, 2, 3):
        assert await where(web) == f"/survey/blind/{number}"
        await vote(web, studies, number)
        while "/questions/" in (path := await where(web)):
            if number < 3:
                assert (await get(web, f"/survey/blind/{number + 1}")).headers["location"] == path
            assert 'id="ballot"' in (await get(web, f"/survey/blind/{number}")).text  # what was voted on stays open
            assert (await get(web, "/survey/blind/end")).headers["location"] == path
            seen.append(path.removeprefix("/survey/blind/questions/"))
            await send(web, path, {"q-now": str(number)})
    assert seen == ["mood/1/1", "once/1/2", "mood/1/2", "last/1/0"]
    assert rows(web, STORED) == [
        ("last.now", 0, "3"), ("mood.now", 1, "1"), ("mood.now", 2, "2"), ("once.now", 2, "2")
    ]  # fmt: skip
    assert await where(web) == "/survey/blind/end"
    await web.client.post("/survey/blind/end", data={"closing": ""}, headers=HERE)
    assert "CODE-7Q4" in (await get(web, "/survey/blind/end")).text


async def test_a_crisis_in_a_text_gets_people_and_is_not_stored(web: Web, studies: StudyStore) -> None:
    text = "I want to kill myself"
    item = {"id": "why", "kind": "text", "text": "Why?"}
    await make(studies, questions=[{**MOOD, "pages": [{"items": [item, {**item, "id": "how", "required": False}]}]}])
    await web.answer(research="yes", country="DE", next="/survey/blind")
    await begin(web)
    response = await send(web, "/survey/blind/questions/mood/1/0", {"q-why": text, "q-how": "Well."})
    assert '<section class="hh" lang="en"' in response.text
    assert 'href="/survey/blind"' in response.text
    assert text not in response.text
    assert rows(web, STORED) == [("mood.how", 0, "Well."), ("mood.why", 0, None)]
    for path in web.settings.data_dir.iterdir():
        assert text.encode() not in path.read_bytes()
    assert await where(web) == "/survey/blind/1"


async def test_another_browser_sees_no_earlier_words(web: Web, studies: StudyStore) -> None:
    await make(studies, questions=[ABOUT])
    await agree(web)
    await begin(web, "p1")
    await send(web, FIRST, {"q-age": "30", "q-helps": "paid"})
    await send(web, SECOND, {"q-easy": "4", "q-words": "my own words"})
    web.client.cookies.clear()
    await agree(web)
    new = EnrolmentRecord("blind", web.participant, "p1", None, 1, datetime.now(UTC) + timedelta(seconds=1))
    await studies.enrol(new, lambda _: None, lambda *_: [])
    assert await where(web) == SECOND
    page = await get(web, SECOND)
    assert "my own words" not in page.text
    assert "q-words" not in page.text
    assert (await get(web, FIRST)).headers["location"] == SECOND
    await send(web, SECOND, {"q-where": "room", "q-hard": "2", "q-reading": "3", "q-tired": "50", "q-words": "others"})
    assert ("about-you.words", 0, "my own words") in rows(web, STORED)
    assert await where(web) == "/survey/blind/1"
    await finish(web, studies)
    assert await where(web) == "/survey/blind/end"


async def test_a_live_study_asks_before_the_chat_and_after_it(tmp_path: Path, store: Store) -> None:
    file = parse_study(
        LIVE.model_dump(mode="json") | {"questions": [MOOD, {**MOOD, "id": "last", "place": "after"}]}, "a live study"
    )
    web = built(tmp_path, store, live_study=file)
    async with web.client:
        studying = await save(store, file)
        await agree(web)
        await begin(web, "anna", "talk")
        for number in range(file.items_per_person):
            if not number:
                assert (await get(web, "/survey/talk/chat")).headers["location"] == "/survey/talk/questions/mood/1/0"
                await send(web, "/survey/talk/questions/mood/1/0", {"q-now": "3"})
            assert (await get(web, "/survey/talk")).headers["location"] == "/survey/talk/chat"
            await judge(web, studying)
        assert (await get(web, "/survey/talk/end")).headers["location"] == "/survey/talk/questions/last/1/0"
        await send(web, "/survey/talk/questions/last/1/0", {"q-now": "9"})
        assert (await get(web, "/survey/talk")).headers["location"] == "/survey/talk/end"
    assert rows(web, STORED) == [("last.now", 0, "9"), ("mood.now", 0, "3")]
