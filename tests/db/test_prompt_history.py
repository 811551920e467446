"""What later prompts look back on, and the running summary."""

import sqlite3
from pathlib import Path

import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from heard.db.errors import StoreError, StoreGone
from heard.db.prompt_history import HISTORY_TURNS, UNFINISHED
from heard.db.records import ConversationRecord, DraftStatus, MessageRecord, Outcome, PastTurn, PromptHistory
from heard.db.store import Store
from tests.db.conftest import Make


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


async def talk(store: Store, make: Make, conversation: ConversationRecord, turns: int) -> list[MessageRecord]:
    return [(await make.turn(store, conversation, f"m{n}", f"r{n}"))[0] for n in range(turns)]


def items(*numbers: int) -> list[PastTurn]:
    return [PastTurn(f"m{n}", f"r{n}") for n in numbers]


async def test_a_summary_takes_the_place_of_what_it_covers(store: Store, make: Make, person: str) -> None:
    conversation = make.conversation(person)
    said = await talk(store, make, conversation, 6)
    assert await store.prompt_history(conversation.id) == PromptHistory(items(*range(6)), None)
    await store.save_summary(make.summary(said[3], "up to the fourth"))
    await store.save_summary(make.summary(said[1], "up to the second"))  # stored later, reaches less far
    assert await store.prompt_history(conversation.id) == PromptHistory(items(0, 4, 5), "up to the fourth")
    assert await store.prompt_history(conversation.id, summarised=False) == PromptHistory(items(*range(6)), None)
    untold = await store.unsummarised_history(conversation.id)
    assert untold.first is not None
    assert (untold.first.message_id, untold.summary) == (said[0].id, "up to the fourth")
    assert [turn.message_id for turn in untold.turns] == [said[4].id, said[5].id]
    opened = await store.open_turn(conversation, make.message(conversation, "and now"))
    assert opened == PromptHistory(items(0, 4, 5), "up to the fourth")


@pytest.mark.parametrize("outcome", UNFINISHED)
@pytest.mark.parametrize(
    ("status", "told"),
    [
        (DraftStatus.STOPPED, "That so"),
        (DraftStatus.BROKEN, "That so"),
        (DraftStatus.COMPLETE, "That so"),
        (DraftStatus.CAUGHT, ""),
        (DraftStatus.EMPTY, ""),
        (None, ""),
    ],
)
async def test_what_was_broken_off_is_told_with_what_had_arrived(
    store: Store, make: Make, person: str, outcome: Outcome, status: DraftStatus | None, told: str
) -> None:
    conversation = make.conversation(person)
    await make.turn(store, conversation, "m0", "r0")
    await store.open_turn(conversation, message := make.message(conversation, "and then"))
    reply = make.reply(message, make.draft("That so", status=status, score=None)) if status else None
    await store.close_turn(message.id, outcome, reply)
    assert (await store.prompt_history(conversation.id)).turns == [*items(0), PastTurn("and then", told)]
    assert (await store.unsummarised_history(conversation.id)).turns[-1].reply == told


async def test_what_is_still_being_answered_is_no_history(store: Store, make: Make, person: str) -> None:
    conversation = make.conversation(person)
    await store.open_turn(conversation, make.message(conversation, "first"))
    assert (await store.open_turn(conversation, make.message(conversation, "second"))).turns == []


async def test_the_summary_of_another_conversation_stays_there(store: Store, make: Make, person: str) -> None:
    here, there = make.conversation(person), make.conversation(person)
    await talk(store, make, here, 2)
    await store.save_summary(make.summary((await talk(store, make, there, 2))[1]))
    assert await store.prompt_history(here.id) == PromptHistory(items(0, 1), None)


async def test_the_first_turn_is_there_however_long_it_has_been(
    store: Store, make: Make, person: str, engine: AsyncEngine
) -> None:
    conversation = make.conversation(person)
    for outcome in (Outcome.CRISIS, Outcome.REFUSED):
        await store.open_turn(conversation, make.message(conversation, f"never {outcome}", outcome=outcome))
    await talk(store, make, conversation, HISTORY_TURNS + 3)
    past = await store.prompt_history(conversation.id)
    assert past.turns == items(0, *range(3, HISTORY_TURNS + 3))
    assert not any("never" in turn.message for turn in (await store.unsummarised_history(conversation.id)).turns)
    statements: list[str] = []
    event.listen(engine.sync_engine, "before_cursor_execute", lambda *call: statements.append(call[2]))
    await store.open_turn(conversation, make.message(conversation, "and now"))
    assert len([one for one in statements if one.lstrip().startswith("SELECT")]) <= 5


async def test_nothing_is_written_behind_an_erasure(store: Store, make: Make, person: str) -> None:
    conversation = make.conversation(person)
    said = await talk(store, make, conversation, 2)
    await store.save_summary(make.summary(said[0]))
    assert (await store.delete_conversation(conversation.id))["summary"] == 1
    with pytest.raises(StoreGone):
        await store.save_summary(make.summary(said[1]))
    assert (await store.erase_participant(person))["summary"] == 0


async def test_a_person_gets_the_summaries_of_their_conversations(store: Store, make: Make, person: str) -> None:
    conversation = make.conversation(person)
    said = await talk(store, make, conversation, 2)
    await store.save_summary(make.summary(said[1], "So far: a hard week."))
    (exported,) = (await store.export_participant(person))["conversations"]
    (summary,) = exported["summaries"]
    assert (summary["text"], summary["message_id"], summary["model"]) == ("So far: a hard week.", said[1].id, "echo")


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"prompt_sha256": "short"}, "ck_summary_prompt_sha256"),
        ({"seconds": -1.0}, "ck_summary_seconds"),
        ({"prompt_tokens": -1}, "ck_summary_prompt_tokens"),
        ({"completion_tokens": -1}, "ck_summary_completion_tokens"),
    ],
)
async def test_bad_summaries(store: Store, make: Make, person: str, fields: dict[str, object], rule: str) -> None:
    said = await talk(store, make, conversation := make.conversation(person), 1)
    with pytest.raises(StoreError) as caught:
        await store.save_summary(make.summary(said[0], **fields))
    assert caught.value.rule == rule
    assert (await store.prompt_history(conversation.id)).summary is None


def test_the_newest_summary_is_found_by_an_index(migrated: Path) -> None:
    with sqlite3.connect(migrated) as database:
        plan = database.execute("EXPLAIN QUERY PLAN SELECT text FROM summary WHERE conversation_id = 'x'").fetchall()
    database.close()
    assert any("ix_summary_conversation_id" in str(row) for row in plan)
