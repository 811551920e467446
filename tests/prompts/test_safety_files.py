"""The safety files are read strictly: a fault is named with its file, its place and the nearest right name."""

from pathlib import Path

import pytest

from heard.prompts.files import PromptFileError
from heard.prompts.safety_files import (
    DANGERS,
    FOLDER,
    GENERAL,
    load_dangers,
    load_handoff,
    load_hotlines,
    load_lexicons,
)

LEXICON = "language: en\ncrisis:\n  ideation:\n    - want to die\n"
HOTLINE = """countries:
  "GB":
    name: United Kingdom
    emergency: "999"
    emergency_source: https://example.org
    checked: 2026-11-28
    lines:
      - name: A line
        call: "116 123"
        source: https://example.org
        checked: 2026-11-28
directories:
  - name: d
    url: https://example.org
    source: https://example.org
    checked: 2026-11-28
"""


def test_what_ships_can_be_read() -> None:
    languages = {lexicon.language for lexicon in load_lexicons()}
    assert {"en", "es", "fr", "de", "pt", "zh"} <= languages
    assert load_hotlines().countries
    assert languages <= set(load_handoff())
    assert set(load_dangers()) == set(DANGERS) - {GENERAL}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("crisis:", "crises:"), "Did you mean crisis?"),
        (("ideation", "idation"), "Did you mean ideation?"),
        (("- want to die", "- yes"), "crisis.ideation.1 must be a text, not true: put it in quotes"),
        (("  ideation:\n    - want to die\n", "  ideation: want to die\n"), "crisis.ideation must be a list, not"),
        (("language: en\n", ""), "language is missing"),
        (("- want to die", "- want to die\n  ideation:\n    - die"), "written twice"),
        (("- want to die", "- [unclosed"), "not valid YAML"),
    ],
)
def test_a_faulty_lexicon(change: tuple[str, str], told: str, tmp_path: Path) -> None:
    (tmp_path / "lexicon.en.yaml").write_text(LEXICON.replace(*change), encoding="utf-8")
    with pytest.raises(PromptFileError) as fault:
        load_lexicons(tmp_path)
    assert "lexicon.en.yaml" in str(fault.value)
    assert told in str(fault.value)


def test_a_folder_without_a_lexicon(tmp_path: Path) -> None:
    with pytest.raises(PromptFileError, match="no lexicon"):
        load_lexicons(tmp_path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('"GB"', '"gb"'), "two-letter country code"),
        (("emergency:", "emergancy:"), "Did you mean emergency?"),
        (('call: "116 123"', 'cal: "116 123"'), "Did you mean call?"),
        (('        call: "116 123"\n', ""), "nobody could reach it"),
        (("        source: https://example.org\n", ""), "countries.GB.lines.1.source is missing"),
        (("checked: 2026-11-28\n    lines", "checked: last week\n    lines"), "must be a date"),
        (("directories:", "directory:"), "Did you mean directories?"),
        (('"GB"', "NO"), 'two-letter country code in capitals (quote "NO")'),
        (('"999"', "0112"), "countries.GB.emergency must be a text, not 74: put it in quotes"),
        (('"999"', '"nine"'), 'countries.GB.emergency must be a number such as "116 123"'),
        (('call: "116 123"', 'call: "116 123 at night"'), "lines.1.call must be a number such as"),
        (("        source:", "        hours: at night\n        source:"), "lines.1.hours must be always, varies, or"),
        (("        source:", "        hours: 9:00-25:00\n        source:"), "lines.1.hours must be always, varies, or"),
        (("        source:", "        for: [domestc_violence]\n        source:"), "Did you mean domestic_violence?"),
        (("        source:", "        for: []\n        source:"), "lines.1.for is empty"),
        (('"999"', '"999"\n    police: "110"'), "countries.GB has a police number without police_source"),
        (
            ("    emergency:", "    code: FR\n    emergency:"),
            "countries.GB.code is the name of the file, or the key above",
        ),
    ],
)
def test_faulty_hotlines(change: tuple[str, str], told: str, tmp_path: Path) -> None:
    path = tmp_path / "hotlines.yaml"
    path.write_text(HOTLINE.replace(*change), encoding="utf-8")
    with pytest.raises(PromptFileError) as fault:
        load_hotlines(path)
    assert told in str(fault.value)


def test_the_sound_hotline_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "hotlines.yaml"
    path.write_text(HOTLINE, encoding="utf-8")
    assert load_hotlines(path).countries[0].lines[0].call == "116 123"


def test_a_hand_off_without_english(tmp_path: Path) -> None:
    path = tmp_path / "handoff.yaml"
    path.write_text("{}", encoding="utf-8")
    with pytest.raises(PromptFileError, match="no English"):
        load_handoff(path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("{number}", "{numer}"), "call uses {numer}, which nobody fills"),
        (("{number}", "999"), "call must hold {number} exactly once"),
        (("{date}", "{date} {date}"), "checked must hold {date} exactly once"),
        (("(a guess from your browser)", "{region}"), "guess uses {region}, which nobody fills"),
        (("  closing:", "  closng:"), "Did you mean closing?"),
        (("  reviewed: false", "  reviewed: soon"), "reviewed must be true or false"),
        (("  heading: You", "  direction: left\n  heading: You"), "direction must be ltr or rtl"),
        ((", Sun]", "]"), "en.hours.days must be a list of 7 to 7, not 6"),
    ],
)
def test_a_hand_off_whose_numbers_would_not_be_filled_in(change: tuple[str, str], told: str, tmp_path: Path) -> None:
    text = (FOLDER / "handoff.yaml").read_text(encoding="utf-8")
    path = tmp_path / "handoff.yaml"
    path.write_text(text.replace(*change), encoding="utf-8")
    with pytest.raises(PromptFileError) as fault:
        load_handoff(path)
    assert told in str(fault.value)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("poisoning:", "poisning:"), "Did you mean poisoning?"),
        (("  ends: true", "  ends: soon"), "minor.ends must be true or false"),
        (("    en:\n", "    fr:\n"), "domestic_violence has no English text (en)"),
        (("      heading: It was not your fault\n", ""), "heading is missing"),
    ],
)
def test_a_faulty_hand_off_of_a_danger(change: tuple[str, str], told: str, tmp_path: Path) -> None:
    text = (FOLDER / "dangers.yaml").read_text(encoding="utf-8")
    path = tmp_path / "dangers.yaml"
    path.write_text(text.replace(change[0], change[1], 1), encoding="utf-8")
    with pytest.raises(PromptFileError) as fault:
        load_dangers(path)
    assert told in " ".join(fault.value.faults)


def test_a_danger_without_an_entry_is_missed(tmp_path: Path) -> None:
    text = (FOLDER / "dangers.yaml").read_text(encoding="utf-8")
    path = tmp_path / "dangers.yaml"
    path.write_text(text[: text.index("eating_disorder:")], encoding="utf-8")
    with pytest.raises(PromptFileError, match="eating_disorder is missing"):
        load_dangers(path)
