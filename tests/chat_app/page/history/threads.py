"""Threads of the page's history as Chainlit writes and reads them, and Chainlit imported without its warnings."""

import json
import os
import sqlite3
import tempfile
import typing
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from heard.chat_app.page.chainlit_files import lay_out

os.environ.setdefault("CHAINLIT_APP_ROOT", str(lay_out(Path(tempfile.mkdtemp(prefix="heard-tests-")))))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of packages that Chainlit imports
    import chainlit as cl
    from chainlit.context import ChainlitContext, context_var
    from chainlit.element import ElementDict as ElementDict
    from chainlit.session import HTTPSession
    from chainlit.step import StepDict
    from chainlit.types import Feedback as Feedback
    from chainlit.types import Pagination, ThreadFilter

    from heard.chat_app.page.data_layer import NAME_LENGTH as NAME_LENGTH
    from heard.chat_app.page.data_layer import HeardDataLayer

ANN, BOB = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
WORDS = "my very private words"


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
