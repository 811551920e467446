"""A run over a handful of messages: the chat's own turn with its gate, talks, hand-offs, and the judging."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from heard.chat_app.common.settings import Settings
from heard.chat_app.conversation.drafts import FIXED_TEXT
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.downloads import Weights
from heard.chat_app.startup import open_services
from heard.chat_app.voice.judging import Judge
from heard.chat_app.voice.messages import Conversation, read_conversations
from heard.chat_app.voice.records import Shown, VoiceRun
from heard.chat_app.voice.reply_files import VoiceJournal, read_run
from heard.chat_app.voice.voice_figures import VoiceFigures, figures_of
from heard.chat_app.voice.voice_plan import SEED, SEEDS_APART, plan_run
from heard.chat_app.voice.voice_runner import VoiceReport, run_plan
from heard.db.records import DraftStatus
from tests.chat_app.voice.saying import CREAM, GLAD, NAN, PLAIN, SORRY, said, served
from tests.servers import refusal, reply

MEET = "Sure, that helps. I'd be happy to meet for coffee!"


@asynccontextmanager
async def opened(folder: Path, weights: Weights) -> AsyncIterator[Services]:
    settings = Settings(data_dir=folder / "var", models_file=folder / "models.toml", first_token_seconds=5)
    async with open_services(settings, weights, serving=False) as services:
        yield services


async def through(services: Services, folder: Path, *, at_once: int = 1) -> tuple[VoiceRun, VoiceReport]:
    plan = plan_run(services, read_conversations(folder / "messages.yaml"), model="one")
    with VoiceJournal(folder / "voice.jsonl", plan.identity) as journal:
        report = await run_plan(services, plan, journal, lambda *_: None, at_once=at_once)
        return journal.run(), report


async def figures(services: Services, folder: Path, run: VoiceRun, **scores: float) -> VoiceFigures:
    """The figures of a run, with these scores of every reply beside its own."""
    conversations: tuple[Conversation, ...] = read_conversations(folder / "messages.yaml")
    judge = Judge(services.scorer, services.guard, services.library.personas["listener"])
    spoken = run.said(conversations)
    judged = await asyncio.to_thread(judge.judge_all, spoken, run.models, lambda _: None)
    judged = [replace(one, scores={**one.scores, **scores}) for one in judged]
    return figures_of(run.source, spoken, judged, 6, guard=True)


async def test_every_message_goes_through_the_gate_and_a_talk_remembers_what_was_shown(
    tmp_path: Path, weights: Weights
) -> None:
    scripts = (
        reply(GLAD),
        reply(MEET), reply(SORRY),
        reply("#blessed and more of that"), reply("I see."),
        reply(f"{NAN} #grief 2024-01-05"), reply(CREAM, finish="length"),
    )  # fmt: skip
    with served(tmp_path, *scripts) as server:
        async with opened(tmp_path, weights) as services:
            run, report = await through(services, tmp_path)
            found = await figures(services, tmp_path, run)
            called = await figures(services, tmp_path, run, perceived=2.0)
    assert (report.written, report.failed, report.not_tried) == (6, {}, 0)
    texts = {name: one.text for name, one in run.replies.items()}
    assert texts == {
        "good_news-01": GLAD, "bad_news-01": SORRY, "worry-01": "", "everyday-01": "I see.",
        "grief-talk-1.1": NAN, "grief-talk-1.2": CREAM,
    }  # fmt: skip
    assert run.replies["worry-01"].shown is Shown.HANDOFF
    assert not any("kill" in text for text in said(server)), "a crisis reaches no model"
    caught, after = run.replies["bad_news-01"].drafts
    assert (caught.status, caught.caught, caught.text) == (DraftStatus.CAUGHT, "contact", MEET)
    assert after.kept
    assert [one["content"] for one in server.requests[-1]["messages"] if one["role"] == "assistant"][-1:] == [NAN]
    seeds = [body["seed"] for body in server.requests]
    assert seeds[0] == SEED
    assert (seeds[2] - seeds[1], seeds[1] - seeds[0]) == (1, SEEDS_APART)
    assert all(one.seconds and one.first_word_seconds for name, one in run.replies.items() if name != "worry-01")

    assert found.shown["replies"] == "5 of 6"
    assert found.shown["handed off to people and numbers"] == "1"
    assert found.shown["agrees to meet or to be reached"].endswith("0 of 5)")
    assert found.shown["caught by the guard when it reads it again"].endswith("0 of 5)")
    assert found.shown["condoles where nobody has died"].endswith("0 of 3)")
    assert found.shown["good news met as good"].endswith("1 of 1)")
    assert found.shown["bad news met as bad"].endswith("1 of 1)")
    assert found.shown["whole last sentence"].endswith("5 of 5)")
    assert found.shown["length within the persona's bounds"].endswith("4 of 5)"), "two words are too few"
    assert found.shown["Empathy, mean of 1 to 3"].endswith("; 5)")
    assert called.shown["Perceived, mean of 1 to 3"].startswith("2.00 ")
    assert found.raw["drafts"] == "7"
    assert found.raw["agrees to meet or to be reached"].endswith("1 of 7)")
    assert found.raw["caught: contact"] == "1 of 7"
    assert found.raw["ended by: hashtag"] == "2 of 7"
    assert found.raw["nothing left to show"].endswith("1 of 7)")
    assert found.raw["no whole last sentence, or cut off"].endswith("1 of 7)")
    assert found.faulty == {}
    assert "seconds to the first word, median" in found.course


async def test_after_three_caught_drafts_a_fixed_text_is_told_as_one(tmp_path: Path, weights: Weights) -> None:
    with served(tmp_path, reply(MEET)) as server:
        (tmp_path / "messages.yaml").write_text(
            'messages: [{kind: requests, mood: plain, death: false, text: "can we meet?"}]', encoding="utf-8"
        )
        async with opened(tmp_path, weights) as services:
            run, _ = await through(services, tmp_path)
            found = await figures(services, tmp_path, run)
    assert len(server.requests) == 3
    fixed = run.replies["requests-01"].kept
    assert fixed is not None
    assert fixed.model == FIXED_TEXT
    assert (found.shown["texts that no model wrote"], found.raw["drafts"]) == ("1", "3")
    assert found.raw["caught by the guard"].endswith("3 of 3)")


async def test_a_failure_ends_its_talk_and_is_tried_again_by_the_next_run(tmp_path: Path, weights: Weights) -> None:
    scripts = (reply(GLAD), refusal(400), reply(PLAIN), reply(NAN), refusal(400))
    with served(tmp_path, *scripts) as server:
        async with opened(tmp_path, weights) as services:
            run, report = await through(services, tmp_path)
            assert sorted(run.replies) == ["everyday-01", "good_news-01", "worry-01"]
            assert sorted(report.failed) == ["bad_news-01", "grief-talk-1.2"]
            assert (report.written, report.not_tried) == (3, 0)
            server.scripts = (*server.scripts, reply(SORRY), reply(NAN), reply(CREAM))
            run, report = await through(services, tmp_path)
    assert (len(run.replies), report.already_there, report.written, report.failed) == (6, 3, 3, {})
    assert len(server.requests) == 8
    assert read_run(tmp_path / "voice.jsonl", read_conversations(tmp_path / "messages.yaml")) == run


async def test_a_server_that_is_down_is_left_alone(tmp_path: Path, weights: Weights) -> None:
    with served(tmp_path, refusal(401)) as server:
        rows = "".join(f'  - {{kind: worry, mood: bad, death: false, text: "day {n}"}}\n' for n in range(9))
        (tmp_path / "messages.yaml").write_text("messages:\n" + rows, encoding="utf-8")
        async with opened(tmp_path, weights) as services:
            _, report = await through(services, tmp_path)
    assert (len(report.failed), report.not_tried, len(server.requests)) == (5, 4, 5)


async def test_conversations_are_held_at_once_and_turns_in_order(tmp_path: Path, weights: Weights) -> None:
    with served(tmp_path, reply(SORRY, pause=0.02)) as server:
        async with opened(tmp_path, weights) as services:
            run, _ = await through(services, tmp_path, at_once=3)
    assert len(run.replies) == 6
    assert server.most_open == 3
    turns = [text for text in said(server) if "nan died" in text or "hand cream" in text]
    assert [("nan died" in text) for text in turns] == [True, False]
