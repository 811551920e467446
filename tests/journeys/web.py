"""The server round the chat in this process, with a real database: what tests of pages and gate share."""

import re
import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from heard.chat_app.common.identity import VISITOR_COOKIE, Identity, cookies_of, new_participant
from heard.chat_app.common.notice import notice
from heard.chat_app.common.settings import Settings
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.client import Models
from heard.chat_app.studies.study_file import StudyFile
from heard.chat_app.web.server import Chat, create_parent
from heard.db.engine import create_engine
from heard.db.records import (
    ConversationRecord,
    DraftRecord,
    DraftStatus,
    MessageRecord,
    Outcome,
    ReplyRecord,
    ScoreRecord,
)
from heard.db.store import Store
from heard.db.study_store import StudyStore
from heard.prompts.library import PromptLibrary

BASE = "http://127.0.0.1:8000"
HERE = {"origin": BASE}
BROWSER = {"accept": "text/html"}
YES = {"chat": "yes", "adult": "yes", "research": "no", "country": ""}
SECRET_WORDS = "SELECT words of a person"


class Tokens:
    """Login tokens that a test can read: "token-" and the participant."""

    def owner(self, token: str) -> str | None:
        return token.removeprefix("token-") if token.startswith("token-") else None

    def make(self, participant_id: str) -> str:
        return f"token-{participant_id}"


class Sessions:
    """Notes down what was asked of the open chats."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    async def stop(self, participant_id: str) -> None:
        self.asked.append(("stop", participant_id))

    async def dismiss(self, participant_id: str) -> None:
        self.asked.append(("dismiss", participant_id))


class Engine:
    """Ready at once; no page here calls a model."""

    async def start(self) -> None:
        return None


@dataclass
class Web:
    """One server in this process, its browser, its database, and whose chats it was asked to close."""

    client: httpx.AsyncClient
    store: Store
    settings: Settings
    identity: Identity
    sessions: Sessions

    @property
    def version(self) -> str:
        return notice(self.settings).version

    @property
    def participant(self) -> str:
        found = self.identity.participant(self.client.cookies.get(self.named(VISITOR_COOKIE)))
        assert found
        return found

    def named(self, cookie: str) -> str:
        """What this server calls a cookie."""
        return self.identity.cookie_name(cookie)

    async def answer(self, **answers: str) -> httpx.Response:
        """Answer the questions about the chat's notice, or about the texts of the study that `next` enters."""
        if "next" in answers and "version" not in answers:
            asked = (await self.client.get("/consent", params={"next": answers["next"]})).text
            answers["version"] = re.findall(r'name="version" value="([^"]+)"', asked)[0]
        return await self.client.post("/consent", data={**YES, "version": self.version, **answers}, headers=HERE)

    def rows(self) -> dict[str, int]:
        """Rows by table, asked of the file itself; left out are empty tables, the migrations' own, and `flow_count`,
        whose numbers are about nobody (`test_flow.py`)."""
        with closing(sqlite3.connect(self.settings.data_dir / "heard.db")) as database:
            names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            counts = {
                name: database.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]  # noqa: S608 - names of tables
                for name in names
                if not name.startswith(("alembic", "sqlite", "flow_count"))
            }
        return {name: count for name, count in counts.items() if count}


def chat_that_tells() -> FastAPI:
    """In Chainlit's place."""
    app = FastAPI()

    @app.get("/{path:path}")
    async def through(path: str, request: Request) -> JSONResponse:
        if path == "raises":
            raise RuntimeError(SECRET_WORDS)
        if path == "answers-500":
            return JSONResponse({"detail": SECRET_WORDS}, 500)
        return JSONResponse({"cookies": cookies_of(request.headers), "auth": request.headers.get("authorization")})

    return app


@pytest.fixture
async def store(tmp_path: Path, migrated: Path) -> AsyncIterator[Store]:
    shutil.copy(migrated, tmp_path)
    engine = create_engine(Settings(data_dir=tmp_path).database, lock_seconds=0.2)
    yield Store(engine)
    await engine.dispose()


def built(
    tmp_path: Path, store: Store, *, scorer: Any = None, live_study: StudyFile | None = None, **values: Any
) -> Web:
    settings = Settings(data_dir=tmp_path, **values)
    identity = Identity.load(tmp_path)
    sessions = Sessions()
    app = parent(settings, store, identity, sessions, scorer, live_study)
    app.mount("/chat", chat_that_tells())
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app, raise_app_exceptions=False), base_url=BASE)
    return Web(client, store, settings, identity, sessions)


def parent(
    settings: Settings,
    store: Store,
    identity: Identity,
    sessions: Sessions,
    scorer: Any = None,
    live_study: StudyFile | None = None,
) -> FastAPI:
    """The product's own server round the chat, without the chat and its models."""
    services = Services(
        settings,
        store,
        models=Models({}, engine=None, first_token_seconds=1, stall_seconds=1),
        scorer=scorer,
        library=PromptLibrary.load(),
        engine=cast(Any, Engine()),
        studies=StudyStore(store.engine),
    )

    async def aclose() -> None:
        return None

    return create_parent(
        settings, services, identity, Chat(sessions, aclose, Tokens(), "default-src 'self'"), live_study
    )


@pytest.fixture
async def web(tmp_path: Path, store: Store) -> AsyncIterator[Web]:
    made = built(tmp_path, store)
    async with made.client:
        yield made


async def one_turn(store: Store, participant_id: str, words: str) -> None:
    """One answered message with two drafts and their scores."""
    now = datetime.now(UTC)
    message, conversation = new_participant(), new_participant()
    await store.open_turn(
        ConversationRecord(conversation, participant_id, "listener", now),
        MessageRecord(message, conversation, words, Outcome.PENDING, now),
    )
    score = ScoreRecord("scored", None, 1.0, 2.0, 3.0, 2.0, "default", "a" * 64, "b" * 64)
    drafts = tuple(
        DraftRecord(
            id=new_participant(), number=number, text=f"reply {number}", status=DraftStatus.COMPLETE, kept=number == 2,
            guidance="emotional" if number == 2 else None, prompt_sha256="c" * 64, model="echo", parameters={},
            first_token_seconds=0.1, total_seconds=0.2, prompt_tokens=None, completion_tokens=None, error=None,
            score=score, created_at=now,
        )
        for number in (1, 2)
    )  # fmt: skip
    await store.close_turn(
        message, Outcome.ANSWERED, ReplyRecord(new_participant(), message, "listener", "plain", drafts, now)
    )
