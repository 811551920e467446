"""What is older than a site keeps goes, a batch at a time and no more than that; what a running study needs stays."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from heard.db import retention
from heard.db.errors import StoreGone, StudyRefused
from heard.db.feedback_store import FeedbackStore
from heard.db.records import ConversationRecord, MessageRecord, Outcome
from heard.db.retention import BATCH, NAMELESS
from heard.db.store import Store
from heard.db.study_records import StudyKind
from heard.db.transaction import run_sql
from tests.db.conftest import Make
from tests.db.studying import Studying

NOW = datetime(2026, 5, 31, 12, 0, tzinfo=UTC)
DAYS = 30
BEFORE = NOW - timedelta(days=DAYS)
OLD, YOUNG = NOW - timedelta(days=DAYS + 1), NOW - timedelta(days=DAYS - 1)


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


async def said(store: Store, make: Make, conversation: ConversationRecord, at: datetime, words: str) -> MessageRecord:
    """An answered message of a day."""
    message = make.message(conversation, words, created_at=at)
    await store.open_turn(conversation, message)
    draft = make.draft(f"reply to {words}", created_at=at)
    await store.close_turn(message.id, Outcome.ANSWERED, make.reply(message, draft, created_at=at))
    return message


async def gone(store: Store, before: datetime = BEFORE) -> dict[str, int]:
    """Delete as the daily run does; the rows by table."""
    total: dict[str, int] = {}
    for person in await store.people_with_expired(before):
        while True:
            deleted = await store.delete_expired(person, before)
            for table, rows in deleted.rows.items():
                total[table] = total.get(table, 0) + rows
            if deleted.whole:
                break
    return total


async def number(engine: AsyncEngine, table: str) -> int:
    async with engine.connect() as connection:
        return int((await connection.execute(text(f"SELECT count(*) FROM {table}"))).scalar_one())  # noqa: S608


async def thread(engine: AsyncEngine, make: Make, person: str, conversation_id: str, steps: dict[str, str]) -> None:
    """The same in the page's list: `steps` are times by words."""
    first = min(steps.values())
    user = make.id()
    await run_sql(
        engine,
        "INSERT INTO users (id, identifier, metadata) VALUES (:a, :b, '{}') ON CONFLICT DO NOTHING",
        {"a": user, "b": person},
    )
    await run_sql(
        engine,
        'INSERT INTO threads (id, name, "createdAt", "userId", "userIdentifier") '
        "SELECT :a, :b, :c, id, identifier FROM users WHERE identifier = :d",
        {"a": conversation_id, "b": "the first words", "c": first, "d": person},
    )
    for words, at in steps.items():
        await run_sql(
            engine,
            'INSERT INTO steps (id, name, type, "threadId", output, "createdAt") VALUES (:a, :b, :b, :c, :d, :e)',
            {"a": make.id(), "b": "user_message", "c": conversation_id, "d": words, "e": at},
        )


def stamp(moment: datetime) -> str:
    return moment.replace(tzinfo=None).isoformat() + "Z"


async def test_what_is_older_goes_and_what_is_younger_stays(
    store: Store, make: Make, engine: AsyncEngine, person: str
) -> None:
    await Studying(store, make).agree(person)
    old, both = (make.conversation(person, created_at=OLD) for _ in range(2))
    await said(store, make, old, OLD, "old words")
    covered = await said(store, make, both, OLD, "older words")
    kept = await said(store, make, both, YOUNG, "young words")
    for reply in (await store.replies(both.id)).values():
        await FeedbackStore(engine).save_thumb(person, both.id, reply.id, True)
    await store.save_summary(make.summary(kept, "a sum of older words", created_at=YOUNG))
    await store.save_flag(make.flag(person, created_at=OLD))
    await store.save_flag(make.flag(person, seeker="another", created_at=YOUNG))
    await thread(engine, make, person, old.id, {"old words": stamp(OLD)})
    await thread(engine, make, person, both.id, {"older words": stamp(OLD), "young words": stamp(YOUNG)})

    assert await store.count_expired(BEFORE) == {
        "message": 2, "reply": 2, "conversation": 1, "flag": 1, "kept for a study": 0,
    }  # fmt: skip
    assert await number(engine, "message") == 3, "counting deletes nothing"
    assert await gone(store) == {
        "message": 2, "reply": 2, "draft": 2, "score": 2, "summary": 1, "conversation": 1, "flag": 1, "thumb": 1,
        "steps": 2, "threads": 1,
    }  # fmt: skip

    stored = await store.export_participant(person)
    words = str(stored)
    assert "young words" in words
    assert "reply to young words" in words
    for lost in ("old words", "older words", "a sum of", "the first words", covered.id):
        assert lost not in words
    assert [row["name"] for row in stored["page_history"]["threads"]] == [NAMELESS]
    assert [turn.message for turn in (await store.prompt_history(both.id)).turns] == ["young words"]
    assert await gone(store) == {}
    assert await store.people_with_expired(BEFORE) == []


async def test_a_day_more_or_less_and_the_person_themselves(store: Store, make: Make, person: str) -> None:
    conversation = make.conversation(person, created_at=BEFORE)
    await said(store, make, conversation, BEFORE, "on the stroke")
    assert await gone(store) == {}
    assert (await gone(store, BEFORE + timedelta(microseconds=1)))["message"] == 1
    assert await store.participant(person) is not None
    assert await store.kept_conversations(person) == []


async def test_batches_are_small_and_take_one_person_at_a_time(
    store: Store, make: Make, engine: AsyncEngine, person: str
) -> None:
    await store.ensure_participant("other")
    for who, many in ((person, BATCH + 5), ("other", 1)):
        conversation = make.conversation(who, created_at=OLD)
        for place in range(many):
            await store.open_turn(conversation, make.message(conversation, f"{place}", created_at=OLD))
    first = await store.delete_expired(person, BEFORE)
    assert (first.rows["message"], first.whole) == (BATCH, False)
    assert await number(engine, "message") == 6
    second = await store.delete_expired(person, BEFORE)
    assert (second.rows["message"], second.rows["conversation"], second.whole) == (5, 1, True)
    assert await number(engine, "message") == 1


async def live_vote(store: Store, make: Make, person: str, at: datetime) -> tuple[Studying, MessageRecord, Any]:
    """A conversation with a turn before a message that was voted on in a live study."""
    studying = Studying(store, make, reveal=False)
    if await studying.studies.study("talk") is None:
        await studying.studies.save_study(studying.study("talk", StudyKind.LIVE, reveal=False))
    await studying.agree(person)
    conversation = make.conversation(person, created_at=at)
    await said(store, make, conversation, at, "what came before")
    message = make.message(conversation, "voted on", created_at=at)
    await store.open_turn(conversation, message)
    ballot, answers = await studying.live(person, message)
    await studying.studies.finish_ballot(ballot.id, [studying.came(answer) for answer in answers])
    await studying.studies.vote(studying.cast(ballot, 1, None))
    return studying, message, ballot


async def test_a_running_study_keeps_its_conversations_whole_until_it_ends(
    store: Store, make: Make, engine: AsyncEngine, person: str
) -> None:
    studying, message, ballot = await live_vote(store, make, person, OLD)
    await thread(engine, make, person, message.conversation_id, {"voted on": stamp(OLD)})
    apart = make.conversation(person, created_at=OLD)
    await said(store, make, apart, OLD, "apart from it")
    assert (await store.count_expired(BEFORE))["kept for a study"] == 2
    held = {one.id: one.held for one in await store.kept_conversations(person)}
    assert held == {message.conversation_id: True, apart.id: False}

    assert (await gone(store))["message"] == 1
    assert await number(engine, "vote") == 1
    stored = str(await store.export_participant(person))
    assert "what came before" in stored
    assert "apart from it" not in stored
    assert (await store.export_participant(person))["page_history"]["steps"][0]["output"] == "voted on"

    ended = await studying.studies.end_study("talk", NOW)
    assert await studying.studies.end_study("talk", NOW + timedelta(days=9)) == ended == NOW
    assert (await gone(store)).items() >= {"message": 2, "ballot": 1, "vote": 1, "answer": 2, "steps": 1}.items()
    assert await number(engine, "vote") == 0
    assert await studying.studies.ballot(ballot.id) is None
    assert "voted on" not in str(await store.export_participant(person))


async def test_nobody_takes_part_in_a_study_that_has_ended(store: Store, make: Make, person: str) -> None:
    studying, *_ = await live_vote(store, make, person, NOW)
    await studying.studies.end_study("talk", NOW)
    conversation = make.conversation(person)
    message = make.message(conversation)
    await store.open_turn(conversation, message)
    with pytest.raises(StudyRefused, match="has ended"):
        await studying.live(person, message)
    with pytest.raises(StoreGone):
        await studying.studies.end_study("another", NOW)


async def test_votes_on_a_survey_are_not_touched(store: Store, make: Make, engine: AsyncEngine, person: str) -> None:
    studying = Studying(store, make)
    await studying.survey()
    await studying.agree(person)
    ballots = await studying.enrolled(person)
    await studying.studies.vote(studying.cast(ballots[0], None, None))
    await studying.studies.end_study("blind", OLD)
    assert await gone(store, NOW + timedelta(days=4000)) == {}
    assert await number(engine, "vote") == 1


async def test_turns_go_on_while_it_runs(store: Store, make: Make, engine: AsyncEngine, person: str) -> None:
    """In the very conversation of which the old part goes."""
    conversation = make.conversation(person, created_at=OLD)
    for place in range(3 * BATCH):
        await store.open_turn(conversation, make.message(conversation, f"old {place}", created_at=OLD))

    async def talk() -> None:
        for place in range(20):
            await said(store, make, conversation, NOW, f"new {place}")

    _, removed = await asyncio.gather(talk(), gone(store))
    removed = {**removed, "message": removed["message"] + (await gone(store)).get("message", 0)}
    assert removed["message"] == 3 * BATCH
    messages = await store.messages(conversation.id)
    assert [message.text for message in messages] == [f"new {place}" for place in range(20)]
    assert {message.outcome for message in messages} == {Outcome.ANSWERED}


async def test_an_emptied_conversation_can_be_gone_on_with(store: Store, make: Make, person: str) -> None:
    conversation = make.conversation(person, created_at=OLD)
    await said(store, make, conversation, OLD, "old")
    touched: list[set[str]] = []
    store.on_erased(touched.append)
    await gone(store)
    assert touched == [{conversation.id}], "a summary that is being written of it is told"
    assert await store.conversation_owner(conversation.id) is None
    assert not store.is_erased(conversation.id)
    await said(store, make, replace(conversation, created_at=NOW), NOW, "new")
    assert [message.text for message in await store.messages(conversation.id)] == ["new"]


async def test_hand_offs_are_counted_by_day(store: Store, make: Make, person: str) -> None:
    conversation = make.conversation(person)
    midnight = datetime(2026, 5, 2, tzinfo=UTC)
    for at, outcome in (
        (midnight - timedelta(seconds=1), Outcome.CRISIS),
        (midnight, Outcome.CRISIS),
        (midnight + timedelta(hours=5), Outcome.REFUSED),
        (midnight + timedelta(days=1), Outcome.CRISIS),
    ):
        await store.open_turn(conversation, make.message(conversation, created_at=at, outcome=outcome))
    assert await store.count_hand_offs(midnight, midnight + timedelta(days=1)) == 1


def test_the_batch_is_what_a_turn_can_wait_for() -> None:
    assert retention.BATCH <= 200
