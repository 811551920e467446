"""A transformers model that classifies texts, from a local folder, in the place of the scorer's head.

The folder holds what transformers has saved (config.json, weights as safetensors, a tokenizer) and `rater.toml`, which
says what the outputs mean (`scorer/rater_file.py`). With z the outputs of a number:

    regression  share = clip((z - lowest) / (highest - lowest), 0, 1)
    classes     share = sum over k of softmax(z)_k k / (n - 1), of n classes, the lowest k = 0
    number      1 + 2 share                                                             1..3

No code of the folder's is run. The reply is repaired and refused as the scorer does it (`scorer/text.py`).
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from safetensors import SafetensorError

from heard.scorer.encoder_files import file_sha256
from heard.scorer.errors import ScorerError
from heard.scorer.other_rater import CLASSIFIER, Label, missing_components, output_names
from heard.scorer.rater_file import NAME, RaterFile, read_rater_file
from heard.scorer.records import HIGHEST, LOWEST, EmpathyScore, ScoreStatus
from heard.scorer.text import REASONS, language_status, read, visible

Array = np.ndarray[Any, np.dtype[Any]]

UNLIMITED = 100_000
"""Tokens. A limit above it is none: tokenizers that know of none say 1e30."""
MOST_TOKENS = 2_048
"""Tokens that a model without a limit of its own reads."""
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
"""One of them is there, or transformers would make up a tokenizer without a word in it."""
LOADING_ERRORS = (
    SafetensorError, OSError, ValueError, LookupError, ImportError, RuntimeError, AttributeError, TypeError,
)  # fmt: skip
"""Exceptions of transformers for missing, broken and unknown files."""
AS_SAVED = "Save the model again with transformers, as safetensors and with its tokenizer."


class Classifier:
    """Such a model as a `Rater`: blocking, thread-safe, and deterministic on one machine."""

    def __init__(self, model: Any, tokenizer: Any, file: RaterFile, outputs: Mapping[str, list[int]], label: Label):
        """`outputs` are the places of each number's outputs among the model's."""
        self.label = label
        self._model, self._tokenizer, self._file, self._outputs = model, tokenizer, file, dict(outputs)
        self._limit = _most_tokens(model, tokenizer)
        self._lock = Lock()  # a tokenizer that truncates is not for two threads

    @classmethod
    def load(cls, folder: Path) -> "Classifier":
        """Open the model in `folder` on torch, on the processor.

        Raises ScorerError with a sentence for a folder without rater.toml, a fault in that, files that are missing or
        damaged, and where torch or transformers is missing.
        """
        folder = folder.expanduser().resolve()
        names = output_names(folder)
        file, outputs = read_rater_file(folder, names)
        weights = sorted(folder.glob("*.safetensors"))
        if not weights or not any(path for pattern in TOKENIZERS for path in folder.glob(pattern)):
            what = "tokenizer" if weights else "weights as safetensors"
            raise ScorerError(f"{folder} has no {what}. {AS_SAVED}")
        model, tokenizer = _opened(folder)
        if int(model.config.num_labels) != len(names) or len(tokenizer) > model.get_input_embeddings().num_embeddings:
            raise ScorerError(f"{folder}: config.json, weights and tokenizer are not of one model. {AS_SAVED}")
        label = Label(CLASSIFIER + folder.name, file_sha256(folder / NAME, AS_SAVED), _sha256_of(weights))
        made = cls(model, tokenizer, file, outputs, label)
        if made.score("", "Warm up.").status is ScoreStatus.UNRATED:
            raise ScorerError(f"{folder}: the weights give no finite numbers. {AS_SAVED}")
        return made

    @property
    def missing(self) -> list[str]:
        """The components that it does not give."""
        return missing_components(self._outputs)

    def score(self, seeker: str, reply: str, earlier: Sequence[str] = ()) -> EmpathyScore:
        """Rate `reply` as a `Rater` does. What is longer than the model's own limit is cut; `earlier` is not read."""
        reading = read(reply)
        status = language_status(seeker, reading.status)
        if status in REASONS:
            return self.label.unscored(status, REASONS[status])
        asked = (read(seeker).text or visible(seeker),) if self._file.pair else ()
        row = self._row(*asked, reading.text)
        if not np.isfinite(row).all():
            return self.label.unscored(ScoreStatus.UNRATED, "The classifier gave no finite numbers for this text.")
        return self.label.scored(
            {name: LOWEST + (HIGHEST - LOWEST) * self._share(row[at]) for name, at in self._outputs.items()}
        )

    def score_many(self, pairs: Sequence[tuple[str, str]]) -> list[EmpathyScore]:
        """`score` for each (seeker, reply), in order."""
        return [self.score(seeker, reply) for seeker, reply in pairs]

    def _row(self, *texts: str) -> Array:
        """All outputs of one text, or of a pair."""
        import torch

        with self._lock, torch.inference_mode():
            tokens = self._tokenizer(*texts, truncation=True, max_length=self._limit, return_tensors="pt")
            row: Array = self._model(**tokens).logits[0].double().numpy()
        return row

    def _share(self, outputs: Array) -> float:
        """The outputs of one number as a place on its scale, 0..1."""
        if self._file.kind == "classes":
            chances = np.exp(outputs - outputs.max())
            return float(chances @ np.linspace(0, 1, len(outputs)) / chances.sum())
        lowest, highest = self._file.lowest, self._file.highest
        assert lowest is not None
        assert highest is not None
        return float(np.clip((outputs[0] - lowest) / (highest - lowest), 0, 1))


def _opened(folder: Path) -> tuple[Any, Any]:
    """The model, ready to be asked, and its tokenizer."""
    try:
        import torch
        import transformers
    except ImportError as error:
        raise ScorerError('A classifier needs torch and transformers: pip install "heard[train]".') from error
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model, found = transformers.AutoModelForSequenceClassification.from_pretrained(
            folder, local_files_only=True, use_safetensors=True, dtype=torch.float32, output_loading_info=True
        )
    except LOADING_ERRORS as error:  # its text can be long, and can name folders of this machine
        raise ScorerError(
            f"The model in {folder} cannot be loaded ({type(error).__name__}): a file is damaged, missing, or of a "
            f"kind that the installed transformers does not know. {AS_SAVED}"
        ) from error
    if found["missing_keys"] or found["mismatched_keys"]:  # transformers would draw them by chance
        raise ScorerError(f"{folder}: the weights are not all of this model's. {AS_SAVED}")
    return model.eval(), tokenizer


def _most_tokens(model: Any, tokenizer: Any) -> int:
    """Tokens that the model can read at once, its own signs among them."""
    limits = [int(min(tokenizer.model_max_length, UNLIMITED + 1))]
    places = getattr(model.config, "max_position_embeddings", None)
    if isinstance(places, int) and places > 0:
        # RoBERTa and its kin count places from behind the one that stands for padding.
        tables = [part for name, part in model.named_modules() if name.endswith("position_embeddings")]
        skipped = [table.padding_idx + 1 for table in tables if getattr(table, "padding_idx", None) is not None]
        limits.append(places - max(skipped, default=0))
    known = [limit for limit in limits if limit <= UNLIMITED]
    return min(known, default=MOST_TOKENS)


def _sha256_of(weights: Sequence[Path]) -> str:
    """Of one file its own; of several that of theirs, in the order of their names."""
    found = [file_sha256(path, AS_SAVED) for path in weights]
    return found[0] if len(found) == 1 else hashlib.sha256("".join(found).encode("ascii")).hexdigest()
