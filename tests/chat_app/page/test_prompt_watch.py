"""Edited prompt files over a running chat: taken in at the next message, a broken one told and left out, greetings."""

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from heard.chat_app.common.places import DISCLOSURE
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.downloads import Weights
from heard.chat_app.page.prompt_watch import current_prompts, prompts_state, record_arm_prompts
from heard.chat_app.studies.study_file import StudyFile
from heard.prompts.library import PromptLibrary
from tests.chat_app.studies.test_live_study import services, stored
from tests.journeys.balloting import write_prompts
from tests.journeys.talking import WARM, Served, serving
from tests.journeys.web import store
from tests.servers import reply
from tests.socket_client import Visitor

__all__ = ["services", "store"]  # fixtures
FILE = "name: Reynard Foxglove\ndescription: d\norder: 90\nsystem: {}\n"


def write(folder: Path, persona: str, text: str) -> None:
    """As an editor does a moment later: a file system may not tell two writes of one moment apart."""
    path = folder / "prompts" / "personas" / f"{persona}.yaml"
    before = path.stat().st_mtime_ns if path.exists() else 0
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(before + 10**9, before + 10**9))


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory, weights: Weights) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("edited")
    write_prompts(folder / "prompts")
    with serving(folder, prompts_dir=str(folder / "prompts"), research_mode="true") as made:
        yield made


async def test_edits_hold_from_the_next_message_on_and_a_broken_one_is_told_and_left_out(edited: Served) -> None:
    folder = edited.data_dir.parent
    edited.play(reply(WARM))
    async with Visitor.agree(edited.url) as visitor, visitor.page(profile="persofox") as page:
        await page.choose(model="talker")

        async def system_sent() -> str:
            assert (await page.send("Hello there.")).text == WARM
            return str(edited.model.requests[-1]["messages"][0]["content"])

        async def health() -> str:
            return str((await visitor.http.get("/health")).json()["prompts"])

        assert await system_sent() == "You are Reynard Foxglove."
        write(folder, "persofox", FILE.format("You are an edited fox."))
        assert await system_sent() == "You are an edited fox."
        assert await health() == "ok"
        write(folder, "persofox", FILE.format("You are a broken fox.") + "sytem: x\n")
        assert await system_sent() == "You are an edited fox."
        assert await health() == "kept"
        log = edited.log.read_text(encoding="utf-8")
        assert "persofox.yaml" in log
        assert "Did you mean system?" in log
        assert log.count("last good version") == 1
        write(folder, "persofox", FILE.format("You are a mended fox."))
        assert await system_sent() == "You are a mended fox."
        assert await health() == "ok"


async def test_a_persona_or_strategy_that_is_gone_is_refused_in_a_sentence(edited: Served) -> None:
    folder = edited.data_dir.parent
    edited.play(reply(WARM))
    async with Visitor.agree(edited.url) as visitor, visitor.page(profile="persowolf") as page:
        await page.choose(model="talker", strategy="stratelm")
        await page.send("Hello there.")
        (folder / "prompts" / "strategies" / "stratelm.yaml").unlink()
        assert "no such strategy here any more" in (await page.send("And now?")).text
        (folder / "prompts" / "personas" / "persowolf.yaml").unlink()
        assert "no such persona" in (await page.send("And now?")).text
        assert len(edited.model.requests) == 1


async def test_a_greeting_is_shown_with_the_empty_chat_and_is_nobodys_reply(edited: Served) -> None:
    folder = edited.data_dir.parent
    write(folder, "greeter", "name: G\ndescription: Kind.\nsystem: s\ngreeting: Good to see you.\n")
    edited.play(reply(WARM))
    async with Visitor.agree(edited.url) as visitor:
        told = (await visitor.http.get("/chat/project/settings")).json()
        profiles = {profile["name"]: profile for profile in told["chatProfiles"]}
        assert profiles["greeter"]["markdown_description"] == f"Kind.\n\nGood to see you.\n\n{DISCLOSURE}"
        async with visitor.page(profile="greeter") as page:
            await page.choose(model="talker")
            await page.send("Hello there.")
            assert [step["output"] for step in page.steps.values()] == ["Hello there.", WARM]
    assert "Good to see you" not in json.dumps(edited.model.requests)
    assert edited.rows("SELECT count(*) FROM draft WHERE text LIKE '%Good to see%'") == [(0,)]


@pytest.fixture
async def study(services: Services) -> StudyFile:
    return await stored(services)


@pytest.fixture
async def in_study(services: Services, tmp_path: Path) -> Services:
    """Services of a live study with a folder of prompts of their own."""
    write_prompts(tmp_path / "prompts")
    return replace(services, library=PromptLibrary.load(tmp_path / "prompts"))


async def test_a_live_study_goes_on_with_the_files_of_its_start_and_the_log_says_so(
    in_study: Services, study: StudyFile, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, "persofox", FILE.format("You are an edited fox."))
    for _ in range(2):
        assert current_prompts(in_study, study).personas["persofox"].system == "You are Reynard Foxglove."
    assert prompts_state(in_study) == "waiting"
    assert [record.getMessage() for record in caplog.records] == [
        "prompt files have been edited; study autumn goes on with those of the server's start until a restart"
    ]


async def test_files_edited_between_two_starts_of_a_study_are_told_arm_by_arm(
    in_study: Services, study: StudyFile, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        record_arm_prompts(in_study, study)
    assert caplog.records == []
    write(tmp_path, "listener", FILE.format("You are an edited listener."))
    again = replace(in_study, library=PromptLibrary.load(tmp_path / "prompts"))
    for _ in range(2):  # at every later start, not only at the next
        record_arm_prompts(again, study)
    assert ["in listener: answers from now on" in record.getMessage() for record in caplog.records] == [True, True]
    record_arm_prompts(in_study, study)
    assert len(caplog.records) == 2, "with the earlier file back there is nothing to tell"
