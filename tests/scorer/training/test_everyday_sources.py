"""Everyday talk as labels: ratings centred by rater, a conversation's label shared by its turns, and the own sets."""

import json
from pathlib import Path

import pytest

from heard.scorer.errors import ScorerError
from heard.scorer.everyday import FAULTS
from heard.scorer.training.everyday_sources import EVERYDAY_SET, MARKS_SET, conversations, everyday_set, marks_set
from heard.scorer.training.example import rows_of


def talks(path: Path) -> Path:
    """A generous rater and a strict one, who order the same three conversations alike."""
    rows = [
        {"id": f"{rater}{rating}", "rater": rater, "rating": rating,
         "turns": [["listener", "hello"], ["seeker", "my car broke"], ["listener", "oh no"]]}
        for rater, ratings in (("a", (3, 4, 5)), ("b", (1, 2, 3)))
        for rating in ratings
    ]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return path


def test_a_generous_and_a_strict_rater_say_the_same_and_turns_share_the_weight(tmp_path: Path) -> None:
    found = list(conversations(talks(tmp_path / "talks.jsonl")))
    assert len(found) == 12
    by_talk = {example.style: example.labels["perceived"] for example in found}
    assert by_talk["a3"] == by_talk["b1"] < by_talk["a4"] == by_talk["b2"] == 0.5 < by_talk["a5"] == by_talk["b3"]
    assert {example.weight for example in found} == {0.5}
    assert {example.group for example in found} == {"everyday-a", "everyday-b"}
    assert [example.seeker for example in found[:2]] == ["", "my car broke"]
    cold = {example.style for example in found if "cold" not in example.labels}
    assert cold == {"b1", "b2"}, "what is rated low may be cold"
    assert {example.labels["people"] for example in found if example.style in ("a3", "b3")} == {0.5}


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScorerError, match=r"none\.jsonl cannot be read"):
        list(conversations(tmp_path / "none.jsonl"))


def test_what_is_tested_on_shares_no_writer_and_no_message_with_what_is_trained_on() -> None:
    for path in (EVERYDAY_SET, MARKS_SET):
        rows = rows_of(path)
        for column in ("writer", "seeker"):
            by_part = {
                part: {row[column].casefold() for row in rows if row["part"] == part} for part in ("train", "test")
            }
            assert by_part["train"], path
            assert not by_part["train"] & by_part["test"], (path, column)
        assert len({(row["seeker"], row["reply"]) for row in rows}) == len(rows)


def test_the_own_sets_label_what_their_styles_and_marks_say() -> None:
    everyday = list(everyday_set())
    assert {example.labels["cold"] for example in everyday if example.style == "sarcasm"} == {1.0}
    assert {example.labels["cold"] for example in everyday if example.style == "share"} == {0.0}
    assert {example.labels["refusal"] for example in everyday if example.style == "refuse"} == {1.0}
    assert {example.labels["harm"] for example in everyday if "harm" in example.labels and example.style == "harm"} == {
        1.0
    }
    assert all("harm" not in example.labels for example in everyday if example.style in ("sarcasm", "pity", "dismiss"))
    marks = list(marks_set())
    assert {example.style for example in marks} == {*FAULTS, "none"}
    for example in marks:
        assert {fault for fault in FAULTS if example.labels[fault]} == {example.style} - {"none"}


def test_the_own_sets_share_no_reply_with_the_public_sources() -> None:
    shared = EVERYDAY_SET.resolve().parents[2] / "shared" / "data"
    if not shared.is_dir():
        pytest.skip("../shared is not here, so the sources cannot be compared")
    own = [" ".join(example.reply.lower().split()) for example in (*everyday_set(), *marks_set())]
    text = " ".join((shared / "everyday" / "conversations.jsonl").read_text(encoding="utf-8").lower().split())
    assert not [reply for reply in own if len(reply) > 40 and reply in text]  # a stock phrase is anybody's
