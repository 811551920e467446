"""What is compared: every combination of model, persona, strategy and policy over the questions."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from typing import Any, TypeVar

from heard.chat_app.comparing.questions import Question
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.records import ModelSpec
from heard.errors import UserError
from heard.hints import nearest_name
from heard.prompts.records import Persona, Policy, Strategy

Key = tuple[str, str, str, str, str]
"""Of one answer: the question's id, and the names of model, persona, strategy and policy."""

Named = TypeVar("Named")


class PlanError(UserError):
    """A combination that cannot be made; `str()` names what is not there and the nearest right name."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One answer to write."""

    question: Question
    model: ModelSpec
    persona: Persona
    strategy: Strategy
    policy: Policy

    @property
    def key(self) -> Key:
        """What the answer is kept under."""
        return (str(self.question.id), self.model.id, self.persona.id, self.strategy.id, self.policy.id)


@dataclass(frozen=True, slots=True)
class Plan:
    """A comparison as it was asked for. Files that are edited while it runs change nothing in it."""

    command: str
    """"compare" or "evaluate-policy"."""
    questions: tuple[Question, ...]
    models: tuple[ModelSpec, ...]
    personas: tuple[Persona, ...]
    strategies: tuple[Strategy, ...]
    policies: tuple[Policy, ...]

    def of_model(self, model: ModelSpec) -> Iterator[Cell]:
        """Every answer of one model, question by question: a run that is broken off has whole questions."""
        for question in self.questions:
            for persona in self.personas:
                for strategy in self.strategies:
                    for policy in self.policies:
                        yield Cell(question, model, persona, strategy, policy)

    def cells(self) -> Iterator[Cell]:
        """Every answer, model by model."""
        for model in self.models:
            yield from self.of_model(model)

    def identity(self) -> dict[str, Any]:
        """What an answer depends on, as JSON values: names with the sha256 of what they stand for.

        Two runs with the same identity may share a journal.
        """
        parts: dict[str, Any] = {"command": self.command, "questions": _digest([q.text for q in self.questions])}
        for what in ("models", "personas", "strategies", "policies"):
            parts[what] = {one.id: _digest(one) for one in getattr(self, what)}
        return parts


def chosen(what: str, names: str, known: Mapping[str, Named]) -> tuple[Named, ...]:
    """The things of a list "a,b". Raises PlanError for an unknown name, one that is there twice, or none."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if not wanted:
        raise PlanError(f"Name at least one {what}. There are: {', '.join(known)}.")
    for name in wanted:
        if name not in known:
            raise PlanError(f'No {what} "{name}". {nearest_name(name, known)}')
        if wanted.count(name) > 1:
            raise PlanError(f'The {what} "{name}" is named twice. Name it once.')
    return tuple(known[name] for name in wanted)


def first_persona(services: Services) -> str:
    """The name of the persona that a new visitor gets."""
    return next(iter(services.library.personas))


def _digest(value: Any) -> str:
    plain = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    return hashlib.sha256(json.dumps(plain, sort_keys=True, default=str).encode()).hexdigest()
