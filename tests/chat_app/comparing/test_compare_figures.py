"""The figures of a comparison, worked by hand, and the files that they are written to."""

import csv
import io
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from scipy.stats import wilcoxon  # type: ignore[import-untyped]

from heard.chat_app.comparing.answers import Answer
from heard.chat_app.comparing.figures import (
    Difference,
    differences,
    example_differences,
    holm,
    human_differences,
    mean_estimate,
)
from heard.chat_app.comparing.plan import WITHOUT_EXAMPLES
from heard.chat_app.comparing.policy_figures import figures_of, policies_csv, policy_tables
from heard.chat_app.comparing.radar import ChartsMissing, draw
from heard.chat_app.comparing.tables import (
    RESULT_COLUMNS,
    SUMMARY_COLUMNS,
    radar_means,
    report_tables,
    results_csv,
    summary_csv,
)
from heard.db.records import DraftRecord, DraftStatus, StepRecord
from tests.chat_app.conversation.test_rewriting import draft

STEP = StepRecord("critique", "Warmer.", "0" * 64, "m", 160, 0.1, 0.5, 10, 5)


def answer(question: int, strategy: str, empathy: float | None, model: str = "m", **fields: object) -> Answer:
    """One answer with one draft that took 2 seconds and 30 + 12 tokens."""
    kept = replace(
        draft(empathy, "=That is a lot."), kept=True, total_seconds=2.0, prompt_tokens=30, completion_tokens=12
    )
    whole = Answer((str(question), model, "listener", strategy, "never"), "What now?", "complete", (kept,))
    return replace(whole, **fields)  # type: ignore[arg-type]


def failed(question: int, strategy: str) -> Answer:
    return answer(question, strategy, None, status="failed", drafts=(), error="busy")


def of(found: list[Difference], strategy: str, model: str = "m", measure: str = "empathy") -> Difference:
    (one,) = [d for d in found if (d.strategy, d.model, d.measure) == (strategy, model, measure)]
    return one


def without(one: Answer, empathy: float | None) -> Answer:
    """The answer to the same question by the persona without its examples."""
    question, model, persona, strategy, policy = one.key
    other = answer(int(question), strategy, empathy)
    return replace(other, key=(question, model, f"{persona}{WITHOUT_EXAMPLES}", strategy, policy))


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_holms_correction_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_a_mean_lies_in_its_interval_and_one_value_has_none() -> None:
    found = mean_estimate([1.0, 2.0, 3.0, 2.0])
    assert (found.n, found.value) == (4, 2.0)
    assert found.low is not None
    assert found.high is not None
    assert 1.0 <= found.low < 2.0 < found.high <= 3.0
    assert mean_estimate([1.0, 2.0, 3.0, 2.0]) == found, "the same answers give the same interval"
    assert (mean_estimate([1.5]).value, mean_estimate([1.5]).low) == (1.5, None)
    assert (mean_estimate([]).n, mean_estimate([]).value) == (0, None)


def test_a_strategy_is_held_against_plain_on_the_questions_that_both_have() -> None:
    gains = [0.1, 0.2, 0.3, 0.4, 0.5, -0.05]
    answers = [answer(n, "plain", 1.5) for n in range(9)]
    answers += [answer(n, "definition", 1.5 + gain) for n, gain in enumerate(gains)]
    answers += [answer(6, "definition", None), failed(7, "definition")]
    one = of(differences(answers), "definition")
    assert one.estimate.n == 6
    assert one.estimate.value == pytest.approx(sum(gains) / 6)
    assert one.p == pytest.approx(wilcoxon(gains).pvalue)
    assert one.p == one.p_holm, "one strategy alone needs no correction"


def test_p_values_are_corrected_over_the_strategies() -> None:
    answers = [answer(n, "plain", 1.5) for n in range(8)]
    answers += [answer(n, "up", 1.6 + n / 100) for n in range(8)]
    answers += [answer(n, "same", 1.5) for n in range(8)]
    answers += [answer(n, "noise", 1.5 + (n % 2 - 0.5 + n / 100) / 10) for n in range(8)]
    found = differences(answers)
    up, same, noise = (of(found, name) for name in ("up", "same", "noise"))
    assert (same.p, same.p_holm, same.estimate.value) == (None, None, 0.0)
    assert up.p is not None
    assert noise.p is not None
    assert [up.p_holm, noise.p_holm] == pytest.approx(holm([up.p, noise.p]))


def test_over_all_models_a_question_counts_once() -> None:
    answers = [answer(n, "plain", 1.5, model) for n in range(4) for model in ("a", "b")]
    answers += [answer(n, "up", 1.7, "a") for n in range(4)] + [answer(n, "up", 1.9, "b") for n in range(4)]
    over_all = of(differences(answers), "up", "all")
    assert (over_all.estimate.n, over_all.estimate.value) == (4, pytest.approx(0.3))
    assert [d.model for d in differences(answers[:0])] == []
    assert "all" not in {d.model for d in differences([a for a in answers if a.key[1] == "a"])}


def test_without_plain_there_is_nothing_to_hold_against() -> None:
    assert differences([answer(1, "definition", 2.0)]) == []


def test_the_files_have_every_answer_and_run_nothing_in_a_spreadsheet() -> None:
    gone = answer(3, "plain", None, status="missing", drafts=())
    answers = [answer(1, "plain", 1.5), answer(2, "plain", None), gone, failed(4, "plain"), answer(1, "up", 2.0)]
    rows = table(results_csv(answers))
    assert list(rows[0]) == list(RESULT_COLUMNS)
    assert [row["status"] for row in rows] == ["complete", "complete", "missing", "failed", "complete"]
    assert [row["empathy"] for row in rows] == ["1.5000", "", "", "", "2.0000"]
    assert (rows[0]["text"], rows[0]["prompt_tokens"], rows[0]["seconds"], rows[0]["cut"]) == (
        "'=That is a lot.", "30", "2.0000", "no",
    )  # fmt: skip
    assert rows[3]["error"] == "busy"
    found = differences(answers)
    summary = table(summary_csv(answers, found))
    assert list(summary[0]) == list(SUMMARY_COLUMNS)
    values = {(row["part"], row["strategy"], row["measure"]): row["value"] for row in summary}
    assert values["score", "plain", "empathy"] == "1.5000"
    assert values["cost", "plain", "prompt_tokens"] == "60.0000"
    assert values["answers", "plain", "failed_busy"] == values["answers", "plain", "missing"] == "1"
    assert values["answers", "plain", "not_scored"] == "1"
    assert values["against plain", "up", "empathy"] == "0.5000"
    text = "\n".join(grid.markdown() for grid in report_tables(answers, found))
    assert "| up | 1 of 1 |" in text
    assert "1 busy" in text
    assert "model m, persona listener" in text


def test_radars_of_every_source_that_has_scores(tmp_path: Path) -> None:
    answers = [answer(1, "plain", 1.5), answer(1, "cost$a$", 2.5), failed(1, "broken")]
    paths = draw(radar_means(answers), tmp_path)
    assert paths[0].read_bytes().startswith(b"\x89PNG")
    drawing = paths[1].read_text(encoding="utf-8")
    for words in ("m / listener / plain", "cost$a$", "Cognitive", "Emotional", "Behavioral", "Empathy"):
        assert words in re.sub(r"\\", "", drawing)
    assert "broken" not in drawing
    draw(radar_means(answers), tmp_path)
    assert paths[1].read_text(encoding="utf-8") == drawing, "the same figures give the same file"


def test_without_matplotlib_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ChartsMissing, match=r"heard\[charts\]"):
        draw({}, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_how_people_would_call_the_answers_has_a_column_where_the_head_says_it() -> None:
    plain = [called(answer(n, "plain", 1.5), 2.0) for n in range(3)]
    answers = [*plain, *(called(answer(n, "up", 1.5), 2.0 + n / 10) for n in range(3)), answer(4, "up", 2.0)]
    found = differences(answers)
    assert of(found, "up", measure="perceived").estimate.value == pytest.approx(0.1)
    text = "\n".join(grid.markdown() for grid in report_tables(answers, found))
    assert "| | Cognitive | Emotional | Behavioral | Empathy | Perceived |" in text
    assert "| | pairs | Cognitive | Emotional | Behavioral | Empathy | Perceived | p | Holm |" in text
    values = {(row["part"], row["strategy"], row["measure"]): row for row in table(summary_csv(answers, found))}
    assert (values["score", "up", "perceived"]["n"], values["score", "up", "empathy"]["n"]) == ("3", "4")
    assert [row["perceived"] for row in table(results_csv(answers))][-2:] == ["2.2000", ""]
    assert "perceived" not in radar_means(answers)["m / listener / up"]
    without_it = [answer(1, "plain", 1.5)]
    assert "Perceived" not in "\n".join(grid.markdown() for grid in report_tables(without_it, []))
    assert "perceived" not in {row["measure"] for row in table(summary_csv(without_it, []))}


def called(one: Answer, perceived: float) -> Answer:
    """The answer with a score of how empathic people would call each draft."""
    drafts = [replace(made, score=replace(made.score, perceived=perceived)) for made in one.drafts if made.score]
    return replace(one, drafts=tuple(drafts))


# Policies


def several(question: int, *empathies: float | None, broken: bool = False, policy: str = "p") -> Answer:
    drafts: list[DraftRecord] = []
    best = max(range(len(empathies)), key=lambda place: empathies[place] or 0)
    for place, empathy in enumerate(empathies):
        one = replace(draft(empathy), kept=place == best, total_seconds=1.0, prompt_tokens=10, completion_tokens=10)
        drafts.append(replace(one, steps=(STEP,)) if place else one)
    if broken:
        drafts.append(replace(draft(None), status=DraftStatus.BROKEN, score=None, total_seconds=1.0))
    return Answer((str(question), "m", "listener", "plain", policy), "What now?", "complete", tuple(drafts))


def test_what_a_policy_brings_and_costs_by_hand() -> None:
    answers = [several(1, 1.5, 2.0), several(2, 2.0, 1.5), several(3, 2.5), several(4, 1.0, broken=True)]
    answers += [several(5, None, 2.0), failed(6, "plain")]
    found = figures_of("p", answers)
    assert (found.answers, found.failed, found.missing, found.unscored, found.drafts, found.broken) == (
        5,
        1,
        0,
        1,
        9,
        1,
    )
    assert found.first["empathy"].value == pytest.approx((1.5 + 2.0 + 2.5 + 1.0) / 4)
    assert found.kept["empathy"].value == pytest.approx((2.0 + 2.0 + 2.5 + 1.0) / 4)
    assert found.gain["empathy"].value == pytest.approx(0.125)
    assert (found.improved.count, found.improved.of) == (1, 4)
    assert found.extra_seconds == pytest.approx((1.5 + 1.5 + 0 + 1 + 1.5) / 5)
    assert found.times_seconds == pytest.approx((5 + 5.5) / 5)
    assert found.extra_tokens == pytest.approx(3 * 35 / 5)
    assert found.times_tokens == pytest.approx((100 + 105) / 100)
    values = {row["measure"]: row["value"] for row in table(policies_csv([found]))}
    assert (values["gain_empathy"], values["drafts"], values["improved"]) == ("0.1250", "9", "0.2500")
    assert "+0.12" in policy_tables([found])[0].markdown()


def test_a_gain_in_how_people_would_call_it_is_told_where_it_is_known() -> None:
    first, kept = called(several(1, 1.5, 2.0), 1.4).drafts
    assert kept.score is not None
    better = replace(kept, score=replace(kept.score, perceived=1.9))
    known = figures_of("p", [replace(several(1, 1.5, 2.0), drafts=(first, better)), several(2, 1.5, 2.0)])
    assert (known.gain["perceived"].n, known.gain["perceived"].value) == (1, pytest.approx(0.5))
    lines = policy_tables([known, figures_of("q", [several(1, 1.5, 2.0)])])[1].markdown().splitlines()
    assert lines[2] == "| | Cognitive | Emotional | Behavioral | Empathy | Perceived |"
    assert lines[4].endswith("| +0.50 |")
    assert lines[5].endswith("| none |")


def test_a_policy_without_answers_has_no_figures_and_no_zero() -> None:
    found = figures_of("p", [failed(1, "plain")])
    assert (found.extra_seconds, found.times_tokens, found.first["empathy"].value, found.improved.share) == (None,) * 4
    assert "none" in "\n".join(grid.markdown() for grid in policy_tables([found]))


# Examples


def test_examples_are_held_against_none_on_the_questions_that_both_have() -> None:
    gains = [0.1, 0.2, 0.3, 0.4, 0.5, -0.05]
    shown = [answer(n, "plain", 1.5 + gain) for n, gain in enumerate(gains)]
    answers = [
        *shown,
        *(without(one, 1.5) for one in shown),
        answer(7, "plain", 3.0),
        without(answer(8, "plain", 0), 3.0),
    ]
    one = of(example_differences(answers), "plain")
    assert (one.persona, one.estimate.n, one.p) == ("listener", 6, pytest.approx(float(wilcoxon(gains).pvalue)))
    assert one.estimate.value == pytest.approx(sum(gains) / 6)
    assert one.p_holm == one.p
    assert example_differences(shown) == []
    assert differences(answers) == [], "there is plain alone"


def test_over_all_sources_a_question_counts_once_and_the_tables_have_a_row_for_each() -> None:
    answers = []
    for strategy, gain in (("plain", 0.2), ("definition", 0.6)):
        for n in range(6):
            one = answer(n, strategy, 1.5 + gain)
            answers += [one, without(one, 1.5)]
    found = example_differences(answers)
    pooled = of(found, "all", "all")
    assert (pooled.estimate.n, pooled.estimate.value) == (6, pytest.approx(0.4))
    assert {d.strategy for d in found} == {"plain", "definition", "all"}
    text = "\n".join(grid.markdown() for grid in report_tables(answers, differences(answers), found))
    section = text.split("## Examples against none")[1].split("## What")[0]
    assert "| listener / definition | 6 |" in section
    assert "| all / all | 6 |" in section
    rows = [row for row in table(summary_csv(answers, [], found)) if row["part"] == "against no examples"]
    assert len(rows) == 12
    assert {row["persona"] for row in rows} == {"listener", "all"}
    assert {row["persona"] for row in table(results_csv(answers))} == {"listener", "listener without examples"}


def test_several_human_answers_count_as_their_mean_and_are_no_strategy() -> None:
    models = [answer(1, "plain", 2.0), answer(2, "plain", 2.5), answer(1, "warm", 3.0), answer(3, "warm", 3.0)]
    people = [
        replace(answer(question, "", empathy), key=(str(question), "human", "", "", str(number)))
        for number, (question, empathy) in enumerate([(1, 1.0), (1, 2.0), (2, 1.5), (4, None)])
    ]
    found = human_differences([*models, *people])
    plain, warm = of(found, "plain"), of(found, "warm")
    assert (plain.estimate.n, plain.estimate.value) == (2, pytest.approx((0.5 + 1.0) / 2))
    assert (warm.estimate.n, warm.estimate.value) == (1, pytest.approx(1.5))
    assert human_differences(models) == []
    assert {one.strategy for one in differences([*models, *people])} == {"warm"}
    assert radar_means([*models, *people])["human"]["empathy"] == pytest.approx(1.5)
