"""The check-in: how its one question is put, and how its answer is read."""

from enum import Enum, auto
from functools import cache

from heard.chat_app.safety.owned_patterns import NamedPatterns
from heard.prompts.safety_files import load_lexicon
from heard.prompts.safety_turn_files import CheckIn, in_language, load_check_in
from heard.prompts.variables import fill

LONGEST = 600
"""Characters of an answer that are read."""


class Answer(Enum):
    """What a message says to the question."""

    YES = auto()
    """Also where it is left open: a hand-off too many costs a moment."""
    NO = auto()
    NONE = auto()
    """It speaks of something else."""


@cache
def check_ins() -> dict[str, CheckIn]:
    """Return the check-in by language, read once. Raises PromptFileError."""
    return load_check_in()


def prepare() -> None:
    """Read the check-in and compile its patterns. Raises PromptFileError or PatternError."""
    for language in check_ins():
        _patterns(language)


def question_text(language: str | None, numbers: str) -> str:
    """Return the question with the words around it, as Markdown."""
    texts = in_language(check_ins(), language)
    return "\n\n".join((texts.before, f"**{texts.question}**", fill(texts.after, {"numbers": numbers})))


def read_answer(text: str) -> Answer:
    """Return what a message says to the question. Never raises on any str."""
    found = {name for language in check_ins() for name in _patterns(language).found(text[:LONGEST])}
    if "affirmed" in found or "unsure" in found:
        return Answer.YES
    return Answer.NO if "denied" in found else Answer.NONE


@cache
def _patterns(language: str) -> NamedPatterns:
    texts = check_ins()[language]
    names = ("affirmed", "unsure", "denied")
    groups = {name: (getattr(texts.patterns, name), getattr(texts.safe, name)) for name in names}
    return NamedPatterns(groups, macros={}, rewrites=load_lexicon(language).rewrites)
