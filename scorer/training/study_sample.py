"""The hundred labelled replies of the founding study's protocol: read, checked and drawn. Needs no torch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np

from heard.scorer.errors import ScorerError
from heard.scorer.records import COMPONENTS
from heard.scorer.training.data import FOLDS, Table, epitome, tabulate
from heard.scorer.training.example import Example
from heard.scorer.training.labels import read_labels
from heard.scorer.training.mixing import EPITOME_FACET

Rows = np.ndarray[Any, np.dtype[np.int64]]

ROWS = 100
"""Labelled replies that the study's head is trained on."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where the replies are from, for the head's records."""

    title: str
    """Name of the CSV, or "EPITOME"."""
    option: str
    """What names it in the command, without this machine's paths."""
    terms: str
    """What a card must say of it."""
    averaged: str = ""
    """Of what the replies' labels are the means, for the records; "" where nobody rated a reply that another has."""


EPITOME = Source(
    "EPITOME",
    "--shared DIR",
    "Its labels are EPITOME's levels 0, 1 and 2 read as 1, 2 and 3: interpretations as cognitive, emotional reactions "
    "as emotional, explorations as behavioral. They are narrower than the rubric's components: a question is not the "
    "only act of support. No licence is stated for EPITOME's data, so the head is for research only.",
)


def source_of_labels(path: Path, rated: Sequence[Example]) -> Source:
    """A team's CSV, of which `rated` are the rows that can be used."""
    replies = len({_reply(example) for example in rated})
    return Source(
        path.name,
        f"--data {path.name}",
        "To be written by you: who rated the replies, on which rubric, how far two raters agree, and what the head "
        "must not be used for.",
        f"the mean of a reply's ratings ({len(rated)} rows are of {replies} replies)" if len(rated) > replies else "",
    )


def team_table(path: Path) -> Table:
    """Replies of a label CSV (`heard.scorer.training.labels.read_labels`) that are rated on all three components, each
    once: of several raters' ratings it has the mean, component by component.

    Raises ScorerError for a faulty file, or one with too few such replies.
    """
    return _checked(str(path), tabulate(mean_ratings(read_labels(path).examples), COMPONENTS))


def mean_ratings(examples: Iterable[Example]) -> list[Example]:
    """Return each reply to each message once, with the mean of its ratings of each component; those without one of the
    three are left out.

    The study's labels are by one person (its "100 labelled replies" are replies, not ratings); with several the mean
    is what stands for them all.
    """
    of_reply: dict[tuple[str, str], list[Example]] = {}
    for example in examples:
        of_reply.setdefault(_reply(example), []).append(example)
    merged = []
    for same in of_reply.values():
        given = {name: [one.labels[name] for one in same if name in one.labels] for name in COMPONENTS}
        if all(given.values()):
            merged.append(replace(same[0], labels={name: fmean(values) for name, values in given.items()}))
    return merged


def epitome_table(shared: Path) -> Table:
    """EPITOME's replies below `shared` that have all three levels, each read as a rating: 0, 1, 2 as 1, 2, 3.

    A component takes the mechanism that stands nearest to it (`mixing.EPITOME_FACET`). Raises ScorerError if
    the files cannot be read or hold too few.
    """
    folder = (shared / "data" if (shared / "data").is_dir() else shared) / "epitome"
    whole = [
        replace(example, labels={name: example.labels[EPITOME_FACET[name]] for name in COMPONENTS})
        for example in epitome(folder)
        if all(facet in example.labels for facet in EPITOME_FACET.values())
    ]
    return _checked(str(folder), tabulate(whole, COMPONENTS))


def _reply(example: Example) -> tuple[str, str]:
    return example.seeker.strip(), example.reply.strip()


def _checked(source: str, table: Table) -> Table:
    if len(table.texts) < ROWS:
        raise ScorerError(
            f"{source} has {len(table.texts)} {'reply' if len(table.texts) == 1 else 'replies'} rated on all of "
            f"{', '.join(COMPONENTS)}; the study's protocol takes {ROWS}, whoever rated them. Rate more replies, or "
            "train without --protocol."
        )
    messages = len(np.unique(table.groups))
    if messages < FOLDS:
        raise ScorerError(
            f"{source} has replies to {messages} different message(s); at least {FOLDS} are needed, so that the error "
            "can be measured on messages that were not trained on."
        )
    return table


def draw(table: Table, seed: int) -> Rows:
    """ROWS rows, message by message in an order that `seed` sets, until there are enough; in rising order.

    Of the last message the surplus is left out.
    """
    names = np.unique(table.groups)
    place = dict(zip(names[np.random.default_rng(seed).permutation(len(names))], range(len(names)), strict=True))
    order = np.argsort([place[group] for group in table.groups], kind="stable")
    return np.sort(order[:ROWS])


def others(table: Table, drawn: Rows) -> Rows:
    """Rows that answer none of the messages of the rows drawn."""
    return np.where(~np.isin(table.groups, table.groups[drawn]))[0]
