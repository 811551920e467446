"""What a conversation tells of a person's safety, on both databases; and the column's migration."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from heard.db.engine import create_engine, upgrade
from heard.db.records import ConversationRecord, Outcome, Safety
from heard.db.safety_history import RECENT, RECENT_CHARACTERS, SafetyHistory
from heard.db.store import Store, StoreError
from tests.db.conftest import Make
from tests.db.test_flags import migrate
from tests.db.test_migrations import DRAFT, MESSAGE, PERSON, REPLY, SCORE, TALK


@pytest.fixture
def url(each_url: str) -> str:
    return each_url


async def say(
    store: Store,
    make: Make,
    conversation: ConversationRecord,
    text: str,
    outcome: Outcome = Outcome.ANSWERED,
    safety: Safety | None = None,
    reply: str = "That is a lot.",
) -> None:
    """Store a whole turn."""
    answered = outcome is Outcome.ANSWERED
    message = make.message(conversation, text, outcome=Outcome.PENDING if answered else outcome, safety=safety)
    await store.open_turn(conversation, message)
    if answered:
        await store.close_turn(message.id, outcome, make.reply(message, make.draft(reply, score=None)))


async def test_turns_about_safety_come_back_in_order_and_are_in_no_prompt(
    store: Store, make: Make, person: str
) -> None:
    talk = make.conversation(person)
    assert await store.safety_history(talk.id, person) == SafetyHistory()
    await say(store, make, talk, "hello")
    await say(store, make, talk, "asked", safety=Safety.CHECKED_IN, reply="Are you?")
    await say(store, make, talk, "a cry", Outcome.CRISIS)
    await say(store, make, talk, "k", safety=Safety.SUPPORTED, reply="Are you safe?")
    await say(store, make, talk, "yes", safety=Safety.SAFE, reply="Good.")
    await say(store, make, talk, "too long", Outcome.REFUSED)
    history = await store.safety_history(talk.id, person)
    assert [(turn.position, turn.safety, turn.message, turn.reply) for turn in history.turns] == [
        (2, Safety.CHECKED_IN, "asked", "Are you?"),
        (3, None, "a cry", ""),
        (4, Safety.SUPPORTED, "k", "Are you safe?"),
        (5, Safety.SAFE, "yes", "Good."),
    ]
    assert [turn.handed_off for turn in history.turns] == [False, True, False, False]
    assert history.messages == ("hello", "asked", "a cry", "k", "yes", "too long")
    assert history.last == 5, "a refused message is no answer"
    assert [turn.message for turn in await store.history(talk.id)] == ["hello"]
    stored = {message.text: message.safety for message in await store.messages(talk.id)}
    assert stored["k"] is Safety.SUPPORTED
    assert stored["hello"] is None


async def test_only_the_owner_reads_it_and_only_so_much(store: Store, make: Make, person: str) -> None:
    talk = make.conversation(person)
    for number in range(RECENT + 2):
        await say(store, make, talk, f"{number} " + "é" * 3 * RECENT_CHARACTERS)
    messages = (await store.safety_history(talk.id, person)).messages
    assert [text.split()[0] for text in messages] == [str(number) for number in range(2, RECENT + 2)]
    assert {len(text) for text in messages} == {RECENT_CHARACTERS}
    assert await store.safety_history(talk.id, "somebody else") == SafetyHistory()


async def test_a_turn_that_was_not_answered_counts_for_nothing(store: Store, make: Make, person: str) -> None:
    talk = make.conversation(person)
    pending = make.message(talk, "k", safety=Safety.SUPPORTED)
    await store.open_turn(talk, pending)
    assert (await store.safety_history(talk.id, person)).turns == ()
    await store.mark_interrupted()
    assert (await store.safety_history(talk.id, person)).turns == ()


async def test_it_is_in_a_persons_own_data_and_erased_with_them(store: Store, make: Make, person: str) -> None:
    talk = make.conversation(person)
    await say(store, make, talk, "k", safety=Safety.SUPPORTED)
    assert "supported" in str(await store.export_participant(person))
    await store.erase_participant(person)
    assert await store.safety_history(talk.id, person) == SafetyHistory()


async def test_no_other_word_is_taken(store: Store, make: Make, person: str) -> None:
    talk = make.conversation(person)
    message = replace(make.message(talk), safety=type("Other", (), {"value": "fine"})())
    with pytest.raises(StoreError):
        await store.open_turn(talk, message)


async def test_messages_of_before_have_none_and_keep_their_replies(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    url = f"sqlite+aiosqlite:///{path}"
    engine = create_engine(url)
    await migrate(engine, "0004")
    with sqlite3.connect(path) as connection:
        for statement in (PERSON, TALK, MESSAGE, REPLY):
            connection.execute(statement)
        connection.execute(DRAFT, ("d1", 1, True, "c" * 64))
        connection.execute(SCORE, ("d1", "a" * 64, "b" * 64))
    connection.close()
    await upgrade(url)
    store = Store(engine)
    assert [message.safety for message in await store.messages("c")] == [None]
    assert (await store.replies("c"))["m"].kept.text == "That is a lot."
    assert [turn.message for turn in await store.history("c")] == ["A hard week."]
    await engine.dispose()
