"""Drafts that a person asked for beside a stored reply, on both databases."""

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from heard.db.engine import upgrade
from heard.db.errors import StoreDuplicate, StoreError, StoreGone
from heard.db.feedback_store import FeedbackStore
from heard.db.other_drafts import MOST_NUMBER
from heard.db.records import AskedBy, ConsentRecord, DraftStatus, Outcome, PastTurn
from heard.db.store import Store
from tests.db.conftest import Make
from tests.db.test_migrations import downgrade


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


async def test_the_new_draft_is_the_reply_and_the_earlier_one_stays_stored(
    store: Store, make: Make, person: str
) -> None:
    conversation = make.conversation(person)
    await make.turn(store, conversation, answer="before")
    message, reply = await make.turn(store, conversation, answer="first")
    new = (make.draft("other", asked_by=AskedBy.PERSON, kept=False), make.draft("best", asked_by=AskedBy.POLICY))
    added = await store.add_drafts(reply.id, 1, new)
    assert [(one.number, one.text, one.kept, one.asked_by) for one in added.drafts] == [
        (1, "first", False, None), (2, "other", False, "person"), (3, "best", True, "policy"),
    ]  # fmt: skip
    assert await store.reply(reply.id) == added
    assert (await store.prompt_history(conversation.id)).turns[-1] == PastTurn("A hard week.", "best")
    earlier = await store.prompt_history(conversation.id, before=message.id)
    assert earlier.turns == [PastTurn("A hard week.", "before")]


async def test_what_was_not_whole_is_kept_beside_the_reply(store: Store, make: Make, person: str) -> None:
    _, reply = await make.turn(store, make.conversation(person))
    added = await store.add_drafts(reply.id, 1, [make.draft("par", status=DraftStatus.STOPPED, kept=False)])
    assert [(one.number, one.kept) for one in added.drafts] == [(1, True), (2, False)]


async def test_two_pages_and_an_erasure_write_nothing_twice(store: Store, make: Make, person: str) -> None:
    _, reply = await make.turn(store, make.conversation(person))
    await store.add_drafts(reply.id, 1, [make.draft("one")])
    with pytest.raises(StoreDuplicate):
        await store.add_drafts(reply.id, 1, [make.draft("two")])
    for number in (0, MOST_NUMBER + 1):
        with pytest.raises(StoreError):
            await make_reply(store, make, person, number)
    await store.erase_participant(person)
    with pytest.raises(StoreGone):
        await store.add_drafts(reply.id, 2, [make.draft("three")])


async def make_reply(store: Store, make: Make, person: str, number: int) -> None:
    conversation = make.conversation(person)
    message = make.message(conversation)
    await store.open_turn(conversation, message)
    await store.close_turn(message.id, Outcome.ANSWERED, make.reply(message, make.draft(number=number)))


async def test_a_summary_of_later_messages_is_not_told(store: Store, make: Make, person: str) -> None:
    conversation = make.conversation(person)
    first, _ = await make.turn(store, conversation, "one", "1")
    second, _ = await make.turn(store, conversation, "two", "2")
    third, _ = await make.turn(store, conversation, "three", "3")
    await store.save_summary(make.summary(first, "of one"))
    await store.save_summary(make.summary(third, "of all"))
    past = await store.prompt_history(conversation.id, before=third.id)
    assert (past.summary, [turn.message for turn in past.turns]) == ("of one", ["one", "two"])
    past = await store.prompt_history(conversation.id, before=second.id)
    assert (past.summary, [turn.message for turn in past.turns]) == ("of one", ["one"])
    assert (await store.prompt_history(conversation.id, before=first.id)).turns == []


async def test_scores_thumbs_and_the_kept_draft_outlive_both_ways(
    url: str, store: Store, make: Make, person: str, engine: AsyncEngine
) -> None:
    await store.save_consent(ConsentRecord(person, "1", True, True, make.now))
    conversation = make.conversation(person)
    _, reply = await make.turn(store, conversation)
    drafts = [make.draft(f"draft {number}", kept=number == 11) for number in range(2, 13)]
    await store.add_drafts(reply.id, 1, drafts)
    await FeedbackStore(engine).save_thumb(person, conversation.id, reply.id, True)
    await downgrade(engine, "0013")
    async with engine.connect() as connection:
        left = (await connection.execute(text("SELECT number, text, kept FROM draft ORDER BY number"))).all()
        assert [row[0] for row in left] == list(range(1, 10))
        assert [(row[0], row[1]) for row in left if row[2]] == [(9, "draft 11")]
        for table, rows in (("score", 9), ("thumb", 1)):
            assert await connection.scalar(text(f"SELECT count(*) FROM {table}")) == rows  # noqa: S608
    await upgrade(url)
    again = await store.reply(reply.id)
    assert again is not None
    assert again.kept.text == "draft 11"
    assert all(draft.score for draft in again.drafts)
    assert await FeedbackStore(engine).thumbs(conversation.id) == {again.kept.id: True}
