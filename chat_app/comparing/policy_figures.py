"""Benefit and cost of a rewrite policy: each answer's first draft compared with the one that was kept."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from heard.chat_app.comparing.answers import COMPLETE, EMPATHY, Answer, measures_of, total_cost
from heard.chat_app.comparing.figures import Estimate, mean_estimate
from heard.chat_app.comparing.tables import ReportTable, csv_text, format_estimate
from heard.chat_app.results.intervals import wilson_share
from heard.chat_app.results.records import Share
from heard.db.records import DraftRecord, DraftStatus
from heard.scorer.tables import Line

POLICY_COLUMNS = ("policy", "measure", "n", "value", "low", "high")
NONE = Estimate(0, None)


@dataclass(frozen=True, slots=True)
class PolicyFigures:
    """The figures of one policy over a file of questions. Scores on 1..3; times in seconds."""

    policy: str
    answers: int
    """Answers with a complete draft."""
    failed: int
    """Questions without any complete draft."""
    missing: int
    """Questions that no run has tried yet."""
    unscored: int
    """Answers whose first or kept draft has no score; they are in no mean."""
    first: dict[str, Estimate]
    """By measure: the mean of the first drafts."""
    kept: dict[str, Estimate]
    """By measure: the mean of the drafts that were kept."""
    gain: dict[str, Estimate]
    """By measure: kept minus first, question by question."""
    improved: Share
    """Answers whose kept draft has more Empathy than their first."""
    drafts: int
    """All drafts that were begun."""
    broken: int
    """Rewrites that broke, so that the draft before them was kept."""
    extra_seconds: float | None
    """Mean time of an answer after its first draft, hidden calls included. None without answers."""
    times_seconds: float | None
    """Total time divided by the time of the first drafts."""
    extra_tokens: float | None
    """Mean tokens of an answer after its first draft; None if a server gave no counts."""
    times_tokens: float | None
    """Total tokens divided by those of the first drafts."""


def figures_of(policy: str, answers: Sequence[Answer]) -> PolicyFigures:
    """Return the figures of one policy's answers."""
    whole = [answer for answer in answers if answer.status == COMPLETE]
    pairs = [pair for answer in whole if (pair := _scored_pair(answer)) is not None]
    scores = {measure: _both_scores(pairs, measure) for measure in measures_of(answers)}
    extra_seconds, times_seconds = _cost(
        [(total_cost(one.drafts[:1]).seconds, total_cost(one.drafts).seconds) for one in whole]
    )
    extra_tokens, times_tokens = _cost([(_tokens(one.drafts[:1]), _tokens(one.drafts)) for one in whole])
    return PolicyFigures(
        policy=policy,
        answers=len(whole),
        failed=sum(answer.error is not None for answer in answers),
        missing=sum(answer.kept is None and answer.error is None for answer in answers),
        unscored=len(whole) - len(pairs),
        first={measure: mean_estimate([first for first, _ in values]) for measure, values in scores.items()},
        kept={measure: mean_estimate([kept for _, kept in values]) for measure, values in scores.items()},
        gain={measure: mean_estimate([kept - first for first, kept in values]) for measure, values in scores.items()},
        improved=wilson_share(sum(kept > first for first, kept in scores[EMPATHY]), len(pairs)),
        drafts=sum(len(answer.drafts) for answer in whole),
        broken=sum(draft.status is DraftStatus.BROKEN for answer in whole for draft in answer.drafts),
        extra_seconds=extra_seconds,
        times_seconds=times_seconds,
        extra_tokens=extra_tokens,
        times_tokens=times_tokens,
    )


def policy_tables(policies: Sequence[PolicyFigures]) -> list[ReportTable]:
    """Return the tables of the report."""
    scores = [Line(one.policy, _score_cells(one)) for one in policies]
    costs = [Line(one.policy, _cost_cells(one)) for one in policies]
    names = dict.fromkeys(name for one in policies for name in one.gain)
    parts = [
        Line(one.policy, {name.capitalize(): format_estimate(one.gain.get(name, NONE), signed=True) for name in names})
        for one in policies
    ]
    return [
        ReportTable("Empathy of the first draft and of the one that was kept (mean of 1 to 3, 95%)", tuple(scores)),
        ReportTable("Gain by component (kept minus first, 95%)", tuple(parts)),
        ReportTable("What writing again cost, for each answer", tuple(costs)),
    ]


def policies_csv(policies: Iterable[PolicyFigures]) -> str:
    """Return a CSV with one row a figure and the columns POLICY_COLUMNS; unknown values are empty cells."""
    rows: list[Sequence[str | float | None]] = []
    for one in policies:
        for part, by_measure in (("first", one.first), ("kept", one.kept), ("gain", one.gain)):
            for measure, seen in by_measure.items():
                rows.append((one.policy, f"{part}_{measure}", str(seen.n), seen.value, seen.low, seen.high))
        share = one.improved
        rows.append((one.policy, "improved", str(share.of), share.share, share.low, share.high))
        for name in ("extra_seconds", "times_seconds", "extra_tokens", "times_tokens"):
            rows.append((one.policy, name, str(one.answers), getattr(one, name), None, None))
        for name in ("answers", "failed", "missing", "unscored", "drafts", "broken"):
            rows.append((one.policy, name, None, str(getattr(one, name)), None, None))
    return csv_text(POLICY_COLUMNS, rows)


def _scored_pair(answer: Answer) -> tuple[DraftRecord, DraftRecord] | None:
    """Return the first and the kept draft if both have a score, else None."""
    first = next((draft for draft in answer.drafts if draft.status is DraftStatus.COMPLETE), None)
    kept = answer.kept
    if first is None or kept is None or answer.score is None or first.score is None or first.score.empathy is None:
        return None
    return first, kept


def _both_scores(pairs: Iterable[tuple[DraftRecord, DraftRecord]], measure: str) -> list[tuple[float, float]]:
    """Return one score of the first and of the kept draft, of those that have it both."""
    both = [(getattr(first.score, measure), getattr(kept.score, measure)) for first, kept in pairs]
    return [(first, kept) for first, kept in both if first is not None and kept is not None]


def _tokens(drafts: Sequence[DraftRecord]) -> float | None:
    # A rewrite that broke has no counts, and would leave the whole answer without.
    counted = [draft for draft in drafts if draft.status is DraftStatus.COMPLETE]
    return total_cost(counted).tokens


def _cost(pairs: Sequence[tuple[float | None, float | None]]) -> tuple[float | None, float | None]:
    """Return the mean of what was added to the first drafts, and the ratio of the sums."""
    known = [(first, every) for first, every in pairs if first is not None and every is not None]
    if not known:
        return None, None
    firsts, all_of_them = sum(first for first, _ in known), sum(every for _, every in known)
    return (all_of_them - firsts) / len(known), all_of_them / firsts if firsts else None


def _score_cells(one: PolicyFigures) -> dict[str, str]:
    share = one.improved
    improved = "none" if share.share is None else f"{share.share:.0%} [{share.low:.0%}, {share.high:.0%}]"
    return {
        "questions": str(one.first[EMPATHY].n),
        "first draft": format_estimate(one.first[EMPATHY]),
        "kept": format_estimate(one.kept[EMPATHY]),
        "gain": format_estimate(one.gain[EMPATHY], signed=True),
        "improved": improved,
    }


def _cost_cells(one: PolicyFigures) -> dict[str, str]:
    return {
        "drafts": "none" if not one.answers else f"{one.drafts / one.answers:.2f}",
        "seconds more": _number(one.extra_seconds),
        "times the seconds": _number(one.times_seconds),
        "tokens more": _number(one.extra_tokens, 0),
        "times the tokens": _number(one.times_tokens),
        "rewrites that broke": str(one.broken),
        "not scored": str(one.unscored),
        "failed": str(one.failed),
        "missing": str(one.missing),
    }


def _number(value: float | None, places: int = 2) -> str:
    return "none" if value is None else f"{value:.{places}f}"
