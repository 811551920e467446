"""The prompt of a language model that answers a question of a study: `item_answers.yaml`, and the question after it."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import with_config

from heard.prompts.fields import ImpliedName, NonEmpty, Tokens
from heard.prompts.files import read_record
from heard.prompts.records import Persona, Prompt, PromptMessage


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True)
class ItemInstructions:
    """`item_answers.yaml`: what the model is told, and how long its answer may be."""

    instructions: NonEmpty
    max_tokens: Tokens = 300
    sha256: ImpliedName = ""
    """Of the file, 64 hex digits."""


def read_item_instructions(path: Path) -> ItemInstructions:
    """The instructions in a file. Raises PromptFileError with every fault."""
    record = read_record(path, ItemInstructions)
    return replace(record, sha256=hashlib.sha256(path.read_bytes()).hexdigest())


def build_item_prompt(items: ItemInstructions, question: str, persona: Persona | None) -> Prompt:
    """The prompt that asks one question, of the bare model or of a persona (by its system text)."""
    system = "\n\n".join(part for part in (persona.system if persona else "", items.instructions) if part)
    return Prompt((PromptMessage("system", system), PromptMessage("user", question)), items.max_tokens)
