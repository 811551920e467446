"""What a server that is left alone means elsewhere: for whoever looks at /health, and for the answers of a study."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from heard.chat_app.common.settings import Settings
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.circuit_breaker import FAILURE_THRESHOLD
from heard.chat_app.models.client import Models, load_models
from heard.chat_app.models.downloads import Weights
from heard.chat_app.models.records import FailureKind, ModelFailure
from heard.chat_app.startup import open_services
from heard.chat_app.studies.generation import generate, store_study
from heard.chat_app.studies.study_file import StudyFile, parse_study
from heard.chat_app.studies.study_items import pending_answers
from heard.chat_app.web.health import Health
from heard.db.study_records import AnswerStatus, ItemRecord
from tests.chat_app.models.asking import PROMPT
from tests.servers import ScriptedServer, refusal, reply

ATTEMPTS = 3
MODELS = ("north", "south")


@pytest.fixture
def server() -> Any:
    with ScriptedServer(refusal(503)) as running:
        yield running


@pytest.fixture
async def services(tmp_path: Path, weights: Weights, server: ScriptedServer) -> AsyncIterator[Services]:
    """Two models on one server, which cools down for a moment only."""
    file = tmp_path / "models.toml"
    file.write_text(
        "".join(f'{name} = {{ provider = "openai", model = "m", base_url = "{server.base_url}" }}\n' for name in MODELS)
    )
    limits = {"first_token_seconds": 5, "stall_seconds": 5, "backoff_seconds": 0.001, "cooldown_seconds": 0.3}
    async with (
        open_services(Settings(data_dir=tmp_path, models_file=file), weights) as opened,
        Models(load_models(file), engine=None, **limits) as models,
    ):
        yield replace(opened, models=models)


async def fail(services: Services, model: str) -> FailureKind:
    with pytest.raises(ModelFailure) as failed:
        async for _ in services.models.stream(services.models.specs[model], PROMPT):
            pass
    return failed.value.kind


async def test_health_names_the_models_that_rest_but_not_in_blind_mode(services: Services) -> None:
    health = Health(services)
    assert "resting" not in health.state()
    for _ in range(FAILURE_THRESHOLD):
        await fail(services, "north")
    assert await fail(services, "south") is FailureKind.COOLING_DOWN
    assert health.state() == {
        "status": "starting", "model": "starting", "database": "ok", "scorer": "ready", "prompts": "ok",
        "resting": "north, south",
    }  # fmt: skip
    blind = Health(services, study())
    assert blind.state()["resting"] == "2"


def study() -> StudyFile:
    arms = [{"name": name, "persona": "listener", "model": name} for name in MODELS]
    return parse_study({"id": "s", "kind": "survey", "arms": arms}, "a test")


async def test_a_study_s_run_waits_for_a_server_that_cools_down_and_fails_nothing_by_it(
    services: Services, server: ScriptedServer
) -> None:
    """Two workers share the server: their failures together make it cool down, and neither has five of its own."""
    asked = study()
    items = [
        ItemRecord(
            f"s/{n}", "s", n, f"What about day {n}?", None, tuple(pending_answers(asked, f"What about day {n}?"))
        )
        for n in range(1, 6)
    ]
    asked = (await store_study(services.studies, asked, items)).study
    server.scripts = (*[refusal(503)] * (FAILURE_THRESHOLD * ATTEMPTS), reply("I hear you."))
    report = await generate(services, asked, await services.studies.items("s"), lambda *_: None)
    assert (report.written, report.failed, report.not_tried) == (10, {}, {})
    answers = [answer for item in await services.studies.items("s") for answer in item.answers]
    assert {answer.status for answer in answers} == {AnswerStatus.COMPLETE}
    assert len(server.requests) == FAILURE_THRESHOLD * ATTEMPTS + len(answers)
