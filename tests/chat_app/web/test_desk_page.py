"""The desk's pages: whom they open to by role, and what a lead does there, against a real database."""

import html
import re
from pathlib import Path

import httpx
from sqlalchemy import insert

from heard.db.desk_records import Actor, Role
from heard.db.desk_store import DeskStore
from heard.db.store import Store
from heard.db.study_tables import EnrolmentRow
from tests.journeys.web import HERE, Web, built
from tests.journeys.web import store as store
from tests.voters import NOW, Cast, put

TOKEN = "a-long-random-token-for-tests"
PEOPLE = 120


async def opened(tmp_path: Path, store: Store) -> tuple[Web, dict[int, str]]:
    """A study of 120 people, of whom every fourth always marks C; and a second one."""
    three = ("<b>ann</b>", "bot", "cat")
    marks = {who: (3,) * 6 if who % 4 == 0 else (1, 2, 3, 1, 2, 3) for who in range(PEOPLE)}
    made = await put(store.engine, [Cast(who, three, most, most % 3 + 1) for who in marks for most in marks[who]])
    await put(store.engine, [Cast(0, three, 1, 2)], study="other")
    rows = [
        {"study_id": "warm", "participant_id": person, "external_id": f"pid-{who:03}", "seed": 1, "started_at": NOW,
         "completed_at": NOW if who % 2 else None}
        for who, person in made.people.items()
    ]  # fmt: skip
    async with store.engine.begin() as connection:
        await connection.execute(insert(EnrolmentRow), rows)
    return built(tmp_path, store, researcher_token=TOKEN), made.people


async def signed_in(web: Web, token: str, path: str = "/desk") -> httpx.Response:
    web.client.cookies.clear()
    return await web.client.post(path, data={"token": token}, headers=HERE)


def told(answer: httpx.Response) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.text)).split())


async def test_the_desk_shows_everybody_and_a_lead_decides_who_counts(tmp_path: Path, store: Store) -> None:
    web, people = await opened(tmp_path, store)
    async with web.client as client:
        assert (await client.get("/desk/warm")).status_code == 401
        assert (await client.post("/desk/warm/state", data={"do": "pause"}, headers=HERE)).status_code == 401
        assert (await signed_in(web, TOKEN)).headers["location"] == "/desk"
        assert "120 came, 60 finished" in told(await client.get("/desk"))
        page = await client.get("/desk/warm?sort=same_place&order=down")
        assert "120 people: 60 finished, 60 under way" in told(page)
        assert len(re.findall('<th scope="row"><a href="/desk/warm/person/', page.text)) == 100
        assert re.search("Whole study 60 [0-9]+ –", told(page))
        assert "screen-out – –" in told(page)
        assert 'aria-sort="descending"' in page.text
        assert "Page 2 of 2" in told(await client.get("/desk/warm?sort=same_place&order=down&page=2"))
        assert "There is no rule" in told(await client.get("/desk/warm?rule=fats=3s"))
        caught = await client.get("/desk/warm?rule=straight-lining=90%25")
        assert "Exclude all 30 of them by this rule" in told(caught)
        rule = {"rule": "straight-lining=90%"}
        assert (await client.post("/desk/warm/exclude", data=rule)).status_code == 403  # from no page
        assert (await client.post("/desk/warm/exclude", data=rule, headers=HERE)).status_code == 303
        assert "People (30)" in told(await client.get("/desk/warm?show=excluded"))
        assert "540 of 720 votes count" in told(await client.get("/results/warm"))
        own = f"/desk/warm/person/{people[0]}"
        page = await client.get(own)
        assert "Marked the same place as most empathetic on 6 of 6 ballots." in told(page)
        assert page.headers["cache-control"] == "no-store"
        assert (await client.post(f"{own}/include", data={"reason": " "}, headers=HERE)).status_code == 422
        sent = await client.post(f"{own}/include", data={"reason": "<i>A tremor"}, headers=HERE)
        assert sent.headers["location"] == own
        page = await client.get(own)
        assert "&lt;i&gt;A tremor" in page.text
        assert "by the setting researcher_token: <i>A tremor" in told(page)
        assert "People (29)" in told(await client.get("/desk/warm?show=excluded"))
        await client.post(f"{own}/exclude", data={"reason": "Twice."}, headers=HERE)
        assert "excluded by hand" in told(await client.get("/desk/warm/access"))
        rows = (await client.get("/desk/warm/to-pay.csv")).text.splitlines()
        assert (len(rows), rows[0]) == (61, "external_id,outcome,at,excluded")
        for path in ("/desk/nothing", "/desk/warm/other.csv", "/desk/warm/person/nobody", "/desk/other/person/x"):
            assert (await client.get(path)).status_code == 404
        assert "Closing a study cannot be undone" in told(
            await client.post("/desk/warm/state", data={"do": "close"}, headers=HERE)
        )
        for do, state in (("pause", "paused"), ("resume", "running"), ("close", "ended"), ("pause", "ended")):
            done = await client.post("/desk/warm/state", data={"do": do, "sure": "yes"}, headers=HERE)
            assert done.status_code == (409 if (do, state) == ("pause", "ended") else 303)
            assert f"Who sounds warm? {state} " in told(await client.get("/desk/warm"))


async def test_each_role_opens_what_is_its_own_until_it_is_revoked(tmp_path: Path, store: Store) -> None:
    web, people = await opened(tmp_path, store)
    desk, ada = DeskStore(store.engine), Actor("Ada")
    tokens = {role: (await desk.invite("warm", role, f"{role.value} 1", ada))[1] for role in Role}
    async with web.client as client:
        for role in (Role.PARTICIPANT, Role.RATER):
            for path in ("/desk", "/results"):
                assert (await signed_in(web, tokens[role], path)).status_code == 403
                assert (await client.get("/desk/warm")).status_code == 401
        assert (await signed_in(web, tokens[Role.RESEARCHER], "/results")).headers["location"] == "/results"
        for path in ("/desk", "/desk/warm", f"/desk/warm/person/{people[1]}", "/results", "/results/warm"):
            page = await client.get(path)
            assert (page.status_code, re.search("/(desk|results)/other", page.text)) == (200, None), path
        assert "<button" not in re.sub("<button>Show</button>", "", (await client.get("/desk/warm")).text)
        for path in ("/desk/other", "/results/other", "/results/other/strengths.svg"):
            assert (await client.get(path)).status_code == 404
        before = web.rows().get("exclusion", 0)
        for path in ("exclude", "state", f"person/{people[1]}/exclude", "access/x/revoke"):
            data = {"rule": "same", "reason": "x", "do": "close", "sure": "yes"}
            assert (await client.post(f"/desk/warm/{path}", data=data, headers=HERE)).status_code == 403
        assert (await client.get("/desk/warm/access")).status_code == 403
        assert web.rows().get("exclusion", 0) == before
        grace = next(link for link in await desk.links("warm") if link.role is Role.RESEARCHER)
        researchers = list(client.cookies.jar)
        await signed_in(web, tokens[Role.LEAD])
        page = await client.get("/desk/warm/access")
        assert tokens[Role.RESEARCHER] not in page.text
        assert "researcher 1 researcher saw the results" in told(page)
        assert f"saw a person {people[1][:8]}" in told(page)
        assert (await client.post(f"/desk/warm/access/{grace.id}/revoke", headers=HERE)).status_code == 303
        client.cookies.clear()
        for cookie in researchers:
            client.cookies.jar.set_cookie(cookie)
        for path in ("/desk/warm", "/results/warm"):
            assert (await client.get(path)).status_code == 401
        assert (await signed_in(web, tokens[Role.RESEARCHER])).status_code == 403


async def test_links_open_the_desk_without_a_token_in_the_settings(tmp_path: Path, store: Store) -> None:
    await opened(tmp_path, store)
    web = built(tmp_path, store)
    async with web.client as client:
        assert (await client.get("/desk")).status_code == 404
        _, token = await DeskStore(store.engine).invite("warm", Role.LEAD, "Ada", Actor("Ada"))
        login = await client.get("/desk")
        assert login.status_code == 401
        assert "/static/desk.js" in login.text
        answer = await signed_in(web, token)
        assert token not in str(answer.headers)
        assert (await client.get("/desk/warm")).status_code == 200
        forged = web.identity.seal("x 99999999999", "heard_staff")
        client.cookies.clear()
        headers = {"cookie": f"{web.named('heard_staff')}={forged}"}
        assert (await client.get("/desk/warm", headers=headers)).status_code == 401
