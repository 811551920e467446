"""The prompt of a running summary: what was summed up before, and the turns that have since fallen out."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heard.prompts.history import Counter, Exchange, most_tokens, prompt_tokens
from heard.prompts.prompt_file import PromptFile
from heard.prompts.records import Prompt, PromptMessage

FILE = "summary.yaml"
SHORTEST = 40
"""Characters that are left of an over-long text at least."""


@dataclass(frozen=True, slots=True)
class SummaryInstructions:
    """`summary.yaml`: what the model is told, and how long a summary may be."""

    instructions: str
    max_tokens: int


def read_summary_instructions(folder: Path) -> tuple[SummaryInstructions, list[str]]:
    """`summary.yaml` in `folder`, or without one there the one that comes with heard; and its faults."""
    path = folder / FILE
    file = PromptFile(path if path.exists() else Path(__file__).with_name(FILE), ("instructions", "max_tokens"))
    return SummaryInstructions(file.text("instructions").strip(), file.number("max_tokens", 160, 16, 640)), file.faults


def build_summary_prompt(
    told: SummaryInstructions, summary: str | None, turns: Sequence[Exchange], *, context_tokens: int, count: Counter
) -> tuple[Prompt, int]:
    """The prompt that sums up the oldest of `turns`, and how many of them it holds: as many as fit, one at least.

    `summary` is that of the turns before them. A single turn that does not fit is shortened at its end.
    """

    def messages(shown: Sequence[Exchange]) -> list[PromptMessage]:
        parts = [f"Summary so far:\n{summary}"] if summary else []
        parts += [f"Person: {message}\nListener: {reply}" for message, reply in shown]
        return [PromptMessage("system", told.instructions), PromptMessage("user", "\n\n".join(parts))]

    def fits(shown: Sequence[Exchange]) -> bool:
        made = messages(shown)
        return most_tokens(message.content for message in made) <= room or prompt_tokens(made, count) <= room

    room = context_tokens - told.max_tokens
    number = len(turns)
    while number > 1 and not fits(turns[:number]):
        number -= max(1, number // 8)
    shown = list(turns[:number])
    while not fits(shown) and max(map(len, shown[0])) > SHORTEST:
        message, reply = shown[0]
        longest = max(len(message), len(reply)) // 2
        shown = [(message[:longest], reply[:longest])]
    return Prompt(tuple(messages(shown)), told.max_tokens), number
