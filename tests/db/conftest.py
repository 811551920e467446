"""Real databases in a fresh folder, and records to put into them."""

import asyncio
import shutil
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text
from sqlalchemy.ext.asyncio import AsyncEngine

from heard.db.engine import create_engine, upgrade
from heard.db.records import (
    ConversationRecord,
    DraftRecord,
    DraftStatus,
    FlagRecord,
    MessageRecord,
    Outcome,
    ReplyRecord,
    ScoreRecord,
    SummaryRecord,
)
from heard.db.store import Store
from heard.db.tables import Base
from tests.db.postgres import NEEDED, cluster

LOCK_SECONDS = 0.3
"""For tests in which a lock is to be waited out."""
PATIENT_SECONDS = 30.0
"""For all others: nothing may fail because the machine is busy."""


class Make:
    """Records with sensible fields; keyword arguments replace any of them."""

    def __init__(self) -> None:
        self.now = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)

    def id(self) -> str:
        return str(uuid.uuid4())

    def conversation(self, participant_id: str, **fields: Any) -> ConversationRecord:
        return replace(ConversationRecord(self.id(), participant_id, "study", self.now), **fields)

    def message(self, conversation: ConversationRecord, text: str = "A hard week.", **fields: Any) -> MessageRecord:
        return replace(MessageRecord(self.id(), conversation.id, text, Outcome.PENDING, self.now), **fields)

    def score(self, **fields: Any) -> ScoreRecord:
        score = ScoreRecord("scored", None, 1.5, 2.0, 2.5, 2.0, "default", "a" * 64, "b" * 64, perceived=2.4)
        return replace(score, **fields)

    def draft(self, text: str = "That sounds tiring.", **fields: Any) -> DraftRecord:
        draft = DraftRecord(
            id=self.id(),
            number=1,
            text=text,
            status=DraftStatus.COMPLETE,
            kept=True,
            guidance=None,
            prompt_sha256="c" * 64,
            model="echo",
            parameters={"temperature": 0.7},
            first_token_seconds=0.2,
            total_seconds=1.5,
            prompt_tokens=30,
            completion_tokens=12,
            error=None,
            score=self.score(),
            created_at=self.now,
        )
        return replace(draft, **fields)

    def reply(self, message: MessageRecord, *drafts: DraftRecord, **fields: Any) -> ReplyRecord:
        reply = ReplyRecord(self.id(), message.id, "study", "plain", drafts or (self.draft(),), self.now)
        return replace(reply, **fields)

    def flag(self, participant_id: str, **fields: Any) -> FlagRecord:
        flag = FlagRecord(participant_id, "A hard week.", "That is a lot.", "why so high?", self.score(), self.now)
        return replace(flag, **fields)

    def summary(self, message: MessageRecord, text: str = "A hard week, so far.", **fields: Any) -> SummaryRecord:
        summary = SummaryRecord(
            self.id(), message.conversation_id, message.id, text, "echo", "d" * 64, 1.5, 40, 12, self.now
        )
        return replace(summary, **fields)

    async def turn(
        self, store: Store, conversation: ConversationRecord, text: str = "A hard week.", answer: str = "That is a lot."
    ) -> tuple[MessageRecord, ReplyRecord]:
        """Store a whole answered turn."""
        message = self.message(conversation, text)
        await store.open_turn(conversation, message)
        reply = self.reply(message, self.draft(answer))
        await store.close_turn(message.id, Outcome.ANSWERED, reply)
        return message, reply


@pytest.fixture
def make() -> Make:
    return Make()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "heard.db"


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """URL of a real PostgreSQL server. Whoever uses it bears the marks of `postgres.NEEDED`."""
    with cluster() as url:
        yield url


@pytest.fixture
def empty_server(server: str) -> str:
    """The server with every table there and empty."""
    asyncio.run(_emptied(server))
    return server


async def _emptied(url: str) -> None:
    engine = create_engine(url, lock_seconds=PATIENT_SECONDS)
    async with engine.connect() as connection:
        tables = set(await connection.run_sync(lambda there: inspect(there).get_table_names()))
    if not Base.metadata.tables.keys() <= tables:
        await upgrade(url)
    async with engine.begin() as connection:
        await connection.execute(text("TRUNCATE participant, study, users CASCADE"))
    await engine.dispose()


@pytest.fixture
def file_url(path: Path, migrated: Path) -> str:
    """An SQLite file with every table there and empty."""
    shutil.copyfile(migrated, path)
    return f"sqlite+aiosqlite:///{path}"


@pytest.fixture
def url(file_url: str) -> str:
    return file_url


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=NEEDED)])
def each_url(request: pytest.FixtureRequest) -> str:
    """The one database and then the other: a module that names its `url` after this one tests both."""
    return str(request.getfixturevalue("file_url" if request.param == "sqlite" else "empty_server"))


@pytest.fixture
async def engine(url: str) -> AsyncIterator[AsyncEngine]:
    engine = create_engine(url, lock_seconds=PATIENT_SECONDS)
    yield engine
    await engine.dispose()


@pytest.fixture
async def store(engine: AsyncEngine) -> Store:
    return Store(engine)


@pytest.fixture
async def person(store: Store) -> str:
    participant_id = str(uuid.uuid4())
    await store.ensure_participant(participant_id)
    return participant_id
