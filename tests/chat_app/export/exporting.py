"""Studies worth exporting, with hostile texts and people who withdrew; the command, and its files read again."""

import asyncio
import csv
import hashlib
import os
import shutil
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from heard.db.desk_records import Actor
from heard.db.desk_store import DeskStore
from heard.db.engine import create_engine
from heard.db.records import ConsentRecord
from heard.db.store import Store
from heard.db.study_records import (
    AnswerRecord,
    AnswerStatus,
    BallotRecord,
    Choice,
    EnrolmentRecord,
    ItemRecord,
    SlotRecord,
    StudyKind,
    StudyRecord,
    VoteRecord,
)
from heard.db.study_store import StudyStore
from tests.commands import heard
from tests.db.conftest import Make

HOSTILE = (
    "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r=1", "\n+1", "＝1+1", "'=1", "\ufeff=1",
    "\u200f=cmd|' /C calc'!A0",
    'He said "no",\nthen; left\r\n', "🙂 \U0001f469\u200d\U0001f467", "\u202eevil\u202c ‏שלום", "a\x00b", "x" * 20_000,
    "",
)  # fmt: skip
GONE = "only-the-withdrawn-wrote-this"
SOURCES = ("human", "=model", "calm")


def make_study(name: str, kind: StudyKind, make: Make) -> StudyRecord:
    definition = {"id": name, "kind": kind.value, "allow": ["secret-pid"], "completion_code": "PAY-ME", "seed": "s33d"}
    definition["completion_url"] = "https://panel.example/done?cc=PAY-ME&x=1"
    definition["reveal"] = False  # else a vote is final
    return StudyRecord(name, kind, definition, hashlib.sha256(name.encode()).hexdigest(), make.now)


def make_answer(make: Make, study: str, item: str | None, source: str, text: str, **fields: Any) -> AnswerRecord:
    drafts = [asdict(make.draft(f"first: {text}")), asdict(make.draft(text, number=2))]
    answer = AnswerRecord(
        make.id(), study, item, source, make.now, text, AnswerStatus.COMPLETE, human=source == "human",
        persona="study", strategy="plain", model="echo", parameters={"temperature": 0.7}, prompt_sha256="c" * 64,
        first_token_seconds=0.25, total_seconds=1.5, prompt_tokens=3, completion_tokens=4, improve_assigned=True,
        improved=source == "calm", drafts=drafts, characters=len(text), words=2, formatting={"bold": 2, "emoji": 1},
        leak=["model", "maker"] if source == "=model" else [], score=make.score(),
    )  # fmt: skip
    return replace(answer, **fields)


def vote_of(ballot: BallotRecord, make: Make, **fields: Any) -> VoteRecord:
    vote = VoteRecord(
        ballot.id, ballot.participant_id, Choice.RANKED, 1, 3, None, 4.5, "phone", make.id(), make.now
    )  # fmt: skip
    return replace(vote, **fields)


async def fill(store: Store) -> None:
    """A survey with hostile texts, judged by three people; a live study; an empty one. One person has withdrawn."""
    make, studies = Make(), StudyStore(store.engine)
    items = []
    for number, text in enumerate(HOSTILE, start=1):
        item = ItemRecord(f"item-{number}", "survey", number, text, "human" if number == 1 else None)
        answers = tuple(make_answer(make, "survey", item.id, source, text) for source in SOURCES)
        items.append(replace(item, answers=answers))
    await studies.save_study(make_study("survey", StudyKind.SURVEY, make), items)
    await studies.save_study(make_study("empty", StudyKind.SURVEY, make))
    await studies.save_study(make_study("talk", StudyKind.LIVE, make))
    for who in ("anna", "=ben", GONE, "refuses"):
        await store.save_consent(ConsentRecord(who, "1", True, True, make.now))

        def draw(person: EnrolmentRecord, _: Any) -> list[BallotRecord]:
            ballots = []
            for number, item in enumerate(items, start=1):
                turn = number % 3
                answers = (item.answers[turn:] + item.answers[:turn])[: 2 if number == 2 else 3]
                slots = tuple(SlotRecord(p, a.id, a.source, True) for p, a in enumerate(answers, start=1))
                ballots.append(
                    BallotRecord(
                        make.id(), "survey", person.participant_id, number, item.id, None, None, 7, turn,
                        person.condition, make.now, slots, attention=item.attention,
                    )
                )  # fmt: skip
            return ballots

        wanted = EnrolmentRecord("survey", who, f"pid-{who}", None, 5, make.now)
        await studies.enrol(wanted, lambda _: "warm", draw)
        for (ballot, _), text in zip(await studies.ballots_of_person("survey", who), HOSTILE, strict=True):
            words = GONE if who == GONE else text
            if ballot.number == len(HOSTILE):
                continue  # left without a vote
            if ballot.number == 2:
                await studies.vote(vote_of(ballot, make, least=None, reason=words))
            elif ballot.number == 3:
                await studies.vote(vote_of(ballot, make, choice=Choice.SAME, most=None, least=None, reason="first"))
                await studies.vote(vote_of(ballot, make, most=2, least=1, reason=words))
            else:
                await studies.vote(vote_of(ballot, make, reason=words))
        await _talk(store, studies, make, who)
    desk = DeskStore(store.engine)
    await desk.exclude("survey", {"anna": "=too fast"}, "fast=3s", Actor("Ada"))
    await desk.exclude("survey", {"=ben": "By mistake."}, None, Actor("Ada"))
    await desk.include("survey", ["=ben"], "It was one.", Actor("Ada"))
    await store.save_consent(ConsentRecord(GONE, "1", False, False, make.now))
    await store.save_consent(ConsentRecord("refuses", "1", True, False, make.now))


async def _talk(store: Store, studies: StudyStore, make: Make, who: str) -> None:
    """A live ballot with an answer that failed, and its vote."""
    conversation = make.conversation(who)
    message = make.message(conversation, GONE if who == GONE else "=a hard week")
    await store.open_turn(conversation, message)
    answers = [
        make_answer(make, "talk", None, source, "", status=AnswerStatus.PENDING, drafts=[], score=None)
        for source in SOURCES
    ]

    def draw(_: object, number: int) -> tuple[BallotRecord, list[AnswerRecord]]:
        slots = tuple(SlotRecord(p, a.id, a.source, False) for p, a in enumerate(answers, start=1))
        return (
            BallotRecord(
                make.id(), "talk", who, number, None, conversation.id, message.id, 7, 0, None, make.now, slots
            ),
            answers,
        )

    ballot = await studies.draw_live("talk", message, draw)
    done = [
        replace(answer, text=f"{who} {answer.source}", status=AnswerStatus.COMPLETE, drafts=[], score=make.score())
        for answer in answers
    ]
    done[2] = replace(done[2], text="", status=AnswerStatus.FAILED, error="It did not answer.", score=None)
    await studies.finish_ballot(ballot.id, done)
    await studies.vote(vote_of(ballot, make, least=None))


def run(url: str, *arguments: str | Path, status: int = 0) -> str:
    """The command, in this process; gives what it says, or the sentence it is refused with."""
    done = heard("export", *arguments, **_variables(url))
    assert done.status == status, done.stderr
    return done.sentence if status else done.stdout


def environment(url: str) -> dict[str, str]:
    return {**os.environ, **_variables(url)}


def _variables(url: str) -> dict[str, str]:
    return {"HEARD_DATABASE_URL": url, "HEARD_DATA_DIR": "/nonexistent"}


def read_csv(path: Path) -> list[dict[str, str]]:
    """Rows of an export. The limit is one for the whole process, in which other tests meet it too."""
    before = csv.field_size_limit(1_000_000)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))
    finally:
        csv.field_size_limit(before)


def read_parquet(path: Path) -> list[dict[str, Any]]:
    return list(pyarrow.parquet.read_table(path).to_pylist())


def ballots(url: str, study: str, who: str) -> list[Any]:
    async def work() -> list[Any]:
        engine = create_engine(url)
        try:
            return await StudyStore(engine).ballots_of_person(study, who)
        finally:
            await engine.dispose()

    return asyncio.run(work())


@pytest.fixture(scope="session")
def filled_file(migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An SQLite file that has been filled, to be copied."""
    path = tmp_path_factory.mktemp("filled") / "heard.db"
    shutil.copyfile(migrated, path)

    async def work() -> None:
        engine = create_engine(f"sqlite+aiosqlite:///{path}")
        try:
            await fill(Store(engine))
        finally:
            await engine.dispose()

    asyncio.run(work())
    return path


@pytest.fixture
def url(path: Path, filled_file: Path) -> str:
    """The filled database, for one test."""
    shutil.copyfile(filled_file, path)
    return f"sqlite+aiosqlite:///{path}"
