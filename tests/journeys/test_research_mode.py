"""Strategies and the study's persona are for research mode: on, people choose them; off, what has them goes on."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from heard.chat_app.models.downloads import Weights
from heard.prompts.library import PromptLibrary
from tests.commands import heard
from tests.journeys.balloting import TEXTS
from tests.journeys.talking import WARM, Served, serving
from tests.servers import ScriptedServer, reply
from tests.socket_client import SocketPage, Visitor

OURS = PromptLibrary.load()
STUDY = OURS.personas["study"].user_template.split("\n")[0]
DEFINITION = OURS.strategies["definition"].instructions.split("\n")[0]
PANEL = ["model", "strategy", "live_scores", "auto_improve", "threshold", "country"]
NO_SYSTEM = "name: Bare\ndescription: b\nuser_template: 'Bare: {prompt}'\norder: 0\n"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    """As it comes: nobody has set anything."""
    with serving(tmp_path_factory.mktemp("plain"), default_model="talker") as made:
        yield made


@pytest.fixture
def quiet(plain: Served) -> Served:
    plain.play(reply(WARM))
    return plain


async def menu(visitor: Visitor) -> list[str]:
    return [one["name"] for one in (await visitor.http.get("/chat/project/settings")).json()["chatProfiles"]]


def told(served: Served | ScriptedServer) -> str:
    """What the model has read."""
    model = served.model if isinstance(served, Served) else served
    return json.dumps([request["messages"] for request in model.requests])


async def test_on_people_find_both(talking: Served, page: SocketPage) -> None:
    assert list(page.settings) == PANEL
    assert await menu(page.visitor) == list(OURS.personas)
    await page.choose(model="talker", strategy="definition")
    await page.send("It hurts.")
    assert DEFINITION[:40] in told(talking)


async def test_off_they_find_neither(quiet: Served) -> None:
    async with Visitor.agree(quiet.url) as visitor, visitor.page() as page:
        assert list(page.settings) == [field for field in PANEL if field != "strategy"]
        assert await menu(visitor) == [persona for persona in OURS.personas if persona != "study"]
        turn = await page.send("It hurts.")
        sql = "SELECT persona, strategy FROM reply WHERE message_id = ?"
        assert quiet.rows(sql, turn.message_id) == [("listener", "plain")]


@pytest.mark.parametrize("made_up", ["definition", "hybrid", "gone", "", None, 7, ["plain"], {"plain": 1}])
async def test_off_a_page_cannot_choose_a_strategy_all_the_same(quiet: Served, made_up: Any) -> None:
    async with Visitor.agree(quiet.url) as visitor, visitor.page() as page:
        await page.choose(strategy=made_up, threshold=2.9)
        await page.until(lambda: bool(page.toasts))
        assert page.toasts == ["Strategies are chosen in research mode alone, so nothing was changed."]
        turn = await page.send("It hurts.")
        assert quiet.rows("SELECT strategy FROM reply WHERE message_id = ?", turn.message_id) == [("plain",)]


async def test_off_the_panel_of_a_page_of_before_can_be_confirmed(quiet: Served) -> None:
    """Its values hold the strategy still, unchanged."""
    async with Visitor.agree(quiet.url) as visitor, visitor.page() as page:
        await page.choose(strategy="plain", threshold=2.9)
        await page.send("It hurts.")
        assert (page.toasts, page.settings["threshold"]) == ([], 1.7)
        async with visitor.page(thread=page.thread) as again:
            assert again.settings["threshold"] == 2.9


async def test_conversations_that_have_them_go_on_without_it(tmp_path: Path, weights: Weights) -> None:
    values = {"default_model": "talker", "data_dir": str(tmp_path / "data")}
    with serving(tmp_path, research_mode="true", **values) as before:
        before.play(reply(WARM))
        async with Visitor.agree(before.url) as visitor:
            cookies = visitor.http.cookies
            threads = []
            for profile, strategy in (("study", "plain"), ("listener", "definition")):
                async with visitor.page(profile=profile) as page:
                    await page.choose(strategy=strategy)
                    turn = await page.send("It hurts.")
                    threads.append((page.thread, turn.reply["id"]))
    (tmp_path / "models.toml").unlink()
    with serving(tmp_path, **values) as after:
        visitor = Visitor(after.url)
        visitor.http.cookies.update(cookies)
        # Chainlit's page goes blank on a conversation whose persona is in no menu.
        assert await menu(visitor) == [*(persona for persona in OURS.personas if persona != "study"), "study"]
        async with Visitor.agree(after.url) as other:
            assert "study" not in await menu(other)
        for (thread, first), words in zip(threads, (STUDY[:40], DEFINITION[:40]), strict=True):
            after.play(reply(WARM))
            async with visitor.page(thread=thread) as page:
                assert page.steps[first]["name"] in (OURS.personas["study"].name, OURS.personas["listener"].name)
                await page.choose(threshold=2.2)
                assert (await page.send("It still hurts.")).text == WARM
                assert words in told(after)
                assert page.toasts == []
            async with visitor.page(thread=thread) as page:  # the second time too: what is stored has not lost it
                after.play(reply(WARM))
                await page.send("And on.")
                assert words in told(after)
        await visitor.http.aclose()
        stored = after.rows("SELECT persona, strategy, count(*) FROM reply GROUP BY 1, 2 ORDER BY 1")
        assert stored == [("listener", "definition", 3), ("study", "plain", 3)]


async def test_the_strategy_that_the_settings_name_is_in_force(tmp_path: Path, weights: Weights) -> None:
    with serving(tmp_path, default_model="talker", default_strategy="definition") as served:
        served.play(reply(WARM))
        async with Visitor.agree(served.url) as visitor, visitor.page() as page:
            assert "strategy" not in page.settings
            await page.choose(threshold=2.2)
            await page.send("It hurts.")
            assert DEFINITION[:40] in told(served)


async def test_a_live_study_uses_both_whatever_the_setting(tmp_path: Path, weights: Weights) -> None:
    arms = "study/plain/talker, listener/definition/talker"
    with serving(tmp_path, blind_arms=arms) as served:
        served.play(*(reply(text) for text in TEXTS))
        async with Visitor.agree(served.url, research=True) as visitor, visitor.page() as page:
            turn = await page.send("My week was too much.")
            assert len(page.cards[turn.reply["id"]]["answers"]) == 2
            assert list(page.settings) == ["country"]
        assert STUDY[:40] in told(served)
        assert DEFINITION[:40] in told(served)


@pytest.mark.parametrize(
    ("files", "offered"),
    [
        ({"bare": NO_SYSTEM, "kind": "name: K\ndescription: b\nsystem: c\n"}, ["kind"]),
        ({"bare": NO_SYSTEM, "kind": "name: K\ndescription: b\ntraits: {gender: woman}\n"}, ["kind"]),
        ({"bare": NO_SYSTEM, "study": NO_SYSTEM}, ["bare", "study"]),
        ({"study": "name: S\ndescription: b\nsystem: c\n"}, ["study"]),
    ],
)
def test_a_folder_of_one_s_own_offers_those_with_a_system_text(
    tmp_path: Path, files: dict[str, str], offered: list[str]
) -> None:
    (tmp_path / "personas").mkdir()
    for name, text in files.items():
        (tmp_path / "personas" / f"{name}.yaml").write_text(text, encoding="utf-8")
    library = PromptLibrary.load(tmp_path)
    assert list(library.offered(research=False)) == offered
    assert library.offered(research=True) == library.personas


def test_it_is_told_where_one_looks(tmp_path: Path) -> None:
    assert "research_mode" in heard("chat", "--help").stdout
    row = next(line for line in heard("settings", folder=tmp_path).stdout.splitlines() if "research_mode" in line)
    assert "False" in row
    (tmp_path / "settings.toml").write_text("research_mode = true\n")
    row = next(line for line in heard("settings", folder=tmp_path).stdout.splitlines() if "research_mode" in line)
    assert "True" in row
    (tmp_path / "settings.toml").write_text('research_mode = "perhaps"\n')
    assert heard("settings", folder=tmp_path).status == 2
