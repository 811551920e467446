"""Where a reply should have ended: debris that small models write after, or instead of, what they have to say.

Repeated sentences, hashtags, dates and links that nobody asked for, stage directions, role labels, placeholders,
sign-offs, marks of a chat template, and sentences of the prompt itself. A reply ends where the first of them begins;
a label or a stage direction at its very start is only left out.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_ACTS = (
    "smil|nod|laugh|chuckl|giggl|grin|hug|sigh|paus|wink|lean|listen|offer|pat|reach|look|gaz|hold|tak|sit|step|"
    "gentl|soft|warm|kind|quiet|slow|lightly|tilts|touch|squeez|wip|breath|nudg|whisper|place|give|giving|put"
)
_PERSONS = (
    "user|assistant|system|human|ai|bot|person|patient|therapist|counsell?or|client|listener|friend|neighbou?r|coach|"
    "companion|response|reply|answer|message|speaker|question"
)
STAGE = rf"(?<![*\w])\*(?:{_ACTS})\w*\b[^*\n]{{0,80}}\*(?!\*)|\((?:{_ACTS})\w*\b[^)\n]{{0,60}}\)"
LABEL = rf"^\W*(?:[A-Za-z]+ )?(?:{_PERSONS})\s*:"

PATTERNS = {
    "hashtag": r"(?<![\w&])#[A-Za-z]\w+",
    "date": (
        rf"\b\d{{4}}-\d{{2}}-\d{{2}}\b|\b\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{4}}\b"
        rf"|\b(?:{_MONTHS})[a-z]*\.? \d{{1,2}},? \d{{4}}\b"
    ),
    "link": r"https?://|\bwww\.|\b[\w.]+@[\w-]+\.[a-z]{2,}|\b\d{3}[-. ]\d{3}[-. ]\d{4}\b|\(\d{3}\) ?\d{3}",
    "stage direction": STAGE,
    "label": LABEL,
    "placeholder": r"\[[A-Za-z][^\]\n]{0,40}\](?!\()|\{[a-z_ ]{2,20}\}",
    "sign-off": r"^\W*(?:(?:best|warm|kind)(?:est)? (?:regards|wishes)|sincerely|yours (?:truly|sincerely)|xoxo)\b",
    "refusal": (
        r"\bsorry,? but I (?:can['’]?t|cannot|am unable to|['’]m unable to) (?:help|assist|provide)"
        r"|\bas an AI language model"
    ),
    "boilerplate": (
        r"\b(?:how|what) (?:can|may) I (?:help|assist)|\banything else (?:I can|you)|\bfeel free to (?:ask|reach)"
        r"|\bany (?:other|more|further) questions|\bI['’]m here to (?:help|assist)"
        r"|\blet me know if (?:you need|there)"
    ),
    "template": r"<\|/?[a-z_]{1,20}\|?>|</?(?:s|think|(?:start|end)_of_turn)>|\[/?INST\]|^\s*#{2,} |```|^\s*-{3,}\s*$",
}  # fmt: skip
"""Kind -> pattern of what begins it, within one sentence."""
_COMPILED = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in PATTERNS.items()}
_AT_START = re.compile(rf"^\s*(?:{STAGE}|{LABEL.removeprefix('^')})\s*", re.IGNORECASE)
_WORDS = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")

FEWEST_REPEATED = 4
"""Words of a sentence that may not come twice; "I hear you." may."""
ALIKE = 0.85
"""Share of the words of two sentences that are the same ones, from which one repeats the other."""
FEWEST_QUOTED = 5
"""Words of a sentence that is looked for in the system text."""
FEWEST_COPIED = 8
"""Words of a sentence that is looked for in the examples, whose short questions ("What was she like?") may be asked."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What is left of a sentence."""

    kept: str
    """The part before the debris; the whole sentence where there is none."""
    cause: str | None
    """The kind of debris that ends the reply: a key of PATTERNS, "repeat" or "prompt"; None where it goes on."""


def without_opening(text: str) -> str:
    """Return the beginning of a reply without a role label or a stage direction in front of it."""
    while (found := _AT_START.match(text)) and found.group().strip():
        text = text[found.end() :]
    return text


def ending_of(sentence: str, before: Iterable[str], message: str, instructions: str, examples: str = "") -> Ending:
    """Return how much of `sentence` is kept, and whether the reply ends with it.

    `before` are the reply's earlier sentences. A date or link that stands in the person's `message` is no debris; a
    sentence of `instructions`, the system text, is, and one of the `examples`, which were told of somebody else.
    """
    words = _words(sentence)
    if len(words) >= FEWEST_REPEATED and any(_alike(words, _words(other)) for other in before):
        return Ending("", "repeat")
    for fewest, text in ((FEWEST_QUOTED, instructions), (FEWEST_COPIED, examples)):
        if len(words) >= fewest and f" {' '.join(words)} " in f" {' '.join(_words(text))} ":
            return Ending("", "prompt")
    found = [
        (match.start(), kind)
        for kind, pattern in _COMPILED.items()
        if (match := pattern.search(sentence)) and match.group().casefold() not in message.casefold()
    ]
    if not found:
        return Ending(sentence, None)
    start, kind = min(found)
    return Ending(sentence[:start], kind)


def _alike(words: list[str], others: list[str]) -> bool:
    if len(others) < FEWEST_REPEATED:
        return False
    first, second = set(words), set(others)
    return len(first & second) >= ALIKE * len(first | second)


def _words(text: str) -> list[str]:
    return [word.casefold().replace("’", "'") for word in _WORDS.findall(text)]
