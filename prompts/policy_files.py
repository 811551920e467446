"""Reads the policies of writing again, and the words of emotion that one of their stops counts.

A field that has no meaning for a policy's kind is refused: a `least_gain` that best of n silently ignored would be
reported as part of a condition that it was no part of.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal, cast

from heard.prompts.files import PromptFileError, read_keys, yaml_files
from heard.prompts.prompt_file import PromptFile
from heard.prompts.records import Policy, PolicyKind

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

    A file of the folder replaces the one of the same name. Raises PromptFileError with every fault of every file.
    """
    paths = {path.stem: path for path in yaml_files(FOLDER)}
    if folder.is_dir():
        paths |= {path.stem: path for path in yaml_files(folder)}
    read = [_policy(path) for path in paths.values()]
    faults = [fault for _, wrong in read for fault in wrong]
    if faults:
        raise PromptFileError(*faults)
    policies = sorted((policy for policy, _ in read), key=lambda policy: (policy.order, policy.id))
    return {policy.id: policy for policy in policies}


@cache
def emotion_words() -> frozenset[str]:
    """Words that name an emotion or what causes one, in small letters. Raises PromptFileError."""
    words = read_keys(WORDS, {"words"}).get("words")
    if not isinstance(words, list) or not all(isinstance(word, str) and word == word.lower() for word in words):
        raise PromptFileError(f"{WORDS}: words must be a list of words in small letters.")
    return frozenset(words)


def _policy(path: Path) -> tuple[Policy, list[str]]:
    file = PromptFile(path, _COMMON.union(*_OF_KIND.values()))
    word = file.word("kind", None, list(PolicyKind))
    kind = PolicyKind(word) if word else PolicyKind.NEVER
    if word:
        for key in file.values.keys() & _COMMON.union(*_OF_KIND.values()) - _COMMON - _OF_KIND[kind]:
            file.fault(f"{key} has no meaning for the kind {kind.value}. Remove it.")
    policy = Policy(
        id=file.id,
        name=file.text("name"),
        description=file.text("description"),
        kind=kind,
        order=file.number("order", 100, 0, 1_000_000),
    )
    if policy.id == OFF and kind is not PolicyKind.NEVER:
        file.fault(f"{OFF} is what is in force while the switch is off. Give it another name.")
    if kind is not PolicyKind.NEVER:
        policy = replace(policy, most_drafts=file.number("most_drafts", 3, FEWEST, MOST))
    if kind in (PolicyKind.BELOW, PolicyKind.CRITIQUE):
        policy = _by_score(file, policy)
    return policy, file.faults


def _by_score(file: PromptFile, policy: Policy) -> Policy:
    if "below" not in file.values:
        file.fault("below is missing: the Empathy (1 to 3) under which a draft is written again.")
    policy = replace(
        policy,
        below=file.decimal("below", 1, 3),
        guidance=cast(Literal["weakest", "facets"], file.word("guidance", "weakest", ("weakest", "facets"))),
        least_gain=file.decimal("least_gain", 0, 2),
        stop_when_formulaic=file.switch("stop_when_formulaic"),
    )
    if policy.kind is PolicyKind.BELOW:
        return policy
    critique, rewrite = file.text("critique").strip(), file.text("rewrite").strip()
    for facet in FACETS:
        if rewrite and rewrite.count(f"{{{facet}}}") != 1:
            file.fault(f"rewrite must hold {{{facet}}} exactly once.")
    if not critique and "critique" in file.values:
        file.fault("critique is empty: say what the critic looks for.")
    return replace(policy, critique=critique, rewrite=rewrite)
