"""The product behind a real nginx: as it comes, as documented, below a path, and with websockets swallowed."""

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.async_api import expect

from heard.chat_app.models.downloads import Weights
from tests.browser import Console, answered, chromium, enter, installed, say
from tests.journeys.surveying import make_in
from tests.journeys.talking import WARM, Served, serving
from tests.proxies import NGINX, PLAIN, documented, nginx, swallowing
from tests.servers import reply
from tests.socket_client import Visitor

pytestmark = pytest.mark.skipif(NGINX is None, reason="needs nginx: apt-get install nginx-light")
needs_browser = pytest.mark.skipif(
    not installed(), reason="no Chromium here; install Debian's, or name one by CHROMIUM="
)
NAME = "chat.example.org"
ORIGIN = f"https://{NAME}"


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("top"), public_host="localhost", default_model="talker") as made:
        made.play(reply(WARM))
        yield made


@pytest.fixture(scope="module")
def below(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    settings = {"public_host": "localhost", "root_path": "/heard", "default_model": "talker"}
    with serving(tmp_path_factory.mktemp("below"), **settings) as made:
        made.play(reply(WARM))
        yield made


def port_of(served: Served) -> int:
    return urlsplit(served.url).port or 0


def configured(served: Served, location: str = "/") -> str:
    """The documented server, for this one."""
    found = documented().replace("127.0.0.1:8000", f"127.0.0.1:{port_of(served)}")
    return found.replace("location / {", f"location {location} {{")


async def talks(url: str) -> str:
    """A visitor's first turn by a websocket; gives the reply."""
    async with Visitor.agree(url) as visitor, visitor.page(profile="listener") as page:
        await page.choose(model="talker")
        return (await page.send("My cat is ill.")).text


async def polls(url: str, origin: str) -> bool:
    """Whether a visitor's page is connected by ordinary requests, as a browser's client makes them."""
    visitor = Visitor(url)
    visitor.http.headers["origin"] = origin
    try:
        await visitor.consent()
        await visitor.login()
        place, query = "/chat/ws/socket.io/", {"EIO": "4", "transport": "polling"}
        opened = (await visitor.http.get(place, params=query)).text
        query["sid"] = json.loads(opened[1:])["sid"]
        auth = {"clientType": "webapp", "sessionId": str(uuid.uuid4()), "threadId": "", "userEnv": "{}"}
        assert (await visitor.http.post(place, params=query, content="40" + json.dumps(auth))).text.lower() == "ok"
        return (await visitor.http.get(place, params=query)).text.startswith("40")
    finally:
        await visitor.http.aclose()


async def test_the_documented_server_carries_websockets(top: Served, tmp_path: Path) -> None:
    with nginx(tmp_path / "nginx", configured(top)) as port:
        assert await talks(f"http://localhost:{port}") == WARM
        assert await polls(f"http://localhost:{port}", f"http://localhost:{port}")


async def test_with_the_plain_configuration_ordinary_requests_do(top: Served, tmp_path: Path) -> None:
    with nginx(tmp_path / "nginx", PLAIN.format(port=port_of(top))) as port:
        # As at the usual port, of http and of https.
        for origin in ("http://localhost", "https://localhost"):
            assert await polls(f"http://localhost:{port}", origin)
        # What would be a websocket does not arrive as one.
        async with Visitor.agree(top.url) as visitor:
            asked = {
                "upgrade": "websocket",
                "connection": "upgrade",
                "sec-websocket-version": "13",
                "cookie": visitor.cookie,
            }
            query = {"EIO": "4", "transport": "websocket"}
            async with httpx.AsyncClient(base_url=f"http://localhost:{port}") as client:
                answer = await client.get("/chat/ws/socket.io/", params=query, headers=asked)
                assert answer.status_code == 400


@pytest.mark.parametrize(
    "host",
    ["$proxy_host", "backend", "heard_app", "10.1.2.3:8000", "[fe80::1]:8000", "$host", "$http_host", f"{NAME}:8443"],
)
async def test_the_public_origin_passes_whatever_host_the_proxy_sends(tmp_path: Path, named: Served, host: str) -> None:
    body = f"location / {{ proxy_pass http://127.0.0.1:{port_of(named)}; proxy_set_header Host {host}; }}"
    with nginx(tmp_path / "nginx", body) as port:
        headers = {"host": "chat.example.org", "origin": ORIGIN, "accept": "text/html"}
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers) as client:
            page = await client.get("/consent")
            assert page.status_code == 200
            version = re.search(r'name="version" value="([^"]+)"', page.text)
            assert version
            form = {"adult": "yes", "chat": "yes", "research": "no", "version": version[1]}
            answer = await client.post("/consent", data=form)
            assert (answer.status_code, answer.headers["location"]) == (303, "/chat/")
            for origin in (
                "https://evil.example", f"{ORIGIN}.evil.example", "https://evil-chat.example.org", f"{ORIGIN}:9999",
                "null", "https://chat.example.org@evil.example", "ftp://chat.example.org",
            ):  # fmt: skip
                refused = await client.post("/consent", data=form, headers={"origin": origin})
                assert refused.status_code == 403, origin


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("named"), public_host="chat.example.org") as made:
        yield made


async def test_a_name_that_somebody_could_own_is_still_refused(named: Served) -> None:
    async with httpx.AsyncClient(base_url=named.url) as client:
        for host in ("evil.example", "chat.example.org.evil.example", "1.2.3.4.evil.example", "-.evil"):
            assert (await client.get("/consent", headers={"host": host})).status_code == 400


@pytest.mark.parametrize("stripped", [True, False])
async def test_below_a_path_by_either_way_of_the_proxy(below: Served, tmp_path: Path, stripped: bool) -> None:
    body = configured(below, "/heard/")
    if stripped:
        body = body.replace(f":{port_of(below)};", f":{port_of(below)}/;")
    with nginx(tmp_path / "nginx", body) as port:
        url = f"http://localhost:{port}/heard"
        assert await talks(url) == WARM
        assert await polls(url, f"http://localhost:{port}")
        async with httpx.AsyncClient(base_url=url, headers={"accept": "text/html"}) as client:
            for path in ("/", "/help", "/scorer", "/you", "/safety", "/consent"):
                page = await client.get(path)
                assert page.status_code == 200
                links = re.findall(r'\s(?:href|src|action)="(/[^"]*)"', page.text)
                assert links
                assert [link for link in links if not link.startswith("/heard/")] == []
            gone = await client.get("/chat/")
            assert gone.headers["location"] == "/heard/"
            assert (await client.get("/static/heard.css")).status_code == 200


@needs_browser
@pytest.mark.parametrize("way", ["documented", "plain", "swallowed"])
@pytest.mark.parametrize("place", ["top", "below"])
async def test_a_browser_talks(request: pytest.FixtureRequest, tmp_path: Path, place: str, way: str) -> None:
    served: Served = request.getfixturevalue(place)
    root = "/heard" if place == "below" else ""
    with swallowing() as (hole, swallowed):
        body = {
            "documented": configured(served, f"{root}/"),
            "plain": PLAIN.format(port=port_of(served)),
            "swallowed": configured(served, f"{root}/").replace(
                "proxy_pass", f"if ($http_upgrade) {{ proxy_pass http://127.0.0.1:{hole}; }}\n proxy_pass", 1
            ),
        }[way]
        with nginx(tmp_path / "nginx", body) as port:
            async with chromium() as context:
                console = Console(context.pages[0])
                page = await enter(context, f"http://localhost:{port}{root}/", research=True)
                await say(page, "My cat is ill and I am worried.")
                await answered(page, 1)
                await expect(page.locator(".ai-message").first).to_contain_text("I am here with you")
                assert urlsplit(page.url).path.startswith(f"{root}/chat/")
                # The page's own links lead on below the path.
                await page.goto(f"http://localhost:{port}{root}/help")
                await page.get_by_role("link", name="Your data").first.click()
                await page.wait_for_url(f"**{root}/you")
                assert console.hosts == {f"localhost:{port}"}
        assert bool(swallowed) == (way == "swallowed")


@needs_browser
async def test_a_survey_below_a_path(below: Served, tmp_path: Path) -> None:
    await make_in(below.data_dir, items=2, sources=2)
    with nginx(tmp_path / "nginx", configured(below, "/heard/")) as port:
        async with chromium() as context:
            page = context.pages[0]
            await page.goto(f"http://localhost:{port}/heard/survey/blind?PID=A7")
            await page.check("#adult")
            await page.check("#research")
            await page.click("#agree")
            await page.click("#start")
            await page.wait_for_url("**/heard/survey/blind/1")
            await page.get_by_role("button", name="About the same").click()
            await page.get_by_role("button", name="Save and go on").click()
            await page.wait_for_url("**/heard/survey/blind/2")
            assert below.rows("SELECT count(*) FROM vote") == [(1,)]
            assert below.rows("SELECT external_id FROM enrolment") == [("A7",)]
