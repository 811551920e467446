"""The tables of a comparison, for the terminal, for Markdown and for CSV."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from heard.chat_app.comparing.answers import EMPATHY, MEASURES, Answer, Source, cost_of, middle, score_of, sources
from heard.chat_app.comparing.figures import PLAIN, Difference, Estimate, mean
from heard.chat_app.export.flag_table import cell
from heard.scorer.tables import Line, markdown

RESULTS = (
    "question_id", "question", "model", "persona", "strategy", "text", *MEASURES, "prompt_tokens", "completion_tokens",
    "first_token_seconds", "seconds", "status", "error", "prompt_sha256", "cut",
)  # fmt: skip
SUMMARY = ("part", "model", "persona", "strategy", "measure", "n", "value", "low", "high", "p", "p_holm")
MEANS = "Scores of each source (mean of 1 to 3, with intervals of 95%)"
AGAINST = f"Each strategy against {PLAIN}, on the same questions (difference, with intervals of 95%; p of Empathy)"
COSTS = "What they cost"


@dataclass(frozen=True, slots=True)
class Grid:
    """One table."""

    title: str
    lines: tuple[Line, ...]

    def markdown(self) -> str:
        """With its title as a heading."""
        return f"## {self.title}\n\n{markdown(self.lines)}\n"


def results_csv(answers: Iterable[Answer]) -> str:
    """One row an answer, with the columns RESULTS; empty cells for what is not there. Scores 1..3, times in seconds."""
    return csv_text(RESULTS, [_result(answer) for answer in answers])


def summary_csv(answers: Sequence[Answer], found: Sequence[Difference]) -> str:
    """One row a figure, with the columns SUMMARY.

    `part` is "score" (a mean), "against plain" (a difference, with p), "cost" (sums and a median), or "answers"
    (counts by how they ended).
    """
    rows: list[Sequence[str | float | None]] = []
    for source, own in sources(answers):
        for measure in MEASURES:
            one = _mean(own, measure)
            rows.append(("score", *source, measure, str(one.n), one.value, one.low, one.high, None, None))
        for name, value in _costs(own).items():
            rows.append(("cost", *source, name, str(len(_whole(own))), value, None, None, None, None))
        for name, count in _counts(own).items():
            rows.append(("answers", *source, name, str(len(own)), str(count), None, None, None, None))
    for two in found:
        source = (two.model, two.persona, two.strategy)
        by = two.by
        rows.append(("against plain", *source, two.measure, str(by.n), by.value, by.low, by.high, two.p, two.p_holm))
    return csv_text(SUMMARY, rows)


def grids(answers: Sequence[Answer], found: Sequence[Difference]) -> list[Grid]:
    """The tables that people read."""
    by_source = list(sources(answers))
    names = _Names([source for source, _ in by_source])
    means = [
        Line(names.of(source), {measure.capitalize(): shown(_mean(own, measure)) for measure in MEASURES})
        for source, own in by_source
    ]
    costs = [Line(names.of(source), _cost_cells(own)) for source, own in by_source]
    made = [Grid(MEANS + names.shared, tuple(means))]
    if found:
        made.append(Grid(AGAINST + names.shared, tuple(_against(found, names))))
    return [*made, Grid(COSTS + names.shared, tuple(costs))]


def radar_means(answers: Sequence[Answer]) -> dict[str, dict[str, float]]:
    """The mean of each measure by source; an empty mapping for a source that has none."""
    means: dict[str, dict[str, float]] = {}
    for source, own in sources(answers):
        found = {measure: _mean(own, measure).value for measure in MEASURES}
        means[" / ".join(source)] = {name: value for name, value in found.items() if value is not None}
    return means


def shown(one: Estimate, *, signed: bool = False) -> str:
    """`1.82 [1.70, 1.95]`."""
    if one.value is None:
        return "none"
    sign = "+" if signed else ""
    ends = f" [{one.low:{sign}.2f}, {one.high:{sign}.2f}]" if one.low is not None else ""
    return f"{one.value:{sign}.2f}{ends}"


class _Names:
    """What sources are called in a narrow table: by what they differ in, and always by the strategy."""

    def __init__(self, all_of_them: Sequence[Source]) -> None:
        by_part = [list(dict.fromkeys(parts)) for parts in zip(*all_of_them, strict=True)]
        self._told = [len(parts) > 1 for parts in by_part[:-1]] + [True]
        kinds = ("model", "persona", "strategy")
        same = [f"{kind} {parts[0]}" for kind, parts, told in zip(kinds, by_part, self._told, strict=True) if not told]
        self.shared = f"; {', '.join(same)}" if same else ""
        """The end of a table's title: what all sources have in common."""

    def of(self, source: Source) -> str:
        """The name of one."""
        return " / ".join(part for part, told in zip(source, self._told, strict=True) if told)


def _mean(own: Iterable[Answer], measure: str) -> Estimate:
    return mean([value for answer in own if (value := score_of(answer, measure)) is not None])


def _whole(own: Iterable[Answer]) -> list[Answer]:
    return [answer for answer in own if answer.kept is not None]


def _costs(own: Sequence[Answer]) -> Mapping[str, float | None]:
    costs = [cost_of(answer.drafts) for answer in _whole(own)]
    read = [cost.prompt_tokens for cost in costs if cost.prompt_tokens is not None]
    written = [cost.completion_tokens for cost in costs if cost.completion_tokens is not None]
    return {
        "prompt_tokens": float(sum(read)) if read else None,
        "completion_tokens": float(sum(written)) if written else None,
        "median_seconds": middle(cost.seconds for cost in costs),
    }


def _counts(own: Sequence[Answer]) -> Mapping[str, int]:
    whole = _whole(own)
    scored = sum(answer.score is not None for answer in own)
    kinds = sorted({answer.error for answer in own if answer.error})
    return {
        "scored": scored,
        "not_scored": len(whole) - scored,
        "cut": sum(answer.kept is not None and answer.kept.cut for answer in own),
        **{f"failed_{kind}": sum(answer.error == kind for answer in own) for kind in kinds},
        "missing": sum(answer.kept is None and answer.error is None for answer in own),
    }


def _cost_cells(own: Sequence[Answer]) -> dict[str, str]:
    costs, counts = _costs(own), _counts(own)
    failed = [f"{count} {name.removeprefix('failed_')}" for name, count in counts.items() if name.startswith("failed_")]
    read, written, seconds = (costs[name] for name in ("prompt_tokens", "completion_tokens", "median_seconds"))
    return {
        "answers": f"{len(_whole(own))} of {len(own)}",
        "tokens read": "none" if read is None else f"{read:,.0f}",
        "tokens written": "none" if written is None else f"{written:,.0f}",
        "median seconds": "none" if seconds is None else f"{seconds:.2f}",
        "cut": str(counts["cut"]),
        "not scored": str(counts["not_scored"]),
        "failed": ", ".join(failed) or "0",
    }


def _against(found: Sequence[Difference], names: _Names) -> list[Line]:
    by_source: dict[Source, dict[str, Difference]] = {}
    for one in found:
        by_source.setdefault((one.model, one.persona, one.strategy), {})[one.measure] = one
    lines = []
    for source, by_measure in by_source.items():
        empathy = by_measure[EMPATHY]
        cells = {measure.capitalize(): shown(by_measure[measure].by, signed=True) for measure in MEASURES}
        p = {"p": _p(empathy.p), "Holm": _p(empathy.p_holm)}
        lines.append(Line(names.of(source), {"pairs": str(empathy.by.n), **cells, **p}))
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
            None, None,
        )  # fmt: skip
    cost = cost_of(answer.drafts)
    return (
        question, answer.question, model, persona, strategy, kept.text, *scores, _count(cost.prompt_tokens),
        _count(cost.completion_tokens), kept.first_token_seconds, cost.seconds, answer.status, answer.error,
        kept.prompt_sha256, "yes" if kept.cut else "no",
    )  # fmt: skip


def _count(value: int | None) -> str | None:
    return None if value is None else str(value)


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """A CSV that a spreadsheet may open: every cell in quotes, None an empty one, floats with four places."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)  # a lone "\r" would else end a row
    writer.writerow(columns)
    writer.writerows([cell(value) for value in row] for row in rows)
    return out.getvalue()
