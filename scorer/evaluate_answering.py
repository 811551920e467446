"""Figures of the marks "off_topic" and "misread": how many misses they find, and how many good replies they mark.

On the own set five models a figure, one a seed. The public sources were not trained on for this: there the same reply
is given its own message, which should not be marked, and another one, which should.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from scorer.answering import LOOKED_BACK
from scorer.answering_train import GOOD, MISSES, VAGUE, Judge, cut, fit, misread_doubts, topic_doubts
from scorer.data import Example
from scorer.tables import Line, spread
from scorer.text import read
from scorer.vectors import Vector

Floats = np.ndarray[Any, np.dtype[Any]]

SEEDS = 5
DRAWN = 700
"""Replies of each public source."""
APART = 101
"""Rows between a reply and the message given to it in its place."""


def answering_rows(judge: Judge) -> list[Line]:
    """Share of the own set's replies with each mark, by what they were written to be."""
    data = judge.data
    seen = np.where(~data.test)[0]
    inside = np.isin(data.own, seen)
    groups = {
        "training part, by folds: off topic": data.style("offtopic"),
        "training part, by folds: misread": data.style("misread"),
        "training part, by folds: good": data.style(*GOOD),
        "training part, by folds: vague": data.style(*VAGUE),
    }
    shares: dict[str, list[tuple[float, float]]] = {name: [] for name in groups}
    tested: dict[str, list[tuple[float, float]]] = {}
    for seed in range(SEEDS):
        topic, misread = (np.full(len(data.examples), -np.inf) for _ in range(2))
        for train, held in cut(seen, seed):
            model = fit(data, train, seed)
            rows = np.where(np.isin(data.own, held))[0]
            topic[rows] = topic_doubts(model, data, rows)
            misread[rows] = misread_doubts(model, data, rows)
        for name, chosen in groups.items():
            rows = np.where(inside & chosen)[0]
            shares[name].append(_marked(topic[rows], misread[rows]))
        model = fit(data, seen, seed)
        for style, name in ((MISSES[:1], "off topic"), (MISSES[1:], "misread"), (GOOD, "good"), (VAGUE, "vague")):
            rows = np.where(~inside & data.style(*style))[0]
            found = _marked(topic_doubts(model, data, rows), misread_doubts(model, data, rows))
            tested.setdefault(f"test part: {name} ({len(rows)})", []).append(found)
    counted = {f"{name} ({int((inside & chosen).sum())})": shares[name] for name, chosen in groups.items()}
    return [Line(name, _cells(runs)) for name, runs in (counted | tested).items()]


def _cells(runs: Sequence[tuple[float, float]]) -> dict[str, str]:
    topics, misreads = zip(*runs, strict=True)
    return {"noted as off_topic": spread(topics), "noted as misread": spread(misreads)}


def elsewhere(judge: Judge, examples: Sequence[Example]) -> list[Line]:
    """The same on EPITOME's posts and ESConv's conversations, by the shipped model's own seed."""
    lines = []
    for source, looked_back in (("epitome", 1), ("esconv", 1), ("esconv", LOOKED_BACK)):
        rows = [example for example in examples if example.source == source]
        drawn = np.random.default_rng(0).permutation(len(rows))[:DRAWN].tolist()
        replies, told = [rows[at].reply for at in drawn], [_told(rows, at, looked_back) for at in drawn]
        apart = APART % len(told)
        own, other = _shares(judge, replies, told), _shares(judge, replies, told[apart:] + told[:apart])
        cells = {
            "own message: off_topic": f"{own[0]:.3f}",
            "own message: misread": f"{own[1]:.3f}",
            "another's message: off_topic": f"{other[0]:.3f}",
        }
        lines.append(Line(f"{source}, {len(told)} replies, to the last {looked_back} of the seeker's", cells))
    return lines


def _told(rows: Sequence[Example], at: int, back: int) -> list[str]:
    """What the seeker of a row wrote up to it, the newest first, at most `back`."""
    told: list[str] = []
    for row in range(at, -1, -1):
        if rows[row].group != rows[at].group or len(told) == back:
            break
        if rows[row].seeker and rows[row].seeker not in told:
            told.append(rows[row].seeker)
    return told


def _shares(judge: Judge, replies: Sequence[str], told: Sequence[Sequence[str]]) -> tuple[float, float]:
    topic, misread = [], []
    for reply, messages in zip(replies, told, strict=True):
        vectors: list[Vector | None] = [judge.vectors.of_message(message) for message in messages]
        newest = vectors[0] if vectors else None
        if newest is None:
            topic.append(False)
            misread.append(False)
            continue
        text = read(reply).text
        known = [vector for vector in vectors if vector is not None]
        own = judge.vectors.of_text(text)
        topic.append(judge.model.off_topic(own, len(text.split()), known) >= 1)
        misread.append(judge.model.misread(text, own, newest) >= 1)
    return float(np.mean(topic)), float(np.mean(misread))


def _marked(topic: Floats, misread: Floats) -> tuple[float, float]:
    """Shares with each note, of which a reply gets one."""
    off = topic >= 1
    return float(off.mean()) if len(off) else np.nan, float(((misread >= 1) & ~off).mean()) if len(off) else np.nan
