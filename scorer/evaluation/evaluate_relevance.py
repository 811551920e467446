"""Figures of the marks "off_topic" and "misread": how many misses they find, and how many good replies they mark.

On the own set five models a figure, one a seed. The public sources were not trained on for this: there the same reply
is given its own message, which should not be marked, and another one, which should.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from heard.scorer.relevance import LOOKED_BACK, is_short, verdict
from heard.scorer.tables import Line, spread
from heard.scorer.training.example import Example, rows_of
from heard.scorer.training.train_relevance import GOOD, MISSES, VAGUE, Judge, cut, fit, own_doubts

Floats = np.ndarray[Any, np.dtype[Any]]

MARKS = ("off_topic", "misread")
KINDS = {"off topic": MISSES[:1], "misread": MISSES[1:], "good": GOOD, "vague": VAGUE}
"""Styles of the own set, by what they were written to be."""
SEEDS = 5
DRAWN = 700
"""Replies of each public source."""
PLAIN_NEWS = Path(__file__).parents[1] / "plain_news.csv"
MET_WITH = {
    "joy": (
        "That's wonderful news! Congratulations!",
        "Congratulations! I'm so happy for you.",
        "How exciting! You must be so proud of yourself.",
    ),
    "sorrow": (
        "I'm so sorry to hear that. That must be really hard for you.",
        "Oh no, I'm so sorry. That sounds painful.",
        "I'm so sorry. My heart goes out to you.",
    ),
}
"""What plain news is answered with, by the feeling that is shared."""
APART = 101
"""Rows between a reply and the message given to it in its place."""


def relevance_rows(judge: Judge) -> list[Line]:
    """Share of the own set's replies with each mark, by what they were written to be."""
    data = judge.data
    seen = np.where(~data.test)[0]
    notes: dict[str, list[Floats]] = {"training part, by folds": [], "test part": []}
    for seed in range(SEEDS):
        held_out = np.full(len(data.examples), "", object)
        for train, held in cut(seen, seed):
            rows = np.where(np.isin(data.own, held))[0]
            held_out[rows] = noted(own_doubts(fit(data, train, seed), data, rows))
        notes["training part, by folds"].append(held_out)
        rows = np.where(data.test[data.own])[0]
        tested = np.full(len(data.examples), "", object)
        tested[rows] = noted(own_doubts(fit(data, seen, seed), data, rows))
        notes["test part"].append(tested)
    lines = []
    for part, runs in notes.items():
        inside = data.test[data.own] == (part == "test part")
        for name, styles in KINDS.items():
            chosen = inside & data.style(*styles)
            cells = {f"noted as {mark}": spread([_share(run[chosen], mark) for run in runs]) for mark in MARKS}
            lines.append(Line(f"{part}: {name} ({int(chosen.sum())})", cells))
    return lines


def plain_news_rows(judge: Judge) -> list[Line]:
    """Share of plain replies noted for plain news of a few words, which nothing was trained or chosen on."""
    seen = np.where(~judge.data.test)[0]
    models = [fit(judge.data, seen, seed) for seed in range(SEEDS)]
    vectors = {text: judge.vectors.of_text(text) for texts in MET_WITH.values() for text in texts}
    lines = []
    for outlook in ("bad", "good"):
        news = [row["message"] for row in rows_of(PLAIN_NEWS) if row["outlook"] == outlook]
        news_vectors = {message: judge.vectors.of_message(message) for message in news}
        cells = {}
        for feeling, replies in MET_WITH.items():
            pairs = [(message, text) for message in news for text in replies]
            shares = []
            for model in models:
                doubts = [
                    model.doubts(text, vectors[text], [news_vectors[message]], short=is_short(message))
                    for message, text in pairs
                ]
                shares.append(1 - _share(np.array(noted(doubts), object), ""))
            cells[f"met with {feeling}"] = spread(shares)
        lines.append(Line(f"{outlook} news ({len(news)}), {len(replies)} replies of each feeling", cells))
    return lines


def public_source_rows(judge: Judge, examples: Sequence[Example]) -> list[Line]:
    """The same on EPITOME's posts and ESConv's conversations, by the shipped model's own seed."""
    lines = []
    for source, looked_back in (("epitome", 1), ("esconv", 1), ("esconv", LOOKED_BACK)):
        rows = [example for example in examples if example.source == source]
        drawn = np.random.default_rng(0).permutation(len(rows))[:DRAWN].tolist()
        replies, answered = [rows[at].reply for at in drawn], [_messages_before(rows, at, looked_back) for at in drawn]
        apart = APART % len(answered)
        own, other = (
            np.array(
                noted([judge.doubts(reply, messages) for reply, messages in zip(replies, given, strict=True)]), object
            )
            for given in (answered, answered[apart:] + answered[:apart])
        )
        cells = {
            "own message: off_topic": f"{_share(own, 'off_topic'):.3f}",
            "own message: misread": f"{_share(own, 'misread'):.3f}",
            "another's message: off_topic": f"{_share(other, 'off_topic'):.3f}",
        }
        lines.append(Line(f"{source}, {len(answered)} replies, to the last {looked_back} of the seeker's", cells))
    return lines


def _messages_before(rows: Sequence[Example], at: int, back: int) -> list[str]:
    """What the seeker of a row wrote up to it, the newest first, at most `back`."""
    messages: list[str] = []
    for row in range(at, -1, -1):
        if rows[row].group != rows[at].group or len(messages) == back:
            break
        if rows[row].seeker and rows[row].seeker not in messages:
            messages.append(rows[row].seeker)
    return messages


def noted(doubts: Sequence[Mapping[str, float]]) -> list[str]:
    """The note of each, "" for none."""
    return [verdict("", "", found)[0] for found in doubts]


def _share(notes: Floats, mark: str) -> float:
    return float(np.mean(notes == mark)) if len(notes) else np.nan
