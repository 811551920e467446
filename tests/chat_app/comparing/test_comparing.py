"""A comparison's run: its window, its pace, its journal, and what it does after kill -9."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from heard.chat_app.common.settings import Settings
from heard.chat_app.comparing.journal import Journal, JournalEntry, JournalError
from heard.chat_app.comparing.plan import Plan
from heard.chat_app.comparing.questions import read_questions
from heard.chat_app.comparing.runner import Report, run
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.downloads import Weights
from heard.chat_app.startup import open_services
from tests.chat_app.comparing.comparing import REPLY, WIRE, asked, journal, served, slow
from tests.commands import heard
from tests.servers import ScriptedServer

ROOT = Path(__file__).parents[3]
COMMAND = [sys.executable, "-c", "from heard.chat_app.cli import main; main()", "compare"]
ARGUMENTS = ("--models", "one", "--strategies", "plain,definition", "--questions", "questions.csv", "--out", "out")


@asynccontextmanager
async def opened(folder: Path, weights: Weights) -> AsyncIterator[Services]:
    settings = Settings(data_dir=folder / "var", models_file=folder / "models.toml", first_token_seconds=5)
    async with open_services(settings, weights, serving=False) as services:
        yield services


def plan_of(services: Services, folder: Path, models: str = "one", strategies: str = "plain") -> Plan:
    library = services.library
    return Plan(
        command="compare",
        questions=tuple(read_questions(folder / "questions.csv", 8000).questions),
        models=tuple(services.models.specs[name] for name in models.split()),
        personas=(library.personas["listener"],),
        strategies=tuple(library.strategies[name] for name in strategies.split()),
        policies=(library.policies["never"],),
        examples=library.examples,
    )


async def through(
    services: Services, plan: Plan, out: Path, *, open_calls: int = 4, per_minute: int | None = None
) -> Report:
    with Journal(out, plan.identity()) as book:
        paces = {} if per_minute is None else {model.id: per_minute for model in plan.models}
        return await run(services, plan, book, lambda *_: None, open_calls=open_calls, per_minute=paces)


async def test_no_more_calls_are_open_than_the_window_and_nothing_is_asked_twice(
    tmp_path: Path, weights: Weights
) -> None:
    with served(tmp_path, slow(), questions=10) as server:
        async with opened(tmp_path, weights) as services:
            plan = plan_of(services, tmp_path, "one two", "plain definition")
            report = await through(services, plan, tmp_path / "out", open_calls=3)
            assert server.most_open == 3
            assert (report.written, report.already_complete, report.failed) == (40, 0, {})
            again = await through(services, plan, tmp_path / "out", open_calls=3)
            assert (again.written, again.already_complete) == (0, 40)
        # The two models have one address: each prompt came once from each of them.
        assert set(asked(server).values()) == {2}
        assert len(asked(server)) == 20


async def test_the_pace_is_kept_by_each_model(tmp_path: Path, weights: Weights) -> None:
    with served(tmp_path, questions=6) as server:
        async with opened(tmp_path, weights) as services:
            plan = plan_of(services, tmp_path, "one two")
            running = asyncio.ensure_future(through(services, plan, tmp_path / "out", per_minute=1))
            await asyncio.to_thread(
                ScriptedServer.wait_until,
                lambda: sum(line["done"] for line in journal(tmp_path / "out")) == 2,
                "an answer of each",
            )
            await asyncio.sleep(0.3)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
        assert len(server.requests) == 2, "the next call of each model is a minute away"


async def test_a_whole_text_without_a_score_is_scored_and_not_paid_for_again(tmp_path: Path, weights: Weights) -> None:
    with served(tmp_path, questions=2) as server:
        async with opened(tmp_path, weights) as services:
            plan = plan_of(services, tmp_path)
            await through(services, plan, tmp_path / "out", open_calls=1)
            path = tmp_path / "out" / "journal.jsonl"
            lines = path.read_bytes().splitlines(keepends=True)
            assert [line["done"] for line in journal(tmp_path / "out")] == [False, True] * 2
            path.write_bytes(b"".join(lines[:-1]))  # as if the process had died before the last score
            report = await through(services, plan, tmp_path / "out")
            assert (report.written, report.already_complete, len(server.requests)) == (1, 1, 2)
            with Journal(tmp_path / "out", plan.identity()) as book:
                entries: list[JournalEntry] = list(book.entries())
        assert all(entry.done and entry.drafts[0].score is not None for entry in entries)


async def test_failures_are_counted_by_kind_and_tried_again_by_the_next_run(tmp_path: Path, weights: Weights) -> None:
    faults = (WIRE.refusal(400, "no"), WIRE.cut("I am so"), WIRE.reply(REPLY))
    with served(tmp_path, *faults, questions=4) as server:
        async with opened(tmp_path, weights) as services:
            plan = plan_of(services, tmp_path)
            report = await through(services, plan, tmp_path / "out", open_calls=1)
            assert (report.written, report.kinds) == (2, {"rejected": 1, "cut": 1})
            with Journal(tmp_path / "out", plan.identity()) as book:
                broken = [entry for entry in book.entries() if entry.failure == "cut"]
            assert [draft.text.strip() for draft in broken[0].drafts] == ["I am so"], "what had arrived is kept"
            again = await through(services, plan, tmp_path / "out", open_calls=1)
            assert (again.written, again.already_complete, again.failed) == (2, 2, {})
            assert len(server.requests) == 6


async def test_a_server_that_is_down_is_left_alone_after_five_failures(tmp_path: Path, weights: Weights) -> None:
    with served(tmp_path, WIRE.refusal(401, "no"), questions=9) as server:
        async with opened(tmp_path, weights) as services:
            report = await through(services, plan_of(services, tmp_path), tmp_path / "out", open_calls=1)
        assert (len(report.failed), report.not_tried, len(server.requests)) == (5, {"one": 4}, 5)


def test_kill_9_repeats_no_answer_that_was_whole(tmp_path: Path, weights: Weights) -> None:
    with served(tmp_path, slow(seconds=0.15)) as server:
        arguments = [*ARGUMENTS, "--open-calls", "2", "--per-minute", "60000"]
        running = subprocess.Popen(
            [*COMMAND, *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        ScriptedServer.wait_until(lambda: len(journal(tmp_path / "out")) >= 7, "some answers", 60)
        running.send_signal(signal.SIGKILL)
        running.wait(10)
        with (tmp_path / "out" / "journal.jsonl").open("ab") as file:
            file.write(b'{"key": ["2", "on')  # a line that the end has torn
        finished = {tuple(line["key"]) for line in journal(tmp_path / "out")}
        before = len(server.requests)
        assert 3 <= len(finished) < 24
        assert before - len(finished) <= 2, "what is lost is at most the window"

        server.scripts = (WIRE.reply(REPLY),)
        done = heard("compare", *arguments, folder=tmp_path)
        assert done.status == 0, done.stderr
        counts = asked(server)
        assert len(counts) == 24
        assert len(server.requests) == 24 + before - len(finished)
        texts = {str(day + 1): f"What do I do about day {day}?" for day in range(1, 13)}
        for question, _, _, strategy, _ in finished:
            (count,) = [
                times for said, times in counts.items()
                if said[-1] == texts[question] and ("three parts" in said[0]) == (strategy == "definition")
            ]  # fmt: skip
            assert count == 1, (question, strategy)


# The journal


def test_a_folder_with_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.doc").write_text("mine")
    with pytest.raises(JournalError, match=r"is not empty and holds no comparison \(there is thesis\.doc\)"):
        Journal(tmp_path, {}).__enter__()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.doc"]


IDENTITY = {"command": "compare", "questions": "aa", "models": {"one": "1", "two": "2"}}


@pytest.mark.parametrize(
    ("part", "value", "sentence"),
    [
        ("command", "evaluate-policy", "its command is compare"),
        ("questions", "bb", "its questions are others"),
        ("models", {"one": "1"}, "its models are one, two"),
        ("models", {"one": "1", "two": "9"}, "two of its models has changed since"),
    ],
)
def test_another_comparisons_journal_is_refused(tmp_path: Path, part: str, value: object, sentence: str) -> None:
    with Journal(tmp_path, IDENTITY):
        pass
    with pytest.raises(JournalError, match="holds another comparison") as caught:
        Journal(tmp_path, {**IDENTITY, part: value}).__enter__()
    assert sentence in str(caught.value)
    with Journal(tmp_path, IDENTITY):
        pass


@pytest.mark.parametrize("line", [b"not json\n", b"[]\n", b'{"other": 1}\n'])
def test_a_line_that_is_none_is_told_and_nothing_is_lost(tmp_path: Path, line: bytes) -> None:
    with Journal(tmp_path, IDENTITY) as book:
        pass
    before = book.path.read_bytes() + line
    book.path.write_bytes(before)
    with pytest.raises(JournalError, match="line 2: no line of a journal"):
        Journal(tmp_path, IDENTITY).__enter__()
    assert book.path.read_bytes() == before


def test_a_torn_head_is_written_anew(tmp_path: Path) -> None:
    (tmp_path / "journal.jsonl").write_bytes(b'{"heard": {"comm')
    with Journal(tmp_path, IDENTITY) as book:
        assert book.done == set()
    with Journal(tmp_path, IDENTITY):
        pass


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    with Journal(tmp_path, IDENTITY), pytest.raises(JournalError, match="Another run is writing"):
        Journal(tmp_path, IDENTITY).__enter__()
