"""What a person does on the pages of a survey, in this process, and what they read there."""

import html
import re
import sqlite3
import uuid
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from heard.db.study_records import Choice, VoteRecord
from heard.db.study_store import StudyStore
from tests.journeys.surveying import make
from tests.journeys.web import HERE, Web

PID = "5f2c-A_b.9"


@pytest.fixture
def studies(web: Web) -> StudyStore:
    return StudyStore(web.store.engine)


async def get(web: Web, path: str) -> httpx.Response:
    return await web.client.get(path)


async def agree(web: Web, research: str = "yes", name: str = "blind") -> None:
    """Read the study's own texts and answer its questions."""
    assert (await web.answer(research=research, next=f"/survey/{name}")).status_code == 303


async def begin(web: Web, pid: str = "", name: str = "blind") -> httpx.Response:
    return await web.client.post(f"/survey/{name}", data={"pid": pid}, headers=HERE)


async def vote(web: Web, studies: StudyStore, number: int, **fields: Any) -> None:
    """A vote through the store, as `POST /vote` gives it on."""
    ballot = (await studies.ballots_of_person("blind", web.participant))[number - 1][0]
    values = {"choice": Choice.SAME, "most": None, "least": None, "reason": None, **fields}
    await studies.vote(
        VoteRecord(
            ballot.id, web.participant, seconds=1.0, width_class="desktop", request_id=str(uuid.uuid4()),
            voted_at=datetime.now(UTC), **values,
        )
    )  # fmt: skip


async def finish(web: Web, studies: StudyStore, items: int = 3) -> None:
    for number in range(1, items + 1):
        await vote(web, studies, number)


def rows(web: Web, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(web.settings.data_dir / "heard.db")) as database:
        return database.execute(sql).fetchall()


def words(response: httpx.Response) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", response.text)).split())


async def judged(web: Web, studies: StudyStore, **values: Any) -> None:
    """Write a survey, take part in it, and vote on every item: what is left is its end."""
    await make(studies, **values)
    await agree(web)
    await begin(web)
    await finish(web, studies)
