"""Rules by which people are excluded from a study's results, such as "fast=3s": a name and a bound, or the name alone.

A rule looks at one person's record and says in a sentence why it catches them. Rules are run by whoever leads a study;
none runs by itself, and whom it caught is stored with the rule as it was written.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from heard.db.study_people import StudyPerson
from heard.errors import UserError
from heard.hints import nearest_name

LEAST_VOTES = 5
"""Fewest votes of a person whose shares a rule judges: of two votes at one place nothing follows."""


class RuleError(UserError):
    """A rule that cannot be read; `str()` names the fault and the next step."""


@dataclass(frozen=True, slots=True)
class RuleKind:
    """One kind of rule."""

    name: str
    meaning: str
    """What it catches, with {bound} for the bound."""
    unit: str
    """What the bound is in: "s", "%", or "" for a number; with `usual` 0 the rule has no bound."""
    usual: float
    """The bound that is taken if none is written."""
    catches: Callable[[StudyPerson, float], str | None]
    """Maps a person and the bound to a sentence; None where the rule does not catch them."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with its bound; `str()` is the form in which it is stored and can be written again."""

    kind: RuleKind
    bound: float

    def __str__(self) -> str:
        return f"{self.kind.name}={self.bound:g}{self.kind.unit}" if self.kind.usual else self.kind.name

    @property
    def meaning(self) -> str:
        """What the rule catches, in words."""
        return self.kind.meaning.format(bound=f"{self.bound:g}")

    def reason(self, person: StudyPerson) -> str | None:
        """Return why the rule catches a person; None if it does not."""
        return self.kind.catches(person, self.bound)


def _fast(person: StudyPerson, bound: float) -> str | None:
    seconds = person.median_seconds
    if seconds is None or seconds >= bound:
        return None
    return f"A median of {seconds:.1f} s a ballot, under {bound:g} s."


def _attention(person: StudyPerson, bound: float) -> str | None:
    failed = person.attention_failed
    return f"Failed {failed} of {failed + person.attention_passed} attention items." if failed >= bound else None


def _straight_lining(person: StudyPerson, bound: float) -> str | None:
    share = person.same_place
    if share is None or person.ranked < LEAST_VOTES or 100 * share < bound:
        return None
    return f"Marked the same place as most empathetic on {person.top_place} of {person.ranked} ballots."


def _same(person: StudyPerson, bound: float) -> str | None:
    share = person.same_share
    if share is None or person.judged < LEAST_VOTES or 100 * share < bound:
        return None
    return f'Said "about the same" on {person.same} of {person.judged} ballots.'


def _leaks(person: StudyPerson, bound: float) -> str | None:
    voted = person.judged + person.skipped
    if not voted or 100 * person.leaks / voted < bound:
        return None
    return f"An answer gave its source away on {person.leaks} of {voted} ballots."


def _unfinished(person: StudyPerson, _: float) -> str | None:
    return None if person.completed_at else f"Did not finish: {person.judged} of {person.given} ballots judged."


def _screened_out(person: StudyPerson, _: float) -> str | None:
    return "Was screened out after attention items." if person.screened_out_at else None


KINDS = (
    RuleKind("fast", "a median of less than {bound} seconds a ballot", "s", 3, _fast),
    RuleKind("attention", "{bound} or more attention items failed", "", 1, _attention),
    RuleKind(
        "straight-lining",
        f"the same place marked as most on {{bound}}% of {LEAST_VOTES} ballots or more",
        "%",
        90,
        _straight_lining,
    ),
    RuleKind("same", f'"about the same" on {{bound}}% of {LEAST_VOTES} ballots or more', "%", 90, _same),
    RuleKind("leaks", "answers that gave their source away on {bound}% of the ballots", "%", 50, _leaks),
    RuleKind("unfinished", "the end not reached", "", 0, _unfinished),
    RuleKind("screened-out", "screened out by the study itself", "", 0, _screened_out),
)
_BY_NAME = {kind.name: kind for kind in KINDS}


def parse_rule(written: str) -> Rule:
    """Return the rule that is written like "fast=3s", "attention=2", "straight-lining=90%" or "unfinished".

    Without a bound the usual one is taken. Raises RuleError.
    """
    name, equals, bound = written.strip().partition("=")
    kind = _BY_NAME.get(name.strip().lower())
    if kind is None:
        raise RuleError(f'There is no rule "{name.strip()[:40]}". {nearest_name(name.strip(), _BY_NAME)}')
    if not kind.usual:
        if equals:
            raise RuleError(f"The rule {kind.name} has no bound. Write it without one.")
        return Rule(kind, 0)
    if not equals:
        return Rule(kind, kind.usual)
    number = re.fullmatch(rf"\s*([0-9]{{1,6}}(?:\.[0-9]{{1,3}})?)\s*{re.escape(kind.unit)}?\s*", bound)
    most = 100 if kind.unit == "%" else 100_000
    if number is None or not 0 < float(number[1]) <= most:
        example = Rule(kind, kind.usual)
        raise RuleError(f"The bound of the rule {kind.name} cannot be read. Write it like {example}.")
    return Rule(kind, float(number[1]))


def caught(rule: Rule, people: Sequence[StudyPerson]) -> dict[str, str]:
    """Return the people whom a rule catches and who are neither excluded by it nor included again after it: id -> the
    sentence that says why."""
    written = str(rule)
    new = (
        person
        for person in people
        if written not in person.lifted_rules and all(one.rule != written for one in person.exclusions)
    )
    return {person.participant_id: reason for person in new if (reason := rule.reason(person))}
