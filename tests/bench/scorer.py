"""The scorer beside the plain transformers forward of the same encoder, in one run, in turn; cold start; a stream.

Both use all cores and the same head. With a message that has not been read yet the scorer works out the sentence
vectors of both texts as well; the plain encoder then reads both. The stream is the own set's replies over and over: its
rate, and how much memory the second half of it added.
"""

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import psutil
import torch

from scorer.data import project_set
from scorer.head import Head
from scorer.records import COMPONENTS
from scorer.score import HEADS, Scorer
from scorer.text import read
from tests.bench.table import Row, at_least, at_most
from tests.plain import PlainBert

TOKENS = 150
ROUNDS = 40
WARM_UP = 5
SETTLE = 0.05
"""Seconds before each call: the threads of the one before spin on the cores for a while."""
STARTS = 5
STREAM = 10_000
T = TypeVar("T")
COLD = """
import sys
from pathlib import Path
from scorer.score import HEADS, Scorer
Scorer.load(HEADS / "default", Path(sys.argv[1]), threads=2).score("", "That sounds so hard. What happened?")
"""


def scorer(encoder: Path) -> list[Row]:
    """The rows, for the encoder in this folder."""
    threads = os.cpu_count() or 1
    ours = Scorer.load(HEADS / "default", encoder, threads=threads)
    torch.set_num_threads(threads)
    return [*_beside(ours, PlainBert(encoder)), _cold(encoder), *_stream(ours)]


def _beside(ours: Scorer, model: PlainBert) -> list[Row]:
    head = Head.load(HEADS / "default")
    messages = list(dict.fromkeys(example.seeker for example in project_set()))
    special = [ours.encoder.ids("[CLS]")[0], ours.encoder.ids("[SEP]")[0]]

    def states(text: str) -> np.ndarray:  # type: ignore[type-arg]
        return model.states([special[0], *ours.encoder.ids(text), special[1]], head.file.layers)

    def plain(text: str) -> np.ndarray:  # type: ignore[type-arg]
        return head.components(head.facets(states(text)))

    alone, with_message, apart = [], [], []
    for number, (text, message) in enumerate(zip(_long_replies(ours), messages, strict=False)):
        repaired, asked = read(text).text, read(message).text
        score, ours_alone = _timed(ours.score, "", text)
        reference, theirs = _timed(plain, repaired)
        _, ours_both = _timed(ours.score, message, text)
        _, theirs_asked = _timed(states, asked)
        if number >= WARM_UP:
            alone.append(theirs / ours_alone)
            with_message.append((theirs + theirs_asked) / ours_both)
            apart.append(max(abs(getattr(score, n) - v) for n, v in zip(COMPONENTS, reference, strict=True)))
    return [
        at_least(f"a score of {TOKENS} tokens: transformers forward / this scorer (paired)", alone, "x", 2),
        at_most("the two scores apart, at most", apart, "", 0.005, max(apart)),
        at_least("the same with a new message: forwards of both texts / this scorer (paired)", with_message, "x", 1),
    ]


def _timed(call: Callable[..., T], *texts: str) -> tuple[T, float]:
    """What it gives, and its seconds, after a rest."""
    time.sleep(SETTLE)
    began = time.perf_counter()
    found = call(*texts)
    return found, time.perf_counter() - began


def _long_replies(ours: Scorer) -> list[str]:
    """Different texts of TOKENS tokens or a few less, from the own set's words."""
    made: list[str] = []
    words = " ".join(example.reply for example in project_set()).split()
    at = 0
    while len(made) < ROUNDS + WARM_UP:
        size = TOKENS
        while len(ours.encoder.ids(" ".join(words[at : at + size]))) > TOKENS:
            size -= 1
        made.append(" ".join(words[at : at + size]))
        at += size
    return made


def _cold(encoder: Path) -> Row:
    seconds = []
    for _ in range(STARTS):
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", COLD, str(encoder)], check=True)
        seconds.append(time.perf_counter() - began)
    return at_most("cold start to the first score", seconds, "s", 1.2)


def _stream(ours: Scorer) -> list[Row]:
    pairs = [(example.seeker, example.reply) for example in project_set()]
    process = psutil.Process()
    began, memory = time.perf_counter(), [0.0, 0.0]
    for number, (seeker, reply) in enumerate(itertools.islice(itertools.cycle(pairs), STREAM)):
        ours.score(seeker, reply)
        if number in (STREAM // 2, STREAM - 1):
            memory[number == STREAM - 1] = process.memory_info().rss / 1e6
    rate = STREAM / (time.perf_counter() - began)
    grown = memory[1] - memory[0]
    return [
        Row(f"a stream of {STREAM:,} replies", rate, "a second", "at least 80 a second", rate >= 80, ""),
        Row("memory that its second half added", grown, "MB", "at most 20 MB", grown <= 20, ""),
    ]
