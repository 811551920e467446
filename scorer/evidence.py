"""The words that carried each component: the head's own attention and heights, summed over words.

A facet's logit is a sum over tokens, sum_t a_t (h_t . v) + b (`scorer/head.py`), so each token's term is its exact
share of it; no gradient and no second model is needed. A component takes the terms of the facets that raise it, by
their weight in its mix; terms below zero speak against it and are no evidence for it.

A token's state holds its neighbours as well, so the place of its term is known to a few words only: often it is a "you"
or a question mark. So each word gives those beside it, in its sentence, a share of its own evidence, falling in a line
to nothing. People mark phrases too: this brings the words nearer to EPITOME's rationales (the head's card has both). A
longer reach would bring them nearer still, until whole sentences are marked and nothing is pointed at.
"""

import difflib
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from heard.scorer.encoder import Tokens
from heard.scorer.records import COMPONENTS, Span

Array = np.ndarray[Any, np.dtype[Any]]

REACH = 4
"""Words on either side that have a share in a word's evidence."""
COVERED = 0.6
"""The strongest words are taken until they hold this share of a component's evidence."""
MOST_SPANS = 3
_WORD = re.compile(r"\S+")
_ENDS = re.compile(r"[.!?]['\")\]]*$")
"""A word that ends a sentence."""


def spans(by_token: Array, tokens: Tokens, original: str, text: str) -> dict[str, tuple[Span, ...]]:
    """Spans of `original` for each component, the strongest first.

    `by_token` is `Head.contributions` of the tokens (tokens x 3), and `text`, in which they stand, is what
    `heard.scorer.text.read` made of the original.
    """
    places = words(text)
    if not places:
        return dict.fromkeys(COMPONENTS, ())
    written = [text[start:end] for start, end in places]
    sentence, shown = sentences(written), _places(original, written)
    weights = phrased(by_word(by_token, tokens, places), sentence)
    return {name: _spans(weights[:, index], sentence, shown) for index, name in enumerate(COMPONENTS)}


def words(text: str) -> list[tuple[int, int]]:
    """Place of each word."""
    return [match.span() for match in _WORD.finditer(text)]


def by_word(by_token: Array, tokens: Tokens, places: Sequence[tuple[int, int]]) -> Array:
    """Sums over the tokens of each word, words x any number; `places` are those of the text's words, one at least."""
    starts = [start for start, _ in places]
    owner = np.searchsorted(starts, [start for start, _ in tokens.offsets], side="right") - 1
    result = np.zeros((len(places), by_token.shape[1]), by_token.dtype)
    np.add.at(result, owner, by_token)
    return result


def sentences(words: Sequence[str]) -> Array:
    """Number of each word's sentence, from 0 on."""
    return np.cumsum([0, *(_ENDS.search(word) is not None for word in words[:-1])])


def phrased(terms: Array, sentence: Array) -> Array:
    """What speaks for a component, with the share that each word has from its neighbours: words x any number, from the
    words' own `terms` of either sign."""
    own = np.maximum(terms, 0)
    result: Array = own.copy()
    for apart in range(1, REACH + 1):
        share = (1 - apart / (REACH + 1)) * (sentence[apart:] == sentence[:-apart])[:, None]
        result[apart:] += share * own[:-apart]
        result[:-apart] += share * own[apart:]
    return result


def strongest(weights: Array) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """The fewest words that hold COVERED of all `weights`, none of which is below zero; none where all are zero."""
    order = np.argsort(-weights, kind="stable")
    before = np.cumsum(weights[order]) - weights[order]
    result = np.zeros(len(weights), bool)
    result[order[before < COVERED * weights.sum()]] = True
    return result


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


def _spans(weights: Array, sentence: Array, places: list[tuple[int, int] | None]) -> tuple[Span, ...]:
    """The MOST_SPANS strongest runs of chosen words, none over a sentence's end."""
    total = float(weights.sum())
    merged: list[tuple[int, int, float]] = []
    last = -2
    for index in map(int, np.flatnonzero(strongest(weights))):
        place = places[index]
        if place is None:
            continue
        share = float(weights[index]) / total
        if merged and index == last + 1 and sentence[index] == sentence[last]:
            merged[-1] = (merged[-1][0], place[1], merged[-1][2] + share)
        else:
            merged.append((*place, share))
        last = index
    best = sorted(merged, key=lambda span: -span[2])[:MOST_SPANS]
    return tuple(Span(start, end, round(weight, 4)) for start, end, weight in best)
