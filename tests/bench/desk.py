"""The desk with five thousand people who were given ten ballots each: its list over HTTP, and the reading alone."""

import asyncio
import tempfile
import time
from pathlib import Path

import httpx

from heard.chat_app.common.identity import Identity
from heard.chat_app.common.settings import Settings
from heard.db.engine import create_engine
from heard.db.store import Store
from heard.db.study_people import study_people
from tests.bench.many_votes import PER_PERSON, STUDY, many_votes
from tests.bench.table import Row, at_most
from tests.journeys.web import BASE, HERE, Sessions, parent

PEOPLE = 5_000
ROUNDS = 7
TOKEN = "a-long-random-token-for-the-bench"


async def desk(people: int = PEOPLE) -> list[Row]:
    """Milliseconds of the page with everybody, sorted by the slowest column, and of the reading from the database."""
    with tempfile.TemporaryDirectory(prefix="heard-bench-") as folder:
        await asyncio.to_thread(many_votes, Path(folder) / "heard.db", people * PER_PERSON)
        settings = Settings(data_dir=Path(folder), researcher_token=TOKEN)
        engine = create_engine(settings.database)
        app = parent(settings, Store(engine), Identity.load(Path(folder)), Sessions())
        reading, page = [], []
        try:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE) as client:
                await client.post("/desk", data={"token": TOKEN}, headers=HERE)
                for _ in range(ROUNDS):
                    began = time.perf_counter()
                    found = await study_people(engine, STUDY)
                    reading.append(1000 * (time.perf_counter() - began))
                    began = time.perf_counter()
                    answer = await client.get(f"/desk/{STUDY}?sort=seconds")
                    page.append(1000 * (time.perf_counter() - began))
                    if len(found) != people or answer.status_code != 200 or f"{people:,} people" not in answer.text:
                        raise RuntimeError("the desk does not show everybody")
        finally:
            await engine.dispose()
    return [
        at_most(f"desk: {people:,} people with {PER_PERSON} ballots, from the database", reading, "ms", 500),
        at_most("desk: the page of the same, sorted by their time, over HTTP in one process", page, "ms", 500),
    ]
