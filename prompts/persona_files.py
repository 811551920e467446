"""One persona from its file; the fields are in docs/prompts.md."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import Field, Strict, StrictBool, with_config

from heard.prompts.example_files import DEFAULT_EXAMPLES, MAX_EXAMPLES
from heard.prompts.fields import MAX_TOKENS, NonEmpty, Order, Tokens, exactly_once, only_variables
from heard.prompts.files import PromptFileError, read_record
from heard.prompts.pictures import PictureName
from heard.prompts.records import Persona, Starter
from heard.prompts.system_prompt import Traits, compose_system_prompt
from heard.prompts.variables import fill

WORD, MESSAGE = "persona_word", "prompt"
"""The variables of a persona's texts; the second stands in `user_template` alone."""
PersonaText = Annotated[str, only_variables(WORD)]


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaFile:
    """The fields of a persona's file, as they are written."""

    name: PersonaText
    description: PersonaText
    system: PersonaText = ""
    voice: PersonaText = ""
    background: PersonaText = ""
    traits: Traits = field(default_factory=Traits)
    language: PersonaText = ""
    culture: PersonaText = ""
    user_template: Annotated[str, only_variables(WORD, MESSAGE), exactly_once(MESSAGE)] = "{prompt}"
    max_tokens: Tokens = MAX_TOKENS
    order: Order = 100
    greeting: PersonaText = ""
    starters: tuple[Starter, ...] = ()
    persona_word: NonEmpty = ""
    trim: StrictBool = True
    examples: Annotated[int, Field(ge=0, le=MAX_EXAMPLES), Strict()] | None = None
    examples_of: NonEmpty = ""
    picture: PictureName = ""


def read_persona(path: Path, word: str) -> Persona:
    """The persona of a file. `word` stands for `{persona_word}` in every text, unless the file has a word of its own.

    Raises PromptFileError with every fault.
    """
    file = read_record(path, PersonaFile)
    words = {WORD: file.persona_word or word}
    system = compose_system_prompt(file.system, file.voice, file.background, file.traits, file.language, file.culture)
    if not system and file.user_template == "{prompt}":
        raise PromptFileError(f"{path}: give a system text or a user_template; with neither there is no persona.")
    return Persona(
        id=path.stem,
        name=fill(file.name, words),
        description=fill(file.description, words),
        system=fill(system, words),
        user_template=fill(file.user_template, words),
        max_tokens=file.max_tokens,
        order=file.order,
        starters=file.starters,
        greeting=fill(file.greeting, words).strip(),
        trim=file.trim,
        examples=(DEFAULT_EXAMPLES if file.examples_of else 0) if file.examples is None else file.examples,
        examples_of=file.examples_of or path.stem,
        picture=file.picture,
    )
