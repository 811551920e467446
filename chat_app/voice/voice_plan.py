"""What one run depends on: the messages, and everything that decides the replies."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from heard.chat_app.comparing.plan import content_digest, default_persona, resolve_names
from heard.chat_app.conversation.rewriting import policy_in_force
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.records import ModelSpec
from heard.chat_app.voice.messages import Conversation
from heard.prompts.library import BUILT_IN
from heard.prompts.records import Persona, Strategy

SEED = 2026
"""Of the first message's first draft; every further message of the set has one of its own, the same in every run."""
SEEDS_APART = 100
"""Between two messages: more than an answer has drafts, each of which may take the next seed."""


@dataclass(frozen=True, slots=True)
class VoicePlan:
    """A run as requested."""

    conversations: tuple[Conversation, ...]
    model: ModelSpec
    """Without a fallback: the replies would be judged under the wrong model's name."""
    persona: Persona
    strategy: Strategy
    identity: dict[str, Any]
    """All that the replies depend on, as JSON values: names with the sha256 of their content."""
    seeds: dict[str, int]
    """By the message's name."""


def plan_run(
    services: Services, conversations: Sequence[Conversation], model: str = "", persona: str = "", strategy: str = ""
) -> VoicePlan:
    """Return the plan for these names; "" is what a new visitor gets. Raises PlanError for an unknown name."""
    settings, library = services.settings, services.library
    (spec,) = resolve_names("model", model or settings.default_model, services.models.specs)
    (chosen,) = resolve_names("persona", persona or default_persona(services), library.personas)
    (way,) = resolve_names("strategy", strategy or settings.default_strategy, library.strategies)
    policy = policy_in_force(services, settings.auto_improve, settings.auto_improve_threshold)
    names = [name for one in conversations for name in one.names]
    identity = {
        "command": "evaluate-voice",
        "messages": content_digest([one.turns for one in conversations]),
        "models": {spec.id: content_digest(replace(spec, fallback=None))},
        "personas": {chosen.id: content_digest(chosen)},
        "strategies": {way.id: content_digest(way)},
        "policies": {policy.id: content_digest(policy)},
        "prompts": _files_digest(BUILT_IN, settings.prompts_dir),
        "heads": {services.scorer.head.name: services.scorer.head.file.weights_sha256},
        "guards": {"reply": "on" if services.guard is not None else "off"},
        "seeds": {"first": str(spec.seed if spec.seed is not None else SEED)},
    }
    first = spec.seed if spec.seed is not None else SEED
    seeds = {name: first + SEEDS_APART * number for number, name in enumerate(names)}
    return VoicePlan(tuple(conversations), replace(spec, fallback=None), chosen, way, identity, seeds)


def _files_digest(*folders: Path | None) -> str:
    """Return the sha256 of all prompt files in these folders: the guard's and the crisis check's are among them."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.yaml")) if folder is not None else ():
            content = path.read_bytes()
            digest.update(f"{path.name}\0{len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()
