"""What the tables themselves refuse, and that a refusal leaves nothing behind."""

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from heard.db.errors import StoreError
from heard.db.records import Outcome
from heard.db.store import Store
from tests.db.conftest import Make
from tests.db.test_store import count

BAD_SCORES: dict[str, tuple[dict[str, Any], str]] = {
    "below the scale": ({"cognitive": 0.99, "empathy": 1.83}, "ck_score_cognitive"),
    "above the scale": ({"emotional": 3.01, "empathy": 2.34}, "ck_score_emotional"),
    "behavioral out": ({"behavioral": 30.0, "empathy": 3.0}, "ck_score"),
    "empathy out": ({"empathy": 3.2}, "ck_score"),
    "perceived below": ({"perceived": 0.9}, "ck_score_perceived"),
    "perceived above": ({"perceived": 3.1}, "ck_score_perceived"),
    "not the mean": ({"empathy": 2.5}, "ck_score_mean"),
    "scored without a number": ({"behavioral": None}, "ck_score_numbers_when_scored"),
    "numbers without scored": ({"status": "empty"}, "ck_score_numbers_when_scored"),
    "short digest": ({"head_sha256": "abc"}, "ck_score_head_sha256"),
    "no status": ({"status": None}, "score.status"),
}
BAD_DRAFTS: dict[str, tuple[dict[str, Any], str]] = {
    "hundredth draft": ({"number": 100}, "ck_draft_number"),
    "draft zero": ({"number": 0}, "ck_draft_number"),
    "negative time": ({"total_seconds": -0.1}, "ck_draft_total_seconds"),
    "negative wait": ({"first_token_seconds": -1.0}, "ck_draft_first_token_seconds"),
    "negative tokens": ({"completion_tokens": -1}, "ck_draft_completion_tokens"),
    "no digest": ({"prompt_sha256": ""}, "ck_draft_prompt_sha256"),
    "no model": ({"model": None}, "draft.model"),
}


@pytest.mark.parametrize(("fields", "rule"), BAD_SCORES.values(), ids=BAD_SCORES.keys())
async def test_bad_scores(store: Store, make: Make, person: str, path: Path, fields: dict[str, Any], rule: str) -> None:
    await refused(store, make, person, path, rule, score=make.score(**fields))


@pytest.mark.parametrize(("fields", "rule"), BAD_DRAFTS.values(), ids=BAD_DRAFTS.keys())
async def test_bad_drafts(store: Store, make: Make, person: str, path: Path, fields: dict[str, Any], rule: str) -> None:
    await refused(store, make, person, path, rule, **fields)


async def refused(store: Store, make: Make, person: str, path: Path, rule: str, **bad: Any) -> None:
    """The last of three drafts is bad: neither the two good ones, nor the reply, nor the outcome may be there."""
    conversation = make.conversation(person)
    message = make.message(conversation)
    await store.open_turn(conversation, message)
    third = make.draft("secret words", kept=False, **{"number": 3, **bad})
    reply = make.reply(message, make.draft(), make.draft(number=2, kept=False), third)
    with pytest.raises(StoreError) as caught:
        await store.close_turn(message.id, Outcome.ANSWERED, reply)
    assert (caught.value.rule or "").startswith(rule)
    assert "secret" not in f"{caught.value!r} {caught.value.__cause__!r} {caught.value.__context__!r}"
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert [count(path, table) for table in ("reply", "draft", "score")] == [0, 0, 0]
    assert (await store.messages(conversation.id))[0].outcome is Outcome.PENDING
    # The turn can still be closed properly.
    await store.close_turn(message.id, Outcome.ANSWERED, make.reply(message))
    assert count(path, "draft") == 1


async def test_the_same_number_twice(store: Store, make: Make, person: str, path: Path) -> None:
    await refused(store, make, person, path, "draft.reply_id, draft.number", number=2)


async def test_the_same_draft_twice(store: Store, make: Make, person: str, path: Path) -> None:
    conversation = make.conversation(person)
    draft = make.draft()
    message = make.message(conversation)
    await store.open_turn(conversation, message)
    await store.close_turn(message.id, Outcome.ANSWERED, make.reply(message, draft))
    later = make.message(conversation)
    await store.open_turn(conversation, later)
    with pytest.raises(StoreError) as caught:
        await store.close_turn(later.id, Outcome.ANSWERED, make.reply(later, draft))
    assert caught.value.rule == "draft.id"
    assert count(path, "reply") == 1


def test_sqlite_itself_knows_the_rules(url: str, path: Path) -> None:
    """Past SQLAlchemy, as another program would write."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("INSERT INTO participant (id, created_at) VALUES ('p', '2026-01-01 00:00:00')")
    connection.execute("INSERT INTO conversation VALUES ('c', 'p', 'study', '2026-01-01 00:00:00')")
    for statement in (
        "INSERT INTO conversation VALUES ('d', 'nobody', 'study', '2026-01-01 00:00:00')",
        "INSERT INTO message (id, conversation_id, position, text, outcome, created_at)"
        " VALUES ('m', 'nowhere', 1, 't', 'pending', '2026-01-01')",
        "INSERT INTO message (id, conversation_id, position, text, outcome, created_at)"
        " VALUES ('m', 'c', 1, 't', 'maybe', '2026-01-01')",
        "INSERT INTO message (id, conversation_id, position, text, outcome, created_at)"
        " VALUES ('m', 'c', 0, 't', 'pending', '2026-01-01')",
        "INSERT INTO consent VALUES (1, 'nobody', 'v', 1, 1, '2026-01-01')",
        "INSERT INTO threads (id, \"userId\", \"userIdentifier\") VALUES ('t', 'nobody', 'x')",
        "INSERT INTO steps (id, name, type, \"threadId\") VALUES ('s', '', 'run', 'nowhere')",
    ):
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(statement)
    connection.execute(
        "INSERT INTO message (id, conversation_id, position, text, outcome, created_at)"
        " VALUES ('m', 'c', 1, 't', 'pending', '2026-01-01 00:00:00')"
    )
    connection.execute("INSERT INTO reply VALUES ('r', 'm', 'study', 'plain', '2026-01-01 00:00:00', NULL)")
    connection.execute("DELETE FROM participant")
    assert connection.execute("SELECT count(*) FROM reply").fetchone() == (0,)
    connection.close()
