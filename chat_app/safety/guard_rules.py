"""The guard's rules: which of them catch a sentence of a reply, by the patterns of `prompts/safety/guard.en.yaml`.

The same normaliser and automaton as the crisis check's: linear in the text, the same answer each time.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from heard.chat_app.safety.normalise import Normaliser
from heard.chat_app.safety.owned_patterns import OwnedPatterns, Tokenise
from heard.prompts.guard_files import GuardFile, GuardRule

LONGEST = 2_000
"""Characters of a sentence, or of a message, that are looked at."""
LOOKED_BEHIND = 400
"""Characters of the reply before the sentence in which a quotation may have been opened."""
LOOKED_BACK = 12
"""Messages of the person, the newest included, in which a topic may have been spoken of."""
_KEPT = 256
"""Messages whose topics are kept: each sentence of each draft of a turn asks for the same ones."""
_DOSE = re.compile(r"(?<=\d)(?=[A-Za-z])")
"""Between a number and its unit: "500mg"."""
_MARKS = '"\u201c\u201d\u201e'
_QUOTED = re.compile(f"[{_MARKS}][^{_MARKS}]{{0,400}}[{_MARKS}]|(?<!\\w)'[^']{{2,400}}'(?!\\w)")
_NAMED = re.compile(
    r"\b(?:my name(?:'s| is)|(?:you can|just) call me|i go by|i am called|this is)\s+(?P<name>[A-Za-z]+)"
    r"(?=\s*(?:[,.!?]|$|and\b|here\b))",
    re.IGNORECASE,
)
_INTRODUCED = re.compile(r"(?:^|[.,!?]\s+|\b(?:hi|hello|hey)\W+)I(?:'m| am) (?P<name>[A-Z][a-z]{2,})(?=[.,!]|$| and )")


@dataclass(frozen=True, slots=True)
class GuardMatch:
    """What caught a sentence."""

    rule: GuardRule
    pattern: str


class GuardRules:
    """The rules of one file. Immutable after it is made, but for caches; call it from one thread at a time."""

    def __init__(self, guard: GuardFile) -> None:
        """Compile the file's patterns. Raises PatternError for one that cannot be read."""
        tokenise = Tokenise(dict(guard.rewrites))
        self._rules = list(guard.rules.values())
        self._topics = list(guard.topics)
        self._kinds = list(guard.kinds)
        self._reply, self._unless, self._said, self._excuses = (OwnedPatterns(guard.macros, tokenise) for _ in range(4))
        for label, rule in enumerate(self._rules):
            self._reply.add(label, rule.reply, rule.safe)
            self._unless.add(label, rule.unless)
        for label, topic in enumerate(guard.topics.values()):
            self._said.add(label, topic.patterns, topic.safe)
        for label, text in enumerate(guard.kinds.values()):
            self._excuses.add(label, text.head_unless)
        every = (self._reply, self._unless, self._said, self._excuses)
        for patterns in every:
            patterns.compile()
        self._normaliser = Normaliser(
            vocabulary=frozenset().union(*(patterns.words for patterns in every)),
            keys=guard.keys,
            rewrites=guard.rewrites,
            real_words=guard.real_words,
            prefixes=frozenset().union(*(patterns.prefixes for patterns in every)),
        )
        self._names = guard.names
        self._spoken_of = lru_cache(maxsize=_KEPT)(self._read_topics)

    def find(
        self, messages: Sequence[str], sentence: str, before: str = "", misread: Callable[[], bool] = lambda: False
    ) -> GuardMatch | None:
        """What catches `sentence`, by the first rule in the file's order; None if none does. Never raises on strings.

        `messages` are the person's, the newest last; `before` is what of the same reply stands before the sentence;
        `misread` is asked, by rules that want to know, whether the sentence takes the news for what it is not.
        """
        caught = self._caught(before[-LOOKED_BEHIND:], sentence[:LONGEST])
        for label in sorted(caught):
            rule = self._rules[label]
            if self._met(rule, messages) or (self._in_doubt(rule, messages) and misread()):
                return GuardMatch(rule, caught[label])
        return None

    def excuses(self, sentence: str) -> frozenset[str]:
        """The kinds of which the head is not believed about this sentence."""
        return frozenset(self._kinds[label] for label in self._excuses.owners(self._tokens(sentence[:LONGEST])))

    def names_itself(self, sentence: str, persona_name: str) -> bool:
        """Whether a sentence gives its speaker a name that is neither the persona's nor one of the file's."""
        known = self._names | {word.lower() for word in re.findall(r"\w+", persona_name)}
        found = (match["name"] for one in (_NAMED, _INTRODUCED) for match in one.finditer(sentence[:LONGEST]))
        return any(name.lower() not in known and (name[0].isupper()) for name in found)

    def said(self, messages: Sequence[str]) -> frozenset[str]:
        """The topics that the person has spoken of."""
        return frozenset().union(*(self._spoken_of(text[:LONGEST]) for text in messages[-LOOKED_BACK:]))

    def _met(self, rule: GuardRule, messages: Sequence[str]) -> bool:
        """Whether the person has spoken of what the rule asks for, and not of what it excludes."""
        if not rule.if_said and not rule.unless_said:
            return True
        said = self.said(messages[-1:] if rule.newest else messages)
        return (not rule.if_said or not said.isdisjoint(rule.if_said)) and said.isdisjoint(rule.unless_said)

    def _in_doubt(self, rule: GuardRule, messages: Sequence[str]) -> bool:
        """Whether the scorer is to be asked: the person has said nothing, ever, that would make the reply right."""
        return rule.or_misread and self.said(messages).isdisjoint(rule.unless_said)

    def _caught(self, behind: str, sentence: str) -> dict[int, str]:
        """The rules that catch the sentence, by number, each with its pattern."""
        tokens = self._tokens(sentence)
        found = self._reply.owners(tokens)
        if found and (own := _own_words(behind, sentence)) != sentence:
            spoken = self._reply.owners(self._tokens(own))
            found = {label: text for label, text in found.items() if self._rules[label].quoted or label in spoken}
        excused = self._unless.owners(tokens) if found else ()
        return {label: text for label, text in found.items() if label not in excused}

    def _tokens(self, text: str) -> list[str]:
        return self._normaliser.tokens(_DOSE.sub(" ", text)) if text else []

    def _read_topics(self, message: str) -> frozenset[str]:
        return frozenset(self._topics[owner] for owner in self._said.owners(self._tokens(message)))


def _own_words(behind: str, sentence: str) -> str:
    """The sentence without what stands in quotation marks, also where they were opened before it."""
    if sum(mark in _MARKS for mark in behind) % 2:
        closing = next((mark for mark in sentence if mark in _MARKS), "\0")
        sentence = sentence.partition(closing)[2]
    return _QUOTED.sub(" \u2026 ", sentence)
