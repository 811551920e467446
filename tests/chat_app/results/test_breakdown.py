"""Results by item, condition and source against votes counted by hand, and what bad input gets."""

import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from heard.chat_app.results.adjusted import adjusted
from heard.chat_app.results.breakdown import KINDS, NO_CONDITIONS, NO_ITEMS, NO_VOTES, Breakdown, breakdown
from heard.chat_app.results.flow import study_flow
from heard.chat_app.results.records import VoteFilter
from heard.chat_app.results.study_results import study_results
from heard.db.engine import create_engine
from heard.db.study_records import Choice
from heard.db.study_store import StudyStore
from tests.voters import Cast, put

ABC = ("a", "b", "c")
VOTES = [
    Cast(1, ("a", "b", "c"), most=1, least=3, condition="x", seconds=9),
    Cast(2, ("c", "b", "a"), most=3, least=1, condition="x", seconds=9),
    Cast(3, ("b", "a", "c"), most=1, least=3, condition="y", seconds=2),
    Cast(1, ("a", "b", "c"), choice=Choice.SAME, item=2, condition="x", seconds=9),
    Cast(2, ("a", "b", "c"), choice=Choice.NONE, item=2, condition="x", seconds=9),
    Cast(3, ("a", "b", "c"), choice=Choice.SKIPPED, item=2, condition="y", seconds=9),
    Cast(3, ("b", "c", "a"), most=2, item=3, unvotable=(3,), condition="y", seconds=9),
    Cast(1, ABC, most=2, least=1, item=9, attention="a", condition="x"),
]


def of(tmp_path: Path, migrated: Path, casts: list[Cast], compute: Any, wanted: VoteFilter = VoteFilter()) -> Any:  # noqa: B008
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.db"
    path.write_bytes(migrated.read_bytes())

    async def work() -> Any:
        engine = create_engine(f"sqlite+aiosqlite:///{path}")
        try:
            await put(engine, casts)
            return await compute(StudyStore(engine), "warm", wanted)
        finally:
            await engine.dispose()

    return asyncio.run(work())


def by(kind: str) -> Any:
    async def compute(studies: StudyStore, study: str, wanted: VoteFilter) -> Breakdown:
        return await breakdown(studies, study, wanted, kind)

    return compute


def test_items_are_counted_by_hand(tmp_path: Path, migrated: Path) -> None:
    found = of(tmp_path, migrated, VOTES, by("item"))
    assert found.sources == ["a", "b", "c"] == sorted(found.sources)
    assert [item.number for item in found.items] == [1, 2, 3]  # 1 of 3 pairs, 0 of 1, none
    first, second, third = found.items
    assert (first.ballots, first.ranked, second.same, second.none, second.skipped) == (3, 3, 1, 1, 1)
    assert {one.source: (one.most.count, one.least.count, one.most.of) for one in first.sources} == {
        "a": (2, 0, 3), "b": (1, 0, 3), "c": (0, 3, 3),
    }  # fmt: skip
    assert [(item.agree_most.count, item.agree_most.of) for item in found.items] == [(1, 3), (0, 1), (0, 0)]
    assert (first.agree_least.share, third.agree_most.share) == (1.0, None)
    assert {one.source: (one.most.of, one.least.of) for one in third.sources} == {"b": (1, 0), "c": (1, 0)}


def test_sources_and_conditions_are_those_of_the_whole(tmp_path: Path, migrated: Path) -> None:
    found = of(tmp_path, migrated, VOTES, by("source"))
    whole = of(tmp_path, migrated, VOTES, study_results)
    for mine, other in zip(found.by_source, whole.shares, strict=True):
        assert (mine.shares.source, mine.shares.most.share, mine.shares.least.share) == (
            other.source, other.most.share, other.least.share,
        )  # fmt: skip
    a, b, c = found.by_source
    assert (a.not_votable, a.items, a.items_led, a.unmarked) == (1, 2, 1, a.shares.most.of - 2)
    assert [(met.other, met.won.count, met.won.of) for met in a.meetings] == [("b", 2, 3), ("c", 3, 3)]
    assert [(met.other, met.won.count, met.won.of) for met in c.meetings] == [("a", 0, 3), ("b", 1, 4)]
    assert b.items_led == 0
    conditions = of(tmp_path, migrated, VOTES, by("condition"))
    assert [one.name for one in conditions.by_condition] == ["x", "y"]
    for one in conditions.by_condition:
        alone = of(tmp_path, migrated, VOTES, study_results, VoteFilter(condition=one.name))
        assert one.results.shares == alone.shares


def test_fast_votes_are_left_out_everywhere_and_counted(tmp_path: Path, migrated: Path) -> None:
    wanted = VoteFilter(min_seconds=5)
    found = of(tmp_path, migrated, VOTES, study_results, wanted).counted
    assert (found.rows, found.too_fast, found.attention_items, found.kept) == (8, 2, 0, 6)
    assert of(tmp_path, migrated, VOTES, by("item"), wanted).items[0].ballots == 2


@pytest.mark.parametrize(
    ("casts", "reasons"),
    [
        ([Cast(1, ABC, choice=Choice.SKIPPED)], (None, NO_CONDITIONS, None)),
        ([Cast(1, ABC, most=1, least=2, attention="a")], (NO_VOTES, NO_VOTES, NO_VOTES)),
        ([Cast(1, ("a",), choice=Choice.NONE)], (None, NO_CONDITIONS, None)),
        ([Cast(n, ABC, choice=Choice.SAME) for n in range(3)], (None, NO_CONDITIONS, None)),
        ([Cast(n, ABC, most=1, least=3) for n in range(3)], (None, NO_CONDITIONS, None)),
        ([Cast(1, ABC, most=1, least=3, assigned=(True, False, True))], (NO_ITEMS, NO_CONDITIONS, None)),
        ([Cast(1, ABC, most=1, unvotable=(2, 3))], (None, NO_CONDITIONS, None)),
    ],
)
def test_bad_input_has_reasons_and_no_nan(
    tmp_path: Path, migrated: Path, casts: list[Cast], reasons: tuple[str | None, ...]
) -> None:
    async def everything(studies: StudyStore, study: str, wanted: VoteFilter) -> list[Any]:
        found = [await breakdown(studies, study, wanted, kind) for kind in KINDS]
        assert tuple(one.reason for one in found) == reasons
        more = [
            await study_results(studies, study, wanted),
            await study_flow(studies, study, wanted, ()),
            *[await adjusted(studies, study, wanted, names) for names in (["length"], ["time", "position"])],
        ]
        return [*found, *more]

    for one in of(tmp_path, migrated, casts, everything):
        json.dumps(asdict(one), allow_nan=False)
