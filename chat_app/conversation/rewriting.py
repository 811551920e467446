"""Whether one more draft of an answer is written, and what it is told: the policies of `prompts/policies/` at work.

    score -> goes on? -> guidance (of a critique: one hidden call first) -> the next draft

Which draft stands is not decided here: the best by Empathy does (`chat_app/conversation/drafts.py`).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from heard.chat_app.conversation.formulaic import formulaic
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.records import ModelSpec
from heard.db.records import DraftRecord, ScoreRecord
from heard.prompts.library import PromptLibrary
from heard.prompts.policy_files import OFF
from heard.prompts.records import Policy, PolicyKind, Prompt, PromptMessage
from heard.scorer.records import COMPONENTS

CRITIQUE = "critique"
"""Name of the hidden step, and what the draft that it led to records as its guidance."""
FACETS = "facets"
"""What a draft records that was told of several components."""
CRITIQUE_TOKENS = 160
"""Of a critique: three short lines."""


@dataclass(frozen=True, slots=True)
class Guidance:
    """What a rewrite is told."""

    aim: str
    """A component, FACETS or CRITIQUE: what is kept with the draft."""
    text: str
    """Goes into the prompt, after persona and strategy."""


def policy_in_force(services: Services, improve: bool, threshold: float) -> Policy:
    """The policy of one reply: the setting's where writing again is on, else the one that never does.

    `threshold` (1..3) takes the place of `below` in a policy of the kind BELOW; no other kind is moved by it.
    """
    if not improve:
        return services.library.policies[OFF]
    policy = services.library.policies[services.settings.improve_policy]
    return replace(policy, below=threshold) if policy.kind is PolicyKind.BELOW else policy


def goes_on(policy: Policy, drafts: Sequence[DraftRecord], last_reply: str | None) -> bool:
    """Whether a further draft is written after these, which all came whole and of which the last has just been scored.

    `last_reply` is the one before this answer in the conversation.
    """
    if len(drafts) >= policy.most_drafts:
        return False
    if policy.kind is PolicyKind.BEST:
        return True
    newest, earlier = drafts[-1], drafts[:-1]
    empathy = _empathy(newest)
    if policy.below is None or empathy is None or empathy >= policy.below:
        return False
    if not earlier:
        return True
    if policy.least_gain is not None:
        best = max((seen for draft in earlier if (seen := _empathy(draft)) is not None), default=empathy)
        if empathy - best < policy.least_gain:
            return False
    before = [earlier[-1].text, *([last_reply] if last_reply is not None else [])]
    return not (policy.stop_when_formulaic and formulaic(newest.text, before))


def guidance_of(policy: Policy, draft: DraftRecord, library: PromptLibrary) -> Guidance | None:
    """What the next draft is told of this one; None for best of n, whose drafts share their prompt.

    Of the kind CRITIQUE see `critique_prompt` and `critique_guidance`: it takes a call.
    """
    if policy.kind is PolicyKind.BEST or draft.score is None or policy.below is None:
        return None
    weak = _weakest_first(draft.score)
    low = [name for name in weak if getattr(draft.score, name) < policy.below] if policy.guidance == FACETS else []
    named = low or weak[:1]
    return Guidance(named[0] if len(named) == 1 else FACETS, "\n".join(library.guidance[name] for name in named))


def critique_prompt(policy: Policy, message: str, draft: str) -> Prompt:
    """What the critic reads: its task, the message, and the draft. Nothing of the conversation before."""
    shown = f"The person wrote:\n{message}\n\nThe reply:\n{draft}"
    return Prompt((PromptMessage("system", policy.critique), PromptMessage("user", shown)), CRITIQUE_TOKENS)


def critique_guidance(policy: Policy, draft: str, critique: str) -> Guidance:
    """What the rewrite is told, once the critic has spoken."""
    parts = {"draft": draft, "critique": critique}
    # In one pass, so that braces in a model's words are never taken for a place to fill.
    return Guidance(CRITIQUE, re.sub(r"\{(draft|critique)\}", lambda place: parts[place[1]], policy.rewrite))


def drawn_anew(policy: Policy, model: ModelSpec, number: int) -> ModelSpec:
    """The model for draft `number`: of best of n with a seed of its own, or all n would be the same words."""
    if policy.kind is not PolicyKind.BEST or model.seed is None:
        return model
    return replace(model, seed=model.seed + number - 1)


def _empathy(draft: DraftRecord) -> float | None:
    return draft.score.empathy if draft.score is not None else None


def _weakest_first(score: ScoreRecord) -> list[str]:
    return sorted(COMPONENTS, key=lambda name: getattr(score, name))
