"""The product behind Apache and Caddy with the lines of docs/deploy.md: pages, a form, and a talk by a websocket."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from heard.chat_app.models.downloads import Weights
from tests.journeys.talking import WARM, Served, serving
from tests.proxies import APACHE, CADDY, apache, caddy
from tests.servers import reply
from tests.socket_client import Visitor

Proxy = Callable[[Path, int], AbstractContextManager[int]]


@pytest.fixture(scope="module")
def top(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("others"), public_host="localhost", default_model="talker") as made:
        made.play(reply(WARM))
        yield made


@pytest.mark.parametrize(
    "proxy",
    [
        pytest.param(apache, marks=pytest.mark.skipif(not APACHE, reason="needs Apache: apt-get install apache2-bin")),
        pytest.param(caddy, marks=pytest.mark.skipif(not CADDY, reason="needs Caddy: apt-get install caddy")),
    ],
)
async def test_the_documented_lines_carry_a_talk(top: Served, tmp_path: Path, proxy: Proxy) -> None:
    with proxy(tmp_path, urlsplit(top.url).port or 0) as port:
        async with Visitor.agree(f"http://localhost:{port}") as visitor, visitor.page(profile="listener") as page:
            await page.choose(model="talker")
            assert (await page.send("My cat is ill.")).text == WARM
