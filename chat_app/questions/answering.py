"""One answer to one item: what is given, checked, as the text that is stored.

Stored are an option's value, several of them in the order of the file with ";" between, a number in its shortest form,
or free text. An item that was shown and left empty is stored as None; one that was not shown is not stored at all.
"""

import math
from collections.abc import Sequence

from heard.chat_app.questions.branching import SEPARATOR, as_number
from heard.chat_app.questions.question_file import Item, QuestionFile, range_of, values_of
from heard.sentences import Sentence, sentence

NOT_THERE = sentence("Please choose one of the answers that are there.")
NO_NUMBER = sentence("Please write a number in digits.")
MISSING = {
    "single": sentence("Please choose an answer."),
    "attention": sentence("Please choose an answer."),
    "likert": sentence("Please choose an answer."),
    "multiple": sentence("Please tick at least one."),
    "slider": sentence("Please move the slider, or tick that it stands where you want it."),
    "number": sentence("Please write a number."),
    "text": sentence("Please write something."),
}
_NEAR = 1e-9
"""How far from a multiple of its step a number may be, in steps."""


class AnswerProblem(Exception):
    """An answer that is not taken; `str()` is the sentence for the person."""


def read_answer(file: QuestionFile, item: Item, given: Sequence[str]) -> str | None:
    """Return what is stored for an answer; None for an item left empty. `given` are the values of its field.

    Raises AnswerProblem for a missing answer that is required, or one that the item does not have.
    """
    filled = [text.strip() for text in given if text.strip()]
    if not filled:
        if item.required:
            raise AnswerProblem(MISSING[item.kind])
        return None
    if item.kind == "text":
        text = "\n".join(filled)
        if len(text) > item.longest:
            raise AnswerProblem(
                sentence(
                    "This has {length:,} characters, and {most:,} fit. Please shorten it.",
                    length=len(text),
                    most=item.longest,
                )
            )
        return text
    if item.kind in ("number", "slider"):
        return _number(file, item, filled[-1])
    known = values_of(file, item)
    if set(filled) - set(known):
        raise AnswerProblem(NOT_THERE)
    if item.kind == "multiple":
        return SEPARATOR.join(value for value in known if value in filled)
    if len(set(filled)) > 1:
        raise AnswerProblem(NOT_THERE)
    return filled[0]


def _number(file: QuestionFile, item: Item, text: str) -> str:
    number = as_number(text.replace(",", ".")) if len(text) <= 20 else None
    if number is None:
        raise AnswerProblem(NO_NUMBER)
    low, high = bounds(file, item)
    if (low is not None and number < low) or (high is not None and number > high):
        raise AnswerProblem(_between(low, high))
    steps = (number - (low or 0)) / item.step
    if abs(steps - round(steps)) > _NEAR * max(1.0, abs(steps)):
        if item.step == 1:
            raise AnswerProblem(sentence("Please give a whole number."))
        raise AnswerProblem(sentence("Please give a multiple of {step}.", step=shortest(item.step)))
    return shortest(number)


def bounds(file: QuestionFile, item: Item) -> tuple[float | None, float | None]:
    """Return the lowest and the highest answer of an item with numbers; None where there is no bound."""
    answers = range_of(file, item)
    return (answers.min, answers.max) if answers else (item.min, item.max)


def shortest(number: float) -> str:
    """Return a number as text without a needless point: 5, 2.5."""
    return str(int(number)) if number == math.floor(number) and abs(number) < 1e15 else repr(number)


def _between(low: float | None, high: float | None) -> Sentence:
    if low is not None and high is not None:
        return sentence("Please give a number from {low} to {high}.", low=shortest(low), high=shortest(high))
    if low is not None:
        return sentence("Please give a number of at least {low}.", low=shortest(low))
    return sentence("Please give a number of at most {high}.", high=shortest(high or 0.0))
