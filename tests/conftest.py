"""What tests of several rooms share."""

import signal
from pathlib import Path

import pytest

from chat_app.settings import Settings
from chat_app.weights import Weights, ensure_weights
from db.engine import upgrade_sync

LONGEST = (
    "chat_app/test_browser.py",
    "chat_app/test_study_command.py",
    "chat_app/test_ballot_browser.py",
    "chat_app/test_survey_browser.py",
    "scorer/test_hub.py",
    "scorer/test_commands.py",
    "chat_app/test_ballot_socket.py",
    "scorer/test_train.py",
)
"""Files that take half a minute and more. They come first, or one worker would be left alone with one in the end."""
SLOW = "a slow one, of training or of a very long chat: `make test ARGS=--slow` runs it too"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--slow`."""
    parser.addoption("--slow", action="store_true", help="run the slow tests as well")


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
