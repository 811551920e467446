"""Whose history is whose: nobody else reads it or writes to it, and what is erased stays erased."""

import asyncio
from pathlib import Path

import pytest

from heard.db.records import ConversationRecord
from heard.db.store import Store
from tests.chat_app.page.history.threads import (
    ANN,
    BOB,
    WORDS,
    HeardDataLayer,
    cl,
    listed,
    new_id,
    rows,
    said,
    session,
    talk,
)
from tests.db.conftest import Make

BAD_IDS = [
    "x", "", "'; DROP TABLE threads; --", "') OR ('1'='1", "../../etc", "1" * 36, "{" + ANN + "}", ANN.replace("-", ""),
]  # fmt: skip


async def test_threads_belong_to_their_author(layer: HeardDataLayer) -> None:
    thread = new_id()
    await talk(layer, ANN, thread, WORDS)
    assert await layer.get_thread_author(thread) == ANN
    assert await layer.get_thread_author(new_id()) == ""  # Chainlit answers 404
    assert await listed(layer, BOB) == []


async def test_nobody_writes_to_anothers_thread(layer: HeardDataLayer, path: Path) -> None:
    thread, own = new_id(), new_id()
    await talk(layer, ANN, thread, "hello")
    await talk(layer, BOB, own, "mine")
    (step,) = rows(path, 'SELECT id FROM steps WHERE "threadId" = ?', thread)[0]
    before = sorted(rows(path, "SELECT * FROM steps")) + sorted(rows(path, "SELECT * FROM threads"))
    bob = await layer.get_user(BOB)
    assert bob is not None
    with session(BOB, own):
        await layer.create_step(said("intruding") | {"threadId": thread})
        await layer.create_step(said("over it") | {"id": step})  # own thread, another's step
        await layer.create_step(said("over it") | {"id": step, "threadId": thread})
        await layer.update_thread(thread, name="stolen", user_id=bob.id, metadata={"chat_profile": "x"}, tags=["x"])
        for where in (own, thread):
            await layer.create_element(cl.CustomElement(name="Card", props={}, for_id=step, thread_id=where))
        await layer.delete_step(step)
    assert sorted(rows(path, "SELECT * FROM steps")) + sorted(rows(path, "SELECT * FROM threads")) == before
    assert rows(path, "SELECT * FROM elements") == []


@pytest.mark.parametrize("thread", BAD_IDS)
async def test_ids_that_are_no_uuids_go_nowhere(layer: HeardDataLayer, path: Path, thread: str) -> None:
    await talk(layer, ANN, new_id(), "hello")
    assert await layer.get_thread(thread) is None
    assert await layer.get_thread_author(thread) == ""
    await layer.delete_thread(thread)
    with session(ANN, thread):
        await layer.create_step(said("lost") | {"threadId": thread})
        await layer.update_thread(thread, name="x", user_id="u")
        await layer.create_element(cl.CustomElement(name="Card", props={}, for_id=new_id(), thread_id=thread))
    assert len(rows(path, "SELECT * FROM threads")) == 1
    assert len(rows(path, "SELECT * FROM steps")) == 1


async def test_nobody_without_consent_gets_a_row(layer: HeardDataLayer, path: Path) -> None:
    stranger = new_id()
    user = await layer.create_user(cl.User(identifier=stranger))
    assert user.identifier == stranger
    thread = new_id()
    with session(stranger, thread):
        await layer.create_step(said(WORDS))
        await layer.update_thread(thread, name=WORDS, user_id=user.id)
    assert rows(path, "SELECT identifier FROM users WHERE identifier = ?", stranger) == []
    assert rows(path, "SELECT * FROM threads") == []
    assert rows(path, "SELECT * FROM steps") == []


async def test_a_user_is_made_once(layer: HeardDataLayer, path: Path) -> None:
    users = await asyncio.gather(*(layer.create_user(cl.User(identifier=ANN)) for _ in range(8)))
    assert len({user.id for user in users}) == 1
    assert len(rows(path, "SELECT * FROM users WHERE identifier = ?", ANN)) == 1


async def test_deleting_in_the_sidebar_deletes_our_rows_too(
    layer: HeardDataLayer, store: Store, path: Path, make: Make
) -> None:
    thread, other = new_id(), new_id()
    for one in (thread, other):
        await talk(layer, ANN, one, "hello")
        await make.turn(store, ConversationRecord(one, ANN, "study", make.now))
    await layer.delete_thread(thread)
    assert rows(path, "SELECT id FROM conversation") == [(other,)]
    assert rows(path, "SELECT id FROM threads") == [(other,)]
    assert len(rows(path, "SELECT * FROM draft")) == 1
    # The reply that was still streaming, and the session's last words when it ends.
    with session(ANN, thread):
        await layer.update_step(said("late reply", "Listener"))
        await layer.update_thread(thread, metadata={"chat_profile": "study"})
    assert rows(path, "SELECT id FROM threads") == [(other,)]
    # A new message there is a new beginning.
    with session(ANN, thread):
        await layer.create_step(said("hello again"))
    assert len(rows(path, "SELECT id FROM threads")) == 2


async def test_nothing_comes_back_after_erasing(layer: HeardDataLayer, store: Store, path: Path) -> None:
    thread = new_id()
    await talk(layer, ANN, thread, WORDS, "a reply")
    user = await layer.get_user(ANN)
    assert user is not None
    await store.erase_participant(ANN)
    with session(ANN, thread):
        await layer.update_step(said("late " + WORDS, "Listener"))
        await layer.create_step(said("another tab: " + WORDS))
        await layer.update_thread(thread, name=WORDS, user_id=user.id, metadata={"chat_profile": "study"})
        await layer.create_element(cl.CustomElement(name="Card", props={}, for_id=new_id(), thread_id=thread))
    await layer.create_user(cl.User(identifier=ANN))  # Chainlit does, for a cookie that is still good
    for table in ("users", "threads", "steps", "elements", "participant"):
        assert [row for row in rows(path, f"SELECT * FROM {table}") if ANN in row] == []  # noqa: S608
    assert rows(path, "SELECT * FROM threads") == []
    assert WORDS.encode() not in await asyncio.to_thread(path.read_bytes)
