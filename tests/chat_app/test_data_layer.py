"""The page's history on real databases, driven by Chainlit's own messages, elements and sessions."""

import asyncio
import json
import logging
import os
import shutil
import sqlite3
import typing
import uuid
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from chat_app.element_files import MOST_BYTES, ElementFileError, ElementFiles
from chat_app.history_rows import NEUTRAL_TITLE, TITLE_LENGTH, kept_metadata, title_of
from db import history_tables
from db.engine import create_engine, upgrade_sync
from db.errors import StoreBusy, StoreDenied, StoreError
from db.records import ConversationRecord, MessageRecord, Outcome
from db.store import Store
from tests.db.conftest import Make
from tests.db.processes import holding

os.environ.setdefault("CHAINLIT_APP_ROOT", str(Path(__file__).parents[2]))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of packages that Chainlit imports
    import chainlit as cl
    from chainlit.context import ChainlitContext, context_var
    from chainlit.element import ElementDict
    from chainlit.session import HTTPSession
    from chainlit.step import StepDict
    from chainlit.types import Feedback, Pagination, ThreadFilter

    from chat_app.data_layer import NAME_LENGTH, HeardDataLayer, LocalStorage

ANN, BOB = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
WORDS = "my very private words"


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("migrated") / "heard.db"
    upgrade_sync(f"sqlite+aiosqlite:///{path}")
    return path


@pytest.fixture
def path(tmp_path: Path, migrated: Path) -> Path:
    path = tmp_path / "heard.db"
    shutil.copyfile(migrated, path)
    return path


@pytest.fixture
async def store(path: Path) -> AsyncIterator[Store]:
    engine = create_engine(f"sqlite+aiosqlite:///{path}", lock_seconds=30)
    store = Store(engine)
    for participant in (ANN, BOB):
        await store.ensure_participant(participant)
    yield store
    await engine.dispose()


@pytest.fixture
def files(tmp_path: Path) -> ElementFiles:
    return ElementFiles(tmp_path / "elements")


@pytest.fixture
async def layer(store: Store, files: ElementFiles) -> HeardDataLayer:
    layer = HeardDataLayer(store, LocalStorage(files))
    for participant in (ANN, BOB):
        await layer.create_user(cl.User(identifier=participant))
    return layer


@pytest.fixture
async def impatient(layer: HeardDataLayer, path: Path) -> AsyncIterator[HeardDataLayer]:
    """Another layer on the same file, that does not wait long for locks."""
    engine = create_engine(f"sqlite+aiosqlite:///{path}", lock_seconds=0.3)
    yield HeardDataLayer(Store(engine))
    await engine.dispose()


@contextmanager
def session(participant: str, thread_id: str) -> Iterator[None]:
    """Inside Chainlit's own context, as its callbacks run."""
    user = cl.User(identifier=participant)
    inner = HTTPSession(id=str(uuid.uuid4()), client_type="webapp", thread_id=thread_id, user=user)
    token = context_var.set(ChainlitContext(inner))
    try:
        yield
    finally:
        context_var.reset(token)


def new_id() -> str:
    return str(uuid.uuid4())


def said(text: str, author: str = "You", **more: Any) -> StepDict:
    """A message as Chainlit writes it."""
    kind = "user_message" if author == "You" else "assistant_message"
    return cl.Message(text, author=author, type=kind, created_at="2026-05-01T12:00:00.000001Z", **more).to_dict()


async def talk(layer: HeardDataLayer, participant: str, thread: str, *texts: str) -> None:
    """What Chainlit does with a first message and what follows it."""
    user = await layer.get_user(participant)
    assert user is not None
    with session(participant, thread):
        for number, text in enumerate(texts):
            await layer.create_step(said(text, "You" if number % 2 == 0 else "Listener"))
        await layer.update_thread(thread, name=texts[0], user_id=user.id, tags=["study"])


def rows(path: Path, query: str, *values: object) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query, values).fetchall()
    finally:
        connection.close()


async def listed(layer: HeardDataLayer, participant: str, **filters: Any) -> list[dict[str, Any]]:
    user = await layer.get_user(participant)
    assert user is not None
    page = await layer.list_threads(Pagination(first=20), ThreadFilter(userId=user.id, **filters))
    json.dumps(page.to_dict(), ensure_ascii=False).encode()  # what the route does
    return typing.cast(list[dict[str, Any]], page.data)


def test_every_column_that_chainlit_writes() -> None:
    """Against the installed classes, so that an update of Chainlit that adds a field is noticed."""
    # A step's feedback has a table of its own; a path is a place on the server and is not stored.
    assert set(typing.get_type_hints(StepDict)) - {"feedback"} == history_tables.STEP_COLUMNS
    assert set(typing.get_type_hints(ElementDict)) - {"path"} == history_tables.ELEMENT_COLUMNS


async def test_history_and_resume_after_a_restart(layer: HeardDataLayer, store: Store, path: Path) -> None:
    first, second = new_id(), new_id()
    await talk(layer, ANN, first, "My cat is ill.", "I am sorry.")
    await talk(layer, ANN, second, "Thank you for yesterday.", "Gladly.")
    await layer.close()
    await store.engine.dispose()

    engine = create_engine(f"sqlite+aiosqlite:///{path}")
    again = HeardDataLayer(Store(engine))
    threads = await listed(again, ANN)
    assert {thread["name"] for thread in threads} == {"My cat is ill.", "Thank you for yesterday."}
    thread = await again.get_thread(first)
    assert thread is not None
    assert [step["output"] for step in thread["steps"]] == ["My cat is ill.", "I am sorry."]
    assert [step["type"] for step in thread["steps"]] == ["user_message", "assistant_message"]
    assert thread["userIdentifier"] == ANN
    assert thread["tags"] == ["study"]
    assert thread["metadata"] == {}
    assert (thread["steps"][0]["isError"], thread["steps"][0]["metadata"]) == (False, {})
    assert [step["output"] for step in resumed(thread)] == ["My cat is ill.", "I am sorry."]
    assert [len(await listed(again, ANN, search=word)) for word in ("CAT", "yesterday", "dog")] == [1, 1, 0]
    await engine.dispose()


def resumed(thread: Any) -> list[StepDict]:
    """The steps as Chainlit makes messages of them."""
    with session(ANN, thread["id"]):
        return [cl.Message.from_dict(step).to_dict() for step in thread["steps"]]


async def test_every_field_of_a_step_is_kept(layer: HeardDataLayer, path: Path) -> None:
    thread = new_id()
    with session(ANN, thread):
        step = said("words", command="c", modes={"mode": "x"}, tags=["a", "b"], metadata={"k": [1]}, language="json")
        step |= {
            "defaultOpen": True, "autoCollapse": False, "icon": "star", "generation": {"g": 1}, "showInput": True,
            "input": "in", "streaming": False, "isError": True, "waitForAnswer": True, "unheard-of": "; DROP",
        }  # type: ignore[typeddict-unknown-key] # fmt: skip
        await layer.create_step(step)
        assert layer.take_failure(thread) is None
    (stored,) = rows(path, 'SELECT command, modes, "defaultOpen", "autoCollapse", icon, "showInput" FROM steps')
    assert stored == ("c", '{"mode": "x"}', 1, 0, "star", "true")
    read = await layer.get_step(step["id"])
    assert read is not None
    assert (read["tags"], read["metadata"], read["generation"]) == (["a", "b"], {"k": [1]}, {"g": 1})
    assert (read["isError"], read["input"], read["language"]) == (True, "in", "json")


async def test_the_last_text_of_a_step_stands(layer: HeardDataLayer, path: Path) -> None:
    """Chainlit writes in tasks that it does not wait for: the newest must not lose against an older one."""
    thread = new_id()
    await talk(layer, ANN, thread, "hello")
    with session(ANN, thread):
        reply = said("", "Listener")
        tasks = [asyncio.create_task(layer.create_step(reply.copy()))]
        for length in range(1, 30):
            update = reply.copy() | {"output": "x" * length}
            tasks.append(asyncio.create_task(layer.update_step(update)))
        await asyncio.gather(*tasks)
    assert rows(path, "SELECT length(output) FROM steps WHERE id = ?", reply["id"]) == [(29,)]


@pytest.mark.parametrize(
    "text", ["a\ud83db", "\udc00", "a\x00b", "'); DROP TABLE steps; --", "<script>", "x" * 20_000, ":id"]
)
async def test_no_text_breaks_the_history(layer: HeardDataLayer, text: str) -> None:
    thread = new_id()
    await talk(layer, ANN, thread, text, text)
    with session(ANN, thread):
        await layer.create_element(cl.CustomElement(name="Card", props={"t": text}, for_id=new_id(), thread_id=thread))
        await layer.update_thread(thread, metadata={"chat_profile": text})
        await layer.set_thread_name(thread, text)
    assert layer.take_failure(thread) is None
    (found,) = await listed(layer, ANN)
    assert len(found["steps"]) == 2
    assert len(found["elements"]) == 1


# Who may


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
    with session(ANN, thread):
        card = cl.CustomElement(name="Card", props={"n": 1}, for_id=step, thread_id=thread)
        await layer.create_element(card)
    before = sorted(rows(path, "SELECT * FROM steps")) + sorted(rows(path, "SELECT * FROM threads"))
    bob = await layer.get_user(BOB)
    assert bob is not None
    with session(BOB, own):
        await layer.create_step(said("intruding") | {"threadId": thread})
        await layer.create_step(said("over it") | {"id": step})  # own thread, another's step
        await layer.create_step(said("over it") | {"id": step, "threadId": thread})
        await layer.update_thread(thread, name="stolen", user_id=bob.id, metadata={"chat_profile": "x"}, tags=["x"])
        for where in (own, thread):
            await layer.create_element(
                cl.CustomElement(name="Card", props={"n": 2}, for_id=step, thread_id=where, id=card.id)
            )
        await layer.delete_element(card.id, thread)
        await layer.delete_step(step)
    assert sorted(rows(path, "SELECT * FROM steps")) + sorted(rows(path, "SELECT * FROM threads")) == before
    assert rows(path, 'SELECT "threadId", props FROM elements') == [(thread, '{"n": 1}')]


BAD_IDS = [
    "x", "", "'; DROP TABLE threads; --", "') OR ('1'='1", "../../etc", "1" * 36, "{" + ANN + "}", ANN.replace("-", ""),
]  # fmt: skip


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


# What a thread tells


async def test_metadata_is_an_allow_list(layer: HeardDataLayer, path: Path) -> None:
    thread = new_id()
    await talk(layer, ANN, thread, "hello")
    settings = {"model": "secret-model", "strategy": "plain", "threshold": 1.7, "live_scores": True, "new": 1}
    with session(ANN, thread):
        await layer.update_thread(
            thread,
            metadata={
                "chat_profile": "study", "chat_settings": settings, "slot_a": "secret-model", "is_shared": True,
                "env": {"KEY": "secret"}, "user": {"id": "x"}, "name": "secret",
            },
        )  # fmt: skip
        await layer.update_thread(thread, metadata={"client_type": "webapp"})
    found = await layer.get_thread(thread)
    assert found is not None
    assert found["metadata"] == {
        "chat_profile": "study",
        "chat_settings": {"strategy": "plain", "threshold": 1.7, "live_scores": True},
    }
    assert "secret" not in str(rows(path, "SELECT * FROM threads"))
    assert kept_metadata({"chat_settings": "nonsense", "chat_profile": None}) == {}


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("My cat is ill.", "My cat is ill."),
        ("  two\n\nlines ", "two lines"),
        ("", NEUTRAL_TITLE),
        ("\n\t", NEUTRAL_TITLE),
        ("I want to kill myself", NEUTRAL_TITLE),
        ("I can\u2019t go on, I want to die tonight", NEUTRAL_TITLE),
        ("word " * 30, "word word word word word word word word word word word word…"),
        ("x" * 100, "x" * (TITLE_LENGTH - 1) + "…"),
    ],
)
def test_titles(text: str, title: str) -> None:
    assert title_of(text) == title
    assert len(title_of(text)) <= TITLE_LENGTH


async def test_a_crisis_is_no_title_and_a_given_name_stays(layer: HeardDataLayer) -> None:
    crisis, named = new_id(), new_id()
    await talk(layer, ANN, crisis, "I want to kill myself")
    found = await layer.get_thread(crisis)
    assert found is not None
    assert found["name"] == NEUTRAL_TITLE
    await talk(layer, ANN, named, "My cat is ill.")
    await layer.update_thread(named, name="The\n cat " + "y" * 500)  # the route, which has no session
    user = await layer.get_user(ANN)
    assert user is not None
    with session(ANN, named):
        await layer.update_thread(named, name="another first message", user_id=user.id)
    found = await layer.get_thread(named)
    assert found is not None
    assert found["name"] == ("The cat " + "y" * 500)[:NAME_LENGTH]


# Erasing


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


# Elements and their files


async def test_a_card_keeps_its_props_and_needs_no_file(layer: HeardDataLayer, files: ElementFiles) -> None:
    thread, step = new_id(), new_id()
    await talk(layer, ANN, thread, "hello")
    with session(ANN, thread):
        props = {"empathy": 2.0, "drafts": [1, 2]}
        card = cl.CustomElement(name="ScoreCard", props=props, for_id=step, thread_id=thread)
        await layer.create_element(card)
        card.props["empathy"] = 2.5
        await layer.create_element(card)
    found = await layer.get_thread(thread)
    assert found is not None
    (element,) = found["elements"] or []
    assert element["props"] == {"empathy": 2.5, "drafts": [1, 2]}
    assert (element["type"], element["forId"], element["url"]) == ("custom", step, None)
    assert await layer.get_element(thread, card.id) == element
    assert await layer.get_element(new_id(), card.id) is None
    assert not files.folder.exists()
    with session(ANN, thread):
        await layer.delete_element(card.id, thread)
    assert await layer.get_element(thread, card.id) is None


async def test_a_file_travels_inside_its_owners_thread_only(
    layer: HeardDataLayer, files: ElementFiles, store: Store, make: Make
) -> None:
    thread, other = new_id(), new_id()
    await talk(layer, ANN, thread, "hello")
    await talk(layer, ANN, other, "hello")
    with session(ANN, thread):
        picture = cl.Image(name="../../evil\x00.png", content=b"\x89PNG", mime="image/png", for_id=new_id())
        await layer.create_element(picture)
        await layer.create_element(cl.Text(name="t", content="w\ud83d", mime="text/plain", for_id=new_id()))
    with session(ANN, other):
        await layer.create_element(cl.Text(name="t", content="other", mime="text/plain", for_id=new_id()))
    assert layer.take_failure(thread) is None
    assert files.path(f"{thread}/{picture.id}").read_bytes() == b"\x89PNG"
    found = await layer.get_thread(thread)
    assert found is not None
    urls = {element["type"]: element["url"] for element in found["elements"] or []}
    assert urls == {"image": "data:image/png;base64,iVBORw==", "text": "data:text/plain;base64,d++/vQ=="}
    await layer.delete_thread(thread)
    assert not (files.folder / thread).exists()
    await store.erase_participant(ANN)
    assert list(files.folder.iterdir()) == []


async def test_a_file_too_large_is_reported(layer: HeardDataLayer, files: ElementFiles) -> None:
    thread = new_id()
    await talk(layer, ANN, thread, "hello")
    with session(ANN, thread):
        big = cl.File(name="b", content=b"x" * (MOST_BYTES + 1), mime="x/y", for_id=new_id())
        await layer.create_element(big)
    assert "larger" in (layer.take_failure(thread) or "")
    found = await layer.get_thread(thread)
    assert found is not None
    assert found["elements"] == []


async def test_no_address_is_fetched(layer: HeardDataLayer, store: Store) -> None:
    """A URL from a browser must not make this server call it."""
    calls: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        calls.append("called")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    thread = new_id()
    await talk(layer, ANN, thread, "hello")
    with session(ANN, thread):
        await layer.create_element(cl.Image(name="i", url=f"http://127.0.0.1:{port}/x", for_id=new_id()))
    server.close()
    await server.wait_closed()
    assert calls == []
    found = await layer.get_thread(thread)
    assert found is not None
    assert [element["url"] for element in found["elements"] or []] == [f"http://127.0.0.1:{port}/x"]


@pytest.mark.parametrize("key", ["../x", f"{ANN}/../{BOB}", f"/{ANN}", ANN, f"{ANN}/{BOB}/x", f"{ANN}\x00/{BOB}", ""])
def test_no_key_leads_out_of_the_folder(files: ElementFiles, key: str) -> None:
    for act in (lambda: files.write(key, b"x"), lambda: files.read(key), lambda: files.delete(key)):
        with pytest.raises(ElementFileError):
            act()
    assert files.erase([key, "..", ""]) == 0
    assert not files.folder.exists()


# Failures


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
    assert impatient.take_failure(thread) == str(StoreBusy())
    assert impatient.take_failure(thread) is None
    for told in (caplog.text, str(caught.value)):
        assert WORDS not in told
        assert "INSERT" not in told
        assert "threads" not in told
    assert "history was not saved" in caplog.text


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


async def test_close_leaves_the_stores_engine_open(layer: HeardDataLayer, store: Store) -> None:
    await layer.close()
    await store.ensure_participant(new_id())


@pytest.fixture
def make() -> Make:
    return Make()


async def test_one_engine_serves_history_and_turns_at_once(layer: HeardDataLayer, store: Store, make: Make) -> None:
    async def one(number: int) -> None:
        thread = new_id()
        conversation = ConversationRecord(thread, ANN, "study", make.now)
        message = MessageRecord(new_id(), thread, f"m{number}", Outcome.PENDING, make.now)
        await asyncio.gather(talk(layer, ANN, thread, f"m{number}", "r"), store.open_turn(conversation, message))
        await store.close_turn(message.id, Outcome.ANSWERED, make.reply(message))

    await asyncio.gather(*(one(number) for number in range(20)))
    assert {thread["name"] for thread in await listed(layer, ANN)} == {f"m{number}" for number in range(20)}
