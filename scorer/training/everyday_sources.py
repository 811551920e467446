"""Everyday talk: the sources that teach how empathic people would call a reply, and what no such reply is.

People's ratings are EmpatheticExchanges' (its terms in the head's card): one a conversation, by one rater each, who
differ in how high they rate. So a rating is centred and scaled by its rater, and each of the listener's turns learns it
with a share of the weight, which is the mean over a bag of instances that has one label (multiple-instance learning;
Dietterich et al. 1997). There are no cruel, sarcastic or refusing listeners among them: those are in two sets that were
written for this project.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from heard.scorer.errors import ScorerError
from heard.scorer.everyday import FAULTS
from heard.scorer.records import HIGHEST, LOWEST
from heard.scorer.training.example import STYLE_FACETS, Example, digest, rows_of

EVERYDAY_FACETS = ("perceived", "warmth", "cold", "counselling", *FAULTS)
"""Facets of everyday talk: people's ratings; those of the project's own everyday replies, which would drown people's if
they were one facet; that nobody would call the reply empathic, whatever its words; that it is in the register of
counselling, of which people rated nothing; faults."""
EVERYDAY_SET = Path(__file__).parents[1] / "everyday_set.csv"
MARKS_SET = Path(__file__).parents[1] / "marks_set.csv"

SPAN = 4.0
"""Standard deviations of a rater's ratings that the facet's 0..1 holds."""

GOOD_EVERYDAY = ("share", "congratulate", "commiserate", "agree", "comfort", "encourage", "care")
BAD_EVERYDAY = ("dismiss", "sarcasm", "harm", "preach", "pity", "refuse", "stuffed")
COLD = frozenset({*BAD_EVERYDAY, "getover", "stuffing", "grading"})
"""Styles of the project's sets that nobody would call empathic."""
WARM = frozenset(
    {*GOOD_EVERYDAY, "assistant", "warm", "terse", "question", "reflection", "happy", "mixed", "selftalk"}
    | {"neutral", "fact", "minimal", "advice", "clinical"}
)
"""Styles that some people call empathic, or that are nothing worse than plain."""


def conversations(path: Path) -> Iterator[Example]:
    """The listener's turns of conversations.jsonl, each with its conversation's rating; grouped by rater."""
    try:
        rows: list[dict[str, Any]] = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except OSError as error:
        raise ScorerError(
            f"{path} cannot be read ({error.strerror}). Give the folder that holds the label sources."
        ) from error
    by_rater: dict[str, list[float]] = {}
    for row in rows:
        by_rater.setdefault(row["rater"], []).append(float(row["rating"]))
    for row in rows:
        ratings = by_rater[row["rater"]]
        height = (float(row["rating"]) - np.mean(ratings)) / max(1e-6, float(np.std(ratings)))
        labels = {"perceived": float(np.clip(0.5 + height / SPAN, 0, 1)), "harm": 0.0, "irony": 0.0, "overdone": 0.0}
        labels |= dict.fromkeys(("counselling", *FAULTS), 0.0) | {"people": (float(row["rating"]) - 1) / 4}
        if row["rating"] > 2:  # a change of subject is rated low, and may be as cold as it looks
            labels["cold"] = 0.0
        seeker, listened = "", [text for who, text in row["turns"] if who == "listener"]
        for who, text in row["turns"]:
            if who == "seeker":
                seeker = text
                continue
            yield Example(
                "everyday", f"everyday-{row['rater']}", seeker, text, labels, row["id"], weight=1 / len(listened)
            )


def everyday_set(path: Path = EVERYDAY_SET) -> Iterator[Example]:
    """Everyday replies written for this project, good and bad; half of them rated twice for perceived empathy, 1..3."""
    for row in rows_of(path):
        style = row["style"]
        labels = {}
        if row["perceived_1"]:
            rated = (float(row["perceived_1"]) + float(row["perceived_2"])) / 2
            labels["warmth"] = (rated - LOWEST) / (HIGHEST - LOWEST)
        labels |= {facet: float(style in styles) for facet, styles in STYLE_FACETS.items()}
        labels |= {"refusal": float(style == "refuse"), "incoherent": 0.0, "counselling": 0.0}
        if style == "harm" or style not in COLD:
            labels["harm"] = float(style == "harm")
        if style != "harm":
            labels["insult"] = 0.0
        labels |= cold_label(style)
        yield Example(
            "own everyday", "everyday-" + digest(row["seeker"]), row["seeker"], row["reply"], labels, style,
            row["part"] == "test",
        )  # fmt: skip


def marks_set(path: Path = MARKS_SET) -> Iterator[Example]:
    """Refusals, incoherent texts and insults written for this project, and replies that look like one and are none."""
    for row in rows_of(path):
        if row["mark"] == "other_language":  # told by the words' language, not by the head
            continue
        labels = {fault: float(row["mark"] == fault) for fault in FAULTS}
        if row["mark"] != "incoherent":
            labels["cold"] = float(row["mark"] != "none")
        if row["mark"] == "none":
            labels |= {"harm": 0.0, "irony": 0.0, "overdone": 0.0}
        yield Example(
            "marks", "marks-" + digest(row["seeker"]), row["seeker"], row["reply"], labels, row["mark"],
            row["part"] == "test",
        )  # fmt: skip


def cold_label(style: str) -> dict[str, float]:
    """What a style says of "cold": 1, 0, or nothing."""
    return {"cold": float(style in COLD)} if style in COLD | WARM else {}
