"""The faces beside replies over the real socket: each persona's own, a neutral one beside texts that stand ready."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from heard.chat_app.models.downloads import Weights
from heard.prompts.library import BUILT_IN, PromptLibrary
from tests.journeys.balloting import SOURCES, TEXTS, Blind, blind_chat
from tests.journeys.talking import CRISIS, WARM, Served, begun, serving, slow
from tests.servers import reply
from tests.socket_client import SocketPage, Turn, Visitor

OURS = PromptLibrary.load()
NEUTRAL = "persona"
NEUTRAL_FILE = BUILT_IN.parent / "chat_app" / "page" / "public" / "avatars" / "persona.svg"
CLAIM = "I am a human being and I was born in Ohio."


def face(step: dict[str, object]) -> object:
    metadata = step["metadata"]
    assert isinstance(metadata, dict)
    return metadata["avatarName"]


def faces_seen(turn: Turn) -> set[object]:
    """Every face that a page was sent for the reply of a turn, from its first event on."""
    events = [event.data for event in turn.events if event.name in ("new_message", "stream_start", "update_message")]
    return {face(step) for step in events if step["id"] == turn.reply["id"]}


@pytest.mark.parametrize("persona", OURS.personas)
async def test_a_reply_has_the_face_of_its_persona(talking: Served, persona: str) -> None:
    talking.play(reply(WARM))
    async with Visitor.agree(talking.url) as visitor, visitor.page(profile=persona) as page:
        await page.choose(model="talker")
        turn = await page.send("My cat is ill.")
        assert turn.text == WARM
        assert faces_seen(turn) == {f"persona {persona}"}
        assert len(talking.model.requests) == 1
        assert ".svg" not in json.dumps(talking.model.requests)
        async with visitor.page(thread=page.thread) as again:
            assert face(again.steps[turn.reply["id"]]) == f"persona {persona}"
        shown = await visitor.http.get(f"/chat/avatars/persona%20{persona}")
        assert (shown.status_code, shown.content) == (200, OURS.pictures[persona].content)
        assert shown.headers["content-type"].startswith("image/svg+xml")


@pytest.mark.parametrize("said", ["are you real", "Are you a therapist?", "which model are you?", "what's your name"])
async def test_an_answer_about_the_bot_has_the_neutral_face(talking: Served, page: SocketPage, said: str) -> None:
    first = await page.send("It hurts.")
    turn = await page.send(said)
    assert turn.card is None
    assert faces_seen(turn) == {NEUTRAL}
    async with page.visitor.page(thread=page.thread) as again:
        assert face(again.steps[turn.reply["id"]]) == NEUTRAL
        assert face(again.steps[first.reply["id"]]) == "persona listener"


async def test_a_hand_off_and_what_follows_it_have_no_persona_s_face(talking: Served, page: SocketPage) -> None:
    crisis = await page.send(CRISIS)
    after = await page.send("I don't know what to do now.")
    assert (face(crisis.reply), faces_seen(after)) == ("heard safety", {NEUTRAL})
    assert talking.model.requests == []
    async with page.visitor.page(thread=page.thread) as again:
        assert {face(step) for step in again.steps.values() if step["type"] == "assistant_message"} == {
            "heard safety", NEUTRAL,
        }  # fmt: skip


async def test_what_the_guard_puts_in_a_model_s_place_ends_with_the_neutral_face(
    talking: Served, page: SocketPage
) -> None:
    talking.play(reply(CLAIM))
    turn = await page.send("Tell me where you grew up, please.")
    assert CLAIM not in turn.text
    kept = "SELECT d.model FROM draft d JOIN reply r ON d.reply_id = r.id WHERE d.kept AND r.message_id = ?"
    assert talking.rows(kept, turn.message_id) == [("fixed text",)]
    assert face(turn.reply) == NEUTRAL
    async with page.visitor.page(thread=page.thread) as again:
        assert face(again.steps[turn.reply["id"]]) == NEUTRAL


async def test_a_refusal_has_the_neutral_face(page: SocketPage) -> None:
    assert face((await page.send("x" * 9000)).reply) == NEUTRAL


async def test_a_page_that_opens_in_the_middle_shows_the_face(talking: Served, page: SocketPage) -> None:
    talking.play(slow(60))
    turn = await page.begin("Go on, please.")
    await begun(page, turn)
    async with page.visitor.page(thread=page.thread) as other:
        (running,) = [step for step in other.steps.values() if step["type"] == "assistant_message"]
        assert face(running) == "persona listener"
    await page.stop()
    await page.end(turn)
    assert face(turn.reply) == "persona listener"


async def test_conversations_of_before_get_the_faces_too(talking: Served, page: SocketPage) -> None:
    """The page's history had one picture for all; a reply that it lacks gets its face as well."""
    kept, lost = await page.send("It hurts."), await page.send("It still hurts.")
    sql, ids = "SELECT count(*) FROM steps WHERE id IN (?, ?)", (kept.reply["id"], lost.reply["id"])
    await talking.settled([(2,)], sql, *ids)
    with closing(sqlite3.connect(talking.data_dir / "heard.db")) as database, database:
        old = json.dumps({"avatarName": NEUTRAL})
        assert database.execute("UPDATE steps SET metadata = ? WHERE id = ?", (old, ids[0])).rowcount == 1
        assert database.execute("DELETE FROM steps WHERE id = ?", (ids[1],)).rowcount == 1
    async with page.visitor.page(thread=page.thread) as again:
        assert [face(again.steps[id_]) for id_ in ids] == ["persona listener"] * 2


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[tuple[Served, Path]]:
    """Personas of one's own, one without a picture."""
    folder = tmp_path_factory.mktemp("faces")
    shutil.copytree(BUILT_IN / "personas", folder / "prompts" / "personas")
    with serving(folder, prompts_dir=str(folder / "prompts"), default_model="talker") as made:
        made.play(reply(WARM))
        yield made, folder / "prompts" / "personas"


async def test_a_persona_of_one_s_own_has_its_initial_until_it_names_a_picture(own: tuple[Served, Path]) -> None:
    served, personas = own
    (personas / "mine.yaml").write_text("name: Élan\ndescription: b\nsystem: c\n", encoding="utf-8")
    async with Visitor.agree(served.url) as visitor, visitor.page(profile="mine") as page:
        assert face((await page.send("It hurts.")).reply) == "persona mine"
        assert ">É</text>" in (await visitor.http.get("/chat/avatars/persona%20mine")).text
        (personas / "sun.png").write_bytes(b"\x89PNG\r\n\x1a\nsun")
        with (personas / "mine.yaml").open("a", encoding="utf-8") as file:
            file.write("picture: sun.png\n")
        await page.send("It still hurts.")
        shown = await visitor.http.get("/chat/public/avatars/persona%20mine")
        assert (shown.content, shown.headers["content-type"]) == (b"\x89PNG\r\n\x1a\nsun", "image/png")
        menu = (await visitor.http.get("/chat/project/settings")).json()["chatProfiles"]
        icons = {profile["name"]: profile["icon"] for profile in menu}
        assert icons["mine"] == "/public/avatars/persona%20mine"
        assert len(set(icons.values())) == len(icons)
        for icon in icons.values():
            assert (await visitor.http.get(f"/chat{icon}")).headers["content-type"].startswith("image/")


@pytest.mark.parametrize("name", ["nobody", "..%2Fquiet", "quiet.svg", "%00", "x" * 400, "mine%20"])
async def test_a_persona_that_is_not_there_has_the_neutral_face(talking: Served, name: str) -> None:
    async with Visitor.agree(talking.url) as visitor:
        shown = await visitor.http.get(f"/chat/avatars/persona%20{name}")
        assert shown.status_code in (200, 400, 404)
        assert shown.status_code != 200 or shown.content == NEUTRAL_FILE.read_bytes() or name == "..%2Fquiet"
        assert OURS.pictures["quiet"].content != shown.content


@pytest.fixture(scope="module")
def blind(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Blind]:
    with blind_chat(tmp_path_factory.mktemp("blind-faces")) as made:
        yield made


async def test_a_blind_study_shows_one_face_and_gives_no_other_away(blind: Blind) -> None:
    blind.play(*(reply(text) for text in TEXTS))
    async with Visitor.agree(blind.served.url, research=True) as visitor, visitor.page() as page:
        ballot, fixed = await page.send("My week was too much."), await page.send("are you real")
        assert faces_seen(ballot) | faces_seen(fixed) == {NEUTRAL}
        menu = (await visitor.http.get("/chat/project/settings")).json()["chatProfiles"]
        assert [profile["icon"] for profile in menu] == ["/public/avatars/persona.svg"]
        for persona in (*(source[0] for source in SOURCES), "listener", "nobody"):
            shown = await visitor.http.get(f"/chat/avatars/persona%20{persona}")
            assert shown.content == NEUTRAL_FILE.read_bytes()
        async with visitor.page(thread=page.thread) as again:
            assert {face(step) for step in again.steps.values() if step["type"] == "assistant_message"} == {NEUTRAL}
