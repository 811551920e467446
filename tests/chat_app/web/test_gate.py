"""The gate before the chat: who comes in, from where, and what every answer carries."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from heard.chat_app.common.identity import CHAT_COOKIE, VISITOR_COOKIE, new_participant
from heard.chat_app.safety.crisis_numbers import countries
from heard.chat_app.web.consent_gate import BLOCKED_PATHS
from heard.db.records import (
    ConsentRecord,
)
from heard.db.store import Store
from tests.journeys.web import BASE, BROWSER, HERE, SECRET_WORDS, YES, Web, built
from tests.journeys.web import store as store
from tests.journeys.web import web as web

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
    assert response.cookies[web.named(CHAT_COOKIE)] == f"token-{web.participant}"
    again = await web.client.get("/chat/", headers=BROWSER)
    assert "set-cookie" not in again.headers
    assert again.json()["cookies"][web.named(CHAT_COOKIE)] == f"token-{web.participant}"


@pytest.mark.parametrize("foreign", [{"": "token-other"}, {"_0": "token", "_1": "-other"}])
async def test_another_person_s_token_does_not_come_through(web: Web, foreign: dict[str, str]) -> None:
    await web.answer()
    name = web.named(CHAT_COOKIE)
    web.client.cookies.update({**{f"{name}{part}": value for part, value in foreign.items()}, "other": "kept"})
    seen = (await web.client.get("/chat/user", headers={"authorization": "Bearer token-other"})).json()
    assert not [one for one in seen["cookies"] if one.startswith(name)]
    assert seen["cookies"]["other"] == "kept"
    assert web.identity.participant(seen["cookies"][web.named(VISITOR_COOKIE)]) == web.participant
    assert seen["auth"] is None


@pytest.mark.parametrize("path", BLOCKED_PATHS)
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


@pytest.mark.parametrize("path", ["/consent", "/you/erase", "/you/leave", "/scorer", "/scorer/flag"])
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
        response = await web.answer(country=countries()[0][0])
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
    parts = {"model": "starting", "database": "ok", "scorer": "ready", "prompts": "ok"}
    assert response.json() == {"status": "starting", **parts}
    assert web.participant not in response.text
