"""Thumbs and whether people felt heard, on both databases: what is taken, what is refused, and what goes with what."""

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from heard.db.engine import upgrade
from heard.db.errors import StoreDenied, StoreError, StoreGone
from heard.db.feedback import HEARD_AFTER
from heard.db.feedback_store import FeedbackStore
from heard.db.records import ConsentRecord, ConversationRecord, DraftStatus, MessageRecord, Outcome, ReplyRecord, Safety
from heard.db.store import Store
from heard.db.study_records import StudyKind
from tests.db.conftest import Make
from tests.db.studying import Studying
from tests.db.test_migrations import downgrade

TABLES = ("thumb", "felt_heard")


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


@pytest.fixture
def feedback(engine: AsyncEngine) -> FeedbackStore:
    return FeedbackStore(engine)


async def counts(engine: AsyncEngine) -> list[int]:
    async with engine.connect() as connection:
        return [int(await connection.scalar(text(f"SELECT count(*) FROM {table}")) or 0) for table in TABLES]  # noqa: S608


async def agree(store: Store, make: Make, person: str, *, chat: bool = True) -> None:
    await store.save_consent(ConsentRecord(person, "1", chat, chat, make.now))


async def talk(
    store: Store, make: Make, person: str, turns: int
) -> tuple[ConversationRecord, list[tuple[MessageRecord, ReplyRecord]]]:
    await agree(store, make, person)
    conversation = make.conversation(person)
    return conversation, [await make.turn(store, conversation) for _ in range(turns)]


async def test_a_thumb_is_given_turned_and_taken_back(
    store: Store, feedback: FeedbackStore, make: Make, person: str, engine: AsyncEngine
) -> None:
    conversation, [(_, reply)] = await talk(store, make, person, 1)
    for up in (True, True, False):
        await feedback.save_thumb(person, conversation.id, reply.id, up)
        assert await feedback.thumbs(conversation.id) == {reply.kept.id: up}
        assert await counts(engine) == [1, 0]
    for _ in range(2):
        await feedback.save_thumb(person, conversation.id, reply.id, None)
        assert await feedback.thumbs(conversation.id) == {}


async def test_nobody_rates_what_is_not_theirs_or_was_not_whole(
    store: Store, feedback: FeedbackStore, make: Make, person: str, engine: AsyncEngine
) -> None:
    conversation, [(_, reply)] = await talk(store, make, person, 1)
    other, [(_, others)] = await talk(store, make, make.id(), 1)
    stopped = make.message(conversation)
    await store.open_turn(conversation, stopped)
    part = make.reply(stopped, make.draft(status=DraftStatus.STOPPED))
    await store.close_turn(stopped.id, Outcome.STOPPED, part)
    safe = make.message(conversation, safety=Safety.CHECKED_IN)
    await store.open_turn(conversation, safe)
    question = make.reply(safe)
    await store.close_turn(safe.id, Outcome.ANSWERED, question)
    for talk_id, reply_id in (
        (conversation.id, others.id), (other.id, others.id), (other.id, reply.id), (conversation.id, make.id()),
        (conversation.id, part.id), (conversation.id, question.id), (conversation.id, reply.kept.id),
    ):  # fmt: skip
        with pytest.raises(StoreDenied):
            await feedback.save_thumb(person, talk_id, reply_id, True)
    assert await counts(engine) == [0, 0]


async def test_without_consent_and_after_an_erasure_nothing_is_stored(
    store: Store, feedback: FeedbackStore, make: Make, person: str, engine: AsyncEngine
) -> None:
    conversation, turns = await talk(store, make, person, HEARD_AFTER)
    message, reply = turns[-1]
    await agree(store, make, person, chat=False)
    for refused in (StoreDenied, StoreGone):
        with pytest.raises(refused):
            await feedback.save_thumb(person, conversation.id, reply.id, True)
        with pytest.raises(refused):
            await feedback.ask_heard(person, conversation.id, message.id)
        with pytest.raises(refused):
            await feedback.answer_heard(person, conversation.id, 3)
        assert await counts(engine) == [0, 0]
        await store.erase_participant(person)


async def test_it_is_asked_once_after_several_turns_and_the_last_answer_counts(
    store: Store, feedback: FeedbackStore, make: Make, person: str
) -> None:
    conversation, turns = await talk(store, make, person, HEARD_AFTER - 1)
    assert not await feedback.ask_heard(person, conversation.id, turns[-1][0].id)
    with pytest.raises(StoreDenied):
        await feedback.answer_heard(person, conversation.id, 3)
    message, _ = await make.turn(store, conversation)
    assert await feedback.ask_heard(person, conversation.id, message.id)
    assert not await feedback.ask_heard(person, conversation.id, message.id)
    felt = await feedback.felt_heard(conversation.id)
    assert felt is not None
    assert (felt.message_id, felt.answer, felt.answered_at) == (message.id, None, None)
    for answer in (1, 5, None):
        await feedback.answer_heard(person, conversation.id, answer)
        felt = await feedback.felt_heard(conversation.id)
        assert felt is not None
        assert felt.answer == answer
        assert felt.answered_at is not None
    for answer in (0, 6, -1):
        with pytest.raises(StoreError):
            await feedback.answer_heard(person, conversation.id, answer)


@pytest.mark.parametrize("fields", [{"outcome": Outcome.CRISIS}, *({"safety": safety} for safety in Safety)])
async def test_it_is_never_asked_after_a_hand_off_or_a_turn_about_safety(
    store: Store, feedback: FeedbackStore, make: Make, person: str, fields: dict[str, Outcome | Safety]
) -> None:
    conversation, turns = await talk(store, make, person, HEARD_AFTER)
    open_one, asked = await talk(store, make, person, HEARD_AFTER)
    assert await feedback.ask_heard(person, open_one.id, asked[-1][0].id)
    for one in (conversation, open_one):
        await store.open_turn(one, make.message(one, **fields))
    message, _ = await make.turn(store, conversation)
    for last in (turns[-1][0], message):
        assert not await feedback.ask_heard(person, conversation.id, last.id)
    with pytest.raises(StoreDenied):  # a page that still shows the question
        await feedback.answer_heard(person, open_one.id, 2)


async def test_nothing_is_asked_or_rated_where_answers_were_compared(
    store: Store, feedback: FeedbackStore, make: Make, person: str, engine: AsyncEngine
) -> None:
    studying = Studying(store, make)
    conversation, turns = await talk(store, make, person, HEARD_AFTER)
    message, reply = turns[-1]
    await studying.studies.save_study(studying.study("talk", StudyKind.LIVE))
    await studying.live(person, message)
    with pytest.raises(StoreDenied):
        await feedback.save_thumb(person, conversation.id, reply.id, True)
    assert not await feedback.ask_heard(person, conversation.id, message.id)
    assert await counts(engine) == [0, 0]


async def test_both_are_in_the_persons_export_and_go_with_the_conversation(
    store: Store, feedback: FeedbackStore, make: Make, person: str, engine: AsyncEngine
) -> None:
    for whole in (False, True):
        conversation, turns = await talk(store, make, person, HEARD_AFTER)
        message, reply = turns[-1]
        await feedback.save_thumb(person, conversation.id, reply.id, False)
        await feedback.ask_heard(person, conversation.id, message.id)
        await feedback.answer_heard(person, conversation.id, 4)
        stored = await store.export_participant(person)
        assert [(row["draft_id"], row["up"]) for row in stored["thumbs"]] == [(reply.kept.id, False)]
        assert [(row["conversation_id"], row["answer"]) for row in stored["felt_heard"]] == [(conversation.id, 4)]
        erase = store.erase_participant(person) if whole else store.delete_conversation(conversation.id)
        removed = await erase
        assert (removed["thumb"], removed["felt_heard"]) == (1, 1)
        assert await counts(engine) == [0, 0]


async def test_the_tables_go_and_come_and_the_replies_stay(
    url: str, store: Store, feedback: FeedbackStore, make: Make, person: str, engine: AsyncEngine
) -> None:
    conversation, [(_, reply)] = await talk(store, make, person, 1)
    for _ in range(2):
        await feedback.save_thumb(person, conversation.id, reply.id, True)
        assert await counts(engine) == [1, 0]
        await downgrade(engine, "0012")
        with pytest.raises(StoreError):
            await feedback.thumbs(conversation.id)
        await upgrade(url)
        assert await counts(engine) == [0, 0]
        assert await store.reply(reply.id) == reply
