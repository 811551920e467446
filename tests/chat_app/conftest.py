"""One running chat for all socket tests that can share one, a visitor with an open page, and models without a chat."""

from collections.abc import AsyncIterator, Iterator

import pytest

from chat_app.llm import Models
from chat_app.weights import Weights
from tests.chat_app.talking import WARM, Served, serving
from tests.servers import reply
from tests.socket_client import SocketPage, Visitor


@pytest.fixture(scope="session")
def talking(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    """Its start takes seconds. Once it has stopped its log must hold no word of anybody, whichever tests ran."""
    hasty = {"first_token_seconds": "8", "stall_seconds": "8", "save_seconds": "1"}
    with serving(tmp_path_factory.mktemp("socket"), **hasty) as made:
        yield made
    assert made.words_in_log() == []


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


@pytest.fixture
async def models() -> AsyncIterator[Models]:
    async with Models({}, engine=None, first_token_seconds=20, stall_seconds=20, backoff_seconds=0.01) as ready:
        yield ready


@pytest.fixture
async def hasty() -> AsyncIterator[Models]:
    """With limits that a test can wait for."""
    async with Models({}, engine=None, first_token_seconds=0.6, stall_seconds=0.6, backoff_seconds=0.01) as ready:
        yield ready
