"""The tables of how often the check is right: what counts as found, and under which name."""

from collections.abc import Sequence

from heard.chat_app.safety.danger_measure import Verdicts, report
from heard.chat_app.safety.verdict import Danger, Level, SafetyVerdict
from heard.scorer.danger_lines import DangerLine

QUIET, HANDED_OFF = SafetyVerdict(), SafetyVerdict(Level.CRISIS, "ideation", "en", reader="rules")
ASKED, PAST = SafetyVerdict(Level.CHECK_IN, "passive", "en"), SafetyVerdict(Level.RECOVERY, language="en")
THREAT = SafetyVerdict(Level.CRISIS, "threat", "en", Danger.THREAT, "head")
LINES = [
    DangerLine("a", "crisis", "plan", "w1-1", "teen"),
    DangerLine("b", "crisis", "plan", "w1-2"),
    DangerLine("c", "crisis", "goodbye", "w1-3", "teen"),
    DangerLine("d", "none", "idiom", "w1-4", "teen"),
    DangerLine("e", "none", "idiom", "w1-4", "teen"),
    DangerLine("f", "threat", "threat", "w1-5"),
    DangerLine("g", "recovery", "past", "w1-6"),
]
RULES = [HANDED_OFF, QUIET, QUIET, HANDED_OFF, QUIET, QUIET, HANDED_OFF]
BOTH = [HANDED_OFF, HANDED_OFF, ASKED, HANDED_OFF, ASKED, THREAT, PAST]


def counted(marks: Sequence[bool], groups: Sequence[str]) -> str:
    return f"{sum(marks)} of {len(marks)} in {len(set(groups))}"


def tables() -> dict[str, dict[str, list[str]]]:
    """Under each heading the cells of each row by its name."""
    found: dict[str, dict[str, list[str]]] = {}
    for part in report(Verdicts(LINES, RULES, BOTH), counted).split("### ")[1:]:
        title, _, table = part.partition("\n")
        rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in table.strip().splitlines()]
        found[title] = {name: cells for name, *cells in rows[2:]}
    return found


def test_each_label_has_a_row_with_both_checks() -> None:
    # rules alone, both, asked or handed off, acknowledged as past
    assert tables()["All"] == {
        "none": ["1 of 2 in 1", "1 of 2 in 1", "2 of 2 in 1", "0 of 2 in 1"],
        "recovery": ["1 of 1 in 1", "0 of 1 in 1", "0 of 1 in 1", "1 of 1 in 1"],
        "crisis": ["1 of 3 in 3", "2 of 3 in 3", "3 of 3 in 3", "0 of 3 in 3"],
        "threat": ["0 of 1 in 1", "1 of 1 in 1", "1 of 1 in 1", "0 of 1 in 1"],
    }


def test_crises_and_harmless_lines_stand_by_kind_and_by_register() -> None:
    found = tables()
    assert set(found["Crises by kind: handed off"]) == {"plan", "goodbye"}
    assert found["Crises by kind: handed off"]["plan"][:2] == ["1 of 2 in 2", "2 of 2 in 2"]
    assert set(found["Crises by register: handed off"]) == {"-", "teen"}
    assert found["Harmless lines by kind: handed off"]["idiom"][1] == "1 of 2 in 1"
    assert found["Harmless lines by register: handed off"]["teen"][1] == "1 of 2 in 1"


def test_a_conversation_counts_once_by_its_gravest_message() -> None:
    talks = [
        DangerLine("a", "crisis", "talk:rising", "w1-1"),
        DangerLine("b", "crisis", "talk:rising", "w1-1"),
        DangerLine("c", "crisis", "talk:rising", "w1-2"),
    ]
    table = report(Verdicts(talks, [QUIET, QUIET, QUIET], [QUIET, HANDED_OFF, ASKED]), counted)
    assert "| rising | 0 of 2 in 2 | 1 of 2 in 2 | 2 of 2 in 2 |" in table
    assert "Conversations" not in report(Verdicts(LINES, RULES, BOTH), counted)


def test_a_table_without_lines_is_left_out() -> None:
    some = Verdicts(LINES[:1], RULES[:1], BOTH[:1])
    assert "Harmless" not in report(some, counted)
