"""Figures of the shipped head as it is: what disguises of a reply do to its score, and whether its evidence points
where people pointed.

The disguised replies are of the own set's test part. EPITOME's rationales (the words that showed an annotator the
level) took no part in training, though the replies and their levels did.
"""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

from heard.scorer.encoder import Encoder
from heard.scorer.evaluation.perturb import DISGUISES
from heard.scorer.evaluation.sensitivity import changes, summarise
from heard.scorer.evidence import by_word, phrased, sentences, strongest, words
from heard.scorer.head import Head
from heard.scorer.score import DEFAULT_HEAD, HEADS, Scorer
from heard.scorer.tables import Line, spread
from heard.scorer.text import read
from heard.scorer.training.data import project_set

Floats = np.ndarray[Any, np.dtype[Any]]

EVERY = 4
"""Of the test part's replies, every so many are disguised."""
RATIONALES = 200
"""Replies with a rationale that are looked at for each mechanism."""
MECHANISMS = {"reaction": "emotional-reactions", "interpretation": "interpretations", "exploration": "explorations"}


def disguise_rows(encoder_folder: Path) -> list[Line]:
    """Mean size of Empathy's change by kind, and replies that lost their score."""
    scorer = Scorer.load(HEADS / DEFAULT_HEAD, encoder_folder)
    found = []
    for example in [example for example in project_set() if example.test][::EVERY]:
        found += changes(scorer, example.seeker, example.reply, DISGUISES)[1]
    return [
        Line(
            summary.kind,
            {
                "replies changed": str(summary.changed),
                "Empathy moved by": "none" if summary.moved is None else f"{summary.moved:.3f}",
                "lost their score": str(summary.lost),
            },
        )
        for summary in summarise(found)
    ]


def evidence_rows(epitome: Path, encoder_folder: Path) -> list[Line]:
    """Token F1 and IoU (intersection over union) of chosen words against EPITOME's rationales, for each mechanism.

    Every method chooses words as the product does (`scorer/evidence.py`): the strongest ones, after each has given
    those beside it a share of its evidence; "word by word" is the head's without that. "random phrases" has chance
    weights, one seed a reply, and chooses as many words as the head does.
    """
    head = Head.load(HEADS / DEFAULT_HEAD)
    weights = load_file(HEADS / DEFAULT_HEAD / "weights.safetensors")
    encoder = Encoder.load(encoder_folder, head.file.layers)
    methods = ("the head's evidence", "the same, word by word", "gradient times input", "random phrases")
    cells: dict[str, dict[str, str]] = {method: {} for method in methods}
    for facet, name in MECHANISMS.items():
        scores: dict[str, list[tuple[float, float]]] = {method: [] for method in methods}
        for seed, (reply, marked) in enumerate(_rationales(epitome / f"{name}.csv")):
            places = words(reply)
            truth = _marked(reply, places, marked)
            if not truth.any() or truth.all():
                continue
            tokens = encoder.tokens(reply)
            states, rows = encoder.states(tokens.ids), encoder.rows(len(tokens.ids))
            sentence = sentences([reply[start:end] for start, end in places])
            index = head.file.facets.index(facet)
            by_token = np.stack([head.terms(states)[rows, index], _gradient(weights, states, index)[rows]], axis=1)
            own = by_word(by_token, tokens, places)
            random = np.random.default_rng(seed).random((len(places), 1))
            weight = phrased(np.hstack([own, random]), sentence)
            ours, bare, slope = strongest(weight[:, 0]), strongest(np.maximum(own[:, 0], 0)), strongest(weight[:, 1])
            chance = np.zeros(len(places), bool)
            chance[np.argsort(-weight[:, 2])[: int(ours.sum())]] = True
            for method, chosen in zip(methods, (ours, bare, slope, chance), strict=True):
                scores[method].append(_overlap(chosen, truth))
        for method in methods:
            f1, iou = np.array(scores[method]).reshape(-1, 2).T
            cells[method][facet] = f"F1 {spread(list(f1))}, IoU {spread(list(iou))}, n = {len(f1)}"
    return [Line(method, row) for method, row in cells.items()]


def _rationales(path: Path) -> Iterator[tuple[str, list[str]]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.DictReader(file) if int(row["level"]) > 0 and row["rationales"].strip("| ")]
    for row in rows[:: max(1, len(rows) // RATIONALES)]:
        text = read(row["response_post"]).text
        if text:
            yield text, [part.strip() for part in row["rationales"].split("|") if part.strip()]


def _marked(reply: str, places: list[tuple[int, int]], marked: list[str]) -> Floats:
    """Whether each word lies in a marked part; a part that mending has changed is not found."""
    truth = np.zeros(len(places), bool)
    lowered = reply.lower()
    for part in marked:
        repaired = read(part).text.lower() or part.lower()
        at = lowered.find(repaired)
        if at >= 0:
            truth |= np.array([at <= start < at + len(repaired) for start, _ in places], bool)
    return truth


def _overlap(chosen: Floats, truth: Floats) -> tuple[float, float]:
    both, either = int((chosen & truth).sum()), int((chosen | truth).sum())
    return 2 * both / max(1, int(chosen.sum() + truth.sum())), both / max(1, either)


def _gradient(weights: dict[str, torch.Tensor], states: Floats, index: int) -> Floats:
    """Gradient of a facet's logit with respect to each token's state, times the state (Shrikumar et al. 2017)."""
    x = torch.tensor(states, requires_grad=True)
    queries, values = weights["queries"][:, index], weights["values"][:, index]  # members x width
    hidden = torch.nn.functional.gelu(x @ weights["projection"] + weights["projection_bias"], approximate="tanh")
    hidden = hidden.view(-1, *queries.shape)
    focus = torch.softmax((hidden * queries).sum(2), dim=0)
    (focus * (hidden * values).sum(2)).sum().backward()
    result: Floats = (x.grad * x).sum(dim=1).detach().numpy()
    return result
