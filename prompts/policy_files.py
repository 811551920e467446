"""Reads the policies of writing again, and the words of emotion that one of their stops counts.

A field that has no meaning for a policy's kind is refused: a `least_gain` that best of n silently ignored would be
reported as part of a condition that it was no part of.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import StringConstraints, with_config

from heard.prompts.files import read_record
from heard.prompts.records import Policy, PolicyKind
from heard.validation import Fault

EMOTION_WORDS = Path(__file__).parent / "emotion_words.yaml"
OFF = "never"
"""The policy in force while the switch is off."""

_BY_SCORE = {"watches", "below", "most_drafts", "least_gain", "stop_when_formulaic"}
_FIELDS = {
    PolicyKind.NEVER: set[str](),
    PolicyKind.BELOW: {*_BY_SCORE, "guidance"},
    PolicyKind.BEST: {"most_drafts", "watches"},
    PolicyKind.CRITIQUE: {*_BY_SCORE, "critique", "rewrite"},
}
"""What each kind has beside the fields of all."""
_REQUIRED = {"below", "critique", "rewrite"}
"""Of the kinds that have them."""


def read_policy(path: Path) -> Policy:
    """The policy of a file. Raises PromptFileError with every fault."""
    policy = replace(read_record(path, Policy, partial(_faults_of_kind, path.stem)), id=path.stem)
    return replace(policy, most_drafts=1) if policy.kind is PolicyKind.NEVER else policy


def _faults_of_kind(name: str, values: Mapping[str, Any]) -> Iterator[Fault]:
    """Fields that the policy's kind does not have, and those that it must have."""
    kind = values.get("kind")
    if kind not in list(PolicyKind):
        return
    if name == OFF and kind != PolicyKind.NEVER:
        yield Fault(("kind",), f"{OFF} is what is in force while the switch is off. Give the file another name.")
    fields = _FIELDS[PolicyKind(kind)]
    for field in sorted(set.union(*_FIELDS.values()) - fields & values.keys()):
        yield Fault((field,), f"{field} has no meaning for the kind {kind}. Remove it.")
    for field in sorted(fields & _REQUIRED - values.keys()):
        yield Fault((field,), f"{field} is missing, which the kind {kind} needs.")


@with_config(extra="forbid")
@dataclass(frozen=True, slots=True)
class _WordList:
    words: frozenset[Annotated[str, StringConstraints(to_lower=True)]]


@cache
def emotion_words() -> frozenset[str]:
    """Words that name an emotion or what causes one, in small letters. Raises PromptFileError."""
    return read_record(EMOTION_WORDS, _WordList).words
