"""The score card: what its props say, and that the element draws only what it is given."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from heard.chat_app.common.markdown import safe_final_markdown
from heard.chat_app.page.chainlit_files import PUBLIC
from heard.chat_app.page.draft_cards import final_props, live_props
from heard.chat_app.page.score_card import COMPONENTS, LIMITS, score_props
from heard.db.records import DraftRecord, DraftStatus, ScoreRecord
from heard.scorer.records import NOTES, EmpathyScore, ScoreStatus, Span
from heard.scorer.text import REASONS


def scored(cognitive: float, emotional: float, behavioral: float) -> EmpathyScore:
    return EmpathyScore(ScoreStatus.SCORED, cognitive, emotional, behavioral, None, "default", "0" * 64, "0" * 64)


def unscored(status: ScoreStatus, reason: str) -> EmpathyScore:
    return EmpathyScore(status, None, None, None, reason, "default", "0" * 64, "0" * 64)


def record(score: EmpathyScore) -> ScoreRecord:
    return ScoreRecord(
        score.status.value,
        score.reason,
        score.cognitive,
        score.emotional,
        score.behavioral,
        score.empathy,
        "default",
        "0" * 64,
        "0" * 64,
        score.details,
        score.perceived,
    )


def draft(
    number: int, score: EmpathyScore | None, *, kept: bool = False, status: str = "complete", text: str = "t"
) -> DraftRecord:
    return DraftRecord(
        id=str(number),
        number=number,
        text=text,
        status=DraftStatus(status),
        kept=kept,
        guidance=None,
        prompt_sha256="0" * 64,
        model="echo",
        parameters={},
        first_token_seconds=None,
        total_seconds=0,
        prompt_tokens=None,
        completion_tokens=None,
        error=None,
        score=record(score) if score else None,
        created_at=datetime.now(UTC),
    )


def test_a_score_in_bars_words_and_one_spoken_sentence() -> None:
    props = score_props(scored(2.1, 1.2, 2.7))
    assert [bar["label"] for bar in props["bars"]] == ["Cognitive", "Emotional", "Behavioral"]
    assert [bar["level"] for bar in props["bars"]] == ["Moderate", "Low", "High"]
    assert props["empathy"]["shown"] == "2.0"
    assert props["spoken"] == (
        "Estimated empathy. Empathy 2.0 of 3, Moderate; Cognitive 2.1 of 3, Moderate; Emotional 1.2 of 3, Low; "
        "Behavioral 2.7 of 3, High."
    )


def test_doubt_notes_and_words_stand_on_the_card_live_and_reopened() -> None:
    text = "That ![sounds](x) so hard. Call her, <b>today</b>."
    score = replace(
        scored(2.1, 1.2, 2.7),
        notes=("parrot",),
        intervals={"empathy": (1.5, 2.5), "cognitive": (1.0, 3.0)},
        evidence={
            "cognitive": (Span(0, 17, 0.7), Span(18, 26, 0.2)),
            "emotional": (),
            "behavioral": (Span(27, 32, 0.6),),
        },
    )
    live = live_props({1: score}, {1: text}, None, rewriting=False)
    assert live == final_props([draft(1, score, kept=True, text=text)])
    shown = live["score"]
    assert shown["empathy"]["range"] == [0.25, 0.75]
    assert [bar["range"] for bar in shown["bars"]] == [[0.0, 1.0], None, None]
    assert shown["range"] == "1.5 to 2.5"
    assert shown["notes"] == [NOTES["parrot"]]
    assert NOTES["parrot"] in shown["spoken"]
    assert [(part["label"], [piece["text"] for piece in part["pieces"]]) for part in shown["words"]] == [
        ("Cognitive", [safe_final_markdown("That ![sounds](x)"), "so hard."]),
        ("Behavioral", ["Call"]),
    ]
    assert "![" not in json.dumps(live)


def test_a_score_from_before_there_were_details_has_a_card_all_the_same() -> None:
    old = replace(draft(1, scored(2, 2, 2), kept=True), score=replace(record(scored(2, 2, 2)), details=None))
    props = final_props([old])
    assert props is not None
    assert props["score"]["words"] == []
    assert props["score"]["range"] is None


@pytest.mark.parametrize(("value", "share"), [(1.0, 0.0), (2.0, 0.5), (3.0, 1.0), (0.4, 0.0), (3.6, 1.0)])
def test_a_bar_runs_from_one_to_three(value: float, share: float) -> None:
    assert score_props(scored(value, 2, 2))["bars"][0]["share"] == share


@pytest.mark.parametrize(
    ("value", "shown", "level"),
    [
        (1.44, "1.4", "Low"),
        (1.46, "1.5", "Moderate"),
        (1.499, "1.5", "Moderate"),
        (1.5, "1.5", "Moderate"),
        (2.44, "2.4", "Moderate"),
        (2.4999, "2.5", "High"),
        (2.5, "2.5", "High"),
        (2.96, "3.0", "High"),
    ],
)
def test_number_and_word_never_contradict_each_other(value: float, shown: str, level: str) -> None:
    bar = score_props(scored(value, 2, 2))["bars"][0]
    assert (bar["shown"], bar["level"]) == (shown, level)


@pytest.mark.parametrize("status", [s for s in ScoreStatus if s is not ScoreStatus.SCORED])
def test_not_scored_is_a_reason_and_never_a_number(status: ScoreStatus) -> None:
    props = score_props(unscored(status, "This reply is not in English."))
    assert not props["scored"]
    assert props["bars"] == []
    assert props["empathy"] is None
    assert props["spoken"] == "Not scored: This reply is not in English."
    assert not re.search(r"\d", json.dumps(props))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1.2, "People would probably call this hardly empathic (1.2)."),
        (2.3, "People would probably call this moderately empathic (2.3)."),
        (2.44, "People would probably call this moderately empathic (2.4)."),
        (2.5, "People would probably call this very empathic (2.5)."),
    ],
)
def test_one_line_says_how_people_would_call_it(value: float, said: str) -> None:
    score = replace(scored(2, 2, 2), perceived=value)
    live = live_props({1: score}, {1: "t"}, None, rewriting=False)
    assert live == final_props([draft(1, score, kept=True)])
    assert live["score"]["perceived"] == said
    assert live["score"]["spoken"].endswith(f"Behavioral 2.0 of 3, Moderate. {said}")
    assert len(live["score"]["bars"]) == 3


def test_without_it_the_card_says_nothing_of_it() -> None:
    props = score_props(scored(2, 2, 2))
    assert props["perceived"] is None
    assert "People" not in json.dumps(props)
    source = (PUBLIC / "elements" / "ScoreCard.jsx").read_text(encoding="utf-8")
    assert 'score.perceived ? <p className="hc-people" aria-hidden="true">' in source


@pytest.mark.parametrize(
    ("scores", "line"),
    [((2.1, 2.1, 2.1), "Empathy 2.1, moderate"), ((1, 1, 1), "Empathy 1.0, low"), ((3, 2.6, 2.2), "Empathy 2.6, high")],
)
def test_folded_it_is_one_line(scores: tuple[float, float, float], line: str) -> None:
    assert score_props(scored(*scores))["line"] == line


@pytest.mark.parametrize("status", [s for s in ScoreStatus if s in REASONS])
def test_folded_it_says_once_that_and_why_there_is_no_score(status: ScoreStatus) -> None:
    props = score_props(unscored(status, REASONS[status]))
    assert props["line"] == props["spoken"]
    assert props["line"].startswith("Not scored: ")
    assert "Not scored" not in props["line"].removeprefix("Not scored: ")
    assert not props["reason"].startswith("Not scored")


@pytest.mark.parametrize("value", [1.44, 1.45, 1.46, 1.48, 1.4999, 1.5, 2.44, 2.46, 2.4999, 2.5])
def test_a_bar_ends_in_the_part_that_its_word_names(value: float) -> None:
    bar = score_props(scored(value, 2, 2))["bars"][0]
    assert bar["level"] == ("Low" if bar["share"] < 0.25 else "Moderate" if bar["share"] < 0.75 else "High")


def test_a_plain_reply_looks_the_same_live_and_stored() -> None:
    score = scored(2, 2, 2)
    live = live_props({1: score}, {1: "t"}, None, rewriting=False)
    assert live == final_props([draft(1, score, kept=True)])
    assert live["drafts"] == []
    assert live["limits"] == LIMITS


def test_a_rewrite_says_what_it_aims_at_while_it_runs() -> None:
    props = live_props({1: scored(2, 1, 2)}, {1: "t"}, "emotional", rewriting=True)
    assert props["note"] == "Writing it again, with more warmth."
    assert not props["improved"]


def test_an_improved_reply_shows_the_kept_score_and_offers_the_earlier_draft() -> None:
    props = final_props([draft(1, scored(1, 1, 1), text="first"), draft(2, scored(2, 2, 2), kept=True, text="second")])
    assert props is not None
    assert props["improved"] == "Rewritten; this draft scored highest"
    assert props["score"]["empathy"]["shown"] == "2.0"
    assert [(d["number"], d["kept"], d["text"]) for d in props["drafts"]] == [(1, False, "first"), (2, True, "second")]
    assert props["drafts"][0]["verdict"] == "Empathy 1.0, low"


def test_a_first_draft_that_stays_best_is_not_called_improved() -> None:
    props = final_props([draft(1, scored(2, 2, 2), kept=True), draft(2, scored(1, 1, 1))])
    assert props is not None
    assert not props["improved"]
    assert "first draft scored best" in props["note"]


def test_a_draft_that_is_kept_for_another_number_is_not_said_to_score_highest() -> None:
    for kept in (scored(1, 2, 1), unscored(ScoreStatus.INCOHERENT, "no")):
        props = final_props([draft(1, scored(2, 1, 2)), draft(2, kept, kept=True)])
        assert props is not None
        assert props["improved"] == "Rewritten; this draft was kept"


def test_a_draft_without_a_score_has_its_reason() -> None:
    props = final_props([draft(1, unscored(ScoreStatus.INCOHERENT, "It loops.")), draft(2, scored(2, 2, 2), kept=True)])
    assert props is not None
    assert props["improved"] == "Rewritten; this draft scored highest"
    assert props["drafts"][0]["verdict"] == "Not scored: It loops."


def test_a_broken_rewrite_is_named_among_the_drafts() -> None:
    props = final_props([draft(1, scored(2, 2, 2), kept=True), draft(2, None, status="broken")])
    assert props is not None
    assert props["drafts"][1]["verdict"] == "broke off, not scored"


@pytest.mark.parametrize("status", ["broken", "stopped"])
def test_a_reply_that_is_not_whole_has_no_card(status: str) -> None:
    assert final_props([draft(1, None, kept=True, status=status)]) is None


def test_props_are_plain_json_and_a_draft_loads_nothing() -> None:
    hostile = "<img src=x onerror=alert(1)> ![x](http://e.example/p.png) \ud800 \u200b"
    props = final_props([draft(1, scored(2, 2, 2), kept=True), draft(2, scored(1, 1, 1), text=hostile)])
    text = json.loads(json.dumps(props))["drafts"][1]["text"]
    assert "![" not in text
    text.encode("utf-8")


def test_the_element_takes_its_props_as_data() -> None:
    source = (PUBLIC / "elements" / "ScoreCard.jsx").read_text(encoding="utf-8")
    for hole in ("dangerouslySetInnerHTML", "innerHTML", "eval(", "Markdown", "fetch(", "updateElement", "callAction"):
        assert hole not in source
    assert 'role="group"' in source
    assert "aria-label={score.spoken}" in source
    assert "aria-expanded={open}" in source


def luminance(colour: str) -> float:
    """WCAG 2.1 relative luminance of "h s% l%"."""
    h, s, light = (float(part.rstrip("%")) for part in colour.split())
    s, light = s / 100, light / 100
    chroma = (1 - abs(2 * light - 1)) * s
    x = chroma * (1 - abs((h / 60) % 2 - 1))
    ordered = [(chroma, x, 0), (x, chroma, 0), (0, chroma, x), (0, x, chroma), (x, 0, chroma), (chroma, 0, x)]
    rgb = [value + light - chroma / 2 for value in ordered[int(h // 60) % 6]]
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_by_hand() -> None:
    assert contrast("0 0% 100%", "0 0% 0%") == pytest.approx(21)
    assert contrast("0 0% 100%", "0 0% 46.3%") == pytest.approx(4.54, abs=0.02)  # #767676, the known grey


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_can_be_read(theme: str) -> None:
    """WCAG AA: 4.5 for text, 3 for the bars."""
    colours = json.loads((PUBLIC / "theme.json").read_text(encoding="utf-8"))["variables"][theme]
    css = (PUBLIC / "card.css").read_text(encoding="utf-8")
    block = css[css.index(".dark .hc-card {") :] if theme == "dark" else css[css.index(".hc-card {") :]
    levels = re.findall(r"--hc-(?:low|moderate|high): ([^;]+);", block)[:3]
    assert len(levels) == len(COMPONENTS)
    for level in levels:
        assert contrast(level, colours["--card"]) >= 4.5
        assert contrast(level, colours["--muted"]) >= 3
    for text, ground in [
        ("--foreground", "--background"),
        ("--muted-foreground", "--background"),
        ("--muted-foreground", "--card"),
        ("--muted-foreground", "--accent"),
        ("--card-foreground", "--card"),
        ("--primary", "--background"),
        ("--primary", "--card"),
        ("--primary-foreground", "--primary"),
        ("--accent-foreground", "--accent"),
        ("--sidebar-foreground", "--sidebar-background"),
    ]:
        assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)


def test_the_theme_asks_no_foreign_host() -> None:
    assert json.loads((PUBLIC / "theme.json").read_text(encoding="utf-8"))["custom_fonts"] == []
    for path in PUBLIC.rglob("*.*"):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?://|url\(", text), path
