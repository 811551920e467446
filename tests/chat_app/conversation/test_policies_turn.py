"""Whole turns and a study's answers under each kind of policy, on the real store and a server that plays the model."""

import json
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from heard.chat_app.common.settings import Settings, SettingsError
from heard.chat_app.conversation.events import DraftStarted, Finished, Scored
from heard.chat_app.models.downloads import Weights
from heard.chat_app.startup import open_services
from heard.chat_app.studies.study_answers import write_answer
from heard.chat_app.studies.study_file import StudyFile, parse_study
from heard.db.study_records import AnswerRecord, AnswerStatus
from heard.scorer.score import Rated, Scorer
from tests.chat_app.conversation.test_turn import COLD, PERSON, QUESTION, WARM, World
from tests.servers import Script, ScriptedServer, cut, refusal, reply

CRITIQUE = "Warmth: it does not show that anybody cares. SECRET-OF-THE-CRITIC"


@asynccontextmanager
async def turns(folder: Path, weights: Weights, policy: str, *scripts: Script) -> AsyncIterator[World]:
    """A world in which the switch turns on `policy`, one of heard's or of the folder's `prompts`."""
    with ScriptedServer(*scripts) as server:
        models = folder / "models.toml"
        models.write_text(f'scripted = {{ provider = "openai", model = "m", base_url = "{server.base_url}" }}\n')
        own = folder / "prompts" if (folder / "prompts").exists() else None
        settings = Settings(data_dir=folder, models_file=models, improve_policy=policy, prompts_dir=own)
        async with open_services(settings, weights) as services:
            await services.store.ensure_participant(PERSON)
            yield World(services, server)


def asked_of(world: World) -> list[str]:
    """What stood in the system message of each call."""
    return [request["messages"][0]["content"] for request in world.server.requests]


async def test_best_of_three_writes_three_from_one_prompt_and_keeps_the_best(tmp_path: Path, weights: Weights) -> None:
    async with turns(tmp_path, weights, "best-of-3", reply(WARM), reply(COLD)) as world:
        events = await world.run(world.request(auto_improve=True, threshold=1.0))
        finished = events[-1]
        assert isinstance(finished, Finished)
        assert (finished.reply.kept.text, finished.reply.policy) == (WARM, "best-of-3")
        assert world.rows("SELECT number, kept, guidance FROM draft ORDER BY number") == [
            (1, 1, None), (2, 0, None), (3, 0, None),
        ]  # fmt: skip
        assert len(set(asked_of(world))) == 1
        assert len(set(world.rows("SELECT prompt_sha256 FROM draft"))) == 1


async def test_a_critique_guides_the_rewrite_and_is_kept_with_it_and_shown_to_nobody(
    tmp_path: Path, weights: Weights
) -> None:
    scripts = (reply(COLD), reply(CRITIQUE), reply(WARM))
    async with turns(tmp_path, weights, "critique", *scripts) as world:
        events = await world.run(world.request(auto_improve=True))
        assert [(event.number, event.guidance) for event in events if isinstance(event, DraftStarted)] == [
            (1, None), (2, "critique"),
        ]  # fmt: skip
        assert "SECRET-OF-THE-CRITIC" not in str([event for event in events if not isinstance(event, Finished)])
        finished = events[-1]
        assert isinstance(finished, Finished)
        assert finished.reply.kept.text == WARM
        first, critic, rewrite = asked_of(world)
        assert "Understanding" in critic
        assert COLD in world.server.requests[1]["messages"][1]["content"]
        assert world.server.requests[1]["max_tokens"] == 160
        assert CRITIQUE in rewrite
        assert COLD in rewrite
        assert CRITIQUE not in first
        (before, steps) = [json.loads(row[0]) for row in world.rows("SELECT steps FROM draft ORDER BY number")]
        assert before == []
        assert [(step["name"], step["text"], step["model"]) for step in steps] == [("critique", CRITIQUE, "scripted")]
        assert (steps[0]["prompt_tokens"], len(steps[0]["prompt_sha256"])) == (7, 64)
        assert world.rows("SELECT policy FROM reply") == [("critique",)]


@pytest.mark.parametrize("fault", [refusal(400), cut("Warmth: it")])
async def test_a_critique_that_breaks_costs_nothing(tmp_path: Path, weights: Weights, fault: Script) -> None:
    async with turns(tmp_path, weights, "critique", reply(COLD), fault) as world:
        request = world.request(auto_improve=True)
        finished = (await world.run(request))[-1]
        assert isinstance(finished, Finished)
        assert finished.reply.kept.text == COLD
        assert world.rows("SELECT status FROM draft") == [("complete",)]
        assert world.outcome(request) == "answered"


async def test_a_rewrite_that_opens_as_the_reply_before_is_the_last(tmp_path: Path, weights: Weights) -> None:
    scripts = (reply("Try to move on now, please."), reply(COLD), reply("Try to move on now, and be quick."))
    async with turns(tmp_path, weights, "below-with-stops", *scripts) as world:
        first = world.request(auto_improve=False)
        await world.run(first)
        assert world.rows("SELECT policy FROM reply") == [("never",)]
        events = await world.run(world.request(auto_improve=True, conversation_id=first.conversation_id))
        assert sum(isinstance(event, Scored) for event in events) == 2
        assert len(world.server.requests) == 3


async def test_the_sliders_threshold_is_the_one_in_force(tmp_path: Path, weights: Weights) -> None:
    async with turns(tmp_path, weights, "below-threshold", reply(WARM)) as world:
        await world.run(world.request(auto_improve=True, threshold=1.0))
        await world.run(world.request(auto_improve=False, threshold=3.0))
        assert len(world.server.requests) == 2
        await world.run(world.request(auto_improve=True, threshold=3.0))
        assert len(world.server.requests) == 2 + 3
        assert [row[0] for row in world.rows("SELECT policy FROM reply")].count("below-threshold") == 2


@pytest.mark.parametrize("kind", ["below threshold\nbelow: 2.0", "best of n"])
@pytest.mark.parametrize("numbers", [{COLD: 1.2, WARM: 2.4}, {}])
async def test_a_policy_that_watches_how_people_would_call_it(
    tmp_path: Path, weights: Weights, monkeypatch: pytest.MonkeyPatch, kind: str, numbers: dict[str, float]
) -> None:
    rate = Scorer.rated

    def rated(self: Scorer, seeker: str, reply: str, earlier: Sequence[str] = ()) -> Rated:
        found = rate(self, seeker, reply, earlier)
        return replace(found, score=replace(found.score, perceived=numbers.get(reply)))

    monkeypatch.setattr(Scorer, "rated", rated)
    (tmp_path / "prompts" / "policies").mkdir(parents=True)
    text = f"name: People\ndescription: x\nkind: {kind}\nmost_drafts: 2\nwatches: perceived\n"
    (tmp_path / "prompts" / "policies" / "people.yaml").write_text(text, encoding="utf-8")
    async with turns(tmp_path, weights, "people", reply(COLD), reply(WARM)) as world:
        finished = (await world.run(world.request(auto_improve=True, threshold=2.0)))[-1]
        assert isinstance(finished, Finished)
        assert finished.reply.kept.text == (WARM if numbers else COLD)
        assert len(world.server.requests) == (2 if numbers else 1)
        stored = [json.loads(row[0]).get("not_rewritten") for row in world.rows("SELECT details FROM score")]
        said = "The policy people watches the number perceived, which this head does not give."
        assert stored == ([None, None] if numbers else [said])
        assert world.rows("SELECT perceived FROM score ORDER BY perceived") == (
            [(1.2,), (2.4,)] if numbers else [(None,)]
        )


@pytest.mark.parametrize(("improve", "drafts"), [("on", 3), ("off", 1)])
async def test_an_answer_of_a_study_follows_the_policy_and_records_it(
    tmp_path: Path, weights: Weights, improve: str, drafts: int
) -> None:
    async with turns(tmp_path, weights, "best-of-3", reply(COLD), reply(WARM)) as world:
        study = _study(improve)
        blank = AnswerRecord(str(uuid.uuid4()), study.id, None, "one", created_at=datetime.now(UTC))
        answer = await write_answer(world.services, study, study.arms[0], QUESTION, (), blank)
        assert answer.status is AnswerStatus.COMPLETE
        assert answer.policy == ("best-of-3" if improve == "on" else "never")
        assert len(answer.drafts) == len(world.server.requests) == drafts


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [("best-of-4", "Did you mean best-of-3?"), ("never", "Name a policy that writes again")],
)
async def test_a_policy_that_cannot_be_turned_on_is_refused_at_the_start(
    tmp_path: Path, weights: Weights, policy: str, sentence: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        async with turns(tmp_path, weights, policy):
            pass
    assert str(caught.value).startswith("improve_policy")
    assert sentence in str(caught.value)


def _study(improve: str) -> StudyFile:
    arms = [{"name": name, "persona": "listener", "model": "scripted"} for name in ("one", "two")]
    return parse_study({"id": "s", "kind": "live", "auto_improve": improve, "arms": arms}, "test")
