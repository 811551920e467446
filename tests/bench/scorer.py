"""The scorer beside the plain transformers forward of the same encoder, in one run, in turn; cold start; a stream.

Both use all cores and the same head. With a message that has not been read yet the scorer works out the sentence
vectors of both texts as well; the plain encoder then reads both. The stream goes through `heard score --jsonl` on all
cores, every message another one and shuffled, so that nothing is remembered: its rate, and how much memory the second
half of it added.
"""

import io
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import torch

from heard.chat_app.commands.score import filter_lines
from heard.scorer.head import Head
from heard.scorer.records import COMPONENTS
from heard.scorer.score import DEFAULT_HEAD, HEADS, Scorer
from heard.scorer.text import read
from heard.scorer.training.data import project_set
from tests.bench.table import Row, at_least, at_most
from tests.plain import PlainBert

TOKENS = 150
ROUNDS = 40
WARM_UP = 5
SETTLE = 0.05
"""Seconds before each call: the threads of the one before spin on the cores for a while."""
STARTS = 5
STREAM = 4_000
COLD = """
import sys
from pathlib import Path
from heard.scorer.score import DEFAULT_HEAD, HEADS, Scorer
Scorer.load(HEADS / DEFAULT_HEAD, Path(sys.argv[1]), threads=2).score("", "That sounds so hard. What happened?")
"""


def scorer(encoder: Path) -> list[Row]:
    """The rows, for the encoder in this folder."""
    threads = os.cpu_count() or 1
    ours = Scorer.load(HEADS / DEFAULT_HEAD, encoder, threads=threads)
    torch.set_num_threads(threads)
    as_the_command = Scorer.load(HEADS / DEFAULT_HEAD, encoder)  # a thread a call, and as many calls as cores
    return [*_beside(ours, PlainBert(encoder)), _cold(encoder), *_stream(as_the_command)]


def _beside(ours: Scorer, model: PlainBert) -> list[Row]:
    head = Head.load(HEADS / DEFAULT_HEAD)
    messages = list(dict.fromkeys(example.seeker for example in project_set()))
    special = [ours.encoder.ids("[CLS]")[0], ours.encoder.ids("[SEP]")[0]]

    def states(text: str) -> np.ndarray:  # type: ignore[type-arg]
        return model.states([special[0], *ours.encoder.ids(text), special[1]], head.file.layers)

    def plain(text: str) -> np.ndarray:  # type: ignore[type-arg]
        return head.components(head.facets(states(text)))

    texts = _long_replies(ours)
    asked = list(zip(texts, messages, strict=False))
    alone = _ratios([(partial(ours.score, "", text), partial(plain, read(text).text)) for text in texts])
    both = _ratios(
        [
            (partial(ours.score, message, text), lambda text=text, message=message: (plain(text), states(message)))
            for text, message in asked
        ]
    )
    apart = [
        abs(getattr(ours.score("", text), name) - value)
        for text in texts
        for name, value in zip(COMPONENTS, plain(read(text).text), strict=True)
    ]
    return [
        at_least(f"a score of {TOKENS} tokens: transformers forward / this scorer (paired)", alone, "x", 2),
        at_most("the two scores apart, at most", apart, "", 0.005, max(apart)),
        at_least("the same with a new message: forwards of both texts / this scorer (paired)", both, "x", 1),
    ]


def _ratios(calls: Sequence[tuple[Callable[[], object], Callable[[], object]]]) -> list[float]:
    """The second's seconds over the first's, one after the other, now this one first and now that."""
    found = []
    for number, pair in enumerate(calls):
        seconds = [0.0, 0.0]
        for which in (0, 1) if number % 2 else (1, 0):
            time.sleep(SETTLE)
            began = time.perf_counter()
            pair[which]()
            seconds[which] = time.perf_counter() - began
        if number >= WARM_UP:
            found.append(seconds[1] / seconds[0])
    return found


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
    process = psutil.Process()
    chance = random.Random(0)
    examples = list(project_set())
    texts = list(dict.fromkeys(example.seeker for example in examples))
    rows = []
    for what, least in (("each with a message of its own", 100), ("without messages", 200)):
        memory, seconds = list[float](), 0.0
        for _ in range(2):  # halves, to see what the second adds
            lines = []
            for number in range(STREAM // 2):
                asked = f"{chance.choice(texts)} {number}" if "own" in what else ""
                lines.append(json.dumps({"id": number, "seeker": asked, "reply": chance.choice(examples).reply}))
            source = io.BytesIO("\n".join(lines).encode())
            began = time.perf_counter()
            filter_lines(ours, source, io.StringIO())
            seconds += time.perf_counter() - began
            memory.append(process.memory_info().rss / 1e6)
        rate, grown = STREAM / seconds, memory[1] - memory[0]
        title = f"heard score --jsonl, {STREAM:,} replies, {what}"
        rows.append(Row(title, rate, "a second", f"at least {least} a second", rate >= least, ""))
        rows.append(Row("memory that its second half added", grown, "MB", "at most 20 MB", grown <= 20, ""))
    return rows
