"""Whether a reply answers the message it was written to: the marks "off_topic" and "misread".

*Off topic.* With the top layer's sentence vectors (`scorer/vectors.py`) of the reply r, of the messages m_i that it may
answer, of a bank of other people's messages b_j, and of a bank of replies g_k that say nothing in particular:

    doubt = w_1 max_i r . m_i  +  w_2 (mean of the three highest r . b_j)  +  w_3 (of the three highest r . g_k)
            +  w_4 log(words of the reply)  +  w_0

A reply that is much liker to other messages than to its own, and about something, belongs elsewhere. Without the second
bank general kind words to a message of few words are taken for strays.

*Misread.* A linear outlook a = v . m + v_0 on the message's vectors in all layers (above 0: good news) and what the
reply's phrases take it for (`scorer/shared_emotion.py`): joy where the outlook is bad, or sorrow where it is good,
unless the reply takes up what the message says. Finer misreadings (the wrong person, anger for shame) are not seen.

Both doubts are scaled by what is in order, held out, so that at 1 one or two of a hundred replies that do answer are
noted by each. Between 0 and 1 the score sinks in a line. Trained by `scorer/training/train_relevance.py`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from heard.scorer import parrot
from heard.scorer.encoder_files import file_sha256
from heard.scorer.errors import ScorerError
from heard.scorer.shared_emotion import implied_emotion

Floats = np.ndarray[Any, np.dtype[Any]]

FILE = "answering.safetensors"
"""Beside a head's weights."""
AGAIN = "Restore it beside head.toml, or train again."
NEAREST = 3
"""Texts of a bank that are looked at."""
LOOKED_BACK = 5
"""Messages of a conversation that a reply may answer, the newest included: where only the newest counts, replies that
come back to an earlier one are taken for strays (ESConv's row in the head's card)."""
LEAST = 0.7
"""What a reply noted by either mark keeps of its components' heights. So much, because a good reply is marked now and
then; chosen on the own set's training part, by folds, of .3, .5, .7 and 1."""
FEW_WORDS = 9
"""Words of a message that has room for one thing only, so that it is good or bad news more surely than a longer one."""
TAKEN_UP = 0.5
"""Likeness from which a reply has taken up its message, whatever its phrases sound like."""


@dataclass(frozen=True, slots=True)
class Relevance:
    """The two detectors."""

    bank: Floats
    """Messages x width, each of length 1. Stored, as `general` is, in int8: only its directions count."""
    general: Floats
    """Replies x width, each of length 1."""
    topic: Floats
    """w_1, w_2, w_3, w_4, w_0; scaled."""
    outlook: Floats
    """v and v_0: width * (layers + 1) + 1."""
    joy: Floats
    """Outlook at which joy is doubted by 0, and by 1: a row for messages of FEW_WORDS at most, one for longer ones."""
    sorrow: Floats
    """The same for sorrow."""

    @classmethod
    def load(cls, path: Path, sha256: str) -> "Relevance":
        """Raises ScorerError for a file that is missing, damaged, or another than `sha256`."""
        if file_sha256(path, AGAIN) != sha256:
            raise ScorerError(f"{path} is not the file that head.toml names (its sha256 differs). {AGAIN}")
        try:
            tensors = load_tensors(path.read_bytes())
            found = cls(**{item.name: tensors[item.name].astype(np.float32) for item in fields(cls)})
        except (SafetensorError, KeyError) as error:
            raise ScorerError(f"{path} is damaged. {AGAIN}") from error
        sizes = [array.shape for array in (found.topic, found.joy, found.sorrow)]
        banks = (found.bank, found.general)
        if sizes != [(5,), (2, 2), (2, 2)] or any(bank.ndim != 2 or len(bank) < NEAREST for bank in banks):
            raise ScorerError(f"{path} does not hold what marks replies. {AGAIN}")
        return replace(found, bank=_unit(found.bank), general=_unit(found.general))

    def save(self, path: Path) -> str:
        """Store it; its sha256."""
        small = replace(self, bank=_int8(self.bank), general=_int8(self.general))
        path.write_bytes(save_tensors({name: np.ascontiguousarray(array) for name, array in asdict(small).items()}))
        return file_sha256(path)

    def check_width(self, layer: int, layers: int) -> None:
        """Raises ScorerError unless it knows vectors of these sizes: of one layer, and of those the head reads."""
        if {self.bank.shape[1], self.general.shape[1]} != {layer} or self.outlook.shape != (layers + layer + 1,):
            raise ScorerError(f"The {FILE} beside the head is of another encoder or another head. {AGAIN}")

    def doubts(self, text: str, reply: Floats, messages: Sequence[Floats | None], *, short: bool) -> dict[str, float]:
        """By a note's name, the graver first: what is of another matter cannot be misread.

        `text` is the reply as the encoder sees it, `reply` its vector; `messages` are those of the person that it may
        answer, the newest first, None for one that says nothing. Nothing is doubted where that is the newest, which
        is `short` or not (`is_short`).
        """
        known = [message for message in messages if message is not None]
        if not known or messages[0] is None:
            return {}
        width = self.bank.shape[1]
        top = reply[-width:]
        likenesses = [float(top @ message[-width:]) for message in known]
        near, general = (float(nearest(bank @ top)) for bank in (self.bank, self.general))
        features = (max(likenesses), near, general, math.log(len(text.split())))
        return {
            "off_topic": float(self.topic[:-1] @ features + self.topic[-1]),
            "misread": self._misread(text, known[0], short) if likenesses[0] < TAKEN_UP else -math.inf,
        }

    def _misread(self, text: str, message: Floats, short: bool) -> float:
        """-inf for a reply that shares no feeling, or both."""
        taken = implied_emotion(text)
        if taken not in ("joy", "sorrow"):
            return -math.inf
        begins, whole = (self.joy if taken == "joy" else self.sorrow)[0 if short else 1]
        outlook = float(self.outlook[:-1] @ message + self.outlook[-1])
        return float((outlook - begins) / (whole - begins))


def is_short(message: str) -> bool:
    """Whether a message, as a person wrote it, has FEW_WORDS at most."""
    return len(message.split()) <= FEW_WORDS


def verdict(seeker: str, reply: str, doubts: Mapping[str, float]) -> tuple[str, float]:
    """What is wrong with a reply as an answer, by name of the note ("" if nothing was noticed), and the share of its
    components' heights that it keeps: 0 if it parrots (`scorer/parrot.py`), else LEAST or more."""
    share = parrot.echoed(seeker, reply)
    if share >= parrot.NOTED:
        return "parrot", parrot.kept(share)
    note = next((name for name, doubt in doubts.items() if doubt >= 1), "")
    return note, min(parrot.kept(share), kept(max(doubts.values(), default=0.0)))


def nearest(likeness: Floats) -> Floats:
    """Mean of the NEAREST highest along the last axis: how near a reply is to a bank."""
    found: Floats = np.partition(likeness, -NEAREST, axis=-1)[..., -NEAREST:].mean(axis=-1)
    return found


def kept(doubt: float) -> float:
    """What a reply with this doubt keeps of a component's height above the lowest, LEAST..1."""
    return 1 - (1 - LEAST) * min(1.0, max(0.0, doubt))


def _int8(bank: Floats) -> Floats:
    """Its rows' directions, in a quarter of the room."""
    found: Floats = np.round(bank * (127 / np.abs(bank).max(axis=1, keepdims=True))).astype(np.int8)
    return found


def _unit(bank: Floats) -> Floats:
    found: Floats = bank / np.maximum(np.linalg.norm(bank, axis=1, keepdims=True), 1e-6)
    return found
