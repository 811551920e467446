"""Apply a rewrite policy of `prompts/policies/`: whether another draft is needed, and its guidance.

    score -> another draft? -> guidance (for a critique: one hidden call first) -> the next draft

Which draft is kept is decided in `chat_app/conversation/drafts.py`: the best by the number that the policy watches.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from heard.chat_app.conversation.drafts import watched
from heard.chat_app.conversation.formulaic import formulaic
from heard.chat_app.conversation.services import Services
from heard.chat_app.models.records import ModelSpec
from heard.chat_app.safety.reply_guard import Caught
from heard.db.records import DraftRecord, ScoreRecord
from heard.prompts.library import PromptLibrary
from heard.prompts.policy_files import OFF
from heard.prompts.records import Policy, PolicyKind, Prompt, PromptMessage
from heard.scorer.records import COMPONENTS

CRITIQUE = "critique"
"""Name of the hidden step, and the stored guidance of the draft that it led to."""
FACETS = "facets"
"""The stored guidance of a draft that got guidance on several components."""
GUARD = "guard"
"""The stored guidance of a draft that was told why the one before it was caught, and of a fixed text."""
CRITIQUE_TOKENS = 160
"""Token limit of a critique, which is three short lines."""


@dataclass(frozen=True, slots=True)
class Guidance:
    """Instructions for a rewrite."""

    aim: str
    """A component, FACETS, CRITIQUE or GUARD; stored with the draft."""
    text: str
    """Put into the prompt after persona and strategy."""


def policy_in_force(services: Services, improve: bool, threshold: float) -> Policy:
    """Return the policy for one reply: that of the settings if `improve`, else the one that never rewrites.

    `threshold` (1..3) replaces `below` in a policy of kind BELOW and has no effect on other kinds.
    """
    if not improve:
        return services.library.policies[OFF]
    policy = services.library.policies[services.settings.improve_policy]
    return replace(policy, below=threshold) if policy.kind is PolicyKind.BELOW else policy


def needs_another_draft(policy: Policy, drafts: Sequence[DraftRecord], last_reply: str | None) -> bool:
    """Return whether the policy calls for another draft. All `drafts` are complete, and the last has just been scored.

    `last_reply` is the conversation's reply before this answer, if any.
    """
    if len(drafts) >= policy.most_drafts or lacks_watched(policy, drafts[-1]):
        return False
    if policy.kind is PolicyKind.BEST:
        return True
    newest, earlier = drafts[-1], drafts[:-1]
    seen = watched(policy.watches, newest.score)
    if policy.below is None or seen is None or seen >= policy.below:
        return False
    if not earlier:
        return True
    if policy.least_gain is not None:
        before = [watched(policy.watches, draft.score) for draft in earlier]
        if seen - max((value for value in before if value is not None), default=seen) < policy.least_gain:
            return False
    texts = [earlier[-1].text, *([last_reply] if last_reply is not None else [])]
    return not (policy.stop_when_formulaic and formulaic(newest.text, texts))


def lacks_watched(policy: Policy, draft: DraftRecord) -> bool:
    """Return whether the draft has a score without the number that the policy watches."""
    scored = draft.score is not None and draft.score.empathy is not None
    return scored and watched(policy.watches, draft.score) is None


def guidance_for(policy: Policy, draft: DraftRecord, library: PromptLibrary) -> Guidance | None:
    """Return guidance for the draft after this one; None for best of n, whose drafts share one prompt.

    For kind CRITIQUE see `critique_prompt` and `critique_guidance`, which need a model call.
    """
    if policy.kind is PolicyKind.BEST or draft.score is None or policy.below is None:
        return None
    weak = _weakest_first(draft.score)
    low = [name for name in weak if getattr(draft.score, name) < policy.below] if policy.guidance == FACETS else []
    named = low or ([policy.watches] if policy.watches in COMPONENTS else weak[:1])
    return Guidance(named[0] if len(named) == 1 else FACETS, "\n".join(library.guidance[name] for name in named))


def critique_prompt(policy: Policy, message: str, draft: str) -> Prompt:
    """Return the critic's prompt: its task, the message and the draft, without the earlier conversation."""
    pair = f"The person wrote:\n{message}\n\nThe reply:\n{draft}"
    return Prompt((PromptMessage("system", policy.critique), PromptMessage("user", pair)), CRITIQUE_TOKENS)


def critique_guidance(policy: Policy, draft: str, critique: str) -> Guidance:
    """Return the guidance for a rewrite: the policy's `rewrite` text with the draft and its critique filled in."""
    parts = {"draft": draft, "critique": critique}
    # In one pass, so that braces in a model's words are never taken for a place to fill.
    return Guidance(CRITIQUE, re.sub(r"\{(draft|critique)\}", lambda place: parts[place[1]], policy.rewrite))


def with_reason(guidance: Guidance | None, caught: Caught | None) -> Guidance | None:
    """Return the guidance of a draft that follows one that was caught: the reason, after what it was told before."""
    if caught is None:
        return guidance
    return Guidance(GUARD, "\n".join(part for part in (guidance.text if guidance else "", caught.reason) if part))


def with_draft_seed(policy: Policy, model: ModelSpec, number: int, *, again: bool) -> ModelSpec:
    """Return `model` with a seed of its own for draft `number` where the same prompt would give the same text: of best
    of n, and of a draft that is drawn `again` because the one before it could not be shown.

    Otherwise, and without a seed, the model is returned as it is.
    """
    if model.seed is None or not (again or policy.kind is PolicyKind.BEST):
        return model
    return replace(model, seed=model.seed + number - 1)


def _weakest_first(score: ScoreRecord) -> list[str]:
    return sorted(COMPONENTS, key=lambda name: getattr(score, name))
