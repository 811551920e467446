"""Elements of messages: cards and ballots are drawn from our tables, so the page's history keeps none."""

import asyncio

from tests.chat_app.page.history.threads import ANN, HeardDataLayer, cl, new_id, session, talk


async def test_no_element_is_kept_and_no_address_is_fetched(layer: HeardDataLayer) -> None:
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
        picture = cl.Image(name="../../evil\x00.png", url=f"http://127.0.0.1:{port}/x", for_id=new_id())
        card = cl.CustomElement(name="ScoreCard", props={"empathy": 2.0}, for_id=new_id(), thread_id=thread)
        for element in (picture, card):
            await layer.create_element(element)
    server.close()
    await server.wait_closed()
    assert calls == []
    found = await layer.get_thread(thread)
    assert found is not None
    assert found["elements"] == []
    assert await layer.get_element(thread, card.id) is None
    assert layer.pop_failure(thread) is None
