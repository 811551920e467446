"""Elements of messages and their files: inside their owner's thread, and nowhere else."""

import asyncio

import pytest

from heard.chat_app.page.element_files import MOST_BYTES, ElementFileError, ElementFiles
from heard.db.store import Store
from tests.chat_app.page.history.threads import (
    ANN,
    BOB,
    HeardDataLayer,
    cl,
    new_id,
    session,
    talk,
)
from tests.db.conftest import Make


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
