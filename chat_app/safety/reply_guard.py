"""The guard of replies: reads each sentence of a model's reply before a person does, whichever model wrote it.

It catches what an honest, harmless listener would not say (`prompts.guard_files.KINDS`): that it is human, that it will
meet or loves the person, medical advice, insults, encouragement of harm, another language than the message's, agreement
with a delusion, and condolence or joy that does not fit what happened. Rules come first, some of which ask the scorer
how it reads the news, then which language it is, then a trained head for what no rule says. docs/guard.md has how
often each is right. It is no judge of quality, and misses things.
"""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heard.chat_app.safety.guard_rules import LONGEST, LOOKED_BACK, GuardRules
from heard.chat_app.safety.reply_language import LanguageComparison
from heard.prompts.guard_files import KINDS, GuardFile, load_guard, load_languages
from heard.prompts.safety_files import FOLDER
from heard.scorer.encoder import Encoder
from heard.scorer.guard_head import DEFAULT, GuardHead, GuardHeadFile

__all__ = ["KINDS", "Caught", "GuardContext", "Misreads", "ReplyGuard"]

Misreads = Callable[[str, str], float]
"""How surely a reply takes a message's news for what it is not: `scorer.score.Scorer.misreads`."""
MISREAD_FROM = 1.0
"""Of `Misreads`: what one or two of a hundred replies that do fit have. Alone it would be too little to catch by."""


@dataclass(frozen=True, slots=True)
class GuardContext:
    """What a reply answers."""

    message: str
    earlier: tuple[str, ...] = ()
    """The person's messages before it, the newest last."""
    persona_name: str = ""
    """As the person sees it: a reply may give it as its own."""


@dataclass(frozen=True, slots=True)
class Caught:
    """Why a sentence may not be shown."""

    kind: str
    """One of KINDS."""
    by: str
    """ "rule", "language" or "head"."""
    reason: str
    """A sentence for the prompt of the rewrite."""


class ReplyGuard:
    """Reads replies. Blocking: call it from a worker thread, and from one at a time."""

    def __init__(self, guard: GuardFile, misreads: Misreads | None = None, head: GuardHead | None = None) -> None:
        """Compile the rules. Raises PatternError for a pattern that cannot be read."""
        self._guard = guard
        self._head = head
        self._rules = GuardRules(guard)
        self._languages = LanguageComparison(load_languages())
        self._misreads = misreads

    @classmethod
    def load(
        cls,
        encoder: Callable[[], Encoder] | None = None,
        misreads: Misreads | None = None,
        *,
        words: Path = FOLDER / "guard.en.yaml",
        head: Path = DEFAULT,
    ) -> "ReplyGuard":
        """The guard with heard's own words and head; without `encoder` or `misreads` what needs them is left out.

        `encoder` gives the encoder that the head in the folder `head` was trained on, opened with its layers
        (`scorer.guard_head.GuardHeadFile` names both); it is asked for at the first sentence. Raises PromptFileError,
        PatternError or ScorerError.
        """
        reader = None if encoder is None else GuardHead(GuardHeadFile.load(head), encoder)
        return cls(load_guard(words), misreads, reader)

    def read(self, context: GuardContext, sentence: str, before: str = "") -> Caught | None:
        """Why `sentence` may not be shown; None if it may. Never raises on any strings.

        `before` is what of the same reply was let through. A few milliseconds, most of them the encoder's. Raises
        ScorerError at the first sentence if the encoder cannot be opened.
        """
        return next(self._readings(context, sentence, before), None)

    def explain(self, context: GuardContext, sentence: str, before: str = "") -> list[Caught]:
        """What each part of the guard says by itself: `read` gives the first."""
        return list(self._readings(context, sentence, before))

    def _readings(self, context: GuardContext, sentence: str, before: str) -> Iterator[Caught]:
        """In the order of their cost."""
        sentence = sentence[:LONGEST]
        messages = [text[:LONGEST] for text in (*context.earlier[-LOOKED_BACK + 1 :], context.message)]
        if not sentence.strip():
            return
        match = self._rules.find(messages, sentence, before, lambda: self._misread(messages[-1], sentence))
        if match is not None:
            yield self._caught(match.rule.kind, "rule", match.rule.reason)
        if self._rules.names_itself(sentence, context.persona_name):
            yield self._caught("human", "rule")
        if self._languages.differs(messages, sentence):
            yield self._caught("language", "language")
        if self._head is not None:
            margins = self._head.margins(messages[-1], sentence)
            kind = max(margins, key=lambda name: margins[name])
            if margins[kind] >= 0:
                yield self._caught(kind, "head")

    def fixed_sentence(self, kind: str, context: GuardContext, persona_id: str) -> str:
        """What stands in the reply's place when each rewrite was caught too: one of the kind's, by the message.

        The same message gives the same sentence, at another turn of the conversation mostly another one. Raises
        KeyError for a kind that is not in KINDS.
        """
        text = self._guard.kinds[_known(kind)]
        choices = text.personas.get(persona_id, text.fixed)
        digest = hashlib.sha256(context.message[:LONGEST].encode("utf-8", "replace")).digest()
        return choices[(int.from_bytes(digest[:8]) + len(context.earlier)) % len(choices)]

    def _misread(self, message: str, sentence: str) -> bool:
        return self._misreads is not None and self._misreads(message, sentence) >= MISREAD_FROM

    def _caught(self, kind: str, by: str, reason: str | None = None) -> Caught:
        return Caught(kind, by, reason or self._guard.kinds[_known(kind)].reason)


def _known(kind: str) -> Any:
    return KINDS[KINDS.index(kind)] if kind in KINDS else kind
