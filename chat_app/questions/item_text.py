"""An item as plain text for a language model, and its answer read back: strictly, or refused."""

from heard.chat_app.questions.answering import AnswerProblem, bounds, read_answer
from heard.chat_app.questions.branching import SEPARATOR
from heard.chat_app.questions.question_file import Item, QuestionFile, range_of

_QUOTES = "\"'`“”‘’*"
"""What many models put round an answer whatever they are told."""


def as_text(file: QuestionFile, page_text: str, item: Item) -> str:
    """Return the question with the answers that it may have; `page_text` stands above the items of its page."""
    parts = [page_text.strip(), item.text, item.help, how_to_answer(file, item)]
    return "\n\n".join(part for part in parts if part)


def how_to_answer(file: QuestionFile, item: Item) -> str:
    """Return the line, or lines, that say which answers there are and how to write one."""
    lines = [f"{value} = {label}" for value, label in choices(file, item).items()]
    if item.kind == "multiple":
        return "\n".join(["Answer with all words before the = that fit, with ; between them:", *lines])
    if lines:
        what = "number" if range_of(file, item) else "word"
        return "\n".join([f"Answer with the one {what} before the = that fits:", *lines])
    if item.kind == "text":
        return f"Answer in your own words, in at most {item.longest} characters."
    low, high = bounds(file, item)
    answers = range_of(file, item)
    ends = f" ({low:g} = {answers.labels[0]}, {high:g} = {answers.labels[1]})" if answers and answers.labels else ""
    reach = [f"from {low:g}" if low is not None else "", f"to {high:g}" if high is not None else ""]
    return f"Answer with one number {' '.join(part for part in reach if part)}{ends}.".replace(" .", ".")


def choices(file: QuestionFile, item: Item) -> dict[str, str]:
    """Return the stored answers of an item that lists them, with what each means; {} for all others."""
    answers = range_of(file, item)
    if item.kind == "slider" or (not answers and not item.options):
        return {}
    if not answers:
        return {option.value: option.label for option in item.options}
    points = range(answers.min, answers.max + 1)
    if len(answers.labels) == len(points):
        return {str(point): label for point, label in zip(points, answers.labels, strict=True)}
    ends = dict(zip((answers.min, answers.max), answers.labels, strict=False))
    return {str(point): ends.get(point, "between") for point in points}


def read_text_answer(file: QuestionFile, item: Item, answer: str) -> str:
    """Return what is stored for a model's whole answer.

    It must be the answer and nothing else: quotation marks, a full stop behind it and a whole line as it was shown
    ("3 = partly") are taken for it. Raises AnswerProblem for anything else, and for an empty one.
    """
    text = answer.strip()
    if item.kind != "text":
        text = text.strip(_QUOTES).removesuffix(".").strip(_QUOTES).strip()
    known = {value.casefold(): value for value in choices(file, item)}
    known |= {f"{value} = {label}".casefold(): value for value, label in choices(file, item).items()}
    parts = text.split(SEPARATOR) if item.kind == "multiple" else [text]
    given = [known.get(part.strip().casefold(), part.strip()) for part in parts if part.strip()]
    stored = read_answer(file, item, given)
    if stored is None:
        raise AnswerProblem("It is empty.")
    return stored
