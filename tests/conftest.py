"""What tests of several rooms share."""

import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from heard.chat_app.common.settings import Settings
from heard.chat_app.models.client import Models
from heard.chat_app.models.downloads import Weights, ensure_weights
from heard.db.engine import upgrade_sync
from tests.journeys.talking import WARM, Served, serving
from tests.servers import reply
from tests.socket_client import SocketPage, Visitor

LONGEST = (
    "journeys/test_browser.py",
    "chat_app/commands/test_study_command.py",
    "journeys/test_ballot_browser.py",
    "journeys/test_survey_browser.py",
    "scorer/test_hub.py",
    "scorer/test_commands.py",
    "journeys/test_ballot_socket.py",
    "scorer/training/test_train_head.py",
)
"""Files that take half a minute and more. They come first, or one worker would be left alone with one in the end."""
os.environ.setdefault("HEARD_EMBEDDED", "smollm2")
"""The tests need a model, and not a good one: every process that they start uses the smallest."""
SLOW = "a slow one, of training or of a very long chat: `make test ARGS=--slow` runs it too"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--slow` and `--lowest`."""
    parser.addoption("--slow", action="store_true", help="run the slow tests as well")
    parser.addoption("--lowest", action="store_true", help="the libraries are those of requirements-lowest.lock")


def pytest_configure() -> None:
    """Take Ctrl-C again where the run was started in the background: every process that a test starts would ignore it
    too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what is marked slow, and say why; put the longest files first."""
    root = Path(__file__).parent
    places = {root / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))
    if not config.getoption("--slow"):
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason=SLOW))


@pytest.fixture(scope="session")
def weights() -> Weights:
    """The real model and encoder, fetched into the ordinary cache if they are not there yet."""
    return ensure_weights(Settings().cache_dir, progress=False)


@pytest.fixture(scope="session")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database as the migrations make it, to be copied: they take longer than most tests."""
    path = tmp_path_factory.mktemp("migrated") / "heard.db"
    upgrade_sync(f"sqlite+aiosqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def talking(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    """Its start takes seconds. Once it has stopped its log must hold no word of anybody, whichever tests ran."""
    hasty = {"first_token_seconds": "8", "stall_seconds": "8", "save_seconds": "1", "research_mode": "true"}
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


@pytest.fixture
def eager_switches() -> Iterator[None]:
    """Threads that take turns after nearly every step."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)
