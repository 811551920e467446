"""Adjusted strengths against voters whose preferences are known, and against the model of `strengths.py`."""

from typing import Any

import numpy as np
import pytest

from heard.chat_app.results.adjusted import Adjusted, compute_adjusted
from heard.chat_app.results.records import VoteFilter
from heard.chat_app.results.strengths import ALL_TIES, NOTHING, strengths
from heard.db.answer_words import AnswerWords
from heard.db.study_records import Choice
from heard.db.vote_reads import Cell, StudyVotes, TrialRows, VoteCounts, VoteRows

SOURCES = ("brief", "human", "long")
STRENGTH = np.array([0.6, -0.4, -0.2])
OF_LENGTH, OF_PLACE = 0.9, np.array([0.4, 0.0, -0.4])
HASTE = np.array([-0.3, 0.0, 0.3])
"""What a doubling of the time adds to each source's strength."""
ITEMS = 40


def study(people: int, seed: int, *, of_length: float = OF_LENGTH, same: float = 0.1) -> tuple[StudyVotes, AnswerWords]:
    """Votes of people who like length: "long" is longer than "brief", and a little worse at the same length."""
    generator = np.random.default_rng(seed)
    logs = generator.normal([5.5, 6.0, 7.0], 0.7, (ITEMS, 3))
    words = {(f"i{i}", name): round(2 ** logs[i, n]) for i in range(ITEMS) for n, name in enumerate(SOURCES)}
    rows, numbers = VoteRows(items=[f"i{i}" for i in range(ITEMS)]), dict[Cell, int]()
    for person in range(people):
        for item in generator.choice(ITEMS, 8, replace=False).tolist():
            order = generator.permutation(3)
            time = generator.normal(0, 1)
            worth = STRENGTH + of_length * (logs[item] - 6) + HASTE * time
            best = int(np.argmax((worth + generator.gumbel(size=3))[order] + OF_PLACE))
            against = -worth[order] + generator.gumbel(size=3)
            against[best] = -np.inf
            tie = generator.random() < same
            cell = Cell(
                tuple(SOURCES[n] for n in order), (), (), Choice.SAME if tie else Choice.RANKED,
                None if tie else best + 1, None if tie else int(np.argmax(against)) + 1, None, None,
            )  # fmt: skip
            rows.cell.append(numbers.setdefault(cell, len(numbers)))
            rows.person.append(person)
            rows.item.append(item)
            rows.seconds.append(float(20 * 2**time))
    rows.cells.extend(numbers)
    return StudyVotes(VoteCounts(), rows, TrialRows()), AnswerWords(words)


def adjusted(votes: StudyVotes, words: AnswerWords, *names: str) -> Adjusted:
    return compute_adjusted("warm", votes, words, VoteFilter(), names)


def values(found: Adjusted, what: str) -> dict[str, float]:
    return {one.source: getattr(one, what).value for one in found.sources}


def test_without_length_and_time_it_is_the_model_of_strengths() -> None:
    votes, words = study(60, 1)
    found = adjusted(votes, words, "position")
    arrays = (np.array(one) for one in (votes.rows.cell, votes.rows.person, votes.rows.item))
    known = {one.source: one.strength for one in strengths(votes.rows.cells, *arrays).sources}
    assert values(found, "adjusted") == pytest.approx(known, abs=1e-5)
    assert found.adjusted_for == ["position"]
    assert (found.length, found.notes, found.reason) == (None, [], None)


def test_what_length_and_time_do_is_found_and_held_equal() -> None:
    votes, words = study(600, 2, same=0.0)
    found = adjusted(votes, words, "length", "time", "position")
    truth = dict(zip(SOURCES, STRENGTH, strict=True))
    assert values(found, "adjusted") == pytest.approx(truth, abs=0.15)
    assert values(found, "by_time") == pytest.approx(dict(zip(SOURCES, HASTE, strict=True)), abs=0.1)
    assert values(found, "plain")["long"] > truth["long"] + 0.3  # taken for warmth, where it is only length
    assert found.length is not None
    assert found.length.low is not None
    assert found.length.high is not None
    assert found.length.low < OF_LENGTH < found.length.high
    for one in found.sources:
        assert one.change.value == pytest.approx(one.adjusted.value - one.plain.value)
        of_source = [number for (_, source), number in words.of_items.items() if source == one.source]
        assert one.words == pytest.approx(np.mean(of_source), rel=0.1)
    change = next(one.change for one in found.sources if one.source == "long")
    assert change.high is not None
    assert change.high < 0


def test_intervals_of_length_hold_the_truth() -> None:
    ends = [adjusted(*study(40, seed, same=0.0), "length", "time", "position").length for seed in range(100)]
    hits = [one is not None and None not in (one.low, one.high) and one.low < OF_LENGTH < one.high for one in ends]
    assert 0.87 <= np.mean(hits) <= 0.99


def one_cell(choice: Choice = Choice.RANKED, most: int | None = 1, sources: tuple[str, ...] = ("a", "b")) -> Cell:
    return Cell(sources, (), (), choice, most if choice is Choice.RANKED else None, None, None, None)


def votes_of(*cells: Cell, people: int = 2) -> StudyVotes:
    rows = VoteRows(list(cells), items=["i0", "i1"])
    for number in range(len(cells)):
        rows.cell.append(number)
        rows.person.append(number % people)
        rows.item.append(number // 2 % 2)
        rows.seconds.append(4.0)
    return StudyVotes(VoteCounts(), rows, TrialRows())


def test_bad_input_gets_a_reason_and_never_a_number() -> None:
    words = AnswerWords({(item, name): 20 for item in ("i0", "i1") for name in "ab"})
    ranked = (one_cell(), one_cell(most=2), one_cell(), one_cell(most=2))
    cases: list[tuple[StudyVotes, Any]] = [
        (votes_of(), NOTHING),
        (votes_of(one_cell(sources=("a",))), NOTHING),
        (votes_of(one_cell(Choice.SAME), one_cell(Choice.SAME)), ALL_TIES),
        (votes_of(one_cell(Choice.SKIPPED), one_cell(Choice.NONE)), NOTHING),
        (votes_of(one_cell(), one_cell()), "a won every comparison"),
    ]
    for votes, reason in cases:
        found = adjusted(votes, words, "length", "time", "position")
        assert found.reason is not None
        assert found.reason.startswith(reason)
        assert (found.sources, found.length) == ([], None)
    found = adjusted(votes_of(*ranked, people=1), words, "length", "time")
    assert found.reason is None
    assert found.adjusted_for == []
    assert len(found.notes) == 2
    assert found.interval_reason
    assert all(one.adjusted.low is None for one in found.sources)
    short = adjusted(votes_of(*ranked), AnswerWords({("i0", "a"): 3, ("i0", "b"): 9}), "length")
    assert short.ballots == 2
    assert short.notes[0].startswith("2 ballots are left out here")
