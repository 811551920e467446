"""The pages around the chat and the gate before it, against a real database. The chat itself is a few lines here, which
tell what came through; the real one is in test_server.py."""

import json
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from chat_app import safety
from chat_app.gate import CLOSED
from chat_app.identity import COUNTRY_COOKIE, VISITOR_COOKIE, Identity, cookies_of, new_participant
from chat_app.pages.notice import notice
from chat_app.server import Chat, create_parent
from chat_app.services import Services
from chat_app.settings import Settings
from db.engine import create_engine, upgrade
from db.records import (
    ConsentRecord,
    ConversationRecord,
    DraftRecord,
    DraftStatus,
    MessageRecord,
    Outcome,
    ReplyRecord,
    ScoreRecord,
)
from db.store import Store
from prompts.safety_files import load_hotlines

BASE = "http://127.0.0.1:8000"
HERE = {"origin": BASE}
BROWSER = {"accept": "text/html"}
YES = {"chat": "yes", "adult": "yes", "research": "no", "country": ""}
SECRET_WORDS = "SELECT words of a person"


class Tokens:
    """Login tokens that a test can read: "token-" and the participant."""

    def owner(self, token: str) -> str | None:
        return token.removeprefix("token-") if token.startswith("token-") else None

    def make(self, participant_id: str) -> str:
        return f"token-{participant_id}"


class Sessions:
    """Notes down what was asked of the open chats."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def stop(self, participant_id: str) -> None:
        self.asked.append(("stop", participant_id))

    async def dismiss(self, participant_id: str) -> None:
        self.asked.append(("dismiss", participant_id))


class Engine:
    """Ready at once; no page here calls a model."""

    async def start(self) -> None:
        return None


@dataclass
class Web:
    """One server in this process, its browser, its database, and whose chats it was asked to close."""

    client: httpx.AsyncClient
    store: Store
    settings: Settings
    identity: Identity
    sessions: Sessions

    @property
    def version(self) -> str:
        return notice(self.settings.persona_word).version

    @property
    def participant(self) -> str:
        found = self.identity.participant(self.client.cookies.get(VISITOR_COOKIE))
        assert found
        return found

    async def answer(self, **answers: str) -> httpx.Response:
        return await self.client.post("/consent", data={**YES, "version": self.version, **answers}, headers=HERE)

    def rows(self) -> dict[str, int]:
        """Rows by table, asked of the file itself; empty tables and the migrations' own left out."""
        with closing(sqlite3.connect(self.settings.data_dir / "heard.db")) as database:
            names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            counts = {
                name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608 - names of tables
                for name in names
                if not name.startswith(("alembic", "sqlite"))
            }
        return {name: count for name, count in counts.items() if count}


def chat_that_tells() -> FastAPI:
    """In Chainlit's place."""
    app = FastAPI()

    @app.get("/{path:path}")
    async def through(path: str, request: Request) -> JSONResponse:
        if path == "raises":
            raise RuntimeError(SECRET_WORDS)
        if path == "answers-500":
            return JSONResponse({"detail": SECRET_WORDS}, 500)
        return JSONResponse({"cookies": cookies_of(request.headers), "auth": request.headers.get("authorization")})

    return app


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    url = Settings(data_dir=tmp_path).database
    await upgrade(url)
    engine = create_engine(url, lock_seconds=0.2)
    yield Store(engine)
    await engine.dispose()


def built(tmp_path: Path, store: Store, *, scorer: Any = None, **values: Any) -> Web:
    settings = Settings(data_dir=tmp_path, **values)
    identity = Identity.load(tmp_path)
    services = Services(
        settings,
        store,
        models=cast(Any, None),
        scorer=scorer,
        library=cast(Any, None),
        engine=cast(Any, Engine()),
    )
    sessions = Sessions()

    async def aclose() -> None:
        return None

    app = create_parent(settings, services, identity, Chat(sessions, aclose, Tokens(), "default-src 'self'"))
    app.mount("/chat", chat_that_tells())
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app, raise_app_exceptions=False), base_url=BASE)
    return Web(client, store, settings, identity, sessions)


@pytest.fixture
async def web(tmp_path: Path, store: Store) -> AsyncIterator[Web]:
    made = built(tmp_path, store)
    async with made.client:
        yield made


async def one_turn(store: Store, participant_id: str, words: str) -> None:
    """One answered message with two drafts and their scores."""
    now = datetime.now(UTC)
    message, conversation = new_participant(), new_participant()
    await store.open_turn(
        ConversationRecord(conversation, participant_id, "listener", now),
        MessageRecord(message, conversation, words, Outcome.PENDING, now),
    )
    score = ScoreRecord("scored", None, 1.0, 2.0, 3.0, 2.0, "default", "a" * 64, "b" * 64)
    drafts = tuple(
        DraftRecord(
            id=new_participant(), number=number, text=f"reply {number}", status=DraftStatus.COMPLETE, kept=number == 2,
            guidance="emotional" if number == 2 else None, prompt_sha256="c" * 64, model="echo", parameters={},
            first_token_seconds=0.1, total_seconds=0.2, prompt_tokens=None, completion_tokens=None, error=None,
            score=score, created_at=now,
        )
        for number in (1, 2)
    )  # fmt: skip
    await store.close_turn(
        message, Outcome.ANSWERED, ReplyRecord(new_participant(), message, "listener", "plain", drafts, now)
    )


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
    assert VISITOR_COOKIE not in web.client.cookies


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
    code, name = safety.countries()[0]
    await web.answer(country=code)
    assert web.client.cookies[COUNTRY_COOKIE] == code
    assert f'value="{code}" selected' in (await web.client.get("/help")).text
    await web.answer(country="")
    assert COUNTRY_COOKIE not in web.client.cookies
    assert name in (await web.client.get("/help")).text


# --- help -----------------------------------------------------------------------------------------------------------


def first_number() -> str:
    """A number that must be on the page when no country is chosen."""
    return load_hotlines().countries[0].lines[0].call


async def test_help_lists_every_country_until_one_is_chosen(web: Web) -> None:
    page = (await web.client.get("/help")).text
    for _, name in safety.countries():
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
    web.client.cookies.update({"access_token": f"token-{mine}", "X-Chainlit-Session-id": "s", COUNTRY_COOKIE: "DE"})

    page = await web.client.post("/you/erase", data={"sure": "yes"}, headers=HERE)
    assert page.status_code == 200
    for name, count in added.items():
        if count:
            assert f'<td>{name}</td><td class="number">{count}</td>' in page.text
    assert web.rows() == others
    assert web.sessions.asked == [("stop", mine), ("dismiss", mine)]
    cleared = " ".join(page.headers.get_list("set-cookie"))
    for name in (VISITOR_COOKIE, COUNTRY_COOKIE, "access_token", "X-Chainlit-Session-id"):
        assert f'{name}=""; ' in cleared
    with closing(sqlite3.connect(web.settings.data_dir / "heard.db")) as database:
        assert "my own words" not in "".join(database.iterdump())


async def test_a_tampered_cookie_is_a_new_visitor_and_shows_nothing(web: Web) -> None:
    await web.answer()
    await one_turn(web.store, web.participant, "my own words")
    value = web.client.cookies[VISITOR_COOKIE]
    victim = web.participant
    web.client.cookies.clear()
    web.client.cookies.set(VISITOR_COOKIE, value[:-8] + "AAAAAAAA")
    assert "Nothing is stored for this browser" in (await web.client.get("/you")).text
    assert (await web.client.get("/you/export")).status_code == 404
    assert (await web.client.get("/")).status_code == 200
    response = await web.answer()
    assert response.status_code == 303
    fresh = web.identity.participant(
        httpx.Response(200, headers=response.headers, request=response.request).cookies[VISITOR_COOKIE]
    )
    assert fresh
    assert fresh != victim


# --- the gate -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/chat", "/chat/", "/chat/thread/abc", "/chat/login"])
async def test_without_consent_a_chat_page_leads_to_the_questions(web: Web, path: str) -> None:
    response = await web.client.get(path, headers=BROWSER)
    assert (response.status_code, response.headers["location"]) == (303, "/")


async def test_without_consent_a_program_gets_a_sentence(web: Web) -> None:
    response = await web.client.get("/chat/user")
    assert response.status_code == 401
    assert "questions on the first page" in response.json()["detail"]


async def test_an_older_answer_does_not_open_the_chat(web: Web) -> None:
    participant = new_participant()
    await web.store.ensure_participant(participant)
    await web.store.save_consent(ConsentRecord(participant, "2020-01-01.0", True, True, datetime.now(UTC)))
    web.client.cookies.set(VISITOR_COOKIE, web.identity.sign(participant))
    assert (await web.client.get("/chat/user")).status_code == 401


async def test_the_page_signs_its_visitor_in(web: Web) -> None:
    await web.answer()
    response = await web.client.get("/chat/", headers=BROWSER)
    assert response.status_code == 200
    assert response.cookies["access_token"] == f"token-{web.participant}"
    again = await web.client.get("/chat/", headers=BROWSER)
    assert "set-cookie" not in again.headers
    assert again.json()["cookies"]["access_token"] == f"token-{web.participant}"


@pytest.mark.parametrize(
    "foreign", [{"access_token": "token-other"}, {"access_token_0": "token", "access_token_1": "-other"}]
)
async def test_another_person_s_token_does_not_come_through(web: Web, foreign: dict[str, str]) -> None:
    await web.answer()
    web.client.cookies.update({**foreign, "other": "kept"})
    seen = (await web.client.get("/chat/user", headers={"authorization": "Bearer token-other"})).json()
    assert not [name for name in seen["cookies"] if name.startswith("access_token")]
    assert seen["cookies"]["other"] == "kept"
    assert web.identity.participant(seen["cookies"][VISITOR_COOKIE]) == web.participant
    assert seen["auth"] is None


@pytest.mark.parametrize("path", CLOSED)
async def test_unused_doors_of_chainlit_are_shut(web: Web, path: str) -> None:
    await web.answer()
    assert (await web.client.get(path)).status_code == 404


@pytest.mark.parametrize("path", ["/chat/raises", "/chat/answers-500"])
@pytest.mark.parametrize("accept", ["text/html", "application/json"])
async def test_the_text_of_a_fault_stays_inside(
    web: Web, path: str, accept: str, caplog: pytest.LogCaptureFixture
) -> None:
    await web.answer()
    response = await web.client.get(path, headers={"accept": accept})
    assert response.status_code == 500
    assert SECRET_WORDS not in response.text
    assert "Something went wrong" in response.text
    assert response.headers["x-content-type-options"] == "nosniff"
    assert SECRET_WORDS not in caplog.text


@pytest.mark.parametrize("path", ["/consent", "/you/erase", "/scorer", "/scorer/flag"])
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:3000"},
        {"origin": ""},
        {"origin": BASE + ".evil.example"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {},
    ],
)
async def test_a_form_from_elsewhere_changes_nothing(web: Web, path: str, headers: dict[str, str]) -> None:
    await web.answer()
    before = web.rows()
    response = await web.client.post(path, data={**YES, "version": web.version, "sure": "yes"}, headers=headers)
    assert response.status_code == 403
    assert web.rows() == before
    assert web.sessions.asked == []


async def test_a_browser_without_origin_that_says_same_origin_may(web: Web) -> None:
    response = await web.client.post(
        "/consent", data={**YES, "version": web.version}, headers={"sec-fetch-site": "same-origin"}
    )
    assert response.status_code == 303


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:8000", "", "0.0.0.0"])
async def test_a_foreign_host_name_is_refused(web: Web, host: str) -> None:
    for path in ("/", "/you/export", "/chat/", "/health"):
        assert (await web.client.get(path, headers={"host": host})).status_code == 400


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost:9", "[::1]:8000", "LOCALHOST", "chat.example.org"])
async def test_the_own_names_are_accepted(tmp_path: Path, store: Store, host: str) -> None:
    web = built(tmp_path, store, public_host="chat.example.org", host="0.0.0.0")
    async with web.client as client:
        assert (await client.get("/", headers={"host": host})).status_code == 200


async def test_every_answer_has_the_headers(web: Web) -> None:
    await web.answer()
    for path in ("/consent", "/help", "/you", "/nowhere", "/static/heard.css", "/health", "/chat/x"):
        headers = (await web.client.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        policy = headers["content-security-policy"]
        assert ("frame-ancestors 'none'" in policy) != path.startswith("/chat")  # the chat's own is set in server.py
        assert "http" not in policy


async def test_cookies_are_secure_where_the_setting_says_so(tmp_path: Path, store: Store) -> None:
    web = built(tmp_path, store, secure_cookies=True)
    async with web.client:
        response = await web.answer(country=safety.countries()[0][0])
    cookies = response.headers.get_list("set-cookie")
    assert len(cookies) == 2
    assert all("; secure" in cookie.lower() for cookie in cookies)


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_huge_form_is_refused(web: Web, chunked: bool) -> None:
    body = b"chat=yes&country=" + b"x" * 1_100_000

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 65_536):
            yield body[start : start + 65_536]

    headers = {**HERE, "content-type": "application/x-www-form-urlencoded"}
    response = await web.client.post("/consent", content=pieces() if chunked else body, headers=headers)
    assert response.status_code == 413
    assert "too large" in response.json()["detail"]


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/nowhere", 404), ("DELETE", "/help", 405), ("GET", "/docs", 404)]
)
async def test_a_wrong_address_gets_a_page_without_its_own_words(web: Web, method: str, path: str, status: int) -> None:
    response = await web.client.request(method, path + "?q=<script>", headers=BROWSER)
    assert response.status_code == status
    assert "<script>" not in response.text
    assert "To the first page" in response.text


async def test_a_locked_database_gets_a_sentence(web: Web) -> None:
    with closing(sqlite3.connect(web.settings.data_dir / "heard.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        response = await web.client.post("/consent", data={**YES, "version": web.version}, headers={**HERE, **BROWSER})
        other.execute("ROLLBACK")
    assert response.status_code == 503
    assert "busy" in response.text
    assert "sqlite" not in response.text.lower()
    assert web.rows() == {}


async def test_health_holds_no_data_of_anybody(web: Web) -> None:
    await web.answer()
    response = await web.client.get("/health")
    assert response.json() == {"status": "starting", "model": "starting", "database": "ok", "scorer": "ready"}
    assert web.participant not in response.text


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
    assert notice("supportive listener").version != notice("therapist").version
    assert re.fullmatch(r"\d{4}-\d\d-\d\d\.[0-9a-f]{12}", notice("therapist").version)
