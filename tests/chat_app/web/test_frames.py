"""Who may show the pages in a frame, and the cookies that are kept there."""

import re
from pathlib import Path

import pytest

from heard.chat_app.safety.crisis_numbers import countries
from heard.db.store import Store
from tests.journeys.web import HERE, built
from tests.journeys.web import store as store

LAB = ("https://lab.example.org", "https://*.example.net")
TOKEN = "a-long-random-token-for-tests"


async def test_a_named_site_may_and_nobody_else(tmp_path: Path, store: Store) -> None:
    web = built(tmp_path, store, frame_ancestors=LAB, researcher_token=TOKEN)
    async with web.client:
        await web.answer()
        for path in ("/consent", "/help", "/you", "/scorer", "/survey/none", "/static/heard.css"):
            headers = (await web.client.get(path)).headers
            assert "x-frame-options" not in headers
            assert headers["content-security-policy"].endswith(f"frame-ancestors 'self' {' '.join(LAB)}")
        for path in ("/results", "/results/any"):
            headers = (await web.client.get(path)).headers
            assert headers["x-frame-options"] == "DENY"
            assert "frame-ancestors 'none'" in headers["content-security-policy"]


async def test_cookies_are_partitioned_in_frames_and_the_researcher_s_is_not(tmp_path: Path, store: Store) -> None:
    web = built(tmp_path, store, frame_ancestors=LAB, researcher_token=TOKEN)
    async with web.client:
        set_ = (await web.answer(country=countries()[0][0])).headers.get_list("set-cookie")
        cleared = (await web.client.post("/consent", data={"chat": "yes"}, headers=HERE)).headers.get_list("set-cookie")
        assert len(set_) == 2
        for cookie in (*set_, *cleared):
            assert re.search(r"; SameSite=None; Secure; Partitioned$|; SameSite=None.*; Secure; Partitioned$", cookie)
            assert cookie.lower().count("samesite") == cookie.lower().count("secure") == 1
        answer = await web.client.post("/results", data={"token": TOKEN}, headers=HERE)
        cookie = answer.headers["set-cookie"].lower()
        assert "samesite=strict" in cookie
        assert "; secure" in cookie
        assert "partitioned" not in cookie


async def test_without_the_setting_nothing_changes(tmp_path: Path, store: Store) -> None:
    web = built(tmp_path, store)
    async with web.client:
        response = await web.answer()
        assert response.headers["x-frame-options"] == "DENY"
        assert "samesite=lax" in response.headers["set-cookie"].lower()
        assert "Partitioned" not in response.headers["set-cookie"]
        assert "frame-ancestors 'none'" in response.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("origin", "site", "passes"),
    [
        ("https://chat.example.org", None, True),
        ("http://CHAT.example.org", None, True),
        ("https://chat.example.org:8443", "same-origin", True),
        ("https://chat.example.org:8443", "same-site", False),
        ("https://chat.example.org:8443", None, False),
        ("https://chat.example.org.evil.example", "same-origin", False),
        ("https://evil.example", "same-origin", False),
        ("https://chat.example.org:1@evil.example", "same-origin", False),
        ("https://chatXexample.org:8443", "same-origin", False),
        ("null", "same-origin", False),
    ],
)
async def test_the_public_origin(tmp_path: Path, store: Store, origin: str, site: str | None, passes: bool) -> None:
    web = built(tmp_path, store, public_host="chat.example.org")
    async with web.client:
        headers = {"origin": origin} | ({"sec-fetch-site": site} if site else {})
        response = await web.client.post("/consent", data={"chat": "no"}, headers=headers)
        assert (response.status_code != 403) == passes
