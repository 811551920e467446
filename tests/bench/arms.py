"""Five arms to one server that can batch: how much later their slowest first token comes than that of one arm alone.

The server has a process of its own and gives every call its first token after DELAY, however many there are. The turns
are the product's, from the message to the first token of an ordinary reply and to the last first token of a ballot, so
that drawing the ballot counts as well.
"""

import asyncio
import sqlite3
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import aclosing, closing, contextmanager
from datetime import datetime
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from heard.chat_app.common.settings import Settings
from heard.chat_app.conversation.events import BallotReady, Token, TurnRequest
from heard.chat_app.conversation.services import Services
from heard.chat_app.conversation.turn import run_turn
from heard.chat_app.models.downloads import Weights
from heard.chat_app.startup import open_services
from heard.chat_app.studies.ballot_turn import run_ballot_turn
from heard.chat_app.studies.study_file import StudyFile, parse_study, record_of
from tests.bench.table import Row, at_most
from tests.chat_app.models.asking import message_to
from tests.servers import DONE, ROLE, Script, ScriptedServer, chunk, pieces

ARMS = 5
DELAY = 0.25
"""Seconds to the first token; a short one for a server of a language model."""
ROUNDS = 24
WARM_UP = 3
"""Rounds that do not count."""
MOST = 1.3
SAID = "My sister and I argued about our mother, and I keep going over what I said to her."
WORDS = "It sounds as if that evening stays with you, and as if she matters a great deal to you."


async def arms(weights: Weights) -> list[Row]:
    """ROUNDS of one message to one arm and one to all, each first every other time."""
    with tempfile.TemporaryDirectory(prefix="heard-bench-") as scratch, _model() as url:
        folder = Path(scratch)
        file = folder / "models.toml"
        file.write_text(f'one = {{ provider = "openai", model = "m", base_url = "{url}" }}\n', encoding="utf-8")
        async with open_services(Settings(data_dir=folder, models_file=file), weights) as services:
            study = await _study(services)
            alone: list[float] = []
            slowest: list[float] = []
            for number in range(ROUNDS + WARM_UP):
                seen: dict[int, float] = {}
                for which in (0, 1) if number % 2 else (1, 0):
                    seen[which] = await (_ballot(services, study) if which else _reply(services))
                if number >= WARM_UP:
                    alone.append(seen[0])
                    slowest.append(seen[1])
    ratios = [many / one for many, one in zip(slowest, alone, strict=True)]
    label = f"{ARMS} arms to one server ({DELAY * 1000:.0f} ms to a first token)"
    return [
        at_most(f"{label}: slowest first token / that of one alone", ratios, "x", MOST),
        Row(f"{label}: one alone", sorted(alone)[ROUNDS // 2] * 1000, "ms", "none set", True, ""),
    ]


@contextmanager
def _model() -> Iterator[str]:
    """The address of a server in a process of its own."""
    here, there = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=_serve, args=(there,), daemon=True)
    process.start()
    there.close()
    try:
        yield here.recv()
    finally:
        here.close()
        process.join(10)
        process.kill()


def _serve(parent: "Connection[Any, Any]") -> None:
    with ScriptedServer(
        Script((DELAY, ROLE, *pieces(WORDS), chunk(finish="stop"), chunk(usage=(7, 18)), DONE))
    ) as server:
        parent.send(server.base_url)
        try:
            parent.recv()
        except EOFError:
            return


async def _study(services: Services) -> StudyFile:
    given = [{"name": f"arm-{n}", "persona": "listener", "model": "one"} for n in range(ARMS)]
    study = parse_study({"id": "bench", "kind": "live", "arms": given}, "the bench")
    await services.studies.save_study(record_of(study, None))
    return study


async def _request(services: Services) -> TurnRequest:
    person = str(uuid.uuid4())
    await services.store.ensure_participant(person)
    return message_to(services, "one", SAID, participant_id=person)


async def _reply(services: Services) -> float:
    """Seconds to the first token of an ordinary reply."""
    request = await _request(services)
    first = None
    began = time.perf_counter()
    async with aclosing(run_turn(request, services)) as events:
        async for event in events:
            if isinstance(event, Token) and first is None:
                first = time.perf_counter() - began
    assert first is not None
    return first


async def _ballot(services: Services, study: StudyFile) -> float:
    """Seconds to the first token of the slowest arm of a ballot; its drafts tell when each came."""
    request = await _request(services)
    began = time.time()
    async with aclosing(run_ballot_turn(request, services, study)) as events:
        ended = [event async for event in events][-1]
    assert isinstance(ended, BallotReady)
    return await asyncio.to_thread(_last_first_token, services.settings.data_dir, request.message_id) - began


def _last_first_token(data_dir: Path, message_id: str) -> float:
    query = (
        "SELECT json_extract(a.drafts, '$[0].created_at'), a.first_token_seconds FROM answer a"
        " JOIN slot s ON s.answer_id = a.id JOIN ballot b ON b.id = s.ballot_id WHERE b.message_id = ?"
    )
    with closing(sqlite3.connect(data_dir / "heard.db")) as database:
        rows = database.execute(query, (message_id,)).fetchall()
    assert len(rows) == ARMS
    return max(datetime.fromisoformat(at).timestamp() + first for at, first in rows)
