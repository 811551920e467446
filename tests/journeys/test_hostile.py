"""Hostile clients beside an honest one on a running server: what is too much is refused, the honest one never is."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest

from heard.chat_app.models.downloads import Weights
from heard.chat_app.web.half_open import HEAD_SECONDS
from tests.bench.hostile import attack_all
from tests.journeys.talking import WARM, Served, serving
from tests.servers import reply
from tests.socket_client import SocketPage, Visitor

HOSTILE, SECONDS = 15, 4.0
HUGE = "I don't want to die in a game because " * 10_000
OTHER_MACHINE = {"x-forwarded-for": "198.51.100.7"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    folder: Path = tmp_path_factory.mktemp("hostile")
    own = {"trusted_proxies": "127.0.0.1", "address_per_minute": "4", "default_model": "talker"}
    with serving(folder, **own) as made:
        made.play(reply(WARM))
        yield made
    assert "die in a game" not in made.log.read_text(encoding="utf-8")


@pytest.fixture
async def open_page(served: Served) -> AsyncIterator[SocketPage]:
    async with Visitor.agree(served.url) as somebody, somebody.page(profile="listener") as page:
        yield page


async def test_the_honest_one_is_answered_throughout(served: Served, open_page: SocketPage) -> None:
    attack = asyncio.create_task(attack_all(served.url, HOSTILE, SECONDS))
    async with httpx.AsyncClient(base_url=served.url, timeout=60) as honest:
        seen = set[int]()
        while not attack.done():
            for path in ("/", "/scorer", "/help", "/health"):
                seen.add((await honest.get(path)).status_code)
            await asyncio.sleep(0.05)
            assert (await open_page.send("My cat is ill.", seconds=60)).text == WARM
    assert (await open_page.send("He was sick twice.", seconds=60)).text == WARM
    answers = await attack
    assert seen == {200}
    assert answers["/scorer 413"]
    assert not [what for what in answers if what.split()[-1].startswith("5")]


async def test_a_message_that_is_far_too_large_gets_a_sentence(served: Served, open_page: SocketPage) -> None:
    turn = await open_page.begin(HUGE)
    await open_page.until(lambda: bool(open_page.toasts))
    assert "8,000 characters" in open_page.toasts[-1]
    assert not open_page.loading
    assert served.rows("SELECT count(*) FROM message WHERE id = ?", turn.message_id) == [(0,)]
    assert (await open_page.send("And now a short one.")).text == WARM


async def test_one_that_ends_the_socket_gets_it_when_the_page_is_back(served: Served, open_page: SocketPage) -> None:
    await open_page.begin(HUGE * 4)
    for _ in range(200):
        if not open_page._client.connected:
            break
        await asyncio.sleep(0.05)
    await open_page.reconnect()
    await open_page.until(lambda: bool(open_page.toasts))
    assert "8,000 characters" in open_page.toasts[-1]
    assert (await open_page.send("And now a short one.")).text == WARM
    assert len(open_page.toasts) == 1


async def test_a_message_somewhat_too_long_stays_on_its_page(served: Served, open_page: SocketPage) -> None:
    text = ("We talked about the garden. " * 1_000)[:20_000]
    turn = await open_page.send(text)
    await served.settled([("refused", text)], "SELECT outcome, text FROM message WHERE id = ?", turn.message_id)
    assert "20,000 characters" in turn.text


async def test_a_socket_without_a_socket_is_bounded_too(served: Served) -> None:
    async with Visitor.agree(served.url) as somebody:
        path = "/chat/ws/socket.io/?EIO=4&transport=polling"
        opened = await somebody.http.get(path)
        assert opened.status_code == 200
        sid = opened.text.split('"sid":"')[1].split('"')[0]
        sent = await somebody.http.post(f"{path}&sid={sid}", content=f'42["client_message","{HUGE}"]')
        assert sent.status_code == 200  # taken as the event that says it was too large
        larger = await somebody.http.post(f"{path}&sid={sid}", content="4" * 2_000_000)
        assert larger.status_code == 413


async def test_half_a_request_ends_while_a_quiet_socket_stays(served: Served, open_page: SocketPage) -> None:
    host, _, port = served.url.removeprefix("http://").partition(":")
    head = b"GET / HTTP/1.1\r\nHost: x\r\n"

    async def end_of(begun: bytes) -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(begun)
        await writer.drain()
        await asyncio.wait_for(reader.read(), HEAD_SECONDS + 30)  # to the end of the connection
        writer.close()

    quiet = asyncio.create_task(asyncio.sleep(HEAD_SECONDS + 2))
    await asyncio.gather(
        *(end_of(begun) for begun in (b"", b"G", head, head.replace(b"x", b"127.0.0.1") + b"\r\nGET / HT"))
    )
    await quiet
    assert (await open_page.send("Still here.")).text == WARM


async def test_a_slow_head_that_comes_whole_is_answered(served: Served) -> None:
    host, _, port = served.url.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    for part in (b"GET /heal", b"th HTTP/1.1\r\nHo", f"st: {host}:{port}\r\n\r\n".encode()):
        writer.write(part)
        await asyncio.sleep(0.3)
    assert (await reader.readline()).split()[1] == b"200"
    writer.close()


async def test_an_address_that_a_trusted_proxy_tells_has_its_limit(served: Served) -> None:
    async with httpx.AsyncClient(base_url=served.url, headers={"origin": served.url}) as client:
        form = {"country": "DE"}
        seen = [(await client.post("/help/country", data=form, headers=OTHER_MACHINE)).status_code for _ in range(6)]
        assert seen == [200] * 4 + [429] * 2
        another = {"x-forwarded-for": "198.51.100.7, 198.51.100.8"}  # the first was told by whoever sent it
        assert (await client.post("/help/country", data=form, headers=another)).status_code == 200


async def test_a_flood_of_frames_waits_and_none_is_lost(served: Served) -> None:
    async with Visitor.agree(served.url) as somebody, somebody.page(profile="listener") as page:
        for _ in range(30):
            await page.emit("window_message", {"heard": "width", "width": "phone"})
        assert (await page.send("Hello.")).text == WARM
