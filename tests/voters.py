"""Votes for tests of results: written by hand or cast by voters with known preferences, put into a real database."""

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
from sqlalchemy import insert
from sqlalchemy.ext.asyncio import AsyncEngine

from heard.chat_app.results.simulate import most_and_least
from heard.db.study_records import AnswerStatus, Choice, StudyKind
from heard.db.study_tables import AnswerRow, BallotRow, ItemRow, SlotRow, StudyRow, VoteRow
from heard.db.tables import ConsentRow, ParticipantRow

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
CHUNK = 500
Floats = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Cast:
    """One vote by one person on one ballot."""

    person: int
    sources: tuple[str, ...]
    most: int | None = None
    least: int | None = None
    choice: Choice = Choice.RANKED
    item: int = 1
    unvotable: tuple[int, ...] = ()
    leaks: tuple[int, ...] = ()
    attention: str | None = None
    condition: str | None = None
    assigned: tuple[bool, ...] | None = None
    """For each position, whether its answer was assigned to be improved; None where there is no trial."""
    seconds: float = 1.0
    words: tuple[int, ...] = ()
    """For each position, the words of its answer; an item has one answer of a source, whose first mention counts."""


@dataclass
class Put:
    """What was written."""

    study: str
    people: dict[int, str] = field(default_factory=dict)


async def put(
    engine: AsyncEngine,
    casts: Sequence[Cast],
    *,
    study: str = "warm",
    consents: dict[int, list[tuple[bool, bool]]] | None = None,
) -> Put:
    """Write a study with its items, answers, people, ballots and votes.

    `consents` are a person's answers (chat, research) in order; [(True, True)] for those who are not named.
    """
    consents = consents or {}
    made = Put(study)
    people: list[dict[str, Any]] = []
    rows: dict[type, list[dict[str, Any]]] = {
        table: [] for table in (ConsentRow, ItemRow, AnswerRow, BallotRow, SlotRow, VoteRow)
    }
    items: dict[int, str] = {}
    answers: dict[tuple[Any, ...], str] = {}
    numbers: dict[int, int] = {}

    def answer(cast: Cast, place: int) -> str:
        item = f"{study}-{cast.item}" if cast.assigned is None else None
        leak = ["signature"] if place in cast.leaks else []
        assigned = cast.assigned[place - 1] if cast.assigned else None
        # An item has one answer of a source, leaking or not; a test that mixes both gets answers without an item.
        key = (item, cast.sources[place - 1], bool(leak), assigned)
        if key not in answers:
            taken = (item, cast.sources[place - 1], not leak, assigned) in answers
            answers[key] = str(uuid.uuid4())
            rows[AnswerRow].append(
                dict(
                    id=answers[key], study_id=study, item_id=None if taken else item, source=key[1], created_at=NOW,
                    text="", status=AnswerStatus.COMPLETE.value, human=False, parameters={}, improve_assigned=assigned,
                    improved=bool(assigned), drafts=[], characters=0,
                    words=cast.words[place - 1] if cast.words else 0, formatting={}, leak=leak,
                )
            )  # fmt: skip
        return answers[key]

    for cast in casts:
        if cast.person not in made.people:
            made.people[cast.person] = str(uuid.uuid4())
            people.append({"id": made.people[cast.person], "created_at": NOW})
            who = made.people[cast.person]
            for chat, research in consents.get(cast.person, [(True, True)]):
                rows[ConsentRow].append(
                    dict(participant_id=who, version="1", chat=chat, research=research, given_at=NOW)
                )
        if cast.assigned is None and cast.item not in items:
            items[cast.item] = f"{study}-{cast.item}"
            rows[ItemRow].append(
                dict(id=items[cast.item], study_id=study, number=cast.item, message="", attention=cast.attention)
            )
        numbers[cast.person] = numbers.get(cast.person, 0) + 1
        ballot, person = str(uuid.uuid4()), made.people[cast.person]
        rows[BallotRow].append(
            dict(
                id=ballot, study_id=study, participant_id=person, number=numbers[cast.person],
                item_id=None if cast.assigned else items[cast.item], order_seed=0, order_row=0,
                condition=cast.condition, drawn_at=NOW, attention=cast.attention,
            )
        )  # fmt: skip
        for place, source in enumerate(cast.sources, 1):
            rows[SlotRow].append(
                dict(
                    ballot_id=ballot, position=place, answer_id=answer(cast, place), source=source,
                    votable=place not in cast.unvotable,
                )
            )  # fmt: skip
        rows[VoteRow].append(
            dict(
                ballot_id=ballot, study_id=study, participant_id=person, choice=cast.choice.value, most=cast.most,
                least=cast.least, seconds=cast.seconds, width_class="desktop", request_id=ballot, voted_at=NOW,
                changes=0, sources=json.dumps(list(cast.sources), ensure_ascii=False),
                unvotable=",".join(map(str, cast.unvotable)), leaks=",".join(map(str, cast.leaks)),
                attention=cast.attention, condition=cast.condition,
                item_id=None if cast.assigned else items[cast.item],
            )
        )  # fmt: skip
    async with engine.begin() as connection:
        await connection.execute(
            insert(StudyRow),
            [dict(id=study, kind=StudyKind.SURVEY.value, definition=definition(study), definition_sha256="0" * 64,
                  created_at=NOW)],
        )  # fmt: skip
        for table, values in ((ParticipantRow, people), *rows.items()):
            for start in range(0, len(values), CHUNK):
                await connection.execute(insert(table), values[start : start + CHUNK])
    return made


def definition(study: str) -> dict[str, Any]:
    """A study's file that passes."""
    return {"id": study, "kind": "survey", "title": "Who sounds warm?"}


@dataclass(frozen=True)
class Truth:
    """What simulated voters go by: log-odds of the sources, and of the positions for most and for least."""

    strengths: dict[str, float]
    most: tuple[float, ...]
    least: tuple[float, ...]


def simulate(truth: Truth, people: int, each: int, seed: int, *, same: float = 0.0) -> list[Cast]:
    """Votes by Luce's choice: most out of all, least out of the rest; the share `same` says "about the same" instead.

    The orders are random, the items ten.
    """
    generator = np.random.default_rng(seed)
    names, size = list(truth.strengths), len(truth.strengths)
    strength = np.array([truth.strengths[name] for name in names])
    casts = []
    for person in range(people):
        for _ in range(each):
            order = generator.permutation(size)
            item = int(generator.integers(1, 11))
            sources = tuple(names[i] for i in order)
            if generator.random() < same:
                casts.append(Cast(person, sources, choice=Choice.SAME, item=item))
                continue
            most, least = marked(generator, strength[order], truth)
            casts.append(Cast(person, sources, int(most) + 1, int(least) + 1 if size > 2 else None, item=item))
    return casts


def marked(generator: np.random.Generator, strengths: Floats, truth: Truth) -> tuple[Any, Any]:
    """Places from 0 of most and least for `strengths` in the order of the places, which are the last axis."""
    size = strengths.shape[-1]
    return most_and_least(generator, strengths + np.array(truth.most)[:size], -strengths + np.array(truth.least)[:size])
