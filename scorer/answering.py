"""Whether a reply answers the message it was written to: the marks "off_topic" and "misread".

*Off topic.* With the top layer's sentence vectors (`scorer/vectors.py`) of the reply r, of the messages m_i that it may
answer, of a bank of other people's messages b_j, and of a bank of replies g_k that say nothing in particular:

    doubt = w_1 max_i r . m_i  +  w_2 (mean of the three highest r . b_j)  +  w_3 (of the three highest r . g_k)
            +  w_4 log(words of the reply)  +  w_0

A reply that is much liker to other messages than to its own, and about something, belongs elsewhere. Without the second
bank a quarter of all general kind words to messages of a few words were marked.

*Misread.* A linear outlook a = v . m + v_0 on the message's vectors in all layers (above 0: good news) and what the
reply's phrases take it for (`scorer/tone.py`): joy where the outlook is bad, or sorrow where it is good, unless the
reply takes up what the message says. Finer misreadings (the wrong person, anger for shame) are not seen.

Both doubts are scaled by what is in order, held out, so that at 1 about a hundredth of the replies that do answer is
noted by each. Between 0 and 1 the score sinks in a line. Trained by `scorer/answering_train.py`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors

from scorer.errors import ScorerError
from scorer.files import file_sha256
from scorer.tone import leaning

Floats = np.ndarray[Any, np.dtype[Any]]

FILE = "answering.safetensors"
"""Beside a head's weights."""
AGAIN = "Restore it beside head.toml, or train again."
NEAREST = 3
"""Texts of a bank that are looked at."""
LOOKED_BACK = 5
"""Messages of a conversation that a reply may answer, the newest included. In ESConv's conversations replies are taken
for strays in 8% of turns if only the newest counts, and in 1% with five (`heard evaluate`)."""
LEAST = 0.7
"""What a reply noted by either mark keeps of its components' heights. So much, because a good reply is marked now and
then: on the own set's training part, by folds, the order of replies gains most with .7, and loses with .3."""
TAKEN_UP = 0.5
"""Likeness from which a reply has taken up its message, whatever its phrases sound like."""


@dataclass(frozen=True, slots=True)
class Answering:
    """The two detectors as they are stored."""

    bank: Floats
    """float16, messages x width, each of length 1."""
    general: Floats
    """float16, replies x width, each of length 1."""
    topic: Floats
    """w_1, w_2, w_3, w_4, w_0; scaled."""
    outlook: Floats
    """v and v_0: width * (layers + 1) + 1."""
    joy: Floats
    """Outlook at which a reply's joy is doubted by 0, and by 1."""
    sorrow: Floats
    """The same for sorrow."""

    @classmethod
    def load(cls, path: Path, sha256: str) -> "Answering":
        """Raises ScorerError for a file that is missing, damaged, or another than `sha256`."""
        if file_sha256(path, AGAIN) != sha256:
            raise ScorerError(f"{path} is not the file that head.toml names (its sha256 differs). {AGAIN}")
        try:
            tensors = load_tensors(path.read_bytes())
            found = cls(**{item.name: tensors[item.name] for item in fields(cls)})
        except (SafetensorError, KeyError) as error:
            raise ScorerError(f"{path} is damaged. {AGAIN}") from error
        dimensions = [array.ndim for array in (found.bank, found.general)]
        sizes = [array.shape for array in (found.topic, found.joy, found.sorrow)]
        if dimensions != [2, 2] or sizes != [(5,), (2,), (2,)] or min(len(found.bank), len(found.general)) < NEAREST:
            raise ScorerError(f"{path} does not hold what marks replies. {AGAIN}")
        return found

    def check_width(self, layer: int, layers: int) -> None:
        """Raises ScorerError unless it knows vectors of these sizes: of one layer, and of those the head reads."""
        if {self.bank.shape[1], self.general.shape[1]} != {layer} or self.outlook.shape != (layers + layer + 1,):
            raise ScorerError(f"The {FILE} beside the head is of another encoder or another head. {AGAIN}")

    def off_topic(self, reply: Floats, words: int, messages: Sequence[Floats]) -> float:
        """Doubt that a reply of so many words answers one of `messages`; all given as vectors."""
        width = self.bank.shape[1]
        top = reply[-width:]
        likest = max(float(top @ message[-width:]) for message in messages)
        near, general = (float(nearest(bank.astype(np.float32) @ top)) for bank in (self.bank, self.general))
        return float(self.topic[:4] @ (likest, near, general, math.log(max(words, 1))) + self.topic[4])

    def misread(self, text: str, reply: Floats, message: Floats) -> float:
        """Doubt that a reply (its text as the encoder sees it, and its vector) takes the message's news for what it is.

        -inf where it shares no feeling, or both, or takes up what the message says.
        """
        outlook = float(self.outlook[:-1] @ message + self.outlook[-1])
        taken, width = leaning(text), self.bank.shape[1]
        if taken not in ("joy", "sorrow") or float(reply[-width:] @ message[-width:]) >= TAKEN_UP:
            return -math.inf
        begins, whole = self.joy if taken == "joy" else self.sorrow
        return float((outlook - begins) / (whole - begins))


def nearest(likeness: Floats) -> Floats:
    """Mean of the NEAREST highest along the last axis: how near a reply is to a bank."""
    found: Floats = np.partition(likeness, -NEAREST, axis=-1)[..., -NEAREST:].mean(axis=-1)
    return found


def kept(doubt: float) -> float:
    """What a reply with this doubt keeps of a component's height above the lowest, LEAST..1."""
    return 1 - (1 - LEAST) * min(1.0, max(0.0, doubt))
