"""The page of results: closed to everybody without the researcher's token, and the same figures as the command."""

import re
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from heard.chat_app.common.identity import Identity
from heard.chat_app.web.researcher import MOST_FAILURES, MOST_OF_ADDRESS, RESEARCHER_COOKIE, SESSION_SECONDS, Researcher
from heard.db.preregistration import open_results, register
from heard.db.store import Store
from tests.journeys.web import BASE, HERE, Web, built
from tests.journeys.web import store as store
from tests.voters import Cast, put

TOKEN = "a-long-random-token-for-tests"
NAMES = ("<b>ann</b>", "人間", "gpt")


async def opened(tmp_path: Path, store: Store) -> Web:
    casts = [Cast(n, NAMES[n % 3 :] + NAMES[: n % 3], most=1 + n % 2, least=3, condition="x") for n in range(12)]
    await put(store.engine, casts)
    return built(tmp_path, store, researcher_token=TOKEN)


async def test_without_a_token_in_the_settings_there_is_no_page(tmp_path: Path, store: Store) -> None:
    web = built(tmp_path, store)
    async with web.client:
        for answer in (
            await web.client.get("/results"),
            await web.client.get("/results/warm"),
            await web.client.get("/results/warm/most-least.svg"),
            await web.client.post("/results", data={"token": ""}, headers=HERE),
        ):
            assert answer.status_code == 404
            assert "researcher_token" in answer.text
            assert "set-cookie" not in answer.headers


async def test_a_participant_never_gets_in(tmp_path: Path, store: Store) -> None:
    web = await opened(tmp_path, store)
    async with web.client:
        await web.answer(research="yes")
        own = web.client.cookies.get(web.named("heard_visitor"))
        forged = ("", own or "", "9999999999.", f"9999999999.{'0' * 64}", "x.y", "²³.x", "9" * 5000)
        for cookie in forged:
            headers = {
                "cookie": f"{web.named('heard_visitor')}={own}; {web.named(RESEARCHER_COOKIE)}={cookie}".encode()
            }
            for path in ("/results", "/results/warm", "/results/nothing", "/results/warm/strengths.svg"):
                answer = await web.client.get(path, headers=headers)
                assert answer.status_code == 401, (cookie, path)
                assert "warm" not in answer.text.replace("/results/warm", "")
                assert "gpt" not in answer.text
        assert "/results" not in (await web.client.get("/you")).text


async def test_the_token_opens_it_once_and_for_the_path_only(tmp_path: Path, store: Store) -> None:
    web = await opened(tmp_path, store)
    async with web.client:
        foreign = await web.client.post("/results", data={"token": TOKEN}, headers={"origin": "http://evil"})
        assert foreign.status_code == 403
        answer = await web.client.post("/results", data={"token": TOKEN}, headers=HERE)
        assert answer.status_code == 303
        cookie = answer.headers["set-cookie"].lower()
        for part in ("httponly", "samesite=strict", "path=/results", f"max-age={SESSION_SECONDS}"):
            assert part in cookie
        assert TOKEN not in cookie
        assert "Who sounds warm?" in (await web.client.get("/results")).text
        page = await web.client.get("/results/warm")
        assert page.status_code == 200
        assert page.headers["cache-control"] == "no-store"
        assert "<b>ann</b>" not in page.text
        assert "&lt;b&gt;ann&lt;/b&gt;" in page.text
        assert "12 of 12 votes count, by 12 people" in page.text
        assert re.search(r"<strong>50\.0%</strong>", page.text)
        none = await web.client.get("/results/warm?condition=y&leaks=with&attention=passed")
        assert "0 of 12 votes count" in none.text
        picture = await web.client.get("/results/warm/most-least.svg")
        assert picture.headers["content-type"] == "image/svg+xml"
        assert "人間" in picture.text
        assert "<b>" not in picture.text
        for path in ("/results/nothing", "/results/warm/other.svg"):
            assert (await web.client.get(path)).status_code == 404


MORE = ("items", "conditions", "sources", "flow", "adjusted?adjust=length&adjust=time", "flow.svg")


async def test_the_pages_below_are_for_the_role_too_and_escape_names(tmp_path: Path, store: Store) -> None:
    web = await opened(tmp_path, store)
    async with web.client:
        for name in MORE:
            assert (await web.client.get(f"/results/warm/{name}")).status_code == 401
        await web.client.post("/results", data={"token": TOKEN}, headers=HERE)
        for name, said in zip(
            MORE,
            ("27.3%", "x: 12 votes of 12 people.", "Items led", "Began to vote", "each source are equally long", "12"),
            strict=True,
        ):
            answer = await web.client.get(f"/results/warm/{name}")
            assert answer.status_code == 200, name
            assert answer.headers["cache-control"] == "no-store"
            assert said in " ".join(answer.text.split()), name
            assert "<b>ann" not in answer.text
            assert not re.search(r"\bnan\b", answer.text, re.IGNORECASE)
            assert (await web.client.get(f"/results/nothing/{name}")).status_code == 404
        filtered = await web.client.get("/results/warm/items?seconds=3&condition=x")
        assert "No vote counts yet." in filtered.text  # each took a second
        assert "votes of 3 seconds or more" in filtered.text
        assert "Faster than the fewest seconds" in (await web.client.get("/results/warm?seconds=3")).text
        for wrong in ("soon", "-1", "nan", "inf"):
            assert (await web.client.get(f"/results/warm?seconds={wrong}")).status_code == 422
        page = (await web.client.get("/results/warm?seconds=0.5&hide=gpt")).text
        assert 'href="/results/warm/items?seconds=0.5&amp;hide=gpt"' in page


async def test_conditions_with_different_sources_stand_one_by_one(tmp_path: Path, store: Store) -> None:
    casts = [Cast(n, ("a", "b"), most=1 + n % 2, item=n % 3, condition="<x>") for n in range(8)]
    casts += [Cast(8 + n, ("a", "c"), most=1 + n % 2, item=n % 3, condition="y") for n in range(8)]
    await put(store.engine, casts)
    web = built(tmp_path, store, researcher_token=TOKEN)
    async with web.client:
        await web.client.post("/results", data={"token": TOKEN}, headers=HERE)
        page = (await web.client.get("/results/warm?leaks=with")).text
        assert "so the conditions are not taken together" in page
        assert "Most and least empathetic, &lt;x&gt;" in page
        ids = re.findall(r' id="([^"]+)"', page)
        assert len(ids) == len(set(ids))
        assert "most-least.svg?leaks=with&amp;condition=y" in page
        assert "Wilson 21.5 to 78.5" in page
        assert (await web.client.get("/results/warm/most-least.svg")).status_code == 404
        picture = await web.client.get("/results/warm/most-least.svg?leaks=with&condition=y")
        assert picture.status_code == 200
        together = (await web.client.get("/results/warm?pool=together")).text
        assert "16 of 16 votes count" in together
        assert "Most and least empathetic</h2>" in together
        assert 'name="pool" value="together" checked' in together


async def test_guesses_are_few(tmp_path: Path, store: Store) -> None:
    web = await opened(tmp_path, store)
    async with web.client:
        for _ in range(MOST_FAILURES):
            wrong = await web.client.post("/results", data={"token": "é" * 30}, headers=HERE)
            assert wrong.status_code == 403
        late = await web.client.post("/results", data={"token": TOKEN}, headers=HERE)
        assert late.status_code == 429
        assert "set-cookie" not in late.headers
        web.client.cookies.clear()  # a researcher in another browser, behind the same address
        assert (await web.client.post("/results", data={"token": TOKEN}, headers=HERE)).status_code == 303


async def test_guesses_without_a_cookie_lock_their_address_alone(tmp_path: Path, store: Store) -> None:
    web = await opened(tmp_path, store)
    async with web.client:
        for _ in range(MOST_OF_ADDRESS):
            web.client.cookies.clear()
            assert (await web.client.post("/results", data={"token": "no" * 20}, headers=HERE)).status_code == 403
        web.client.cookies.clear()
        assert (await web.client.post("/results", data={"token": TOKEN}, headers=HERE)).status_code == 429
        transport = httpx.ASGITransport(web.client._transport.app, client=("192.0.2.9", 1))  # type: ignore[attr-defined]
        async with httpx.AsyncClient(transport=transport, base_url=BASE) as elsewhere:
            answer = await elsewhere.post("/results", data={"token": TOKEN}, headers=HERE)
            assert answer.status_code == 303


def test_a_cookie_ends_with_its_time_its_token_and_its_server(tmp_path: Path) -> None:
    now = [1_000_000.0]
    role = Researcher(TOKEN, Identity.load(tmp_path / "one"), clock=lambda: now[0])
    headers = {"cookie": f"{RESEARCHER_COOKIE}={role.cookie()}"}
    assert role.is_signed_in(headers)
    assert not Researcher(TOKEN + "x", role.identity, clock=lambda: now[0]).is_signed_in(headers)
    assert not Researcher(TOKEN, Identity.load(tmp_path / "two"), clock=lambda: now[0]).is_signed_in(headers)
    assert not Researcher("", role.identity, clock=lambda: now[0]).is_signed_in(headers)
    now[0] += SESSION_SECONDS
    assert not role.is_signed_in(headers)
    for _ in range(MOST_FAILURES):
        assert not role.accepts("no", "a browser", "192.0.2.1")
    assert role.locked_out("a browser", "192.0.2.1")
    assert not role.locked_out("another", "192.0.2.1")
    now[0] += 301
    assert not role.locked_out("a browser", "192.0.2.1")
    for number in range(MOST_OF_ADDRESS):
        assert not role.locked_out("", "192.0.2.1")
        assert not role.accepts("no", f"browser {number}", "192.0.2.1")
    assert role.locked_out("", "192.0.2.1")
    assert not role.locked_out("", "192.0.2.2")
    assert TOKEN not in repr(role)


@pytest.mark.parametrize("token", ["short", "with a space in the middle"])
def test_a_poor_token_is_refused_without_being_repeated(tmp_path: Path, token: str) -> None:
    from heard.chat_app.common.settings import SettingsError, load_settings

    (tmp_path / "settings.toml").write_text(f'researcher_token = "{token}"\n')
    with pytest.raises(SettingsError, match="researcher_token") as caught:
        load_settings(tmp_path)
    assert token not in str(caught.value)


async def test_a_preregistered_study_shows_nothing_until_its_stop_rule(tmp_path: Path, store: Store) -> None:
    web = await opened(tmp_path, store)
    now = datetime.now(UTC)
    await register(store.engine, "warm", "plan.pdf", b"plan", people=9, at=None, now=now, heard="1")
    async with web.client:
        assert (await web.client.get("/results/warm")).status_code == 401
        await web.client.post("/results", data={"token": TOKEN}, headers=HERE)
        below = ("", "/most-least.svg", "/strengths.svg", "/items", "/conditions", "/sources", "/flow", "/flow.svg")
        for path in (*below, "/adjusted?adjust=position"):
            answer = await web.client.get(f"/results/warm{path}")
            assert answer.status_code == 403, path
            assert "until 9 people have finished (now 0)" in answer.text
            assert "gpt" not in answer.text
        await open_results(store.engine, "warm", by="R. Lee", reason="asked", now=now)
        for path in below:
            assert (await web.client.get(f"/results/warm{path}")).status_code == 200, path
