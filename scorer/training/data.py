"""The label sources of the default head, read into one table with a gap where a source says nothing.

A *facet* is one thing that a source labels, as a number 0..1. The sources (terms in the head's card): EPITOME
(Sharma et al. 2020), ESConv (Liu et al. 2021), AnnoMI (Wu et al. 2022), EmpatheticExchanges
(`scorer/training/everyday_sources.py`), and three sets that were written and rated for this project.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from heard.scorer.everyday import FAULTS
from heard.scorer.records import COMPONENTS, HIGHEST, LOWEST
from heard.scorer.text import read
from heard.scorer.training.everyday_sources import EVERYDAY_FACETS, cold_label, conversations, everyday_set, marks_set
from heard.scorer.training.example import STYLE_FACETS, Example, digest, rows_of

PUBLIC_FACETS = (
    "reaction",
    "affirmation",
    "interpretation",
    "reflection",
    "exploration",
    "question",
    "advice",
    "self_talk",
)
"""Facets that the public sources label; their meaning is in the card."""
OWN_FACETS = ("harm", "overdone", "irony", *COMPONENTS)
"""Facets that the project's own set labels: by its raters, or (the second and third) by the style it was written in."""
FACETS = (*PUBLIC_FACETS, *OWN_FACETS, *EVERYDAY_FACETS)

NO_FAULT = dict.fromkeys(FAULTS, 0.0)
"""What the replies of public sources say of faults: hardly one of a supporter or counsellor has one."""

FOLDS = 5
"""Parts for which a head is trained on the other four, so that its error is measured on rows that it has not seen."""

PROJECT_SET = Path(__file__).parents[1] / "project_set.csv"
PAIRS = Path(__file__).parents[1] / "pairs.csv"
MESSAGES = Path(__file__).parents[1] / "readings" / "messages.csv"
"""Messages of the project with the emotion of each."""


@dataclass(frozen=True, slots=True)
class Table:
    """Examples as arrays; row i of each belongs to the same reply."""

    examples: list[Example]
    texts: list[str]
    """What the encoder sees."""
    targets: np.ndarray[Any, np.dtype[np.float32]]
    """rows x facets, 0..1, NaN where not labelled."""
    groups: np.ndarray[Any, Any]
    sources: np.ndarray[Any, Any]

    @property
    def trained(self) -> np.ndarray[Any, Any]:
        """Rows that a head may be trained on: all but the test part."""
        return np.where([not example.test for example in self.examples])[0]

    def of(self, rows: np.ndarray[Any, Any]) -> "Table":
        """The table of these rows alone."""
        kept = list(map(int, rows))
        return Table(
            [self.examples[row] for row in kept],
            [self.texts[row] for row in kept],
            self.targets[kept],
            self.groups[kept],
            self.sources[kept],
        )

    @property
    def tested(self) -> np.ndarray[Any, Any]:
        """Rows of the own set's test part."""
        return np.where([example.test and example.source == "project" for example in self.examples])[0]


def tabulate(examples: Sequence[Example], facets: Sequence[str] = FACETS) -> Table:
    """Prepare the texts and lay out the labels. Replies that could not be scored in use are left out."""
    kept, texts = [], []
    for example in examples:
        reading = read(example.reply)
        if reading.text:
            kept.append(example)
            texts.append(reading.text)
    targets = np.array([[e.labels.get(facet, np.nan) for facet in facets] for e in kept], dtype=np.float32)
    return Table(
        kept,
        texts,
        targets.reshape(len(kept), len(facets)),
        np.array([e.group for e in kept]),
        np.array([e.source for e in kept]),
    )


def shared_examples(folder: Path) -> list[Example]:
    """All public sources below `folder` (`epitome/`, `esconv/`, `annomi/`, `everyday/`) and the project's own sets."""
    data = source_folder(folder)
    public = [*epitome(data / "epitome"), *esconv(data / "esconv"), *annomi(data / "annomi")]
    talks = conversations(data / "everyday" / "conversations.jsonl")
    return [*public, *talks, *project_set(), *everyday_set(), *marks_set()]


def source_folder(folder: Path) -> Path:
    """The folder with `epitome/` and the others: `folder`, or its `data/`."""
    return folder / "data" if (folder / "data").is_dir() else folder


def epitome(folder: Path) -> Iterator[Example]:
    """Levels 0, 1, 2 of the three mechanisms, as 0, .5 and 1. Grouped by the seeker's post."""
    names = {"reaction": "emotional-reactions", "interpretation": "interpretations", "exploration": "explorations"}
    rows = {facet: rows_of(folder / f"{name}.csv") for facet, name in names.items()}
    levels = {facet: {(r["sp_id"], r["rp_id"]): int(r["level"]) / 2 for r in rows[facet]} for facet in names}
    for row in rows["reaction"]:
        key = (row["sp_id"], row["rp_id"])
        labels = NO_FAULT | {facet: levels[facet][key] for facet in names if key in levels[facet]}
        # By the text, not the id: some posts are there twice under two ids.
        yield Example(
            "epitome", "epitome-" + digest(row["seeker_post"]), row["seeker_post"], row["response_post"], labels
        )


def esconv(folder: Path) -> Iterator[Example]:
    """The supporter's strategy. Each utterance has exactly one, so it is 1 for its facet and 0 for the others.

    "Information" is left open for advice, and "Other" (greetings, thanks) says 0 to everything.
    """
    facet_of = {
        "Affirmation and Reassurance": "affirmation",
        "Reflection of feelings": "reflection",
        "Restatement or Paraphrasing": "reflection",
        "Providing Suggestions": "advice",
        "Questions": "question",
        "Self-disclosure": "self_talk",
    }
    for name in ("dev.csv", "test.csv"):
        for row in rows_of(folder / name):
            labels = NO_FAULT | dict.fromkeys(("affirmation", "reflection", "question", "advice", "self_talk"), 0.0)
            if row["strategy"] == "Information":
                del labels["advice"]
            if row["strategy"] in facet_of:
                labels[facet_of[row["strategy"]]] = 1.0
            yield Example("esconv", "esconv-" + row["dialogue"], row["seeker"], row["supporter"], labels)


def annomi(folder: Path) -> Iterator[Example]:
    """Therapist utterances: reflection, question, and advice (advice, options, negotiation); the mean over the
    annotators."""
    advice = {"advice": 1.0, "options": 1.0, "negotiation": 1.0, "n/a": 0.0}
    votes: dict[tuple[str, int], dict[str, list[float]]] = {}
    texts: dict[tuple[str, int], tuple[str, str]] = {}
    client: dict[str, str] = {}
    for row in rows_of(folder / "annomi-full.csv"):
        key = (row["transcript_id"], int(row["utterance_id"]))
        if row["interlocutor"] == "client":
            client[row["transcript_id"]] = row["utterance_text"]
            continue
        texts.setdefault(key, (client.get(row["transcript_id"], ""), row["utterance_text"]))
        vote = votes.setdefault(key, {"reflection": [], "question": [], "advice": []})
        vote["question"].append(float(row["question_exists"] == "True"))
        vote["reflection"].append(float(row["reflection_exists"] == "True"))
        if row["therapist_input_subtype"] in advice:
            vote["advice"].append(advice[row["therapist_input_subtype"]])
    for key, (seeker, reply) in texts.items():
        labels = NO_FAULT | {facet: float(np.mean(values)) for facet, values in votes[key].items() if values}
        yield Example("annomi", f"annomi-{key[0]}", seeker, reply, labels)


def project_set(path: Path = PROJECT_SET) -> Iterator[Example]:
    """Replies written for this project, in the styles that a chat shows: the mean of two ratings 1..3 on the rubric."""
    for row in rows_of(path):
        labels = {name: (_both(row, name) - LOWEST) / (HIGHEST - LOWEST) for name in COMPONENTS}
        labels |= {"harm": _both(row, "harm"), "counselling": 1.0}
        labels |= {facet: float(row["style"] in styles) for facet, styles in STYLE_FACETS.items()}
        labels |= (cold := cold_label(row["style"]))
        if cold.get("cold") == 0.0:
            labels |= NO_FAULT
        yield Example(
            "project",
            "project-" + digest(row["seeker"]),
            row["seeker"],
            row["reply"],
            labels,
            row["style"],
            row["part"] == "test",
        )


def project_ratings(path: Path = PROJECT_SET) -> dict[str, np.ndarray[Any, Any]]:
    """Both ratings of each reply: rows x 2 for each component and "harm"."""
    rows = rows_of(path)
    return {
        name: np.array([[float(row[f"{name}_{rater}"]) for rater in (1, 2)] for row in rows])
        for name in (*COMPONENTS, "harm")
    }


def pairs(path: Path = PAIRS) -> list[dict[str, str]]:
    """Pairs of replies to a message (kind, seeker, better, worse), written apart from everything that trains."""
    return rows_of(path)


def _both(row: dict[str, str], name: str) -> float:
    return (float(row[f"{name}_1"]) + float(row[f"{name}_2"])) / 2
