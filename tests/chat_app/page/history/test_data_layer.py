"""The page's history on real databases, driven by Chainlit's own messages and sessions: what is kept, and told."""

import asyncio
import typing
from pathlib import Path
from typing import Any

import pytest

from heard.chat_app.page.history_rows import NEUTRAL_TITLE, TITLE_LENGTH, kept_metadata, title_of
from heard.db import chainlit_tables
from heard.db.engine import create_engine
from heard.db.records import ConversationRecord, MessageRecord, Outcome
from heard.db.store import Store
from tests.chat_app.page.history.threads import (
    ANN,
    NAME_LENGTH,
    ElementDict,
    HeardDataLayer,
    StepDict,
    cl,
    listed,
    new_id,
    rows,
    said,
    session,
    talk,
)
from tests.db.conftest import Make


def test_every_column_that_chainlit_writes() -> None:
    """Against the installed classes, so that an update of Chainlit that adds a field is noticed."""
    # A step's feedback has a table of its own; a path is a place on the server and is not stored.
    assert set(typing.get_type_hints(StepDict)) - {"feedback"} == chainlit_tables.STEP_COLUMNS
    assert set(typing.get_type_hints(ElementDict)) - {"path"} == chainlit_tables.ELEMENT_COLUMNS


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
        assert layer.pop_failure(thread) is None
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
        await layer.update_thread(thread, metadata={"chat_profile": text})
        await layer.set_thread_name(thread, text)
    assert layer.pop_failure(thread) is None
    (found,) = await listed(layer, ANN)
    assert len(found["steps"]) == 2


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


async def test_close_leaves_the_stores_engine_open(layer: HeardDataLayer, store: Store) -> None:
    await layer.close()
    await store.ensure_participant(new_id())


async def test_one_engine_serves_history_and_turns_at_once(layer: HeardDataLayer, store: Store, make: Make) -> None:
    async def one(number: int) -> None:
        thread = new_id()
        conversation = ConversationRecord(thread, ANN, "study", make.now)
        message = MessageRecord(new_id(), thread, f"m{number}", Outcome.PENDING, make.now)
        await asyncio.gather(talk(layer, ANN, thread, f"m{number}", "r"), store.open_turn(conversation, message))
        await store.close_turn(message.id, Outcome.ANSWERED, make.reply(message))

    await asyncio.gather(*(one(number) for number in range(20)))
    assert {thread["name"] for thread in await listed(layer, ANN)} == {f"m{number}" for number in range(20)}
