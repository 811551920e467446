"""What a browser keeps and others may reach: cookies of two servers, leaving a device, caches, the API's token."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from heard.chat_app.common.identity import COUNTRY_COOKIE, VISITOR_COOKIE, Identity
from heard.chat_app.studies.study_file import parse_study
from heard.db.store import Store
from heard.db.study_store import StudyStore
from tests.journeys.surveying import make
from tests.journeys.web import BASE, BROWSER, HERE, Web, built, one_turn
from tests.journeys.web import store as store
from tests.journeys.web import web as web

TOKEN = "a-long-token-for-other-machines"
FAR = "192.0.2.1"


def far(web: Web, address: str = FAR) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(web.client._transport.app, client=(address, 1))  # type: ignore[attr-defined]
    return httpx.AsyncClient(transport=transport, base_url=BASE)


# --- cookies --------------------------------------------------------------------------------------------------------


async def test_two_servers_on_one_name_know_their_visitors(tmp_path: Path, store: Store) -> None:
    one = built(tmp_path, store)
    (tmp_path / "secret").unlink()  # the second server has another one, and for this test the same database
    two = built(tmp_path, store)
    assert one.named(VISITOR_COOKIE) != two.named(VISITOR_COOKIE)
    async with one.client, two.client:
        await one.answer(country="DE")
        two.client.cookies = one.client.cookies  # a browser has one jar for a host name
        await two.answer(country="GB")
        one.client.cookies = two.client.cookies
        assert one.participant != two.participant
        assert one.client.cookies[one.named(COUNTRY_COOKIE)] == "DE"
        assert two.client.cookies[two.named(COUNTRY_COOKIE)] == "GB"
        assert "In numbers" in (await one.client.get("/you")).text
        await two.client.post("/you/erase", data={"sure": "yes"}, headers=HERE)
        one.client.cookies = two.client.cookies
        assert "In numbers" in (await one.client.get("/you")).text


async def test_a_cookie_of_before_is_known_and_another_servers_is_not(web: Web, tmp_path: Path) -> None:
    await web.answer()
    person = web.participant
    web.client.cookies.clear()
    web.client.cookies.set(VISITOR_COOKIE, Identity.load(tmp_path / "other").sign(person))
    assert "Nothing is stored" in (await web.client.get("/you")).text
    web.client.cookies.set(VISITOR_COOKIE, web.identity.sign(person))
    assert "In numbers" in (await web.client.get("/you")).text
    left = await web.client.post("/you/leave", headers=HERE)
    assert f'{VISITOR_COOKIE}=""' in " ".join(left.headers.get_list("set-cookie"))


@pytest.mark.parametrize(("days", "age"), [(365, "Max-Age=31536000"), (1, "Max-Age=86400"), (0, None)])
async def test_how_long_a_browser_is_known(tmp_path: Path, store: Store, days: int, age: str | None) -> None:
    web = built(tmp_path, store, session_days=days)
    async with web.client:
        cookies = (await web.answer()).headers.get_list("set-cookie")
        (cookie,) = [one for one in cookies if one.startswith(web.named(VISITOR_COOKIE))]
        assert (age in cookie) if age else ("Max-Age" not in cookie and "expires" not in cookie.lower())


async def test_leaving_a_device_forgets_it_and_erases_nothing(web: Web) -> None:
    await web.answer(country="DE")
    await one_turn(web.store, web.participant, "my own words")
    mine, before, cookies = web.participant, web.rows(), dict(web.client.cookies)
    page = await web.client.get("/you")
    assert page.text.index("/you/leave") < page.text.index("/you/erase")
    left = await web.client.post("/you/leave", headers=HERE)
    assert left.status_code == 200
    assert "nothing that is stored was erased" in left.text
    assert "forget.js" in left.text
    assert dict(web.client.cookies) == {}
    assert web.rows() == before
    assert web.sessions.asked == [("dismiss", mine)]
    assert "Nothing is stored for this browser" in (await web.client.get("/you")).text
    web.client.cookies.update(cookies)  # another device of the same person
    assert "In numbers" in (await web.client.get("/you")).text
    web.client.cookies.clear()
    assert (await web.client.post("/you/leave", headers=HERE)).status_code == 200


# --- caches and other origins ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/chat/", "/chat/user", "/chat/raises", "/chat/answers-500", "/chat/mcp", "/chat/x"])
@pytest.mark.parametrize("agreed", [True, False])
async def test_no_cache_keeps_what_the_chat_answers(web: Web, path: str, agreed: bool) -> None:
    if agreed:
        await web.answer()
    for headers in ({}, BROWSER):
        assert (await web.client.get(path, headers=headers)).headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/chat/assets/x.js", "/chat/public/heard.css", "/static/heard.css"])
async def test_files_without_anything_of_anybody_are_asked_for_again(web: Web, path: str) -> None:
    assert (await web.client.get(path)).headers["cache-control"] == "no-cache"


# --- /api/score from other machines ---------------------------------------------------------------------------------


@pytest.fixture
async def open_api(tmp_path: Path, store: Store) -> AsyncIterator[Web]:
    made = built(tmp_path, store, api_token=TOKEN)
    async with made.client:
        yield made


BAD = {"reply": 1}
"""A body that is refused with 422 as soon as the caller is let in."""


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 401), (HERE, 401), ({"authorization": "Bearer no"}, 401), ({"authorization": TOKEN}, 401),
        ({"authorization": f"Basic {TOKEN}"}, 401), ({"authorization": f"Bearer {TOKEN}x"}, 401),
        ({"authorization": f"Bearer {TOKEN}"}, 422), ({"authorization": f"bearer  {TOKEN} "}, 422),
        ({"authorization": f"Bearer {TOKEN}", "origin": "https://evil.example"}, 403),
    ],
)  # fmt: skip
async def test_another_machine_needs_the_token(open_api: Web, headers: dict[str, str], status: int) -> None:
    async with far(open_api) as client:
        answer = await client.post("/api/score", json=BAD, headers=headers)
    assert answer.status_code == status
    assert TOKEN not in answer.text
    through = await open_api.client.post("/api/score", json=BAD, headers={"x-forwarded-for": FAR, **headers})
    assert through.status_code == status
    assert (await open_api.client.post("/api/score", json=BAD)).status_code == 422  # this machine


async def test_without_a_token_in_the_settings_other_machines_are_refused(web: Web) -> None:
    async with far(web) as client:
        for headers in ({}, HERE, {"authorization": "Bearer "}, {"authorization": f"Bearer {TOKEN}"}):
            answer = await client.post("/api/score", json=BAD, headers=headers)
            assert (answer.status_code, answer.json()["status"]) == (403, "refused")


# --- ballots without end --------------------------------------------------------------------------------------------


async def test_cleared_cookies_give_no_ballots_without_end(tmp_path: Path, store: Store) -> None:
    await make(StudyStore(store.engine))
    web = built(tmp_path, store, enrolments_per_address=3)
    async with web.client:
        seen = []
        for _ in range(5):
            web.client.cookies.clear()
            await web.answer(research="yes", next="/survey/blind")
            seen.append((await web.client.post("/survey/blind", data={}, headers=HERE)).status_code)
        assert seen == [303, 303, 303, 429, 429]
        refused = await web.client.post("/survey/blind", data={}, headers=HERE | BROWSER)
        assert "come again tomorrow" in refused.text
    async with far(web) as client:
        client.cookies = web.client.cookies
        assert (await client.post("/survey/blind", data={}, headers=HERE)).status_code == 303
        assert (await client.post("/survey/blind", data={}, headers=HERE)).status_code == 303  # enrolled already


@pytest.mark.parametrize(("allow", "seen"), [([], [303, 303, 429, 429]), (["anna"], [303] * 4)])
async def test_nor_in_the_chat_of_an_open_live_study(
    tmp_path: Path, store: Store, allow: list[str], seen: list[int]
) -> None:
    arms = [{"name": name, "persona": "listener", "model": "echo"} for name in ("left", "right")]
    study = parse_study({"id": "talk", "kind": "live", "arms": arms, "allow": allow}, "the test's study")
    web = built(tmp_path, store, live_study=study, enrolments_per_address=2)
    async with web.client:
        got = []
        for _ in range(4):
            web.client.cookies.clear()
            got.append((await web.answer(research="yes")).status_code)
        assert got == seen
        told = {"x-forwarded-for": FAR}  # of a proxy that is not trusted: nobody can be told apart behind it
        version = {"chat": "yes", "adult": "yes", "research": "yes", "version": web.version}
        for _ in range(4):
            web.client.cookies.clear()
            assert (await web.client.post("/consent", data=version, headers=HERE | told)).status_code == 303
