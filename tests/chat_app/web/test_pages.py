"""The pages around the chat and the gate before it, against a real database. The chat itself is a few lines here, which
tell what came through; the real one is in test_server.py."""

import json
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from heard.chat_app.common.identity import CHAT_COOKIE, COUNTRY_COOKIE, VISITOR_COOKIE, new_participant
from heard.chat_app.common.notice import notice
from heard.chat_app.common.settings import Settings
from heard.chat_app.safety.crisis_numbers import countries
from heard.db.store import Store
from heard.prompts.safety_files import load_hotlines
from tests.journeys.web import BROWSER, HERE, Web, built, one_turn
from tests.journeys.web import store as store
from tests.journeys.web import web as web

# --- consent --------------------------------------------------------------------------------------------------------


async def test_the_first_visit_shows_the_notice_and_stores_nothing(web: Web) -> None:
    page = await web.client.get("/")
    assert page.status_code == 200
    for said in ("not a therapist", "18 or older", "can be wrong", "small and weak", "No name", "IP address", "erase"):
        assert said in " ".join(page.text.split())
    assert 'href="/help"' in page.text
    assert "set-cookie" not in page.headers
    assert web.rows() == {}


async def test_nothing_is_ticked_beforehand(web: Web) -> None:
    page = (await web.client.get("/")).text
    assert "checked" not in page
    assert re.findall(r"<option[^>]* selected", page) == []


async def test_two_answers_are_stored_with_version_and_time(web: Web) -> None:
    before = datetime.now(UTC)
    response = await web.answer(research="no", country="")
    assert (response.status_code, response.headers["location"]) == (303, "/chat/")
    cookie = response.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "max-age=31536000" in cookie
    stored = await web.store.latest_consent(web.participant)
    assert stored is not None
    assert (stored.chat, stored.research, stored.version) == (True, False, web.version)
    assert before <= stored.given_at <= datetime.now(UTC)


async def test_after_consent_the_first_page_leads_to_the_chat_and_the_answers_can_change(web: Web) -> None:
    await web.answer(research="yes")
    assert (await web.client.get("/")).headers["location"] == "/chat/"
    page = (await web.client.get("/consent")).text
    assert re.search(r'id="research" name="research" value="yes" checked', page)
    who = web.participant
    await web.answer(research="no")
    assert web.participant == who
    stored = await web.store.latest_consent(who)
    assert stored
    assert not stored.research
    assert web.rows()["consent"] == 2


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ({"adult": ""}, "18 or older"),
        ({"research": ""}, "Both answers open the chat"),
        ({"research": "maybe"}, "Both answers open the chat"),
        ({"chat": ""}, "one of the two buttons"),
        ({"country": "<script>alert(1)</script>"}, "choose a country"),
        ({"version": "2020-01-01.0"}, "notice changed"),
    ],
)
async def test_a_missing_or_made_up_answer_opens_nothing(web: Web, answers: dict[str, str], said: str) -> None:
    response = await web.answer(**answers)
    assert response.status_code == 422
    assert said in " ".join(response.text.split())
    assert "<script>alert" not in response.text
    assert web.rows() == {}
    assert "set-cookie" not in response.headers


async def test_what_was_answered_is_still_there_after_a_problem(web: Web) -> None:
    page = (await web.answer(adult="", research="no")).text
    assert re.search(r'id="research-no" name="research" value="no" checked', page)


async def test_refusing_at_the_first_visit_leaves_no_trace(web: Web) -> None:
    page = await web.answer(chat="no")
    assert page.status_code == 200
    assert "Nothing about you was stored" in page.text
    assert first_number() in page.text
    assert web.rows() == {}
    assert web.named(VISITOR_COOKIE) not in web.client.cookies


async def test_withdrawing_is_stored_closes_the_chat_and_keeps_it_closed(web: Web) -> None:
    await web.answer(research="yes")
    page = await web.answer(chat="no")
    assert page.status_code == 200
    stored = await web.store.latest_consent(web.participant)
    assert stored
    assert (stored.chat, stored.research) == (False, False)
    assert web.sessions.asked == [("stop", web.participant), ("dismiss", web.participant)]
    assert (await web.client.get("/chat/", headers=BROWSER)).headers["location"] == "/"


async def test_a_new_wording_asks_again(tmp_path: Path, web: Web) -> None:
    await web.answer()
    cookies = dict(web.client.cookies)
    other = built(tmp_path, web.store, persona_word="companion")
    async with other.client as client:
        client.cookies.update(cookies)
        page = await client.get("/")
        assert page.status_code == 200
        assert "companion" in page.text
        assert "older version" in page.text
        assert (await client.get("/chat/", headers=BROWSER)).headers["location"] == "/"


async def test_the_country_is_kept_in_a_cookie_and_can_be_taken_back(web: Web) -> None:
    code, name = countries()[0]
    await web.answer(country=code)
    assert web.client.cookies[web.named(COUNTRY_COOKIE)] == code
    assert f'value="{code}" selected' in (await web.client.get("/help")).text
    await web.answer(country="")
    assert web.named(COUNTRY_COOKIE) not in web.client.cookies
    assert name in (await web.client.get("/help")).text


# --- help -----------------------------------------------------------------------------------------------------------


def first_number() -> str:
    """A number that must be on the page when no country is chosen."""
    return load_hotlines().countries[0].lines[0].call


async def test_help_lists_every_country_until_one_is_chosen(web: Web) -> None:
    page = (await web.client.get("/help")).text
    for _, name in countries():
        assert name.replace("&", "&amp;") in page
    assert first_number() in page


@pytest.mark.parametrize("country", ["XX", "'><script>alert(1)</script>", "de", "\x00"])
async def test_help_with_a_made_up_country_shows_all(web: Web, country: str) -> None:
    page = await web.client.get("/help", params={"country": country})
    assert page.status_code == 200
    assert "<script>" not in page.text
    assert first_number() in page.text


async def test_a_chosen_country_is_shown_alone_with_numbers_to_tap(web: Web) -> None:
    page = (await web.client.get("/help", params={"country": "DE"})).text
    assert 'href="tel:08001110111"' in page
    assert 'href="tel:112"' in page
    assert page.count("In danger now: <a") == 1
    assert re.search(r"Checked on \d{4}-\d\d-\d\d", page)


@pytest.mark.parametrize("language", ["de", "xx", "", "'><script>"])
async def test_the_picker_keeps_the_country_and_answers_with_its_numbers(web: Web, language: str) -> None:
    form = {"country": "DE", "language": language, "danger": "suicide"}
    answer = await web.client.post("/help/country", data=form, headers=HERE)
    html = answer.json()["html"]
    assert 'href="tel:08001110111"' in html
    assert ("anrufen" in html) == (language == "de")
    assert "<script" not in html
    assert web.client.cookies[web.named(COUNTRY_COOKIE)] == "DE"
    assert 'value="DE" selected' in (await web.client.get("/help")).text


async def test_the_picker_without_a_script_leads_to_the_page_with_the_numbers(web: Web) -> None:
    headers = {**HERE, **BROWSER}
    answer = await web.client.post("/help/country", data={"country": "GB", "danger": "poisoning"}, headers=headers)
    assert (answer.status_code, answer.headers["location"]) == (303, "/help?country=GB")
    assert web.client.cookies[web.named(COUNTRY_COOKIE)] == "GB"


@pytest.mark.parametrize("form", [{"country": "XX"}, {"country": "gb"}, {"country": ""}, {}, {"danger": "minor"}])
async def test_a_made_up_country_is_not_kept(web: Web, form: dict[str, str]) -> None:
    answer = await web.client.post("/help/country", data=form, headers=HERE)
    assert answer.status_code == 422
    assert "no numbers for that country" in answer.text
    assert web.named(COUNTRY_COOKIE) not in web.client.cookies


async def test_a_made_up_danger_gets_the_general_hand_off(web: Web) -> None:
    form = {"country": "GB", "danger": "nonsense"}
    html = (await web.client.post("/help/country", data=form, headers=HERE)).json()["html"]
    assert 'href="tel:116123"' in html


async def test_another_site_cannot_choose_the_country(web: Web) -> None:
    foreign = {"Origin": "https://elsewhere.example"}
    answer = await web.client.post("/help/country", data={"country": "GB"}, headers=foreign)
    assert answer.status_code == 403
    assert web.named(COUNTRY_COOKIE) not in web.client.cookies


# --- your data ------------------------------------------------------------------------------------------------------


async def test_a_stranger_has_no_data(web: Web) -> None:
    assert "Nothing is stored for this browser" in (await web.client.get("/you")).text
    assert (await web.client.get("/you/export")).status_code == 404
    erased = await web.client.post("/you/erase", data={"sure": "yes"}, headers=HERE)
    assert "Nothing is stored for this browser" in erased.text


async def test_numbers_and_export_hold_what_is_stored_and_nobody_else_s(web: Web) -> None:
    await web.answer()
    await one_turn(web.store, web.participant, "my own words")
    stranger = new_participant()
    await web.store.ensure_participant(stranger)
    await one_turn(web.store, stranger, "words of another")

    page = " ".join((await web.client.get("/you")).text.split())
    for kind, number in (
        ("Conversations", 1),
        ("Your messages", 1),
        ("Replies", 1),
        ("Drafts of replies", 2),
        ("Scores", 2),
    ):
        assert f'<td>{kind}</td><td class="number">{number}</td>' in page

    response = await web.client.get("/you/export")
    assert response.headers["content-disposition"].startswith("attachment;")
    assert response.headers["cache-control"] == "no-store"
    assert "words of another" not in response.text
    assert stranger not in response.text
    given = json.loads(response.text)
    assert given["participant"]["id"] == web.participant
    (message,) = given["conversations"][0]["messages"]
    assert message["text"] == "my own words"
    assert [draft["text"] for draft in message["reply"]["drafts"]] == ["reply 1", "reply 2"]
    assert message["reply"]["drafts"][0]["score"]["empathy"] == 2.0


async def test_erasing_needs_the_tick(web: Web) -> None:
    await web.answer()
    before = web.rows()
    page = await web.client.post("/you/erase", data={}, headers=HERE)
    assert page.status_code == 422
    assert "Nothing was erased" in page.text
    assert web.rows() == before
    assert web.sessions.asked == []


async def test_erasing_leaves_no_row_of_mine_and_all_of_another_s(web: Web) -> None:
    stranger = new_participant()
    await web.store.ensure_participant(stranger)
    await one_turn(web.store, stranger, "words of another")
    others = web.rows()
    await web.answer()
    await one_turn(web.store, web.participant, "my own words")
    mine = web.participant
    added = {name: count - others.get(name, 0) for name, count in web.rows().items()}
    names = [web.named(one) for one in (VISITOR_COOKIE, COUNTRY_COOKIE, CHAT_COOKIE)]
    pieces = [f"{names[2]}_0", f"{names[2]}_1"]
    web.client.cookies.update(dict.fromkeys(["X-Chainlit-Session-id", *names[1:], *pieces], "x"))

    page = await web.client.post("/you/erase", data={"sure": "yes"}, headers=HERE)
    assert page.status_code == 200
    for name, count in added.items():
        if count:
            assert f'<td>{name}</td><td class="number">{count}</td>' in page.text
    assert web.rows() == others
    assert web.sessions.asked == [("stop", mine), ("dismiss", mine)]
    cleared = " ".join(page.headers.get_list("set-cookie"))
    for name in (*names, *pieces, "X-Chainlit-Session-id"):
        assert f'{name}=""; ' in cleared
    with closing(sqlite3.connect(web.settings.data_dir / "heard.db")) as database:
        assert "my own words" not in "".join(database.iterdump())


async def test_a_tampered_cookie_is_a_new_visitor_and_shows_nothing(web: Web) -> None:
    await web.answer()
    await one_turn(web.store, web.participant, "my own words")
    value = web.client.cookies[web.named(VISITOR_COOKIE)]
    victim = web.participant
    web.client.cookies.clear()
    web.client.cookies.set(web.named(VISITOR_COOKIE), value[:-8] + "AAAAAAAA")
    assert "Nothing is stored for this browser" in (await web.client.get("/you")).text
    assert (await web.client.get("/you/export")).status_code == 404
    assert (await web.client.get("/")).status_code == 200
    response = await web.answer()
    assert response.status_code == 303
    fresh = web.identity.participant(
        httpx.Response(200, headers=response.headers, request=response.request).cookies[web.named(VISITOR_COOKIE)]
    )
    assert fresh
    assert fresh != victim


# --- the HTML itself ------------------------------------------------------------------------------------------------


class Outline(HTMLParser):
    """What a screen reader and a keyboard need to find, and what must not be there."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.labels: set[str] = set()
        self.controls: set[str] = set()
        self.links: list[str] = []
        self.headings: list[int] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attributes}
        self.tags.append(tag)
        assert not [name for name in given if name.startswith("on") or name == "style"], given
        if "id" in given:
            self.ids.append(given["id"])
        if tag == "label":
            self.labels.add(given["for"])
        if tag in ("select", "textarea") or (tag == "input" and given.get("type") != "hidden"):
            self.controls.add(given["id"])
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        self.links += [given[name] for name in ("href", "src", "action") if name in given]


@pytest.mark.parametrize("path", ["/consent", "/help", "/you", "/scorer", "/nowhere"])
async def test_pages_can_be_used_by_keyboard_and_screen_reader(web: Web, path: str) -> None:
    await web.answer()
    text = (await web.client.get(path, headers=BROWSER)).text
    page = Outline()
    page.feed(text)
    assert '<html lang="en">' in text
    for landmark in ("header", "nav", "main", "footer", "title"):
        assert page.tags.count(landmark) == 1
    assert page.controls <= page.labels
    assert len(page.ids) == len(set(page.ids))
    assert page.headings[0] == 1
    assert page.headings.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(page.headings, page.headings[1:], strict=False))
    assert "script" not in page.tags
    loaded = [link for link in page.links if not link.startswith(("/", "#", "tel:", "sms:", "https://", "mailto:"))]
    assert loaded == []
    assert not re.search(r"<(?:link|img|form)[^>]*https?://", text)


async def test_the_setting_s_word_is_shown_and_escaped(tmp_path: Path, store: Store) -> None:
    web = built(tmp_path, store, persona_word="<b>coach</b>")
    async with web.client as client:
        page = (await client.get("/")).text
    assert "&lt;b&gt;coach&lt;/b&gt;" in page
    assert "<b>coach" not in page


def test_the_version_follows_the_words() -> None:
    therapist = Settings(persona_word="therapist")
    assert notice(Settings()).version != notice(therapist).version
    assert re.fullmatch(r"\d{4}-\d\d-\d\d\.[0-9a-f]{12}", notice(therapist).version)
