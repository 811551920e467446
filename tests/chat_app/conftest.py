"""One running chat for each file of socket tests, and a visitor with an open page."""

from collections.abc import AsyncIterator, Iterator

import pytest

from chat_app.weights import Weights
from tests.chat_app.talking import WARM, Served, serving
from tests.servers import reply
from tests.socket_client import SocketPage, Visitor


@pytest.fixture(scope="module")
def talking(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    hasty = {"first_token_seconds": "4", "stall_seconds": "4", "save_seconds": "1"}
    with serving(tmp_path_factory.mktemp("socket"), **hasty) as made:
        yield made


@pytest.fixture
async def visitor(talking: Served) -> AsyncIterator[Visitor]:
    talking.play(reply(WARM))
    async with Visitor.agree(talking.url) as somebody:
        yield somebody


@pytest.fixture
async def page(visitor: Visitor) -> AsyncIterator[SocketPage]:
    async with visitor.page(profile="listener") as opened:
        await opened.choose(model="talker")
        yield opened
