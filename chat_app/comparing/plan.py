"""The plan of a comparison: every combination of model, persona, strategy and policy over the questions."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from enum import StrEnum
from typing import Any, TypeVar

from heard.chat_app.comparing.human_answers import HumanAnswer
from heard.chat_app.comparing.questions import Question
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.records import ModelSpec
from heard.chat_app.studies.item_drafts import HUMAN
from heard.errors import UserError
from heard.hints import nearest_name
from heard.prompts.example_files import Example
from heard.prompts.records import Persona, Policy, Strategy

AnswerKey = tuple[str, str, str, str, str]
"""Key of one answer: the question's id, and the names of model, persona, strategy and policy. Of a human answer, HUMAN
in the model's place, no persona and strategy, and a digest of its text."""

WITHOUT_EXAMPLES = " without examples"
"""Ends the name of a persona that is tried without its examples; no file's name can have a space."""

Named = TypeVar("Named")


class WithExamples(StrEnum):
    """Whether the personas' examples go before the questions."""

    ON = "on"
    OFF = "off"
    BOTH = "both"
    """Each persona that has examples is tried with and without them."""


class PlanError(UserError):
    """A combination that does not exist; `str()` names what is missing and the nearest right name."""


@dataclass(frozen=True, slots=True)
class PlannedAnswer:
    """One answer to generate."""

    question: Question
    model: ModelSpec
    persona: Persona
    strategy: Strategy
    policy: Policy

    @property
    def key(self) -> AnswerKey:
        """The answer's key in the journal."""
        return (str(self.question.id), self.model.id, self.persona.id, self.strategy.id, self.policy.id)


@dataclass(frozen=True, slots=True)
class Plan:
    """A comparison as requested. Files that are edited while it runs change nothing in it."""

    command: str
    """"compare" or "evaluate-policy"."""
    questions: tuple[Question, ...]
    models: tuple[ModelSpec, ...]
    personas: tuple[Persona, ...]
    strategies: tuple[Strategy, ...]
    policies: tuple[Policy, ...]
    examples: Mapping[str, tuple[Example, ...]]
    """The files of examples, by name."""
    raters: Mapping[str, str] = field(default_factory=dict)
    """sha256 by name of the rater in the scorer's place; empty for heard's own heads."""
    human: tuple[HumanAnswer, ...] = ()
    """Human answers to the questions. They may be added, edited or left out later: no other answer depends on them."""

    def __post_init__(self) -> None:
        """Raise PlanError if a model has the name of the human answers' source."""
        if self.human and any(model.id == HUMAN for model in self.models):
            raise PlanError(f'A model is named "{HUMAN}", as the human answers are. Rename it in models.toml.')

    def answers_of_model(self, model: ModelSpec) -> Iterator[PlannedAnswer]:
        """Yield the answers of one model, question by question, so that an interrupted run has complete questions."""
        for question in self.questions:
            for persona in self.personas:
                for strategy in self.strategies:
                    for policy in self.policies:
                        yield PlannedAnswer(question, model, persona, strategy, policy)

    def planned_answers(self) -> Iterator[PlannedAnswer]:
        """Yield every answer, model by model."""
        for model in self.models:
            yield from self.answers_of_model(model)

    def identity(self) -> dict[str, Any]:
        """Return all that an answer depends on, as JSON values: names with the sha256 of their content.

        Two runs with the same identity may share a journal.
        """
        parts: dict[str, Any] = {"command": self.command, "questions": content_digest([q.text for q in self.questions])}
        for what in ("models", "personas", "strategies", "policies"):
            parts[what] = {one.id: content_digest(one) for one in getattr(self, what)}
        used = sorted({persona.examples_of for persona in self.personas if persona.examples})
        parts["examples"] = {name: content_digest([asdict(one) for one in self.examples[name]]) for name in used}
        parts["raters"] = dict(self.raters)
        return parts


def resolve_names(what: str, names: str, available: Mapping[str, Named]) -> tuple[Named, ...]:
    """Return the values of a list of names "a,b". Raises PlanError for an unknown or repeated name, or none."""
    requested = [name.strip() for name in names.split(",") if name.strip()]
    if not requested:
        raise PlanError(f"Name at least one {what}. There are: {', '.join(available)}.")
    for name in requested:
        if name not in available:
            raise PlanError(f'No {what} "{name}". {nearest_name(name, available)}')
        if requested.count(name) > 1:
            raise PlanError(f'The {what} "{name}" is named twice. Name it once.')
    return tuple(available[name] for name in requested)


def content_digest(value: Any) -> str:
    """Return the sha256 of a record, or of JSON values."""
    plain = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    return hashlib.sha256(json.dumps(plain, sort_keys=True, default=str).encode()).hexdigest()


def examples_wanted(value: str) -> WithExamples:
    """Return the value of `--examples`. Raises PlanError for any other."""
    if value not in list(WithExamples):
        raise PlanError(f'--examples has no value "{value}". {nearest_name(value, list(WithExamples))}')
    return WithExamples(value)


def with_examples(personas: Iterable[Persona], wanted: WithExamples) -> tuple[Persona, ...]:
    """Return the personas as they are to be tried; one that has no examples is tried once, whatever is wanted."""
    found: list[Persona] = []
    for persona in personas:
        without = replace(persona, id=f"{persona.id}{WITHOUT_EXAMPLES}", examples=0)
        variants = {WithExamples.ON: [persona], WithExamples.OFF: [without], WithExamples.BOTH: [persona, without]}
        found += variants[wanted] if persona.examples else [persona]
    return tuple(found)


def raters_of(services: Services) -> dict[str, str]:
    """Return the rater in the scorer's place, by name with the sha256 of all that it rates by; empty without one."""
    if services.rater is None:
        return {}
    label = services.rater.score("", "")
    return {label.head_name: content_digest([label.head_sha256, label.encoder_sha256])}


def default_persona(services: Services) -> str:
    """Return the name of the persona that a new visitor gets."""
    return next(iter(services.library.personas))
