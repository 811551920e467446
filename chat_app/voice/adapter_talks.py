"""What an adapter learns from: written talks, each after its persona's own prompt, packed into sequences of tokens.

The talks of one sequence share the persona's prompt at its beginning and do not see each other, so that the prompt is
read once for all of them.
"""

import hashlib
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError, with_config
from pydantic.dataclasses import dataclass as checked

from heard.errors import UserError
from heard.prompts.build import build_prompt
from heard.prompts.example_files import Line
from heard.prompts.library import PromptLibrary
from heard.validation import faults_of

TALKS = Path(__file__).parent / "talks.jsonl"
"""Talks with the listener in plain words, which a small model can learn. No prompt shows them."""
MARK = "<|im_start|>"
"""Of ChatML, the only form of a talk that is packed."""
SEQUENCE = 640
"""Tokens of one sequence."""
SEED = 0
HELD_OUT = 8
"""Talks of each persona that are kept apart, to tell what is learnt from what is known by heart."""

Encode = Callable[[str], list[int]]


class TalksError(UserError):
    """A file of talks that cannot be used; `str()` names the file and the line, and no word of it."""


@with_config(extra="ignore")
@checked(frozen=True)
class _Turn:
    said: Line
    reply: Line


@with_config(extra="ignore")
@checked(frozen=True)
class _Row:
    turns: Annotated[list[_Turn], Field(min_length=1)]
    persona: str = "listener"


_ROW = TypeAdapter(_Row)


@dataclass(frozen=True, slots=True)
class Talk:
    """What an invented person said and how it was answered."""

    persona: str
    exchanges: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Sequenced:
    """Some talks with one persona, as a model reads them: lists of one length."""

    tokens: list[int]
    positions: list[int]
    """Of each token in its own talk, as if it stood alone after the prompt."""
    talks: list[int]
    """The number of each token's talk from 1; 0 is the prompt, which all see."""
    replies: list[bool]
    """Whether a token is to be learnt: of a reply, or its end."""


def read_talks(path: Path) -> list[Talk]:
    """Talks of JSON lines {"turns": [{"said": ..., "reply": ...}], "persona": ...}. Raises TalksError."""
    try:
        rows = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TalksError(f"{path} cannot be read as UTF-8 text. Check the path and the file.") from error
    talks = []
    for number, row in enumerate(rows, 1):
        if not row.strip():
            continue
        try:
            found = _ROW.validate_json(row)
        except ValidationError as error:
            fault = faults_of(error, _ROW.json_schema(), quote=False)[0]
            raise TalksError(f"{path}, line {number}: {fault.sentence}") from None
        talks.append(Talk(found.persona, tuple((turn.said, turn.reply) for turn in found.turns)))
    if not talks:
        raise TalksError(f"{path} holds no talks. Give JSON lines with turns.")
    return talks


def systems_of(library: PromptLibrary, talks: Sequence[Talk]) -> dict[str, str]:
    """The system text of each persona of the talks, as the chat sends it. Raises TalksError for an unknown persona."""
    found = {}
    for name in dict.fromkeys(talk.persona for talk in talks):
        if name not in library.personas:
            raise TalksError(f'The talks name the persona "{name}", which there is not: {", ".join(library.personas)}.')
        prompt = build_prompt(library.personas[name], library.strategies["plain"], [], "")
        found[name] = "\n\n".join(message.content for message in prompt.messages if message.role == "system")
    return found


def sequences(systems: dict[str, str], talks: Sequence[Talk], encode: Encode) -> Iterator[Sequenced]:
    """Pack talks, in their order, by persona; `encode` gives the tokens of a text with its chat marks as such."""
    for persona, system in systems.items():
        prompt = encode(f"<|im_start|>system\n{system}<|im_end|>\n")
        kept = Sequenced(list(prompt), list(range(len(prompt))), [0] * len(prompt), [False] * len(prompt))
        number = 0
        for talk in (talk for talk in talks if talk.persona == persona):
            tokens, replies = _read(talk, encode)
            if number and len(kept.tokens) + len(tokens) > SEQUENCE:
                yield kept
                kept = Sequenced(list(prompt), list(range(len(prompt))), [0] * len(prompt), [False] * len(prompt))
                number = 0
            number += 1
            kept.tokens.extend(tokens)
            kept.positions.extend(range(len(prompt), len(prompt) + len(tokens)))
            kept.talks.extend([number] * len(tokens))
            kept.replies.extend(replies)
        if number:
            yield kept


def _read(talk: Talk, encode: Encode) -> tuple[list[int], list[bool]]:
    """The tokens of a talk, and which of them are of its replies."""
    tokens, replies = list[int](), list[bool]()
    for place, (said, reply) in enumerate(talk.exchanges):
        asked = encode(("\n" if place else "") + f"<|im_start|>user\n{said}<|im_end|>\n<|im_start|>assistant\n")
        answered = encode(f"{reply}<|im_end|>")
        tokens += asked + answered
        replies += [False] * len(asked) + [True] * len(answered)
    return tokens, replies


def in_two(talks: Sequence[Talk], chance: random.Random) -> tuple[list[Talk], list[Talk]]:
    """In an order of chance those to learn from, and HELD_OUT of each persona kept apart."""
    learnt, kept = list[Talk](), list[Talk]()
    for persona in dict.fromkeys(talk.persona for talk in talks):
        own = [talk for talk in talks if talk.persona == persona]
        chance.shuffle(own)
        kept += own[:HELD_OUT]
        learnt += own[HELD_OUT:]
    return learnt, kept


def fingerprint(talks: Sequence[Talk]) -> str:
    """What tells one set of talks from another."""
    return hashlib.sha256(json.dumps([(talk.persona, talk.exchanges) for talk in talks]).encode()).hexdigest()
