"""What the tests of whole turns share."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from heard.chat_app.common.settings import Settings
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.downloads import Weights
from heard.chat_app.startup import open_services
from tests.chat_app.models.asking import OTHER, PERSON
from tests.journeys.talking import WARM
from tests.servers import ScriptedServer, reply


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """A model's server that answers WARM."""
    with ScriptedServer(reply(WARM)) as running:
        yield running


@pytest.fixture
async def services(tmp_path: Path, weights: Weights, server: ScriptedServer) -> AsyncIterator[Services]:
    """The services of the chat in a new database that knows two people; their model "scripted" is the server."""
    models = tmp_path / "models.toml"
    models.write_text(f'scripted = {{ provider = "openai", model = "m", base_url = "{server.base_url}" }}\n')
    async with open_services(Settings(data_dir=tmp_path, models_file=models), weights) as opened:
        for person in (PERSON, OTHER):
            await opened.store.ensure_participant(person)
        yield opened
