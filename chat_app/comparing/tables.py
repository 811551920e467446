"""The tables of a comparison, for the terminal, for Markdown and for CSV."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from heard.chat_app.common.csv_cell import csv_cell
from heard.chat_app.comparing.answers import (
    EMPATHY,
    HUMAN_SOURCE,
    MEASURES,
    Answer,
    Source,
    by_source,
    measures_of,
    median_or_none,
    question_scores,
    score_of,
    source_name,
    total_cost,
)
from heard.chat_app.comparing.figures import BASELINE, Difference, Estimate, mean_estimate
from heard.chat_app.studies.item_drafts import HUMAN
from heard.scorer.other_rater import is_other
from heard.scorer.records import SCALES
from heard.scorer.tables import Line, markdown

RESULT_COLUMNS = (
    "question_id", "question", "model", "persona", "strategy", "text", *MEASURES, "prompt_tokens", "completion_tokens",
    "first_token_seconds", "seconds", "status", "error", "prompt_sha256", "cut", "head_name",
)  # fmt: skip
SUMMARY_COLUMNS = ("part", "model", "persona", "strategy", "measure", "n", "value", "low", "high", "p", "p_holm")
MEANS = "Scores of each source (mean of 1 to 3, with intervals of 95%)"
AGAINST = f"Each strategy against {BASELINE}, on the same questions (difference, with intervals of 95%; p of Empathy)"
PEOPLE = "Each source against human, on the same questions (difference, with intervals of 95%; p of Empathy)"
EXAMPLES = "Examples against none, on the same questions (difference, with intervals of 95%; p of Empathy)"
COSTS = "What they cost"


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table with a title."""

    title: str
    lines: tuple[Line, ...]

    def markdown(self) -> str:
        """Return the table as Markdown, with its title as a heading."""
        return f"## {self.title}\n\n{markdown(self.lines)}\n"


def results_csv(answers: Iterable[Answer]) -> str:
    """Return a CSV with one row an answer and the columns RESULT_COLUMNS. Scores on 1..3, times in seconds."""
    return csv_text(RESULT_COLUMNS, [_result(answer) for answer in answers])


def summary_csv(
    answers: Sequence[Answer],
    comparisons: Sequence[Difference],
    examples: Sequence[Difference] = (),
    people: Sequence[Difference] = (),
) -> str:
    """Return a CSV with one row a figure and the columns SUMMARY_COLUMNS.

    `part` is "score" (a mean), "against plain", "against no examples" or "against human" (a difference, with p), "cost"
    (sums and a median), or "answers" (counts by status).
    """
    rows: list[Sequence[str | float | None]] = []
    for source, group in by_source(answers):
        for measure in measures_of(answers):
            one = _mean(group, measure)
            rows.append(("score", *source, measure, str(one.n), one.value, one.low, one.high, None, None))
        for name, value in _costs(group).items():
            rows.append(("cost", *source, name, str(len(_answered(group))), value, None, None, None, None))
        for name, count in _counts(group).items():
            rows.append(("answers", *source, name, str(len(group)), str(count), None, None, None, None))
    parts = (("against plain", comparisons), ("against no examples", examples), ("against human", people))
    for part, pair in ((part, pair) for part, pairs in parts for pair in pairs):
        source, estimate = (pair.model, pair.persona, pair.strategy), pair.estimate
        ends = (estimate.value, estimate.low, estimate.high)
        rows.append((part, *source, pair.measure, str(estimate.n), *ends, pair.p, pair.p_holm))
    return csv_text(SUMMARY_COLUMNS, rows)


def report_tables(
    answers: Sequence[Answer],
    comparisons: Sequence[Difference],
    examples: Sequence[Difference] = (),
    people: Sequence[Difference] = (),
) -> list[ReportTable]:
    """Return the tables of the report."""
    grouped, measures = list(by_source(answers)), measures_of(answers)
    names = _SourceNames([source for source, _ in grouped])
    means = [
        Line(names.of(source), {measure.capitalize(): format_estimate(_mean(group, measure)) for measure in measures})
        for source, group in grouped
    ]
    costs = [Line(names.of(source), _cost_cells(group)) for source, group in grouped]
    tables = [ReportTable(MEANS + names.shared + _raters(answers), tuple(means))]
    if comparisons:
        tables.append(ReportTable(AGAINST + names.shared, tuple(_comparison_lines(comparisons, names))))
    if examples:
        tables.append(ReportTable(EXAMPLES + names.shared, tuple(_comparison_lines(examples, names))))
    if people:
        tables.append(ReportTable(PEOPLE + names.shared, tuple(_comparison_lines(people, names))))
    return [*tables, ReportTable(COSTS + names.shared, tuple(costs))]


def radar_means(answers: Sequence[Answer]) -> dict[str, dict[str, float]]:
    """Return the means of the rubric's four scores by source; an empty dict for a source without scores."""
    means: dict[str, dict[str, float]] = {}
    for source, group in by_source(answers):
        averages = {measure: _mean(group, measure).value for measure in SCALES}
        means[source_name(source)] = {name: value for name, value in averages.items() if value is not None}
    return means


def format_estimate(one: Estimate, *, signed: bool = False) -> str:
    """Return an estimate as text, such as `1.82 [1.70, 1.95]`."""
    if one.value is None:
        return "none"
    sign = "+" if signed else ""
    ends = f" [{one.low:{sign}.2f}, {one.high:{sign}.2f}]" if one.low is not None else ""
    return f"{one.value:{sign}.2f}{ends}"


class _SourceNames:
    """Short names of sources for a narrow table: the parts in which they differ, and always the strategy. That of the
    human answers is whole."""

    def __init__(self, all_of_them: Sequence[Source]) -> None:
        written = [source for source in all_of_them if source != HUMAN_SOURCE]
        by_part = [list(dict.fromkeys(parts)) for parts in zip(*written, strict=True)]
        self._varies = [len(parts) > 1 for parts in by_part[:-1]] + [True]
        kinds = ("model", "persona", "strategy")
        same = [
            f"{kind} {parts[0]}" for kind, parts, varies in zip(kinds, by_part, self._varies, strict=True) if not varies
        ]
        self.shared = f"; {', '.join(same)}" if same else ""
        """The end of a table's title: the parts that all sources share."""

    def of(self, source: Source) -> str:
        """Return the short name of a source."""
        if source == HUMAN_SOURCE:
            return source_name(source)
        return " / ".join(part for part, varies in zip(source, self._varies, strict=True) if varies)


def _raters(answers: Iterable[Answer]) -> str:
    """The end of a title that names the raters which are not heard's own; nothing where there are none."""
    names = sorted({answer.score.head_name for answer in answers if answer.score is not None})
    others = [name for name in names if is_other(name)]
    return f"; rated by {', '.join(others)}" if others else ""


def _mean(group: Iterable[Answer], measure: str) -> Estimate:
    return mean_estimate(list(question_scores(group, measure).values()))


def _answered(group: Iterable[Answer]) -> list[Answer]:
    return [answer for answer in group if answer.kept is not None]


def _costs(group: Sequence[Answer]) -> Mapping[str, float | None]:
    costs = [total_cost(answer.drafts) for answer in _answered(group) if answer.key[1] != HUMAN]  # nobody timed people
    read = [cost.prompt_tokens for cost in costs if cost.prompt_tokens is not None]
    written = [cost.completion_tokens for cost in costs if cost.completion_tokens is not None]
    return {
        "prompt_tokens": float(sum(read)) if read else None,
        "completion_tokens": float(sum(written)) if written else None,
        "median_seconds": median_or_none(cost.seconds for cost in costs),
    }


def _counts(group: Sequence[Answer]) -> Mapping[str, int]:
    answered = _answered(group)
    scored = sum(answer.score is not None for answer in group)
    kinds = sorted({answer.error for answer in group if answer.error})
    return {
        "scored": scored,
        "not_scored": len(answered) - scored,
        "cut": sum(answer.kept is not None and answer.kept.cut for answer in group),
        **{f"failed_{kind}": sum(answer.error == kind for answer in group) for kind in kinds},
        "missing": sum(answer.kept is None and answer.error is None for answer in group),
    }


def _cost_cells(group: Sequence[Answer]) -> dict[str, str]:
    costs, counts = _costs(group), _counts(group)
    failed = [f"{count} {name.removeprefix('failed_')}" for name, count in counts.items() if name.startswith("failed_")]
    read, written, seconds = (costs[name] for name in ("prompt_tokens", "completion_tokens", "median_seconds"))
    return {
        "answers": f"{len(_answered(group))} of {len(group)}",
        "tokens read": "none" if read is None else f"{read:,.0f}",
        "tokens written": "none" if written is None else f"{written:,.0f}",
        "median seconds": "none" if seconds is None else f"{seconds:.2f}",
        "cut": str(counts["cut"]),
        "not scored": str(counts["not_scored"]),
        "failed": ", ".join(failed) or "0",
    }


def _comparison_lines(comparisons: Sequence[Difference], names: _SourceNames) -> list[Line]:
    grouped: dict[Source, dict[str, Difference]] = {}
    for one in comparisons:
        grouped.setdefault((one.model, one.persona, one.strategy), {})[one.measure] = one
    lines = []
    for source, by_measure in grouped.items():
        empathy = by_measure[EMPATHY]
        cells = {
            measure.capitalize(): format_estimate(one.estimate, signed=True) for measure, one in by_measure.items()
        }
        p = {"p": _p(empathy.p), "Holm": _p(empathy.p_holm)}
        lines.append(Line(names.of(source), {"pairs": str(empathy.estimate.n), **cells, **p}))
    return lines


def _p(value: float | None) -> str:
    return "none" if value is None else "< .001" if value < 0.001 else f"{value:.3f}"


def _result(answer: Answer) -> Sequence[str | float | None]:
    question, model, persona, strategy, _ = answer.key
    kept = answer.kept or (answer.drafts[-1] if answer.drafts else None)
    scores = [score_of(answer, measure) for measure in MEASURES]
    if kept is None:
        empty = [None] * 4
        return (
            question, answer.question, model, persona, strategy, "", *scores, *empty, answer.status, answer.error,
            None, None, None,
        )  # fmt: skip
    cost = total_cost(answer.drafts)
    seconds = None if model == HUMAN else cost.seconds
    return (
        question, answer.question, model, persona, strategy, kept.text, *scores, _count(cost.prompt_tokens),
        _count(cost.completion_tokens), kept.first_token_seconds, seconds, answer.status, answer.error,
        kept.prompt_sha256, "yes" if kept.cut else "no", kept.score.head_name if kept.score else None,
    )  # fmt: skip


def _count(value: int | None) -> str | None:
    return None if value is None else str(value)


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """Return a CSV that is safe in a spreadsheet: cells in quotes, None as an empty one, floats with four places."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)  # a lone "\r" would else end a row
    writer.writerow(columns)
    writer.writerows([csv_cell(value) for value in row] for row in rows)
    return out.getvalue()
