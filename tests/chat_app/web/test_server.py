"""The whole server as `heard chat` starts it: real Chainlit, socket, database and models; requests by hand."""

import asyncio
import json
import os
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import pytest
import socketio

from heard.chat_app.models.downloads import Weights
from heard.chat_app.page.chainlit_patches import clean_page
from heard.chat_app.web.chat_mount import policy_for

COMMAND = (sys.executable, "-c", "from heard.chat_app.cli import main; main()", "chat")


@dataclass
class Served:
    """A running `heard chat` and the folder of its data."""

    url: str
    data_dir: Path
    process: "subprocess.Popen[str]"

    def query(self, sql: str, *values: str) -> list[Any]:
        with closing(sqlite3.connect(self.data_dir / "heard.db")) as database:
            return database.execute(sql, values).fetchall()

    def version(self) -> str:
        page = httpx.get(f"{self.url}/").text
        return page.split('name="version" value="')[1].split('"')[0]

    @asynccontextmanager
    async def visitor(self) -> AsyncIterator[httpx.AsyncClient]:
        """A browser that has agreed and opened the chat."""
        async with httpx.AsyncClient(base_url=self.url, headers={"origin": self.url}, timeout=30) as client:
            answers = {"chat": "yes", "adult": "yes", "research": "no", "version": self.version()}
            response = await client.post("/consent", data=answers)
            assert (response.status_code, response.headers["location"]) == (303, "/chat/")
            page = await client.get("/chat/", headers={"accept": "text/html"})
            assert page.status_code == 200
            yield client


def chat_cookie(browser: httpx.AsyncClient) -> str:
    """The name of the chat's login cookie, which is each server's own."""
    return next(name for name in browser.cookies if name.startswith("heard_chat_"))


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    folder, port = tmp_path_factory.mktemp("served"), free_port()
    environment = {**os.environ, "HEARD_DATA_DIR": str(folder / "data"), "HEARD_PORT": str(port)}
    process = subprocess.Popen(
        COMMAND, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, cwd=folder
    )
    assert process.stdout
    first = process.stdout.readline()
    made = Served(f"http://127.0.0.1:{port}", folder / "data", process)
    try:
        assert first == f"heard is ready at {made.url}\n", first + (process.stdout.read() if process.poll() else "")
        yield made
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=20)


@asynccontextmanager
async def connected(client: httpx.AsyncClient, **cookies: str) -> AsyncIterator[socketio.AsyncClient]:
    """The chat's socket, opened with the cookies of a browser."""
    jar = {**dict(client.cookies), **cookies}
    async with aiohttp.ClientSession() as session:
        page = socketio.AsyncClient(reconnection=False, http_session=session)
        await page.connect(
            str(client.base_url),
            socketio_path="/chat/ws/socket.io",
            transports=["websocket"],
            headers={"Cookie": "; ".join(f"{name}={value}" for name, value in jar.items())},
            auth={
                "clientType": "webapp", "sessionId": str(uuid.uuid4()), "threadId": "", "userEnv": "{}",
                "chatProfile": "",
            },
        )  # fmt: skip
        try:
            yield page
        finally:
            await page.disconnect()


@pytest.fixture
async def browser(served: Served) -> AsyncIterator[httpx.AsyncClient]:
    async with served.visitor() as client:
        yield client


# --- the page of the chat -------------------------------------------------------------------------------------------


def test_chainlit_s_page_is_cleaned_of_foreign_hosts() -> None:
    found = find_spec("chainlit")
    assert found
    assert found.origin
    original = (Path(found.origin).parent / "frontend" / "dist" / "index.html").read_text(encoding="utf-8")
    assert "https://" in original  # or this test shows nothing
    cleaned = clean_page(original)
    assert "https://" not in cleaned
    assert "http://" not in cleaned
    assert '<script type="module"' in cleaned
    assert 'href="/assets/' in cleaned


def test_the_policy_names_each_inline_script_and_no_host() -> None:
    policy = policy_for("<script>let a = 1</script><script src='/x.js'></script><script>\nlet b = 2\n</script>")
    assert policy.count("'sha256-") == 2
    # By hand: printf 'let a = 1' | openssl dgst -sha256 -binary | base64
    assert "'sha256-LAfYd7pbFUgwfQu8b4q135PeTG2z+/coPEUYCd74eCQ='" in policy
    assert "unsafe-inline" not in policy.split("style-src")[0]
    assert "http" not in policy


async def test_the_chat_s_page_needs_no_other_host_and_no_login(served: Served, browser: httpx.AsyncClient) -> None:
    page = await browser.get("/chat/", headers={"accept": "text/html"})
    assert "https://" not in page.text
    assert policy_for(page.text) == page.headers["content-security-policy"]
    user = await browser.get("/chat/user")
    assert user.status_code == 200
    (known,) = served.query("SELECT id FROM participant WHERE id = ?", user.json()["identifier"])
    assert known == (user.json()["identifier"],)
    assert (await browser.get("/chat/auth/config")).json()["headerAuth"] is True


async def test_chainlit_s_own_sign_in_takes_the_visitor_cookie(browser: httpx.AsyncClient) -> None:
    who = (await browser.get("/chat/user")).json()["identifier"]
    browser.cookies.delete(chat_cookie(browser))
    assert (await browser.get("/chat/user")).status_code == 401
    assert (await browser.post("/chat/auth/header")).status_code == 200
    assert (await browser.get("/chat/user")).json()["identifier"] == who


async def test_the_history_is_my_own(served: Served, browser: httpx.AsyncClient) -> None:
    async with served.visitor() as other:
        assert (await other.get("/chat/user")).json()["identifier"] != (await browser.get("/chat/user")).json()[
            "identifier"
        ]
    response = await browser.post("/chat/project/threads", json={"pagination": {"first": 20}, "filter": {}})
    assert response.status_code == 200
    assert response.json()["data"] == []


# --- the socket -----------------------------------------------------------------------------------------------------


async def test_the_socket_opens_after_consent_only(served: Served, browser: httpx.AsyncClient) -> None:
    async with connected(browser) as page:
        assert page.connected
    token = browser.cookies[chat_cookie(browser)]
    async with httpx.AsyncClient(base_url=served.url) as stranger:
        with pytest.raises(socketio.exceptions.ConnectionError):
            async with connected(stranger):
                pass
        # A token alone is not enough, since it outlives a withdrawal.
        with pytest.raises(socketio.exceptions.ConnectionError):
            async with connected(stranger, **{chat_cookie(browser): token}):
                pass


async def test_the_socket_refuses_a_foreign_page(served: Served, browser: httpx.AsyncClient) -> None:
    jar = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    handshake = {
        "connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==", "cookie": jar,
    }  # fmt: skip
    address = f"{served.url}/chat/ws/socket.io/?EIO=4&transport=websocket"
    async with httpx.AsyncClient() as client:
        for origin in ("http://evil.example", "http://127.0.0.1:3000", "null"):
            assert (await client.get(address, headers={**handshake, "origin": origin})).status_code == 403
        async with client.stream("GET", address, headers={**handshake, "origin": served.url}) as own:
            assert own.status_code == 101


async def test_erasing_closes_the_open_chat_and_nothing_comes_back(served: Served, browser: httpx.AsyncClient) -> None:
    who = (await browser.get("/chat/user")).json()["identifier"]
    message = {
        "id": str(uuid.uuid4()), "name": "user", "type": "user_message", "output": "a word to erase",
        "createdAt": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    ended, started = asyncio.Event(), asyncio.Event()
    async with connected(browser) as page:
        told = asyncio.Event()
        page.on("reload", lambda *_: told.set())
        page.on("disconnect", lambda *_: ended.set())
        page.on("stream_start", lambda *_: started.set())
        await page.emit("connection_successful")
        await page.emit("client_message", {"message": message, "fileReferences": []})
        await asyncio.wait_for(started.wait(), 60)
        assert served.query("SELECT text FROM message WHERE id = ?", message["id"]) == [("a word to erase",)]

        response = await browser.post("/you/erase", data={"sure": "yes"})
        assert response.status_code == 200
        await asyncio.wait_for(told.wait(), 10)
        await asyncio.wait_for(ended.wait(), 10)
    await asyncio.sleep(1)  # time for a late write, which must not happen
    with closing(sqlite3.connect(served.data_dir / "heard.db")) as database:
        dump = "".join(database.iterdump())
    assert who not in dump
    assert "a word to erase" not in dump
    assert (await browser.get("/chat/user")).status_code == 401


# --- /health and /api/score -----------------------------------------------------------------------------------------


async def test_health_becomes_ok_and_stays_quick(served: Served) -> None:
    times = []
    async with httpx.AsyncClient(base_url=served.url) as client:
        for _ in range(300):
            if (await client.get("/health")).json()["status"] == "ok":
                break
            await asyncio.sleep(0.1)
        for _ in range(50):
            start = time.perf_counter()
            response = await client.get("/health")
            times.append(time.perf_counter() - start)
    assert response.json() == {"status": "ok", "model": "ready", "database": "ok", "scorer": "ready", "prompts": "ok"}
    assert statistics.quantiles(times, n=20)[-1] < 0.1


def test_a_reply_is_scored(served: Served) -> None:
    texts = {"seeker": "I failed my exam.", "reply": "That sounds so hard. I can hear how much it meant to you."}
    given = httpx.post(f"{served.url}/api/score", json=texts).json()
    assert given["status"] == "scored"
    parts = [given[name] for name in ("cognitive", "emotional", "behavioral")]
    assert all(1 <= part <= 3 for part in parts)
    assert given["empathy"] == pytest.approx(sum(parts) / 3)
    assert httpx.post(f"{served.url}/api/score", json=texts).json() == given


def test_a_text_that_cannot_be_scored_has_no_number(served: Served) -> None:
    given = httpx.post(f"{served.url}/api/score", json={"seeker": "hello", "reply": ""}).json()
    assert given["status"] == "empty"
    assert given["reason"]
    assert not set(given) & {"cognitive", "emotional", "behavioral", "empathy"}


@pytest.mark.parametrize("place", ["seeker", "reply"])
def test_a_crisis_is_handed_off_and_not_scored(served: Served, place: str) -> None:
    texts = {"seeker": "hello", "reply": "hello", place: "I want to kill myself"}
    given = httpx.post(f"{served.url}/api/score", json=texts).json()
    assert given["status"] == "crisis"
    assert given["help"] == "/help"
    assert "empathy" not in given


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400), (b"{", 400), (b"[]", 422), (b"null", 422), (b'"secret words"', 422), (b"\xff\xfe", 400),
        (b"[" * 100_000, 400), (b'{"seeker": "secret words"}', 422), (b'{"seeker": 1, "reply": "secret words"}', 422),
        (b'{"seeker": "a", "reply": "b", "extra": "secret words"}', 422),
        (json.dumps({"seeker": "secret words" * 1_000, "reply": "b"}).encode(), 413),
        (b'{"seeker": "' + b"secret words" * 30_000 + b'"}', 413),
    ],
)  # fmt: skip
def test_a_bad_call_gets_a_sentence_without_its_own_words(served: Served, body: bytes, status: int) -> None:
    response = httpx.post(f"{served.url}/api/score", content=body, headers={"content-type": "application/json"})
    assert response.status_code == status
    assert response.json()["status"] == "refused"
    assert response.json()["reason"].endswith(".") or response.json()["reason"].endswith("}.")
    assert "secret words" not in response.text


def test_odd_characters_do_not_break_the_score(served: Served) -> None:
    for reply in ("\\ud800", "\\u0000", "\\u200b\\u200b", "\\ud83d\\ude00"):
        body = b'{"seeker": "hi", "reply": "' + reply.encode() + b'"}'
        response = httpx.post(f"{served.url}/api/score", content=body, headers={"content-type": "application/json"})
        assert response.status_code == 200
        assert response.json()["status"] != "scored"


def test_the_score_is_for_this_page_and_this_machine(served: Served) -> None:
    texts = {"seeker": "hello", "reply": "hello"}
    address = f"{served.url}/api/score"
    assert httpx.post(address, json=texts, headers={"origin": "https://evil.example"}).status_code == 403
    # A proxy on this machine tells of a caller elsewhere.
    assert httpx.post(address, json=texts, headers={"x-forwarded-for": "203.0.113.9"}).status_code == 403
    assert httpx.post(address, content=json.dumps(texts)).status_code == 415
    assert httpx.get(address).status_code == 405


async def test_many_scores_at_once_are_answered_or_told_to_wait(served: Served) -> None:
    texts = {"seeker": "I failed my exam.", "reply": "That sounds hard. " * 200}
    async with httpx.AsyncClient(timeout=60) as client:
        calls = [client.post(f"{served.url}/api/score", json=texts) for _ in range(30)]
        answers = await asyncio.gather(*calls)
    assert {answer.status_code for answer in answers} <= {200, 429}
    assert sum(answer.status_code == 200 for answer in answers) >= 8


# --- the end --------------------------------------------------------------------------------------------------------


def test_ctrl_c_ends_it_quietly_with_status_0(served: Served) -> None:
    """Last in the file: it ends the server that the tests above used."""
    served.process.send_signal(signal.SIGINT)
    rest = served.process.communicate(timeout=20)[0]
    assert served.process.returncode == 0
    assert "Traceback" not in rest
    assert "a word to erase" not in rest
    assert "127.0.0.1" not in rest.replace(served.url, "")
