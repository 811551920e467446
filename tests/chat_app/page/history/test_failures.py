"""What the page's history refuses or cannot do, and what it says then."""

import logging
import os
import sqlite3
from pathlib import Path

import pytest

from heard.db.errors import StoreBusy, StoreDenied, StoreError
from tests.chat_app.page.history.threads import (
    ANN,
    WORDS,
    Feedback,
    HeardDataLayer,
    cl,
    new_id,
    rows,
    said,
    session,
    talk,
)
from tests.db.conftest import Make
from tests.db.processes import holding


async def test_a_locked_database_is_reported_and_says_nothing(
    impatient: HeardDataLayer, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    thread = new_id()
    await talk(impatient, ANN, thread, "hello")
    caplog.set_level(logging.DEBUG, logger="chat_app")
    caplog.set_level(logging.DEBUG, logger="chainlit")
    with holding(path), session(ANN, thread):
        await impatient.create_step(said(WORDS))
        with pytest.raises(StoreBusy) as caught:
            await impatient.set_thread_name(thread, WORDS)
        with pytest.raises(StoreBusy):
            await impatient.delete_thread(thread)
        assert (await impatient.get_thread(thread)) is not None
    assert impatient.pop_failure(thread) == str(StoreBusy())
    assert impatient.pop_failure(thread) is None
    for told in (caplog.text, str(caught.value)):
        assert WORDS not in told
        assert "INSERT" not in told
        assert "threads" not in told
    assert "history was not saved" in caplog.text


async def test_only_what_is_stored_is_said_to_be(impatient: HeardDataLayer, path: Path) -> None:
    thread, make = new_id(), Make()
    conversation = make.conversation(ANN, id=thread)
    await talk(impatient, ANN, thread, "hello")
    stored, _ = await make.turn(impatient.store, conversation)
    pending = make.message(conversation)
    await impatient.store.open_turn(conversation, pending)
    for message_id, kept in ((stored.id, True), (pending.id, False), (new_id(), False)):
        with holding(path), session(ANN, thread):
            await impatient.create_step(said(WORDS))
        told = await impatient.told_failure(thread, message_id)
        assert told is not None
        assert told.startswith(str(StoreBusy()))
        assert ("your messages are stored" in told) == kept
    assert await impatient.told_failure(thread, stored.id) is None
    with holding(path), session(ANN, thread):
        await impatient.create_step(said(WORDS))
    os.rename(path, path.with_name("moved.db"))
    told = await impatient.told_failure(thread, stored.id)
    assert told is not None
    assert "stored" not in told


async def test_a_known_visitor_gets_in_while_the_database_is_locked(impatient: HeardDataLayer, path: Path) -> None:
    with holding(path):
        assert (await impatient.create_user(cl.User(identifier=ANN))).identifier == ANN
        with pytest.raises(StoreBusy):
            await impatient.create_user(cl.User(identifier=new_id()))


async def test_reads_of_a_broken_database_raise(layer: HeardDataLayer, path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("ALTER TABLE threads RENAME TO gone")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError) as caught:
        await layer.get_thread(new_id())
    assert "threads" not in str(caught.value)
    assert caught.value.__context__ is None


async def test_thumbs_are_refused(layer: HeardDataLayer, path: Path) -> None:
    thread = new_id()
    await talk(layer, ANN, thread, "hello")
    (step,) = rows(path, "SELECT id FROM steps")[0]
    with session(ANN, thread), pytest.raises(StoreDenied):
        await layer.upsert_feedback(Feedback(forId=step, value=1))
    assert await layer.delete_feedback("x") is False
    assert rows(path, "SELECT * FROM feedbacks") == []
