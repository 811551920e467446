"""Thumbs and whether people felt heard in the files of `heard export --all`: whose, and what of them."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from heard.db.engine import create_engine
from heard.db.feedback import HEARD_AFTER
from heard.db.feedback_store import FeedbackStore
from heard.db.records import ConsentRecord, Outcome
from heard.db.store import Store
from tests.chat_app.export.exporting import filled_file as filled_file
from tests.chat_app.export.exporting import read_csv, read_parquet, run
from tests.db.conftest import Make
from tests.db.conftest import each_url as each_url
from tests.db.conftest import empty_server as empty_server
from tests.db.conftest import server as server

WORDS = "only-said-in-the-chat"


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


async def rated(url: str, make: Make, who: str, *, chat: bool, research: bool) -> None:
    """Somebody's talk with a thumb down on a rewritten reply and an answer of 4, who then answers the notice anew."""
    engine = create_engine(url)
    store, feedback = Store(engine), FeedbackStore(engine)
    await store.save_consent(ConsentRecord(who, "1", True, True, make.now))
    conversation = make.conversation(who)
    for _ in range(HEARD_AFTER):
        message = make.message(conversation, WORDS)
        await store.open_turn(conversation, message)
        drafts = (make.draft(WORDS, kept=False), make.draft(WORDS, number=2))
        reply = make.reply(message, *drafts, policy="below-threshold")
        await store.close_turn(message.id, Outcome.ANSWERED, reply)
    await feedback.save_thumb(who, conversation.id, reply.id, False)
    assert await feedback.ask_heard(who, conversation.id, message.id)
    await feedback.answer_heard(who, conversation.id, 4)
    await store.save_consent(ConsentRecord(who, "1", chat, research, make.now))
    await engine.dispose()


def test_of_those_who_allow_research_and_of_nobody_else(url: str, make: Make, tmp_path: Path) -> None:
    for who, chat, research in (("yes", True, True), ("chat-only", True, False), ("withdrawn", False, False)):
        asyncio.run(rated(url, make, who, chat=chat, research=research))
    run(url, "--all", "--out", tmp_path / "out")
    (thumb,) = read_parquet(tmp_path / "out" / "thumbs.parquet")
    assert (thumb["participant_id"], thumb["position"], thumb["up"]) == ("yes", HEARD_AFTER, False)
    assert (thumb["draft_number"], thumb["kept"], thumb["policy"]) == (2, True, "below-threshold")
    assert (thumb["model"], thumb["strategy"], thumb["empathy"], thumb["perceived"]) == ("echo", "plain", 2.0, 2.4)
    (felt,) = read_parquet(tmp_path / "out" / "felt_heard.parquet")
    assert (felt["participant_id"], felt["felt_heard"], felt["messages"]) == ("yes", 4, HEARD_AFTER)
    assert felt["asked_at"] <= felt["answered_at"]
    (row,) = read_csv(tmp_path / "out" / "thumbs.csv")
    assert (row["up"], row["empathy"], list(row)) == ("false", "2", list(thumb))
    assert not any(WORDS.encode() in file.read_bytes() for file in (tmp_path / "out").iterdir())
    book = read_csv(tmp_path / "out" / "codebook.csv")
    assert [one["column"] for one in book if one["table"] == "felt_heard"] == list(felt)
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["rows"]["thumbs"], manifest["rows"]["felt_heard"]) == (1, 1)


def test_one_studys_files_hold_none(path: Path, filled_file: Path, make: Make, tmp_path: Path) -> None:
    shutil.copyfile(filled_file, path)
    studied_url = f"sqlite+aiosqlite:///{path}"
    asyncio.run(rated(studied_url, make, "yes", chat=True, research=True))
    run(studied_url, "survey", "--out", tmp_path / "out")
    assert not any(path.name.startswith(("thumbs", "felt_heard")) for path in (tmp_path / "out").iterdir())
    assert not [one for one in read_csv(tmp_path / "out" / "codebook.csv") if one["table"] in ("thumbs", "felt_heard")]
