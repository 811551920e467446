"""An acknowledged vote is there after kill -9: of a whole `heard chat`, and of a lighter server again and again."""

import os
import signal
from pathlib import Path

import httpx
import pytest

from heard.chat_app.common.identity import VISITOR_COOKIE, Identity
from heard.chat_app.common.settings import Settings
from heard.chat_app.models.downloads import Weights
from heard.db.engine import create_engine, upgrade
from heard.db.store import Store
from tests.db.conftest import Make
from tests.db.studying import Studying
from tests.journeys.talking import serving
from tests.socket_client import Visitor
from tests.vote_server import kill_rounds, vote_call

ROUNDS = 6
"""The bench does 200, and as many on PostgreSQL (`python -m tests.bench votes`)."""


async def test_votes_outlive_the_server_on_sqlite(tmp_path: Path) -> None:
    url = Settings(data_dir=tmp_path).database
    await upgrade(url)
    killed = await kill_rounds(tmp_path, url, ROUNDS)
    assert killed.lost == 0
    assert killed.acknowledged >= ROUNDS


def _person(data_dir: Path, visitor: Visitor) -> str | None:
    identity = Identity.load(data_dir)
    return identity.participant(visitor.http.cookies.get(identity.cookie_name(VISITOR_COOKIE)))


async def test_a_vote_outlives_the_whole_program(tmp_path: Path, weights: Weights) -> None:
    with serving(tmp_path) as served:
        async with Visitor.agree(served.url, research=True) as visitor:
            person = _person(served.data_dir, visitor)
            assert person
            engine = create_engine(Settings(data_dir=served.data_dir).database, lock_seconds=30)
            studying = Studying(Store(engine), Make())
            await studying.survey()
            ballot, _ = await studying.enrolled(person)
            call = vote_call(ballot, studying.make.id(), "last words")
            answer = await visitor.http.post("/vote", json=call)
            os.kill(served.pid, signal.SIGKILL)
            assert answer.json()["status"] == "stored"
            with pytest.raises(httpx.TransportError):
                await visitor.http.get("/health")
    found = await studying.studies.ballot(ballot.id)
    await engine.dispose()
    assert found
    assert found[1]
    assert (found[1].request_id, found[1].reason, found[1].most) == (call["request"], "last words", 3)
