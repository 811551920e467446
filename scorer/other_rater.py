"""Raters that are not heard's own: how they are named, and how their scores are labelled."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from heard.scorer.errors import ScorerError
from heard.scorer.records import COMPONENTS, EmpathyScore, ScoreStatus

JUDGE, CLASSIFIER = "judge:", "classifier:"
"""Begin the name of such a rater: a language model of models.toml that is asked for numbers, or a folder's name."""
ARCHITECTURE = "ForSequenceClassification"
"""Ends the name of transformers' architectures that give one row of outputs a text."""


def is_other(head_name: str) -> bool:
    """Whether a score of this `head_name` is not of heard's own scorer."""
    return head_name.startswith((JUDGE, CLASSIFIER))


def classifier_folder(name: str) -> Path | None:
    """The folder called `name` if it holds a transformers model and no head of heard's own, else None."""
    folder = Path(name).expanduser()
    return folder if (folder / "config.json").is_file() and not (folder / "head.toml").exists() else None


def output_names(folder: Path) -> list[str]:
    """The names of a classifier's outputs, in order, as its config.json has them: at least one.

    Raises ScorerError for a config.json that cannot be read, or of a model that does not classify.
    """
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ScorerError(f"{path} cannot be read. Give the folder as transformers has saved it.") from error
    kinds = config.get("architectures") if isinstance(config, dict) else None
    if not isinstance(kinds, list) or not any(str(kind).endswith(ARCHITECTURE) for kind in kinds):
        raise ScorerError(
            f"{path} is of no model that classifies texts (its architectures must name one that ends in "
            f"{ARCHITECTURE}). Give the folder of one, or of a head that `heard train` has written."
        )
    names, number = config.get("id2label"), config.get("num_labels", 2)  # two is what transformers leaves out
    if isinstance(names, dict) and names and sorted(names) == sorted(map(str, range(len(names)))):
        return [str(names[str(index)]) for index in range(len(names))]
    if names is not None or type(number) is not int or number < 1:
        raise ScorerError(f"{path}: id2label must name every output by its number, from 0 on. Mend it.")
    return [f"LABEL_{index}" for index in range(number)]


@dataclass(frozen=True, slots=True)
class Label:
    """What each score of another rater carries, so that nobody takes it for one of heard's own."""

    name: str
    """Such as "judge:gpt-4o" or "classifier:roberta-epitome"."""
    head_sha256: str
    """Of the file that says how it rates (prompts/judge.yaml, rater.toml), 64 hex digits."""
    encoder_sha256: str
    """Of its weights, 64 hex digits, or "" where they are not known here."""

    def unscored(self, status: ScoreStatus, reason: str) -> EmpathyScore:
        """A score without numbers."""
        return EmpathyScore(status, None, None, None, reason, self.name, self.head_sha256, self.encoder_sha256)

    def scored(self, numbers: Mapping[str, float]) -> EmpathyScore:
        """A score of these numbers of READINGS, each on 1..3: PARTIAL where a component is not among them."""
        missing = missing_components(numbers)
        cognitive, emotional, behavioral = (numbers.get(name) for name in COMPONENTS)
        return EmpathyScore(
            ScoreStatus.PARTIAL if missing else ScoreStatus.SCORED,
            cognitive,
            emotional,
            behavioral,
            f"{self.name} gives no {' and no '.join(missing)} empathy, so there is no Empathy, the mean of the three."
            if missing
            else None,
            self.name,
            self.head_sha256,
            self.encoder_sha256,
            perceived=numbers.get("perceived"),
        )


def missing_components(given: Mapping[str, object]) -> list[str]:
    """The components that are not among the names of `given`, in rubric order."""
    return [name for name in COMPONENTS if name not in given]
