"""`/api/score` on a running server: lists, bounds, who may call, what an answer holds, and that the chat goes first."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import jsonschema
import pytest

from heard.chat_app.common.refusals import RefusedCall
from heard.chat_app.web.json_route import MOST_BYTES
from heard.chat_app.web.score_queue import HOLD_SECONDS, MOST_WAITING
from heard.chat_app.web.score_request import LONGEST_ID, MOST_EARLIER, MOST_ITEMS, Batch, Exchange, exchanges_of
from heard.scorer.records import EmpathyScore, ScoreStatus
from heard.scorer.score_json import as_json
from tests.journeys.talking import COMING_BACK, WARM, Served, begun, slow
from tests.servers import reply
from tests.socket_client import SocketPage

SECRET = "zebrafinch"
"""A word that no answer and no log may hold."""
LONG = "I am so sorry, that sounds really hard, and I can hear how much it meant to you. " * 90
JSON = {"content-type": "application/json"}


@pytest.fixture
async def client(talking: Served) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=talking.url, timeout=60) as made:
        yield made


@pytest.fixture(scope="module")
def described(talking: Served) -> dict[str, Any]:
    return dict(httpx.get(f"{talking.url}/api/openapi.json").json())


def fits(described: dict[str, Any], answer: httpx.Response) -> None:
    """Hold an answer against the description of its status."""
    responses = described["paths"]["/api/score"]["post"]["responses"]
    schema = responses[str(answer.status_code)]["content"]["application/json"]["schema"]
    jsonschema.Draft202012Validator({**schema, "components": described["components"]}).validate(answer.json())


# --- answers --------------------------------------------------------------------------------------------------------


async def test_one_reply_without_what_it_answers(client: httpx.AsyncClient, described: dict[str, Any]) -> None:
    answer = await client.post("/api/score", json={"reply": WARM})
    given = answer.json()
    fits(described, answer)
    assert given["status"] == "scored"
    assert "reason" not in given
    assert set(given["levels"]) == {"cognitive", "emotional", "behavioral", "empathy", "perceived"}
    assert given["head_name"] == "both"
    assert len(given["head_sha256"]) == len(given["encoder_sha256"]) == 64
    assert answer.headers["cache-control"] == "no-store"


async def test_a_list_is_answered_in_order_each_as_if_alone(
    client: httpx.AsyncClient, described: dict[str, Any]
) -> None:
    items = [
        {"seeker": "I failed my exam.", "reply": WARM},
        {"reply": ""},
        {"seeker": "I want to kill myself", "reply": "ok"},
        {"reply": "Ok. That happens."},
    ]
    answer = await client.post("/api/score", json={"items": items})
    fits(described, answer)
    given = answer.json()["items"]
    assert [one["status"] for one in given] == ["scored", "empty", "crisis", "scored"]
    assert given == [(await client.post("/api/score", json=item)).json() for item in items]
    assert given[0]["empathy"] > given[3]["empathy"]
    assert set(given[1]) == {"id", "status", "reason"}  # no number at all
    assert set(given[2]) == {"id", "status", "reason", "help"}


@pytest.mark.parametrize("given", ["a7", "\u4eba", 7, -0.5, 10**30, None])
async def test_an_id_comes_back_as_it_was(
    client: httpx.AsyncClient, described: dict[str, Any], given: str | float | None
) -> None:
    answer = await client.post("/api/score", json={"items": [{"id": given, "reply": ""}, {"reply": "", "id": "z"}]})
    fits(described, answer)
    assert [one["id"] for one in answer.json()["items"]] == [given, "z"]


async def test_what_was_said_before_is_looked_at_and_a_crisis_in_it_ends_it(
    client: httpx.AsyncClient, described: dict[str, Any]
) -> None:
    told, now, answering = COMING_BACK
    item = {"seeker": now, "reply": answering}
    crisis = {**item, "earlier": [told, "I want to kill myself"]}
    answer = await client.post("/api/score", json={"items": [item, {**item, "earlier": [told]}, crisis]})
    fits(described, answer)
    alone, within, last = answer.json()["items"]
    assert alone["notes"] == ["off_topic"]
    assert within["notes"] == []
    assert within["empathy"] > alone["empathy"]
    assert last["status"] == "crisis"


def test_what_a_score_may_carry_is_in_its_json() -> None:
    score = EmpathyScore(
        ScoreStatus.SCORED, 1.2, 1.5, 2.7, None, "mine", "a" * 64, "b" * 64,
        notes=("parrot",), intervals={"empathy": (1.5, 2.1)},
    )  # fmt: skip
    given = json.loads(json.dumps(as_json(score, "a7")))
    assert (given["id"], given["status"]) == ("a7", "scored")
    assert (given["cognitive"], given["emotional"], given["behavioral"], given["empathy"]) == (1.2, 1.5, 2.7, 1.8)
    assert given["levels"] == {"cognitive": "Low", "emotional": "Moderate", "behavioral": "High", "empathy": "Moderate"}
    assert given["intervals"] == {"empathy": [1.5, 2.1]}
    assert given["notes"] == ["parrot"]
    assert (given["head_name"], given["head_sha256"], given["encoder_sha256"]) == ("mine", "a" * 64, "b" * 64)


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (f'{{"items": "{SECRET}"}}'.encode(), 422),
        (b'{"items": []}', 422),
        (f'{{"items": ["{SECRET}"]}}'.encode(), 422),
        (f'{{"items": [{{"seeker": "{SECRET}"}}]}}'.encode(), 422),
        (f'{{"items": [{{"reply": "a"}}], "reply": "{SECRET}"}}'.encode(), 422),
        (f'{{"items": [{{"reply": "a", "{SECRET}": 1}}]}}'.encode(), 422),
        (f'{{"reply": null, "seeker": "{SECRET}"}}'.encode(), 422),
        (f'{{"reply": "a", "earlier": "{SECRET}"}}'.encode(), 422),
        (f'{{"reply": "a", "id": ["{SECRET}"]}}'.encode(), 422),
        (b'{"reply": "a", "id": NaN}', 422),
        (b'{"reply": "a", "id": "\\ud800"}', 422),
        (json.dumps({"reply": "a", "id": SECRET * LONGEST_ID}).encode(), 422),
        (f'{{"reply": "a", "earlier": [["{SECRET}"]]}}'.encode(), 422),
        (json.dumps({"reply": "a", "earlier": [SECRET] * (MOST_EARLIER + 1)}).encode(), 422),
        (json.dumps({"reply": "a", "earlier": [SECRET * 1000]}).encode(), 413),
        (json.dumps({"items": [{"reply": SECRET}] * (MOST_ITEMS + 1)}).encode(), 413),
        (json.dumps({"items": [{"reply": "a"}, {"reply": SECRET * 1000}]}).encode(), 413),
        (b" " * (MOST_BYTES + 1), 413),
        (f'{{"reply": "{SECRET}'.encode(), 400),
        (b"\xff", 400),
    ],
)
async def test_a_refusal_is_a_sentence_and_repeats_nothing(
    client: httpx.AsyncClient, described: dict[str, Any], body: bytes, status: int
) -> None:
    answer = await client.post("/api/score", content=body, headers=JSON)
    assert answer.status_code == status
    fits(described, answer)
    assert SECRET not in answer.text
    assert answer.json()["reason"].endswith((".", "}."))


def test_the_bounds_are_where_they_are_said_to_be() -> None:
    full = Batch(items=[Exchange(reply="a" * 100)] * MOST_ITEMS)
    assert len(exchanges_of(full, 100)) == MOST_ITEMS
    with pytest.raises(RefusedCall, match="Item 1: "):
        exchanges_of(full, 99)


# --- who may call ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
async def test_a_form_of_another_page_cannot_call(client: httpx.AsyncClient, kind: str) -> None:
    """A form may carry any text across sites, so its three types are refused whoever sends them."""
    answer = await client.post("/api/score", content=json.dumps({"reply": "hi"}), headers={"content-type": kind})
    assert answer.status_code == 415


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://localhost"])
async def test_a_script_of_another_page_is_refused_and_may_read_nothing(client: httpx.AsyncClient, origin: str) -> None:
    called = await client.post("/api/score", json={"reply": "hi"}, headers={"origin": origin})
    asked = await client.options(
        "/api/score",
        headers={
            "origin": origin, "access-control-request-method": "POST", "access-control-request-headers": "content-type"
        },
    )  # fmt: skip
    described = await client.get("/api/openapi.json", headers={"origin": origin})
    assert (called.status_code, asked.status_code) == (403, 405)
    for answer in (called, asked, described):
        assert not [name for name in answer.headers if name.startswith("access-control-")]


async def test_its_own_page_may_call_and_no_cookie_is_asked_for_or_set(
    client: httpx.AsyncClient, talking: Served
) -> None:
    answer = await client.post("/api/score", json={"reply": "hi"}, headers={"origin": talking.url})
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers


# --- the chat goes first --------------------------------------------------------------------------------------------


async def test_a_live_reply_is_scored_in_the_middle_of_long_lists(
    client: httpx.AsyncClient, page: SocketPage, talking: Served
) -> None:
    """With a full line of long texts, a live score waits for one of them and not for the lists."""
    talking.play(reply(WARM))
    alone = await page.send("I failed my exam.")
    body = {"items": [{"reply": LONG[:7500] + str(n)} for n in range(MOST_ITEMS)]}
    before = asyncio.get_running_loop().time()
    await client.post("/api/score", json={"reply": LONG[:7500]})
    one_text = asyncio.get_running_loop().time() - before
    calls = [asyncio.create_task(client.post("/api/score", json=body)) for _ in range(MOST_WAITING)]
    try:
        await asyncio.sleep(0.5)
        full = await client.post("/api/score", json={"reply": "hi"})
        beside = await page.send("I failed my exam.")
        assert not any(call.done() for call in calls)  # or this test shows nothing
    finally:
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
    assert full.status_code == 429
    assert int(full.headers["retry-after"]) > 0
    assert alone.card is not None
    assert beside.card is not None
    assert beside.card["score"] == alone.card["score"]
    assert beside.card_seconds is not None
    assert beside.card_seconds < 3 * one_text + 1
    # The callers have left, so the rest of their lists is not rated and the line is soon free again.
    await asyncio.sleep(2 * one_text)
    assert (await client.post("/api/score", json={"reply": "hi"})).status_code == 200


async def test_a_text_lets_a_live_reply_go_first_and_then_goes(
    client: httpx.AsyncClient, page: SocketPage, talking: Served
) -> None:
    async def seconds() -> float:
        before = asyncio.get_running_loop().time()
        assert (await client.post("/api/score", json={"reply": "Ok."})).status_code == 200
        return asyncio.get_running_loop().time() - before

    talking.play(slow(100))
    turn = await page.begin("I failed my exam.")
    await begun(page, turn)
    beside = await seconds()
    assert page.loading
    await page.stop()
    await page.end(turn)
    assert HOLD_SECONDS <= beside < HOLD_SECONDS + 1.5
    assert await seconds() < HOLD_SECONDS


# --- words stay where they are --------------------------------------------------------------------------------------


async def test_nothing_of_a_text_is_logged_or_stored(client: httpx.AsyncClient, talking: Served) -> None:
    for given in ({"reply": f"I hear you, {SECRET}."}, {"items": [{"reply": SECRET, "seeker": SECRET}]}, [SECRET]):
        await client.post("/api/score", json=given)
    await client.post("/api/score", content=f'{{"reply": "{SECRET}"', headers=JSON)
    await client.post(f"/api/score?{SECRET}", json={"reply": "hi"})
    assert SECRET not in talking.log.read_text(encoding="utf-8")
    for file in talking.data_dir.rglob("*"):
        assert not file.is_file() or SECRET.encode() not in file.read_bytes(), file
