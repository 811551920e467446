"""The hand-off: what it says, whose numbers it shows, and how old they may be."""

import datetime

import pytest

from heard.chat_app.safety.crisis_check import STALE_AFTER_DAYS, countries, handoff, stale_hotlines
from heard.prompts.safety_files import load_handoff, load_hotlines

HOTLINES = load_hotlines()
WANTED = [
    "US", "CA", "GB", "IE", "AU", "NZ", "DE", "AT", "CH", "FR", "ES",
    "PT", "BR", "MX", "AR", "IN", "CN", "TW", "HK", "JP", "NL", "IT",
]  # fmt: skip


def test_every_country_that_was_asked_for() -> None:
    assert {code for code, _ in countries()} >= set(WANTED)
    names = [name for _, name in countries()]
    assert names == sorted(names)


def test_every_number_has_a_public_source_and_a_date() -> None:
    today = datetime.date.today()
    for country in HOTLINES.countries:
        assert country.emergency_source.startswith("http"), country.code
        assert country.lines, country.code
        for line in country.lines:
            assert line.source.startswith("http"), line.name
            assert datetime.date(2026, 1, 1) <= line.checked <= today, line.name


def test_a_chosen_country_stands_alone_with_its_date() -> None:
    text = handoff("gb")
    assert "**999**" in text
    assert "**116 123**" in text
    assert "2026-11-28" in text
    assert "Lifeline Australia" not in text
    assert "13 11 14" not in text
    assert "findahelpline.com" in text


@pytest.mark.parametrize("country", [None, "", "XX", "nonsense"])
def test_without_a_choice_all_are_shown_and_none_is_guessed(country: str | None) -> None:
    text = handoff(country)
    for entry in HOTLINES.countries:
        assert f"**{entry.name}**: **{entry.emergency}**" in text
    assert text == handoff(None)


def test_it_says_what_it_is_and_what_was_not_done() -> None:
    text = handoff(None)
    for words in ("I am an AI", "can't keep you safe", "no reply", "not scored", "vote", "talk to a person"):
        assert words in text
    assert len(handoff("US").split()) < 230


@pytest.mark.parametrize("language", ["es", "fr", "de", "pt", "zh"])
def test_the_own_language_comes_first_and_english_stays(language: str) -> None:
    text = handoff("ES", language)
    own = load_handoff()[language].heading
    english = load_handoff()["en"].heading
    assert text.index(own) < text.index(english)
    assert "**024**" in text


def test_an_unknown_language_falls_back_to_english_once() -> None:
    assert handoff("US", "xx") == handoff("US") == handoff("US", "en")
    assert handoff("US").count(load_handoff()["en"].heading) == 1


def test_stale_numbers_are_named() -> None:
    newest = max(line.checked for country in HOTLINES.countries for line in country.lines)
    assert stale_hotlines(newest + datetime.timedelta(days=STALE_AFTER_DAYS)) == []
    told = stale_hotlines(newest + datetime.timedelta(days=STALE_AFTER_DAYS + 1))
    assert any("Samaritans" in sentence and "check it again" in sentence for sentence in told)
    assert len(told) == sum(1 + len(country.lines) for country in HOTLINES.countries) + len(HOTLINES.directories)
