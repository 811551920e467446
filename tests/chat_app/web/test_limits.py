"""What one visitor or one address may send: how often, how much, and how slowly."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from heard.chat_app.common.settings import SettingsError, load_settings
from heard.chat_app.web import body_limit
from heard.chat_app.web.senders import address_of, from_this_machine
from heard.db.store import Store
from tests.journeys.web import BASE, BROWSER, HERE, Web, built, parent, store  # noqa: F401 - store is a fixture


def from_address(web: Web, app: Any, address: str) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app, client=(address, 5)), base_url=BASE, headers=HERE)


async def test_a_visitor_who_sends_too_often_waits_and_nobody_else(tmp_path: Path, store: Store) -> None:  # noqa: F811
    web = built(tmp_path, store, visitor_per_minute=4)
    async with web.client:
        await web.answer()
        seen = [(await web.client.post("/help/country", data={"country": "DE"}, headers=HERE)) for _ in range(6)]
        assert [answer.status_code for answer in seen] == [200, 200, 200, 200, 429, 429]
        assert 1 <= int(seen[-1].headers["retry-after"]) <= 15
        assert "Nothing is lost" in seen[-1].json()["detail"]
        page = await web.client.post("/help/country", data={"country": "DE"}, headers=HERE | BROWSER)
        assert page.status_code == 429
        assert "<html" in page.text
        for path in ("/", "/help", "/scorer", "/consent"):  # pages may be read all the same
            assert (await web.client.get(path)).status_code in (200, 303)
        assert (await web.client.get("/you/export")).status_code == 429  # and this one is costly
        voted = await web.client.post("/vote", json={}, headers=HERE)
        assert (voted.status_code, voted.json()["status"]) == (429, "refused")
        assert "sentence" in voted.json()
        web.client.cookies.clear()
        assert (await web.answer()).status_code == 303


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        ("198.51.100.7", "198.51.100.7", "198.51.100.8"),
        ("2001:db8:1:2::5", "2001:db8:1:2:ffff::9", "2001:db8:1:3::5"),
        ("::ffff:198.51.100.7", "198.51.100.7", "::ffff:198.51.100.9"),
    ],
)
async def test_an_address_has_a_limit_whatever_its_cookies(
    tmp_path: Path,
    store: Store,  # noqa: F811
    one: str,
    same: str,
    other: str,
) -> None:
    web = built(tmp_path, store, address_per_minute=2)
    app = web.client._transport.app  # type: ignore[attr-defined]
    answer = {"country": "DE"}
    async with from_address(web, app, one) as first, from_address(web, app, same) as second:
        assert (await first.post("/help/country", data=answer)).status_code == 200
        assert (await second.post("/help/country", data=answer)).status_code == 200
        assert (await first.post("/help/country", data=answer)).status_code == 429
        assert (await second.post("/help/country", data=answer)).status_code == 429
    async with from_address(web, app, other) as third:
        assert (await third.post("/help/country", data=answer)).status_code == 200
    async with web.client:  # this machine's own
        seen = [(await web.client.post("/help/country", data=answer, headers=HERE)).status_code for _ in range(6)]
        assert seen == [200] * 6


@pytest.mark.parametrize("told", ["proxy.example", "10.0.0.0/40", "127.0.0.1:80", "*"])
def test_a_proxy_that_is_no_address_is_refused(tmp_path: Path, told: str) -> None:
    (tmp_path / "settings.toml").write_text(f'trusted_proxies = ["{told}"]\n')
    with pytest.raises(SettingsError, match="trusted_proxies"):
        load_settings(tmp_path)


def test_proxies_may_be_named_by_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARD_TRUSTED_PROXIES", "127.0.0.1, 10.0.0.0/8")
    assert load_settings(tmp_path).trusted_proxies == ("127.0.0.1", "10.0.0.0/8")


@pytest.mark.parametrize(
    ("client", "headers", "own"),
    [
        ("127.0.0.1", {"host": "127.0.0.1:8000"}, True),
        ("::1", {"host": "[::1]:8000"}, True),
        ("127.0.0.1", {"host": "localhost"}, True),
        ("127.0.0.1", {"host": "chat.example.org"}, False),
        ("127.0.0.1", {"host": "127.0.0.1", "x-forwarded-for": "127.0.0.1"}, False),
        ("127.0.0.1", {"host": "127.0.0.1", "forwarded": "for=127.0.0.1"}, False),
        ("127.0.0.1", {"host": "127.0.0.1", "x-real-ip": "127.0.0.1"}, False),
        ("192.0.2.1", {"host": "127.0.0.1"}, False),
        ("", {"host": "127.0.0.1"}, False),
    ],
)
def test_what_is_of_this_machine(client: str, headers: dict[str, str], own: bool) -> None:
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "client": (client, 1) if client else None, "headers": raw}
    assert from_this_machine(scope) is own
    assert address_of(scope) == client


# --- bodies ---------------------------------------------------------------------------------------------------------


@pytest.fixture
async def web(tmp_path: Path, store: Store) -> AsyncIterator[Web]:  # noqa: F811
    made = built(tmp_path, store, scorer=None)  # a scorer that is reached would be an error 500
    async with made.client:
        yield made


async def in_pieces(body: bytes, pause: float = 0.0) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 10_000):
        await asyncio.sleep(pause)
        yield body[start : start + 10_000]


@pytest.mark.parametrize("chunked", [False, True], ids=["with its length", "in pieces"])
@pytest.mark.parametrize(
    ("path", "size"),
    [("/scorer", 900_000), ("/scorer", 5_000_000), ("/scorer/flag", 300_000), ("/consent", 100_000),
     ("/help/country", 40_000), ("/results", 40_000), ("/survey/x", 900_000), ("/you/erase", 40_000)],
)  # fmt: skip
async def test_a_body_that_is_too_large_gets_a_sentence(web: Web, path: str, size: int, chunked: bool) -> None:
    body = b"reply=" + b"a" * size
    kind = {"content-type": "application/x-www-form-urlencoded"}
    content: Any = in_pieces(body) if chunked else body
    answer = await web.client.post(path, content=content, headers=HERE | BROWSER | kind)
    assert answer.status_code == 413
    assert "too large" in answer.text


async def test_the_longest_texts_fit_however_they_are_written(web: Web) -> None:
    text = "\U0001f642" * 8_000  # four bytes, twelve signs of a form
    form = {"reply": "", "seeker": text, "note": ""}
    answer = await web.client.post("/scorer", data=form, headers=HERE)
    assert answer.status_code == 422
    assert "There is no reply yet" in answer.text


async def test_a_body_that_never_ends_is_given_up(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body_limit.BodyLimit.__init__, "__kwdefaults__", {"seconds": 0.2})
    kind = {"content-type": "application/x-www-form-urlencoded"}
    slowly = in_pieces(b"reply=" + b"a" * 100_000, pause=0.1)
    answer = await web.client.post("/scorer", content=slowly, headers=HERE | kind)
    assert answer.status_code == 408
    assert "did not arrive in time" in answer.text
