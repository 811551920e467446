"""The words that carried each component: the head's own attention and heights, summed over words.

A facet's logit is a sum over tokens, sum_t a_t (h_t . v) + b (`scorer/head.py`), so each token's term is its exact
share of it; no gradient and no second model is needed. A component takes the terms of the facets that raise it, by
their weight in its mix; terms below zero speak against it and are no evidence for it.
"""

import difflib
import re
from typing import Any

import numpy as np

from scorer.encoder import Tokens
from scorer.records import COMPONENTS, Span

Array = np.ndarray[Any, np.dtype[np.float32]]

COVERED = 0.6
"""The strongest words are taken until they hold this share of a component's evidence."""
MOST_SPANS = 3
_WORD = re.compile(r"\S+")


def spans(by_token: Array, tokens: Tokens, original: str, text: str) -> dict[str, tuple[Span, ...]]:
    """Spans of `original` for each component, the strongest first.

    `by_token` is `Head.contributions` of the tokens (tokens x 3), and `text`, in which they stand, is what
    `scorer.text.read` made of the original.
    """
    words = [match.span() for match in _WORD.finditer(text)]
    if not words:
        return dict.fromkeys(COMPONENTS, ())
    starts = np.array([start for start, _ in words])
    owner = np.searchsorted(starts, [start for start, _ in tokens.offsets], side="right") - 1
    by_word = np.zeros((len(words), len(COMPONENTS)), np.float32)
    np.add.at(by_word, owner, by_token)
    places = _places(original, [text[start:end] for start, end in words])
    return {name: _strongest(by_word[:, index], places, original) for index, name in enumerate(COMPONENTS)}


def _places(original: str, words: list[str]) -> list[tuple[int, int] | None]:
    """Where each word of the repaired text stands in the original; None for one that has no counterpart."""
    found = list(_WORD.finditer(original))
    places: list[tuple[int, int] | None] = [None] * len(words)
    matcher = difflib.SequenceMatcher(
        None, [match.group().lower() for match in found], [word.lower() for word in words], autojunk=False
    )
    for _, a, a_end, b, b_end in matcher.get_opcodes():
        if a_end - a == b_end - b:  # the same words, or as many that were mended one by one
            for offset in range(a_end - a):
                places[b + offset] = found[a + offset].span()
    return places


def _strongest(weights: Array, places: list[tuple[int, int] | None], original: str) -> tuple[Span, ...]:
    positive = np.maximum(weights, 0)
    total = float(positive.sum())
    if total <= 0:
        return ()
    chosen: set[int] = set()
    held = 0.0
    for index in np.argsort(-positive, kind="stable"):
        if held >= COVERED * total:
            break
        held += float(positive[index])
        chosen.add(int(index))
    merged: list[tuple[int, int, float]] = []
    last = -2
    for index in sorted(chosen):
        place = places[index]
        if place is None:
            continue
        share = float(positive[index]) / total
        if merged and index == last + 1:
            merged[-1] = (merged[-1][0], place[1], merged[-1][2] + share)
        else:
            merged.append((*place, share))
        last = index
    best = sorted(merged, key=lambda span: -span[2])[:MOST_SPANS]
    return tuple(Span(start, end, round(weight, 4)) for start, end, weight in best)
