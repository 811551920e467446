"""The crisis check, which runs before any model sees a message, and the hand-off that takes a reply's place.

Policy (the head of `prompts/safety/lexicon.en.yaml` has it in full). A message is a crisis when it says, asks or
strongly implies that a living person - the writer or somebody they know - wants to die, thinks of or plans suicide,
attempted it, or hurts themselves. Where a sentence can be read both ways it is one: a hand-off too many costs a
moment, one too few may cost a life. No crisis are plain figures of speech, grief (also for somebody lost to suicide),
a bare denial ("I am not suicidal"), and talk of prevention, films and statistics. An exception only ever removes the
very words it covers, so a second statement in the same message still counts: "I'm not suicidal but I don't want to
wake up" is a crisis.

It is rules alone, the same answer each time, in time linear in the message. It is not a diagnosis and misses things.
"""

import datetime
from dataclasses import dataclass
from functools import cache

from heard.chat_app.safety.marked_words import MarkedWords
from heard.chat_app.safety.matcher import Matcher, uncovered_spans
from heard.chat_app.safety.normalise import Normaliser, plain_tokens
from heard.chat_app.safety.verdict import Level, SafetyVerdict
from heard.prompts.safety_files import (
    FOLDER,
    Country,
    HandoffText,
    Lexicon,
    Line,
    load_handoff,
    load_hotlines,
    load_lexicons,
)
from heard.prompts.variables import fill

STALE_AFTER_DAYS = 365
"""Age in days after which `stale_hotlines` reports a number as due to be checked again."""


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
        self._exceptions = Matcher(tokenise, strict=True)
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

    def check(self, text: str) -> SafetyVerdict:
        """Return whether `text` has suicidal or self-harm meaning. Never raises on any str; "" is no crisis."""
        found = self.explain(text)
        if not found:
            return SafetyVerdict()
        return SafetyVerdict(Level.CRISIS, found[0].category, found[0].language, reader="rules")

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
    """Return the checker over the lexicons that come with heard. It is built once, in a few tenths of a second."""
    return Checker(load_lexicons())


def check(text: str) -> SafetyVerdict:
    """Return whether a message has suicidal or self-harm meaning. Rules only, no model. Never raises on any str."""
    return checker().check(text)


@cache
def _hotlines() -> tuple[dict[str, Country], tuple[tuple[str, str], ...]]:
    hotlines = load_hotlines()
    return {c.code: c for c in hotlines.countries}, tuple((d.name, d.url) for d in hotlines.directories)


@cache
def _handoff_texts() -> dict[str, HandoffText]:
    return load_handoff()


def countries() -> list[tuple[str, str]]:
    """Return (ISO 3166-1 alpha-2 code, English name) of every country with numbers, by name."""
    return [(code, country.name) for code, country in _hotlines()[0].items()]


def handoff(country: str | None, language: str | None = None) -> str:
    """Return the hand-off as Markdown.

    `country`: the code that the person chose, or None; never one guessed from an address or a language. With a choice
    only that country's numbers are listed, otherwise all. An unknown code counts as no choice. `language`: ISO 639-1
    code of the message; its text comes first if there is one, and English is always included.
    """
    by_code, directories = _hotlines()
    chosen = by_code.get((country or "").strip().upper())
    english = _handoff_texts()["en"]
    own = _handoff_texts().get(language or "en", english)
    parts: list[str] = []
    for text in dict.fromkeys((own, english)):
        parts += [f"### {text.heading}", *text.body]
    if chosen:
        # After the first sentences, so that a small screen shows them without scrolling.
        parts.insert(2, _country_numbers(chosen, own))
    else:
        parts.append(_all_numbers(list(by_code.values()), own))
    links = "; ".join(f"[{name}]({url})" for name, url in directories)
    parts += [f"{own.elsewhere} {links}", own.closing]
    return "\n\n".join(parts) + "\n"


def stale_hotlines(today: datetime.date) -> list[str]:
    """Return a sentence for each number last checked more than `STALE_AFTER_DAYS` days before `today`."""
    rows: list[tuple[str, datetime.date]] = []
    hotlines = load_hotlines()
    for country in hotlines.countries:
        rows.append((f"{country.name}: emergency number {country.emergency}", country.checked))
        rows += [(f"{country.name}: {line.name}", line.checked) for line in country.lines]
    rows += [(directory.name, directory.checked) for directory in hotlines.directories]
    return [
        f"{what} was last checked on {checked.isoformat()}: check it again and set the new date in "
        f"{FOLDER.name}/hotlines.yaml."
        for what, checked in rows
        if (today - checked).days > STALE_AFTER_DAYS
    ]


def _country_numbers(country: Country, text: HandoffText) -> str:
    oldest = min([country.checked, *(line.checked for line in country.lines)])
    rows = [f"**{country.name}**", ""]
    rows += [f"- {fill(text.emergency, {'number': f'**{country.emergency}**'})}"]
    rows += [f"- {_hotline(line, text)}" for line in country.lines]
    return "\n".join(rows) + "\n\n" + fill(text.checked, {"date": oldest.isoformat()})


def _all_numbers(every: list[Country], text: HandoffText) -> str:
    rows = [text.everywhere, ""]
    oldest = min(date for c in every for date in (c.checked, *(line.checked for line in c.lines)))
    for country in every:
        lines = "; ".join(f"{line.name} {_contact(line, text)}" for line in country.lines[:2])
        rows.append(f"- **{country.name}**: **{country.emergency}**" + (f"; {lines}" if lines else ""))
    return "\n".join(rows) + "\n\n" + fill(text.checked, {"date": oldest.isoformat()})


def _hotline(line: Line, text: HandoffText) -> str:
    tail = ", ".join(part for part in (line.hours, _link(line.url) if line.url else "") if part)
    return f"**{line.name}**: {_contact(line, text)}" + (f" ({tail})" if tail else "")


def _contact(line: Line, text: HandoffText) -> str:
    ways = [f"{text.call} **{line.call}**" if line.call else "", f"{text.write} {line.text}" if line.text else ""]
    return ", ".join(way for way in ways if way) or _link(line.url)


def _link(url: str) -> str:
    return f"[{url.split('://', 1)[-1].rstrip('/')}]({url})"
