"""The prompt of a language model that rates replies: `judge.yaml`, and the exchange as JSON behind it."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import with_config

from heard.prompts.fields import ImpliedName, NonEmpty, Tokens
from heard.prompts.files import read_record
from heard.prompts.records import Prompt, PromptMessage


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True)
class JudgeInstructions:
    """`judge.yaml`: what the model is told, and how long its answer may be."""

    instructions: NonEmpty
    max_tokens: Tokens = 120
    sha256: ImpliedName = ""
    """Of the file, 64 hex digits."""


def read_judge(path: Path) -> JudgeInstructions:
    """The instructions in a file. Raises PromptFileError with every fault."""
    record = read_record(path, JudgeInstructions)
    return replace(record, sha256=hashlib.sha256(path.read_bytes()).hexdigest())


def build_judge_prompt(judge: JudgeInstructions, seeker: str, reply: str, earlier: Sequence[str] = ()) -> Prompt:
    """The prompt that has `reply` rated, the answer to `seeker`; `earlier` came before it, the newest last.

    The texts are values of one JSON object, so that none of them can end before its end.
    """
    exchange = json.dumps({"earlier": list(earlier), "message": seeker, "reply": reply}, ensure_ascii=False)
    return Prompt((PromptMessage("system", judge.instructions), PromptMessage("user", exchange)), judge.max_tokens)
