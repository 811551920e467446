"""Reads the policies of writing again, and the words of emotion that one of their stops counts.

A field that has no meaning for a policy's kind is refused: a `least_gain` that best of n silently ignored would be
reported as part of a condition that it was no part of.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, cast

from prompts.files import (
    PromptFileError,
    decimal_of,
    file_id,
    number_of,
    read_keys,
    switch_of,
    text_of,
    word_of,
    yaml_files,
)
from prompts.records import Policy, PolicyKind

FOLDER = Path(__file__).parent / "policies"
WORDS = Path(__file__).parent / "emotion_words.yaml"
OFF = "never"
"""The policy in force while the switch is off."""
FEWEST, MOST = 2, 9
"""Drafts of a policy that writes again; the data keeps at most nine of a reply."""
FACETS = ("draft", "critique")
"""What the `rewrite` of a critique must hold, each once, in braces."""

_COMMON = {"name", "description", "kind", "order"}
_STOPS = {"below", "most_drafts", "least_gain", "stop_when_formulaic"}
_OF_KIND = {
    PolicyKind.NEVER: set[str](),
    PolicyKind.BELOW: {*_STOPS, "guidance"},
    PolicyKind.BEST: {"most_drafts"},
    PolicyKind.CRITIQUE: {*_STOPS, "critique", "rewrite"},
}


def read_policies(folder: Path) -> dict[str, Policy]:
    """The policies that come with heard and those of `folder` (which may be absent), by id, in menu order.

    A file of the folder replaces the one of the same name. Raises PromptFileError.
    """
    paths = {path.stem: path for path in yaml_files(FOLDER)}
    if folder.is_dir():
        paths |= {path.stem: path for path in yaml_files(folder)}
    policies = [_policy(path) for path in paths.values()]
    return {policy.id: policy for policy in sorted(policies, key=lambda policy: (policy.order, policy.id))}


@cache
def emotion_words() -> frozenset[str]:
    """Words that name an emotion or what causes one, in small letters. Raises PromptFileError."""
    words = read_keys(WORDS, {"words"}).get("words")
    if not isinstance(words, list) or not all(isinstance(word, str) and word == word.lower() for word in words):
        raise PromptFileError(f"{WORDS}: words must be a list of words in small letters.")
    return frozenset(words)


def _policy(path: Path) -> Policy:
    values = read_keys(path, _COMMON.union(*_OF_KIND.values()))
    kind = PolicyKind(word_of(path, values, "kind", None, list(PolicyKind)))
    for key in values:
        if key not in _COMMON | _OF_KIND[kind]:
            raise PromptFileError(f"{path}: {key} has no meaning for the kind {kind.value}. Remove it.")
    policy = Policy(
        id=file_id(path),
        name=text_of(path, values, "name"),
        description=text_of(path, values, "description"),
        kind=kind,
        order=number_of(path, values, "order", 100, 0, 1_000_000),
    )
    if policy.id == OFF and kind is not PolicyKind.NEVER:
        raise PromptFileError(f"{path}: {OFF} is what is in force while the switch is off. Give it another name.")
    if kind is PolicyKind.NEVER:
        return policy
    policy = replace(policy, most_drafts=number_of(path, values, "most_drafts", 3, FEWEST, MOST))
    return policy if kind is PolicyKind.BEST else _by_score(path, values, policy)


def _by_score(path: Path, values: dict[str, Any], policy: Policy) -> Policy:
    below = decimal_of(path, values, "below", None, 1, 3)
    if below is None:
        raise PromptFileError(f"{path}: below is missing: the Empathy (1 to 3) under which a draft is written again.")
    guidance = word_of(path, values, "guidance", "weakest", ("weakest", "facets"))
    policy = replace(
        policy,
        below=below,
        guidance=cast(Literal["weakest", "facets"], guidance),
        least_gain=decimal_of(path, values, "least_gain", None, 0, 2),
        stop_when_formulaic=switch_of(path, values, "stop_when_formulaic", False),
    )
    if policy.kind is PolicyKind.BELOW:
        return policy
    rewrite = text_of(path, values, "rewrite").strip()
    for facet in FACETS:
        if rewrite.count(f"{{{facet}}}") != 1:
            raise PromptFileError(f"{path}: rewrite must hold {{{facet}}} exactly once.")
    critique = text_of(path, values, "critique").strip()
    if not critique:
        raise PromptFileError(f"{path}: critique is empty: say what the critic looks for.")
    return replace(policy, critique=critique, rewrite=rewrite)
