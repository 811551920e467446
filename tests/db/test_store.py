"""A turn's way into the database and back, and what the store refuses."""

import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from heard.db.errors import StoreDenied, StoreDuplicate, StoreError, StoreGone
from heard.db.records import ConsentRecord, DraftStatus, Outcome, Participant, PastTurn
from heard.db.store import Store
from tests.db.conftest import Make


def count(path: Path, table: str) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608
    finally:
        connection.close()


async def test_a_turn_comes_back_as_it_was_written(store: Store, make: Make, person: str) -> None:
    conversation = make.conversation(person)
    message = make.message(conversation)
    await store.open_turn(conversation, message)
    assert await store.messages(conversation.id) == [message]
    unscored = make.score(
        status="not_english",
        reason="Not English.",
        cognitive=None,
        emotional=None,
        behavioral=None,
        empathy=None,
        perceived=None,
    )
    drafts = (
        make.draft("First.", number=1, kept=False),
        make.draft("Second.", number=2, guidance="behavioral", parameters={"seed": 7, "stop": ["\n"], "d": {"a": 1}}),
        make.draft(
            "Tercero",
            number=3,
            kept=False,
            guidance="emotional",
            score=unscored,
            first_token_seconds=None,
            prompt_tokens=None,
            completion_tokens=None,
        ),
    )
    reply = make.reply(message, *drafts)
    await store.close_turn(message.id, Outcome.ANSWERED, reply)
    assert await store.reply(reply.id) == reply
    assert await store.replies(conversation.id) == {message.id: reply}
    assert [item.outcome for item in await store.messages(conversation.id)] == [Outcome.ANSWERED]
    assert await store.conversation_owner(conversation.id) == person
    assert await store.history(conversation.id) == [PastTurn(message.text, "Second.")]


async def test_the_first_hand_off_of_a_conversation_is_found_by_its_danger(
    store: Store, make: Make, person: str
) -> None:
    conversation = make.conversation(person)
    said = [
        make.message(conversation, "A hard week.", outcome=Outcome.REFUSED),
        make.message(conversation, "one", outcome=Outcome.CRISIS, danger="suicide", language="de"),
        make.message(conversation, "two", outcome=Outcome.CRISIS, danger="minor", language="en"),
        make.message(conversation, "three", outcome=Outcome.CRISIS, danger="minor", language=None),
    ]
    for message in said:
        await store.open_turn(conversation, message)
    assert await store.messages(conversation.id) == said
    assert await store.first_handoff(conversation.id, person, {"minor"}) == said[2]
    assert await store.first_handoff(conversation.id, person, {"minor", "suicide"}) == said[1]
    assert await store.first_handoff(conversation.id, person, {"threat"}) is None
    assert await store.first_handoff(conversation.id, person, set()) is None
    assert await store.first_handoff(conversation.id, "somebody else", {"minor"}) is None
    assert await store.first_handoff("another", person, {"minor"}) is None


async def test_what_is_not_there_is_none(store: Store) -> None:
    assert await store.participant("nobody") is None
    assert await store.latest_consent("nobody") is None
    assert await store.reply("none") is None
    assert await store.replies("none") == {}
    assert await store.history("none") == []
    assert await store.messages("none") == []
    assert await store.conversation_owner("none") is None


async def test_the_newest_consent_counts_and_earlier_ones_stay(store: Store, make: Make, path: Path) -> None:
    first = ConsentRecord("p", "2026-01", True, True, make.now)
    # A clock set back must not bring an older answer into force again.
    second = ConsentRecord("p", "2026-02", True, False, make.now - timedelta(days=1))
    await store.save_consent(first)
    assert await store.latest_consent("p") == first
    await store.save_consent(second)
    assert await store.latest_consent("p") == second
    person = await store.participant("p")
    assert isinstance(person, Participant)
    assert person.consent == second
    assert person.created_at.tzinfo is UTC
    assert count(path, "consent") == 2
    assert count(path, "participant") == 1


async def test_times_come_back_in_utc(store: Store, make: Make, person: str) -> None:
    eastern = datetime(2026, 5, 1, 8, 0, 0, 123456, tzinfo=timezone(timedelta(hours=-4)))
    conversation = make.conversation(person)
    await store.open_turn(conversation, make.message(conversation, created_at=eastern))
    stored = (await store.messages(conversation.id))[0].created_at
    assert stored == eastern
    assert stored.utcoffset() == timedelta(0)


async def test_a_time_without_zone_is_refused(store: Store, make: Make, person: str, path: Path) -> None:
    conversation = make.conversation(person)
    naive = datetime(2026, 5, 1)
    with pytest.raises(StoreError):
        await store.open_turn(conversation, make.message(conversation, created_at=naive))
    assert count(path, "conversation") == 0


NASTY = {
    "lone high": "a\ud83db",
    "lone low": "\udc00",
    "swapped": "\ude00\ud83d",
    "nul": "a\x00b",
    "zero width": "a\u200b\u2060\ufeffb",
    "controls": "\x01\x1b[31m\x7f\u0085\u2028",
    "sql": "'); DROP TABLE message; --",
    "html": "<script>alert(1)</script>",
    "rtl": "\u202eabc",
    "long": "x" * 20_000,
    "empty": "",
    "colon": ":id %s %(x)s ? {0}",
}


@pytest.mark.parametrize("text", NASTY.values(), ids=NASTY.keys())
async def test_no_text_makes_a_write_fail(store: Store, make: Make, person: str, text: str) -> None:
    conversation = make.conversation(person, persona=text)
    message = make.message(conversation, text)
    await store.open_turn(conversation, message)
    draft = make.draft(
        text, guidance=text, error=text, model=text, parameters={text: [text, {"x": text}], "nan": float("nan")}
    )
    reply = make.reply(message, draft, persona=text, strategy=text)
    await store.close_turn(message.id, Outcome.ANSWERED, reply)
    stored = await store.reply(reply.id)
    clean = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\x00", "\ufffd")
    assert stored is not None
    assert stored.kept.text == clean
    assert stored.kept.parameters[clean] == [clean, {"x": clean}]
    assert (await store.messages(conversation.id))[0].text == clean
    assert (await store.history(conversation.id)) == [PastTurn(clean, clean)]
    await store.export_participant(person)


async def test_halves_of_a_pair_become_their_character(store: Store, make: Make, person: str) -> None:
    conversation = make.conversation(person)
    await store.open_turn(conversation, make.message(conversation, "\ud83d\ude00"))
    assert (await store.messages(conversation.id))[0].text == "\U0001f600"


async def test_history_holds_what_was_answered_or_broken_off(store: Store, make: Make, person: str) -> None:
    conversation = make.conversation(person)
    await make.turn(store, conversation, "one", "1")
    for outcome, status in (
        (Outcome.CRISIS, None),
        (Outcome.REFUSED, None),
        (Outcome.BROKEN, DraftStatus.BROKEN),
        (Outcome.STOPPED, DraftStatus.STOPPED),
        (Outcome.STOPPED, DraftStatus.COMPLETE),
        (Outcome.ANSWERED, DraftStatus.STOPPED),
        (Outcome.BROKEN, None),
    ):
        message = make.message(conversation, f"said {outcome}")
        await store.open_turn(conversation, message)
        reply = make.reply(message, make.draft("arrived", status=status, score=None)) if status else None
        await store.close_turn(message.id, outcome, reply)
    await store.open_turn(conversation, make.message(conversation, "never: still pending"))
    await store.open_turn(conversation, make.message(conversation, "never: from the start", outcome=Outcome.CRISIS))
    await make.turn(store, conversation, "two", "2")
    other = make.conversation(person)
    await make.turn(store, other, "elsewhere", "x")
    assert await store.history(conversation.id) == [
        PastTurn("one", "1"),
        PastTurn("said broken", "arrived"),
        PastTurn("said stopped", "arrived"),
        PastTurn("said stopped", "arrived"),
        PastTurn("said broken", ""),
        PastTurn("two", "2"),
    ]


async def test_history_is_the_last_turns_oldest_first(store: Store, make: Make, person: str) -> None:
    conversation = make.conversation(person)
    for number in range(6):  # all with the same time, so only the position can order them
        await make.turn(store, conversation, f"m{number}", f"r{number}")
    assert await store.history(conversation.id, limit=2) == [PastTurn("m4", "r4"), PastTurn("m5", "r5")]
    assert len(await store.history(conversation.id)) == 6


async def test_interrupted_at_start_up(store: Store, make: Make, person: str) -> None:
    conversation = make.conversation(person)
    await make.turn(store, conversation)
    pending = make.message(conversation)
    await store.open_turn(conversation, pending)
    assert await store.mark_interrupted() == 1
    assert await store.mark_interrupted() == 0
    assert [item.outcome for item in await store.messages(conversation.id)] == [Outcome.ANSWERED, Outcome.INTERRUPTED]
    # Another process may have marked a turn that was still alive here.
    await store.close_turn(pending.id, Outcome.ANSWERED, make.reply(pending))
    assert (await store.messages(conversation.id))[1].outcome is Outcome.ANSWERED


async def test_closing_twice_with_the_same_reply_changes_nothing(
    store: Store, make: Make, person: str, path: Path
) -> None:
    conversation = make.conversation(person)
    message, reply = await make.turn(store, conversation)
    await store.close_turn(message.id, Outcome.ANSWERED, reply)
    assert (count(path, "reply"), count(path, "draft"), count(path, "score")) == (1, 1, 1)
    for other in (make.reply(message), None):
        with pytest.raises(StoreDuplicate):
            await store.close_turn(message.id, Outcome.ANSWERED, other)
    with pytest.raises(StoreDuplicate):
        await store.close_turn(message.id, Outcome.BROKEN, reply)
    assert await store.replies(conversation.id) == {message.id: reply}


async def test_closing_twice_without_a_reply(store: Store, make: Make, person: str) -> None:
    conversation = make.conversation(person)
    message = make.message(conversation)
    await store.open_turn(conversation, message)
    await store.close_turn(message.id, Outcome.CRISIS, None)
    await store.close_turn(message.id, Outcome.CRISIS, None)
    with pytest.raises(StoreDuplicate):
        await store.close_turn(message.id, Outcome.ANSWERED, make.reply(message))
    assert await store.replies(conversation.id) == {}


async def test_a_message_is_taken_once(store: Store, make: Make, person: str, path: Path) -> None:
    conversation = make.conversation(person)
    message = make.message(conversation, "first")
    await store.open_turn(conversation, message)
    with pytest.raises(StoreDuplicate):
        await store.open_turn(conversation, replace(message, text="second"))
    elsewhere = make.conversation(person)
    with pytest.raises(StoreDuplicate):
        await store.open_turn(elsewhere, replace(message, conversation_id=elsewhere.id))
    assert [item.text for item in await store.messages(conversation.id)] == ["first"]
    assert count(path, "conversation") == 1


async def test_nobody_writes_into_anothers_conversation(store: Store, make: Make, person: str, path: Path) -> None:
    conversation = make.conversation(person)
    await make.turn(store, conversation)
    await store.ensure_participant("intruder")
    with pytest.raises(StoreDenied):
        await store.open_turn(replace(conversation, participant_id="intruder"), make.message(conversation))
    assert count(path, "message") == 1


async def test_a_stranger_has_no_turns(store: Store, make: Make, path: Path) -> None:
    conversation = make.conversation("never seen")
    with pytest.raises(StoreGone):
        await store.open_turn(conversation, make.message(conversation))
    assert count(path, "conversation") == 0


async def test_callers_mistakes_are_named(store: Store, make: Make, person: str) -> None:
    conversation = make.conversation(person)
    message = make.message(conversation)
    with pytest.raises(ValueError, match="another conversation"):
        await store.open_turn(make.conversation(person), message)
    await store.open_turn(conversation, message)
    with pytest.raises(ValueError, match="pending"):
        await store.close_turn(message.id, Outcome.PENDING, None)
    with pytest.raises(ValueError, match="another message"):
        await store.close_turn(message.id, Outcome.ANSWERED, make.reply(make.message(conversation)))
    for drafts in ((make.draft(kept=False),), (make.draft(), make.draft(number=2))):
        with pytest.raises(ValueError, match="exactly one"):
            await store.close_turn(message.id, Outcome.ANSWERED, make.reply(message, *drafts))
