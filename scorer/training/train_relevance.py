"""Train the marks "off_topic" and "misread" (`scorer/relevance.py`) on the project's own set.

Replies that miss their message are made by giving replies to other people's messages. The few that were written to
miss theirs are never trained on, so that they can be measured.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heard.scorer.encoder import Encoder
from heard.scorer.relevance import Relevance, is_short, nearest, verdict
from heard.scorer.text import read
from heard.scorer.training.data import FOLDS, MESSAGES, project_set
from heard.scorer.training.example import Example, rows_of
from heard.scorer.training.features import OnProgress
from heard.scorer.training.logistic import logistic
from heard.scorer.vectors import Vectors

OUTLOOKS = Path(__file__).parents[1] / "outlooks.csv"
"""Messages, each "good", "bad", or "mixed" (both, or neither), by one reader: the training part's, and plainer ones."""
MISSES = ("offtopic", "misread")
"""Styles that were written to miss the message."""
VAGUE = ("generic", "grading", "hyper", "stuffing", "getover", "dismiss", "parrot")
"""Styles that fit any message, or only give it back: as answers to another message they say nothing."""
GOOD = (
    *("advice", "assistant", "clinical", "happy", "hyper", "mixed", "question", "reflection", "selftalk", "terse"),
    "warm",
)
"""Styles that answer their message, of which hardly one may be marked."""
UNTOUCHED, NOTED = 0.98, 0.99
"""Share of GOOD's replies whose doubt, held out, is below 0 and below 1."""
PLAUSIBLE, CERTAIN = 0.93, 0.95
"""Share of messages whose outlook, held out, contradicts a fitting feeling less than by 0, and by 1: with it one
or two hundredths of GOOD's replies are noted by this mark too."""
ROUNDS = 3
"""Cuts into fifths that the outlook's levels are taken of."""
GENERAL = ("generic", "hyper")
"""Styles that say nothing in particular, and so fit any message."""
STRANGERS, GENERAL_ROUNDS = 6, 4
"""Other messages that a reply is given to, and a general one."""
OTHERS_STEP = 3
"""Of the further messages every third that is not short is in the bank, which has to be small."""
SHORTEST = 12
"""Words of a reply that is about something."""
STRENGTH = 0.03
"""Of the outlook's fit (scikit-learn's C); .01 to .1 find about as many on the folds."""

Floats = np.ndarray[Any, np.dtype[Any]]
Rows = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True)
class Material:
    """The own set as vectors; row i of `texts`, `replies`, `words` and `own` belongs to `examples[i]`."""

    examples: list[Example]
    texts: list[str]
    """Of the replies, as the encoder sees them."""
    replies: Floats
    words: Floats
    own: Rows
    """Which message it answers, a row of `messages`."""
    messages: Floats
    """All layers' directions of each message; of `replies` and `others` as well."""
    outlooks: Floats
    """Of each message: 1 good, 0 bad, NaN mixed, neither or not labelled."""
    test: Floats
    """Whether a message is of the test part."""
    others: Floats
    """Further messages of the project, for the bank and the outlook."""
    others_outlooks: Floats
    short: Floats
    """Whether a message `is_short`."""
    others_short: Floats
    width: int
    """Of one layer's direction."""

    def likeness(self, rows: Rows, messages: Rows) -> Floats:
        """Of each of these replies and the message beside it, by the top layer."""
        found: Floats = (self.top(self.replies[rows]) * self.top(self.messages[messages])).sum(axis=1)
        return found

    def top(self, vectors: Floats) -> Floats:
        """The top layer's directions."""
        return vectors[:, -self.width :]

    def style(self, *names: str) -> Floats:
        """Which replies are of one of these styles."""
        return np.array([example.style in names for example in self.examples])


def material(vectors: Vectors, on_progress: OnProgress) -> Material:
    """Read the own set and the messages of the reading."""
    examples = [example for example in project_set() if read(example.reply).text and read(example.seeker).text]
    messages = list(dict.fromkeys(example.seeker for example in examples))
    outlook = {row["message"]: {"good": 1.0, "bad": 0.0}.get(row["outlook"], math.nan) for row in rows_of(OUTLOOKS)}
    felt = {row["message"]: {"joy": 1.0, "neutral": math.nan}.get(row["emotion"], 0.0) for row in rows_of(MESSAGES)}
    more = {text: known for text, known in (outlook | felt).items() if text not in messages and read(text).text}
    texts = [read(text).text for text in (*messages, *more, *(example.reply for example in examples))]
    found = []
    for done, text in enumerate(texts, 1):
        found.append(vectors.of_text(text))
        on_progress("reading messages and their replies", done, len(texts))
    first, second = len(messages), len(messages) + len(more)
    place = {message: at for at, message in enumerate(messages)}
    tests = {example.seeker for example in examples if example.test}
    return Material(
        examples,
        texts[second:],
        np.stack(found[second:]),
        np.array([len(text.split()) for text in texts[second:]], np.float32),
        np.array([place[example.seeker] for example in examples]),
        np.stack(found[:first]),
        np.array([outlook.get(message, math.nan) for message in messages]),
        np.array([message in tests for message in messages]),
        np.stack(found[first:second]),
        np.array(list(more.values())),
        np.array([is_short(message) for message in messages]),
        np.array([is_short(message) for message in more]),
        vectors.width,
    )


def fit(data: Material, messages: Rows, seed: int) -> Relevance:
    """Both detectors from some of the messages and their replies, scaled by their own held-out doubts."""
    banks = Banks.of(data, messages)
    return Relevance(
        banks.messages, banks.general, _topic(data, banks, messages, seed), *_outlook(data, messages, seed)
    )


@dataclass(frozen=True, slots=True)
class Banks:
    """What a reply is compared with, by the top layer; each belongs to a message, or a reply, that may be left out."""

    messages: Floats
    places: dict[int, int]
    """Of the own set's messages in the bank."""
    general: Floats
    rows: Rows
    """Of the general replies."""

    @classmethod
    def of(cls, data: Material, messages: Rows) -> "Banks":
        """From some of the own set's messages and their replies."""
        rows = np.where(np.isin(data.own, messages) & data.style(*GENERAL))[0]
        places = {message: at for at, message in enumerate(messages.tolist())}
        others = data.others[~data.others_short][::OTHERS_STEP]
        bank = np.concatenate([data.top(data.messages[messages]), data.top(others)])
        return cls(bank, places, data.top(data.replies[rows]), rows)

    def features(self, data: Material, rows: Rows, given: Rows) -> Floats:
        """Likeness to the message given, nearness to both banks, and log words: replies x 4.

        As if the banks held neither that message, nor the one that the reply was written to, nor the reply.
        """
        replies = data.top(data.replies[rows])
        near, general = replies @ self.messages.T, replies @ self.general.T
        for at, messages in enumerate(zip(given.tolist(), data.own[rows].tolist(), strict=True)):
            near[at, [self.places[message] for message in messages if message in self.places]] = -1
        general[rows[:, None] == self.rows[None]] = -1
        columns = (data.likeness(rows, given), nearest(near), nearest(general), np.log(data.words[rows]))
        return np.stack(columns, axis=1)


def _topic(data: Material, banks: Banks, messages: Rows, seed: int) -> Floats:
    """Weights of the topic's doubt, scaled by the replies of GOOD."""
    doubts = np.full(len(data.examples), np.nan)
    for train, held in cut(messages, seed):
        rows, some = np.where(np.isin(data.own, held))[0], Banks.of(data, train)
        weights = _log_odds(data, some, train, seed)
        doubts[rows] = some.features(data, rows, data.own[rows]) @ weights[:-1] + weights[-1]
    low, high = np.quantile(doubts[data.style(*GOOD) & np.isin(data.own, messages)], (UNTOUCHED, NOTED))
    weights = _log_odds(data, banks, messages, seed)
    weights[-1] -= low
    scaled: Floats = (weights / (high - low)).astype(np.float32)
    return scaled


def _log_odds(data: Material, banks: Banks, messages: Rows, seed: int) -> Floats:
    """Weights of a logistic regression that tells what a reply may answer from what it does not."""
    rng = np.random.default_rng(seed)
    rows = np.where(np.isin(data.own, messages) & ~data.style(*MISSES))[0]
    about = rows[~data.style(*VAGUE)[rows] & (data.words[rows] >= SHORTEST)]
    features, labels = [banks.features(data, rows, data.own[rows])], [np.zeros(len(rows))]
    # What is about something does not answer a stranger; what is general answers anybody.
    for replies, rounds, label in ((about, STRANGERS, 1.0), (banks.rows, GENERAL_ROUNDS, 0.0)):
        for _ in range(rounds):
            strangers = rng.choice(messages, len(replies))
            apart = strangers != data.own[replies]
            features.append(banks.features(data, replies[apart], strangers[apart]))
            labels.append(np.full(int(apart.sum()), label))
    return logistic(np.concatenate(features), np.concatenate(labels), 1.0)


def _outlook(data: Material, messages: Rows, seed: int) -> tuple[Floats, Floats, Floats]:
    """The outlook's weights, and its levels for joy and for sorrow."""
    vectors = np.concatenate([data.messages[messages], data.others])
    labels = np.concatenate([data.outlooks[messages], data.others_outlooks])
    short, known = np.concatenate([data.short[messages], data.others_short]), ~np.isnan(labels)
    vectors, labels, short = vectors[known], labels[known], short[known]
    # Levels near the end of a sample are shaky, so they are taken of several held-out rounds at once.
    rounds = []
    for part in range(ROUNDS):
        held_out = np.full(len(labels), np.nan)
        for train, held in cut(np.arange(len(labels)), seed * ROUNDS + part):
            weights = logistic(vectors[train], labels[train], STRENGTH, balanced=True)
            held_out[held] = vectors[held] @ weights[:-1] + weights[-1]
        rounds.append(held_out)
    doubted = np.stack(rounds)
    joy, sorrow = (
        np.stack([np.quantile(doubted[:, (labels == label) & length], levels) for length in (short, ~short)])
        for label, levels in ((1, (1 - PLAUSIBLE, 1 - CERTAIN)), (0, (PLAUSIBLE, CERTAIN)))
    )
    return logistic(vectors, labels, STRENGTH, balanced=True), joy.astype(np.float32), sorrow.astype(np.float32)


def own_doubts(model: Relevance, data: Material, rows: Rows) -> list[dict[str, float]]:
    """Of each of these replies as an answer to its own message, which the model has not seen."""
    return [
        model.doubts(data.texts[row], data.replies[row], [data.messages[own]], short=bool(data.short[own]))
        for row, own in zip(rows.tolist(), data.own[rows].tolist(), strict=True)
    ]


def cut(messages: Rows, seed: int) -> list[tuple[Rows, Rows]]:
    """(the others, a fifth) for each fifth of the messages."""
    folds = np.random.default_rng(100 + seed).permutation(len(messages)) % FOLDS
    return [(messages[folds != fold], messages[folds == fold]) for fold in range(FOLDS)]


class Judge:
    """What each reply keeps as an answer to its message: the own set's replies by a model that had not seen them."""

    def __init__(self, data: Material, vectors: Vectors) -> None:
        self.data, self.vectors = data, vectors
        seen = np.where(~data.test)[0]
        self.model = fit(data, seen, 0)
        self._held: dict[tuple[str, str], dict[str, float]] = {}
        for train, held in cut(seen, 0):
            rows = np.where(np.isin(data.own, held))[0]
            for row, doubts in zip(rows, own_doubts(fit(data, train, 0), data, rows), strict=True):
                self._held[data.examples[row].seeker, data.examples[row].reply] = doubts

    @classmethod
    def train(cls, encoder_folder: Path, layers: list[float], on_progress: OnProgress) -> "Judge":
        """Read the own set and learn from it."""
        threads = os.cpu_count() or 1
        encoder = Encoder.load(encoder_folder, layers, threads=threads)
        vectors = Vectors.load(encoder, encoder_folder, layers, threads=threads)
        return cls(material(vectors, on_progress), vectors)

    def doubts(self, reply: str, messages: Sequence[str]) -> dict[str, float]:
        """Of any reply, by the model as it is shipped; the newest message first."""
        text = read(reply).text
        vectors = [self.vectors.of_message(message) for message in messages]
        short = is_short(next(iter(messages), ""))
        return self.model.doubts(text, self.vectors.of_text(text), vectors, short=short) if text else {}

    def kept(self, seeker: str, reply: str) -> float:
        """Share of its components' heights (`heard.scorer.relevance.verdict`)."""
        held = self._held.get((seeker, reply))
        return verdict(seeker, reply, self.doubts(reply, [seeker]) if held is None else held)[1]
