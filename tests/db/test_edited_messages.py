"""A message in the place of one that was edited, on both databases."""

import pytest
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncEngine

from heard.db.engine import upgrade
from heard.db.errors import StoreDenied
from heard.db.records import Outcome, PastTurn, Safety
from heard.db.store import Store
from heard.db.study_records import StudyKind
from tests.db.conftest import Make
from tests.db.studying import Studying
from tests.db.test_migrations import downgrade


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


async def test_the_old_one_is_stored_and_not_told(store: Store, make: Make, person: str) -> None:
    conversation = make.conversation(person)
    first, _ = await make.turn(store, conversation, "first", "1")
    old, reply = await make.turn(store, conversation, "old", "2")
    await store.save_summary(make.summary(first, "of the first"))
    await store.save_summary(make.summary(old, "of the old"))
    new = make.message(conversation, "new")
    past = await store.open_turn(conversation, new, old.id)
    assert (past.summary, past.turns) == ("of the first", [PastTurn("first", "1")])
    assert [one.replaced_by for one in await store.messages(conversation.id)] == [None, new.id, None]
    assert [one.id for one in await store.message_times(conversation.id)] == [first.id, new.id]
    assert await store.reply(reply.id) == reply
    history = await store.safety_history(conversation.id, person)
    assert "old" in history.messages  # what was said stays read for danger


@pytest.mark.parametrize("fields", [{"outcome": Outcome.CRISIS}, *({"safety": safety} for safety in Safety)])
async def test_a_hand_off_and_a_turn_about_safety_are_not_replaced(
    store: Store, make: Make, person: str, fields: dict[str, Outcome | Safety]
) -> None:
    conversation = make.conversation(person)
    old = make.message(conversation, **fields)
    await store.open_turn(conversation, old)
    if "safety" in fields:
        await store.close_turn(old.id, Outcome.ANSWERED, make.reply(old))
    with pytest.raises(StoreDenied):
        await store.open_turn(conversation, make.message(conversation), old.id)
    assert [one.replaced_by for one in await store.messages(conversation.id)] == [None]
    crisis = make.message(conversation, outcome=Outcome.CRISIS)
    await store.open_turn(conversation, crisis, old.id)  # stored whatever becomes of the edit
    assert [one.replaced_by for one in await store.messages(conversation.id)] == [None, None]


async def test_neither_an_earlier_one_nor_one_that_is_open_nor_anothers(store: Store, make: Make, person: str) -> None:
    conversation, other = make.conversation(person), make.conversation(person)
    first, _ = await make.turn(store, conversation)
    last, _ = await make.turn(store, conversation)
    elsewhere, _ = await make.turn(store, other)
    for old in (first.id, elsewhere.id, make.id()):
        with pytest.raises(StoreDenied):
            await store.open_turn(conversation, make.message(conversation), old)
    await store.open_turn(conversation, make.message(conversation, outcome=Outcome.REFUSED), last.id)
    new = make.message(conversation)
    await store.open_turn(conversation, new, last.id)
    for old in (last.id, new.id):  # replaced already, and still being answered
        with pytest.raises(StoreDenied):
            await store.open_turn(conversation, make.message(conversation), old)


async def test_not_one_on_a_ballot(store: Store, make: Make, person: str) -> None:
    studying, conversation = Studying(store, make), make.conversation(person)
    await studying.agree(person)
    message, _ = await make.turn(store, conversation)
    await studying.studies.save_study(studying.study("talk", StudyKind.LIVE))
    await studying.live(person, message)
    with pytest.raises(StoreDenied):
        await store.open_turn(conversation, make.message(conversation), message.id)


async def test_the_column_goes_and_comes(url: str, store: Store, make: Make, person: str, engine: AsyncEngine) -> None:
    conversation = make.conversation(person)
    old, _ = await make.turn(store, conversation)
    await store.open_turn(conversation, make.message(conversation), old.id)
    await downgrade(engine, "0014")
    async with engine.connect() as connection:
        assert await connection.scalar(text("SELECT count(*) FROM message")) == 2
    await upgrade(url)
    assert [one.replaced_by for one in await store.messages(conversation.id)] == [None, None]
