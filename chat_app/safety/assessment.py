"""The check of a message as the chat uses it: the rules first, then the head that reads meaning.

The rules (`crisis_check`) are asked first, and what they find is handed off without waiting for an encoder. The head
(`scorer.danger_head`) reads what they let through, in English; in other languages the rules are alone.

`use_head` gives the head to the process. Whoever serves people does so at the start, and refuses to serve without it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from heard.chat_app.safety import crisis_check
from heard.chat_app.safety.verdict import Danger, Level, SafetyVerdict
from heard.scorer.danger_head import DEFAULT, DangerHead, DangerHeadFile
from heard.scorer.danger_lines import FIRST_DANGER, LABELS
from heard.scorer.encoder import Encoder
from heard.scorer.records import ScoreStatus
from heard.scorer.text import read

LOOKED_BACK = 2
"""Messages before the one that is read which the head sees."""
DANGERS = LABELS[FIRST_DANGER + 1 :]
_READ_FOR_LANGUAGE = 400
"""Characters that tell whether a message is English."""
_FEW_WORDS = 4
"""Times that each word of a text comes, on average, from which it repeats itself."""
_LEAST_TOGETHER = 8
"""Words that a message and those before it must have together to say more than the message: of "Listen." and "Again,
please." the head makes anything."""
_LONG_AGO = re.compile(
    r"\b(?:used to|ago|years?|months|clean|sober|since|recover\w*|surviv\w*|therap\w*|no longer|any ?more|was)\b",
    re.IGNORECASE,
)
"""Without one of these words a message that the rules hand off tells of nothing that is over."""


class Assessor:
    """Rules and head together. Blocking: call it from a worker thread; threads may share one."""

    def __init__(self, head: DangerHead | None) -> None:
        """Without a head the rules are alone."""
        self._head = head

    @classmethod
    def load(cls, encoder: Callable[[DangerHeadFile], Encoder], folder: Path = DEFAULT) -> "Assessor":
        """With the head in `folder`; `encoder` opens the one that it was trained on, at the first message. Raises
        ScorerError for a head that is missing or damaged."""
        file = DangerHeadFile.load(folder)
        return cls(DangerHead(file, partial(encoder, file)))

    def assess(self, text: str, before: Sequence[str] = (), *, alert: bool = False) -> SafetyVerdict:
        """As the function `assess`. Raises ScorerError at the first message if the encoder cannot be opened."""
        by_rules = crisis_check.check(text)
        head, minor = self._head, by_rules.crisis and by_rules.danger is Danger.MINOR
        if head is None or (by_rules.crisis and not minor and not _may_be_past(by_rules, text)):
            return by_rules
        if not by_rules.crisis and (_repeats(text) or _is_foreign(text)):
            return by_rules
        (odds, together), least = head.log_odds(text, before[-LOOKED_BACK:]), head.file.thresholds
        over = odds["recovery"] >= least["recovery"] and odds["crisis"] < min(odds["recovery"], least["check_in"])
        # Only what the rules have seen a danger in: "I used to smoke" is past too, and nothing to acknowledge.
        if over and by_rules.crisis and not minor:
            return SafetyVerdict(Level.RECOVERY, language="en", reader="head")
        by_head = _by_head(odds, least, alert=alert)
        if before and len(f"{text} {' '.join(before)}".split()) >= _LEAST_TOGETHER:
            by_head = _together(together, least, by_head)
        # A child may say more than their age: what the head finds beside it is the graver one.
        if by_rules.crisis and not (minor and by_head.crisis):
            return by_rules
        return by_head

    def first_reading(self, text: str) -> SafetyVerdict:
        """As the function `first_reading`."""
        by_rules = crisis_check.check(text)
        return self.assess(text) if by_rules.crisis and _may_be_past(by_rules, text) else by_rules


def _repeats(text: str) -> bool:
    """Whether a text says the same few words over and over, of which the head has seen none and makes anything."""
    words = text.lower().split()
    return len(words) > _FEW_WORDS * len(set(words))


def _is_foreign(text: str) -> bool:
    return read(text[:_READ_FOR_LANGUAGE]).status is ScoreStatus.NOT_ENGLISH


def _may_be_past(verdict: SafetyVerdict, text: str) -> bool:
    """Whether what the rules found may be told of as long over, which the head tells."""
    return verdict.language == "en" and _LONG_AGO.search(text) is not None


def _by_head(odds: Mapping[str, float], least: Mapping[str, float], *, alert: bool) -> SafetyVerdict:
    margins = {label: odds[label] - least[label] for label in DANGERS}
    margins["crisis"] = odds["crisis"] - least["crisis_alert" if alert else "crisis"]
    likeliest = max(margins, key=lambda label: margins[label])
    if margins[likeliest] >= 0:
        danger = Danger.SUICIDE if likeliest == "crisis" else Danger(likeliest)
        category = "ideation" if danger is Danger.SUICIDE else danger.value
        return SafetyVerdict(Level.CRISIS, category, "en", danger, "head")
    if max(odds["crisis"], odds["check_in"]) >= least["check_in"]:
        return SafetyVerdict(Level.CHECK_IN, "passive", "en", reader="head")
    return SafetyVerdict()


def _together(odds: Mapping[str, float], least: Mapping[str, float], alone: SafetyVerdict) -> SafetyVerdict:
    """What a message says with those before it, if that is graver than what it says alone. An alarm that they speak
    against ("see you on the other side", at the gate) becomes a question, and is never dropped."""
    if alone.crisis and alone.danger is not Danger.SUICIDE:
        return alone
    worry = max(odds["crisis"], odds["check_in"])
    if odds["crisis"] >= least["crisis_before"] or (alone.crisis and worry >= 0):
        return SafetyVerdict(Level.CRISIS, "ideation", "en", Danger.SUICIDE, "head")
    if alone.crisis or worry >= least["check_in_before"]:
        return SafetyVerdict(Level.CHECK_IN, "passive", "en", reader="head")
    return alone


_in_use = Assessor(None)


def first_reading(text: str) -> SafetyVerdict:
    """Return what the rules alone say of a message, at once; the head is asked only whether it is long past."""
    return _in_use.first_reading(text)


def use_head(assessor: Assessor) -> None:
    """Let `assess` ask this one, in the whole process."""
    global _in_use
    _in_use = assessor


def assess(text: str, before: Sequence[str] = (), *, alert: bool = False) -> SafetyVerdict:
    """Return how a message is met. Blocking: call it from a worker thread. Never raises on any str.

    `before` are the same person's messages before it, the newest last. With `alert`, after a hand-off or a check-in of
    the same conversation, less is enough. Where no head is in use (`use_head`) the rules are alone.
    """
    return _in_use.assess(text, before, alert=alert)
