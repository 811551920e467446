"""The crisis check, which runs before any model sees a message. What is shown then is in `handoff.py`.

Policy (the head of `prompts/safety/lexicon.en.yaml` has it in full). A message is a crisis when it says, asks or
strongly implies that a living person - the writer or somebody they know - wants to die, thinks of or plans suicide,
attempted it, or hurts themselves. Where a sentence can be read both ways it is one: a hand-off too many costs a
moment, one too few may cost a life. No crisis are plain figures of speech, grief (also for somebody lost to suicide),
a bare denial ("I am not suicidal"), and talk of prevention, films and statistics. An exception only ever removes the
very words it covers, so a second statement in the same message still counts: "I'm not suicidal but I don't want to
wake up" is a crisis.

The other dangers (`verdict.Danger`) have rules in English only, for what is said outright: the head of
`prompts/safety/dangers.lexicon.en.yaml` says which. They rather miss than alarm, and never speak before suicide.

These are rules, with the same answer each time, in time linear in the message. It is not a diagnosis and misses things.
"""

from dataclasses import dataclass
from functools import cache

from heard.chat_app.safety.marked_words import MarkedWords
from heard.chat_app.safety.matcher import Matcher, uncovered_spans
from heard.chat_app.safety.normalise import Normaliser, plain_tokens
from heard.chat_app.safety.verdict import Danger, Level, SafetyVerdict
from heard.prompts.safety_files import CATEGORIES, Lexicon, load_danger_lexicon, load_lexicons


@dataclass(frozen=True, slots=True)
class LexiconPattern:
    """A pattern of a lexicon."""

    category: str
    language: str
    pattern: str


class Checker:
    """A crisis check over lexicons. The chat uses the one that `checker` returns."""

    def __init__(self, lexicons: tuple[Lexicon, ...]) -> None:
        """Compile the lexicons. Raises PatternError for a pattern that cannot be read."""
        self._patterns: list[LexiconPattern] = []
        rewrites = {word: words for lexicon in lexicons for word, words in lexicon.rewrites.items()}
        tokenise = cache(lambda text: tuple(plain_tokens(text, rewrites)))
        self._statements = Matcher(tokenise)
        writers = (token for lexicon in lexicons for word in lexicon.writer for token in tokenise(word))
        self._exceptions = Matcher(tokenise, strict=True, unskipped=writers)
        for lexicon in lexicons:
            for matcher in (self._statements, self._exceptions):
                matcher.reader.define(lexicon.macros)
            for kind, groups in (("crisis", lexicon.crisis), ("safe", lexicon.safe)):
                matcher = self._exceptions if kind == "safe" else self._statements
                for group, patterns in groups.items():
                    for pattern in patterns:
                        matcher.add(pattern, len(self._patterns))
                        self._patterns.append(LexiconPattern(group, lexicon.language, pattern))
        self._statements.compile()
        self._exceptions.compile()
        self._light = frozenset(word for lexicon in lexicons for word in lexicon.light)
        self._marked = MarkedWords({word: plain for lexicon in lexicons for word, plain in lexicon.marked.items()})
        self._normaliser = Normaliser(
            vocabulary=self._statements.reader.vocabulary | self._exceptions.reader.vocabulary,
            keys=[key for lexicon in lexicons for key in lexicon.keys],
            rewrites=rewrites,
            real_words=[word for lexicon in lexicons for word in lexicon.real_words],
            prefixes=self._statements.reader.prefixes | self._exceptions.reader.prefixes,
        )

    def explain(self, text: str) -> list[LexiconPattern]:
        """Return the patterns that make `text` a crisis, the longest match first; [] if it is no crisis."""
        tokens = self._normaliser.tokens(self._marked.replaced(text))
        spans = self._statements.find(tokens)
        if not spans:
            return []
        decisive = uncovered_spans(spans, self._exceptions.find_around(tokens, spans), tokens, self._light)
        # The longest match says most: "attempted suicide" over "suicide", a Spanish sentence over one shared word.
        decisive.sort(key=lambda span: (span.start - span.end, self._patterns[span.label].language != "en"))
        return [self._patterns[span.label] for span in decisive]


@cache
def checker() -> Checker:
    """Return the checker of suicide and self-harm, over the lexicons of all languages; built once."""
    return Checker(load_lexicons())


@cache
def danger_checker() -> Checker:
    """Return the checker of the other dangers. It stands apart, so that no exception of one hides the other."""
    return Checker((load_danger_lexicon(),))


def explain(text: str) -> list[LexiconPattern]:
    """Return the patterns that make `text` a crisis, the decisive one first; [] if it is no crisis.

    Those of suicide come before those of any other danger, and that the writer is a child comes last: "I'm 13 and my
    dad hits me" is handed off for what is done to the child.
    """
    others = danger_checker().explain(text)
    others.sort(key=lambda found: found.category == Danger.MINOR)
    return checker().explain(text) + others


def check(text: str) -> SafetyVerdict:
    """Return whether a message speaks of a danger, and of which. Rules only, no model. Never raises on any str."""
    found = explain(text)
    if not found:
        return SafetyVerdict()
    first = found[0]
    danger = Danger.SUICIDE if first.category in CATEGORIES else Danger(first.category)
    return SafetyVerdict(Level.CRISIS, first.category, first.language, danger, "rules")
