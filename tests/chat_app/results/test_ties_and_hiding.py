"""Ties alone estimate nothing; a source that is hidden takes no row along; how many ballots a strength stands on."""

from pathlib import Path

import pytest

from heard.chat_app.results.hide import hide
from heard.db.study_records import Choice
from tests.chat_app.results.test_results import ABC, results_of
from tests.chat_app.results.test_results import path as path
from tests.voters import Cast


@pytest.mark.parametrize("sources", [("a", "b"), ABC, ("a", "b", "c", "d", "e")])
@pytest.mark.parametrize("people", [1, 12])
async def test_ties_alone_estimate_nothing(path: Path, migrated: Path, sources: tuple[str, ...], people: int) -> None:
    ties = [Cast(n % people, sources[n % 2 :] + sources[: n % 2], choice=Choice.SAME, item=n) for n in range(12)]
    found = await results_of(path, migrated, ties)
    assert found.strengths.reason is not None
    assert found.strengths.reason.startswith("Every ballot here is a tie")
    assert (found.strengths.sources, found.strengths.ballots, found.strengths.people) == ([], 12, people)
    # What judges nobody beside them changes nothing; one mark each way does.
    others = [
        Cast(n % people, sources, choice=choice, item=20) for n, choice in enumerate((Choice.NONE, Choice.SKIPPED))
    ]
    again = await results_of(path, migrated, ties + others)
    assert again.strengths.reason == found.strengths.reason
    marks = [Cast(0, sources, most=1 + n, least=None if len(sources) < 3 else 2 - n, item=30 + n) for n in range(2)]
    assert (await results_of(path, migrated, ties + marks)).strengths.reason is None


async def test_a_hidden_source_takes_no_row_along(path: Path, migrated: Path) -> None:
    casts = [Cast(n, ABC[n % 3 :] + ABC[: n % 3], most=1 + n % 2, least=3) for n in range(30)]
    casts += [Cast(n, ABC, most=1, least=2, leaks=(1,), item=2) for n in range(3)]
    shown = await results_of(path, migrated, casts)
    found = hide(shown, ["b", "no such source"])
    assert found.hidden == ["b"]
    assert [one.source for one in (*found.shares, *found.leaks, *found.strengths.sources)].count("b") == 0
    assert (found.counted, found.people, found.position) == (shown.counted, shown.people, shown.position)
    assert found.shares == [one for one in shown.shares if one.source != "b"]
    assert found.strengths.sources == [one for one in shown.strengths.sources if one.source != "b"]
    assert hide(shown, ABC).shares == []
    assert sum(one.most.count for one in shown.shares) == 30


async def test_why_nothing_is_estimable_names_no_hidden_source(path: Path, migrated: Path) -> None:
    casts = [Cast(n, order, most=order.index("a") + 1, least=1 + (order.index("a") + 1 + n % 2) % 3) for n in range(20) for order in (ABC, ("c", "a", "b"))]  # fmt: skip # noqa: E501
    found = await results_of(path, migrated, casts)
    assert (hide(found, ["a"]).strengths.reason or "").startswith("The comparisons with a hidden source")
    assert hide(found, ["b"]).strengths.reason == found.strengths.reason


async def test_each_strength_has_its_number_of_ballots(path: Path, migrated: Path) -> None:
    casts = [Cast(n, ("a", "b") if n % 2 else ("b", "a"), most=1 + n % 3 // 2) for n in range(20)]
    casts += [Cast(n, ("a", "b", "c"), most=1 + n % 3, least=1 + (n + 1) % 3, item=2) for n in range(9)]
    casts += [Cast(0, ABC, choice=Choice.NONE, item=3)]
    found = (await results_of(path, migrated, casts)).strengths
    assert {one.source: one.ballots for one in found.sources} == {"a": 29, "b": 29, "c": 9}
    assert found.ballots == 29
