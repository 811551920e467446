"""Reads `bot_answers.yaml`, the answers to questions about the bot, and `bot_questions.yaml`, how these are read."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints, with_config

from heard.prompts.fields import NonEmpty, only_variables, validated
from heard.prompts.files import read_record
from heard.prompts.variables import fill

BOT_QUESTIONS = Path(__file__).parent / "bot_questions.yaml"
VARIABLES = ("name", "model", "operator", "readers", "research", "stored")
"""Variables of an answer: the persona's name, and what the facts say."""
DEFAULT = "default"
"""Of an intent's texts the one for every persona without its own."""

Question = Annotated[NonEmpty, Field(max_length=200)]
Word = Annotated[str, StringConstraints(pattern=r"[a-z0-9' ]+")]
Words = frozenset[Word]
AnswerText = Annotated[NonEmpty, only_variables(*VARIABLES)]
OperatorText = Annotated[NonEmpty, only_variables("operator")]


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What `{model}` says."""

    here: Annotated[NonEmpty, only_variables("label")]
    """Of a model that runs on the site's own computer, with its label."""
    elsewhere: Annotated[NonEmpty, only_variables("label")]
    told_later: Annotated[NonEmpty, only_variables()]
    """In a blind study that tells the sources after the vote."""
    untold: Annotated[NonEmpty, only_variables()]
    """In a blind study that does not."""


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderFacts:
    """What `{readers}` says, by where the model runs; `blind` where that is not told, or where research looks on."""

    here: OperatorText
    elsewhere: OperatorText
    blind: OperatorText


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class ResearchFacts:
    """What `{research}` says, by the person's answer to the notice."""

    allowed: Annotated[NonEmpty, only_variables()]
    refused: Annotated[NonEmpty, only_variables()]


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the variables of the answers say, by how the site is set up."""

    model: ModelFacts
    operator: Annotated[NonEmpty, only_variables()]
    """What `{operator}` says where the setting of that name is empty."""
    readers: ReaderFacts
    research: ResearchFacts
    stored: Annotated[NonEmpty, only_variables()]


def _with_default(texts: Mapping[str, str]) -> Mapping[str, str]:
    faults = [] if DEFAULT in texts else [f'has no "{DEFAULT}", the text for every persona without its own']
    return validated(texts, faults)


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """One thing that people ask about the bot."""

    texts: Annotated[Mapping[str, AnswerText], AfterValidator(_with_default)]
    """The answer by persona id, and under DEFAULT for the others."""
    phrasings: Annotated[tuple[Question, ...], Field(min_length=1)]
    """The question as people word it; any other wording is compared with these."""


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class BotAnswers:
    """All of `bot_answers.yaml`."""

    facts: Facts
    intents: Annotated[
        Mapping[Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")], Intent], Field(min_length=1)
    ]


NO_ANSWERS = BotAnswers(
    facts=Facts(
        model=ModelFacts(here="", elsewhere="", told_later="", untold=""),
        operator="",
        readers=ReaderFacts(here="", elsewhere="", blind=""),
        research=ResearchFacts(allowed="", refused=""),
        stored="",
    ),
    intents={},
)
"""What holds before a file is read."""


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class BotQuestionWords:
    """All of `bot_questions.yaml`: words in small letters."""

    spellings: Mapping[Word, Word]
    """What people write for short, and other spellings, to the one that is matched."""
    leads: tuple[Word, ...]
    """What may stand before a question and changes nothing in it."""
    trails: tuple[Word, ...]
    """What may stand after it."""
    others_named: Words
    """What has one of these is about somebody else."""
    question_words: Words
    bot_words: Words
    topics: Words
    people: Words
    own_words: Words
    others: tuple[Question, ...]
    """Messages for the model that are worded like questions about the bot."""


@cache
def bot_question_words() -> BotQuestionWords:
    """The words by which questions about the bot are read, those that come with heard. Raises PromptFileError."""
    return read_record(BOT_QUESTIONS, BotQuestionWords)


def read_bot_answers(path: Path) -> BotAnswers:
    """The answers of a file. Raises PromptFileError with every fault."""
    return read_record(path, BotAnswers)


def answer_text(answers: BotAnswers, intents: Iterable[str], persona_id: str, values: Mapping[str, str]) -> str:
    """Return the answer to questions of these `intents`, a paragraph each; `values` are those of VARIABLES."""

    def paragraphs() -> Iterator[str]:
        for intent in intents:
            texts = answers.intents[intent].texts
            yield " ".join(fill(texts.get(persona_id, texts[DEFAULT]), values).split())

    return "\n\n".join(paragraphs())
