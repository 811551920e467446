"""The hand-off: what it says, in which language and order, whose numbers it shows, and how old they may be."""

import datetime
import re

import pytest

from heard.chat_app.safety.crisis_numbers import (
    STALE_AFTER_DAYS,
    common_emergency_numbers,
    countries,
    entries,
    lines_for,
    stale_hotlines,
)
from heard.chat_app.safety.handoff import MOST_SERVICES, ending_dangers, handoff, texts
from heard.chat_app.safety.handoff_pages import as_html, as_markdown
from heard.chat_app.safety.verdict import Danger
from heard.prompts.hours import hours_in_words
from heard.prompts.phone_numbers import dialled, numbers_in, word_and_number
from heard.prompts.safety_files import DANGERS, GENERAL, load_dangers, load_handoff, load_hotlines, load_lexicons

HOTLINES = load_hotlines()
CODES = [country.code for country in HOTLINES.countries]
WANTED = [
    "US", "CA", "GB", "IE", "AU", "NZ", "DE", "AT", "CH", "FR", "ES",
    "PT", "BR", "MX", "AR", "IN", "CN", "TW", "HK", "JP", "NL", "IT", "ZA",
]  # fmt: skip
OTHERS = sorted(load_dangers())
LINES = {
    "domestic_violence": "US GB IE AU NZ DE AT FR ES IN NL ZA",
    "sexual_assault": "US GB IE AU NZ DE AT FR ES IN NL ZA",
    "minor": "US CA GB IE AU NZ DE AT CH FR ES IN NL ZA",
    "child_abuse": "US CA GB IE AU NZ DE AT CH FR ES IN NL ZA",
    "poisoning": "US CA GB IE AU NZ DE AT CH FR ES ZA",
    "eating_disorder": "US GB AU DE",
}
"""Danger -> countries with a line of its own."""
JUDGING = re.compile(r"\b(scor|vote|rated|ballot|bewertet|puntuado|noté|pontuad)", re.IGNORECASE)


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_every_country_that_was_asked_for() -> None:
    assert {code for code, _ in countries()} >= set(WANTED)
    names = [name for _, name in countries()]
    assert names == sorted(names)


def test_every_number_has_a_public_source_and_a_date() -> None:
    newest = datetime.date(2026, 11, 30)
    for country in HOTLINES.countries:
        assert country.emergency_source.startswith("http"), country.code
        assert any(GENERAL in line.dangers for line in country.lines), country.code
        for line in country.lines:
            assert line.source.startswith("http"), line.name
            assert datetime.date(2026, 1, 1) <= line.checked, line.name
            assert line.checked <= max(newest, datetime.date.today()), line.name


def test_the_files_and_the_verdict_know_the_same_dangers() -> None:
    assert set(DANGERS) == {danger.value for danger in Danger}
    assert Danger(GENERAL) is Danger.SUICIDE


@pytest.mark.parametrize(("danger", "codes"), LINES.items())
def test_a_danger_has_lines_of_its_own(danger: str, codes: str) -> None:
    own = {country.code for country in HOTLINES.countries for line in country.lines if danger in line.dangers}
    assert own == set(codes.split())


# --- what it says


@pytest.mark.parametrize("language", sorted(load_handoff()))
@pytest.mark.parametrize("country", [None, "GB", "DE", "IN"])
def test_it_speaks_one_language_and_in_order(language: str, country: str | None) -> None:
    shown, own = handoff(country, language), load_handoff()[language]
    for drawn in (as_markdown(shown), words(as_html(shown)).replace("&#39;", "'").replace("&#34;", '"')):
        said = [shown.heading, *(service.ways[0].label for service in shown.services), *shown.sentences, shown.closing]
        places = [drawn.index(sentence) for sentence in said]
        assert places == sorted(places)
        for other in load_handoff().values():
            if other.heading != own.heading:
                assert other.heading not in drawn
                assert other.closing not in drawn
        assert not JUDGING.search(drawn)
    assert (shown.language, shown.direction) == (language, own.direction)
    assert 2 <= len(shown.sentences) <= 3


def test_every_language_that_the_check_knows_has_a_text() -> None:
    assert {lexicon.language for lexicon in load_lexicons()} <= set(texts())


@pytest.mark.parametrize("language", ["xx", "", None, "zz-ZZ"])
def test_an_unknown_language_falls_back_to_english(language: str | None) -> None:
    assert handoff("US", language) == handoff("US", "en")


def test_chinese_is_traditional_where_it_is_written_so() -> None:
    assert handoff("TW", "zh").language == "zh-Hant"
    assert handoff("CN", "zh").language == handoff(None, "zh").language == "zh"


@pytest.mark.parametrize("danger", OTHERS)
@pytest.mark.parametrize("country", CODES)
def test_every_danger_has_its_words_and_a_number_to_call_in_every_country(danger: str, country: str) -> None:
    shown = handoff(country, "en", danger)
    own = load_dangers()[danger]
    assert shown.heading == own.texts["en"].heading
    assert shown.sentences == own.texts["en"].body
    emergency = [service.emergency for service in shown.services]
    assert emergency.count(True) == 1
    assert emergency[0] == own.emergency_first
    assert 2 <= len(shown.services) <= MOST_SERVICES + 1
    for way in (way for service in shown.services for way in service.ways):
        assert re.fullmatch(r"tel:\+?\d+|sms:\+?\d+(\?&body=\w+)?", way.href)
        assert way.name.startswith(way.label) or way.label.isdigit() or set(way.label) <= set("0123456789 -()+")
    assert not JUDGING.search(as_markdown(shown))


@pytest.mark.parametrize("danger", OTHERS)
def test_another_language_gets_its_general_text_with_that_danger_s_numbers(danger: str) -> None:
    shown = handoff("FR", "fr", danger)
    assert shown.heading == texts()["fr"].heading
    assert [service.name for service in shown.services if not service.emergency] == [
        line.name for line in lines_for(next(c for c in HOTLINES.countries if c.code == "FR"), danger)[:MOST_SERVICES]
    ]


def test_what_the_dangers_must_say() -> None:
    said = {danger: as_markdown(handoff("GB", "en", danger)) for danger in OTHERS}
    for danger, parts in {
        "domestic_violence": ("browser's history", "0808 2000 247"),
        "sexual_assault": ("not your fault", "evidence", "choice"),
        "child_abuse": ("right to tell", "0800 1111"),
        "minor": ("for adults", "0800 1111", "not your fault"),
        "poisoning": ("Call now", "Don't wait", "vomit unless you are told", "111"),
        "threat": ("away from the weapon", "999"),
        "psychosis": ("don't have to do what you are being told", "116 123"),
        "eating_disorder": ("see a doctor soon",),
    }.items():
        for part in parts:
            assert part in said[danger], (danger, part)
    assert "chat goes on" not in said["minor"]
    assert ending_dangers() == {"minor"}


def test_only_domestic_violence_has_the_way_out() -> None:
    leaving = [danger for danger in DANGERS if handoff("GB", "en", danger).leave]
    assert leaving == ["domestic_violence"]
    assert 'class="hh-way hh-leave" href="https://' in as_html(handoff("GB", "en", "domestic_violence"))


def test_the_police_where_the_danger_comes_from_somebody_and_else_the_ambulance() -> None:
    def first(danger: str) -> str:
        return next(s for s in handoff("BR", "en", danger).services if s.emergency).ways[0].href

    assert (first("threat"), first("domestic_violence"), first("poisoning"), first(GENERAL)) == (
        "tel:190", "tel:190", "tel:192", "tel:192",
    )  # fmt: skip


# --- whose numbers


def test_a_chosen_country_stands_alone_with_its_date() -> None:
    shown = handoff("gb")
    ways = [(way.label, way.name, way.href) for service in shown.services for way in service.ways]
    assert ways == [
        ("Call 116 123", "Call 116 123, Samaritans", "tel:116123"),
        ("Text 85258", "Text 85258, Shout", "sms:85258"),
        ("In danger now? Call 999", "In danger now? Call 999", "tel:999"),
    ]
    assert shown.picker is None
    assert "2026-11-28" in shown.checked
    assert "findahelpline" not in as_html(shown)


def test_a_number_is_spoken_once_and_a_word_is_sent_as_both_kinds_of_phone_take_it() -> None:
    named, text_line, emergency = handoff("US").services
    assert [way.name for way in named.ways] == [
        "Call 988 Suicide & Crisis Lifeline",
        "Text 988 Suicide & Crisis Lifeline",
    ]
    assert text_line.ways[0].href == "sms:741741?&body=MHA"
    assert text_line.ways[0].name == "Text MHA to 741741, Crisis Text Line"
    assert emergency.emergency


def test_what_is_no_number_has_no_button() -> None:
    (line, _) = handoff("IT", "it").services
    assert line.note == "WhatsApp 324 011 7252"
    assert [way.href for way in line.ways] == ["tel:0223272327"]


@pytest.mark.parametrize("country", [None, "", "XX", "nonsense"])
def test_without_a_choice_it_asks_and_guesses_nothing(country: str | None) -> None:
    shown = handoff(country)
    assert shown == handoff(None)
    assert shown.picker is not None
    assert list(shown.picker.options) == countries()
    assert [way.href for service in shown.services for way in service.ways] == [
        f"tel:{number}" for number in common_emergency_numbers()
    ]
    html = as_html(shown)
    assert "hh-guess" not in html
    assert "findahelpline.com" in html
    assert "/help" in html


def test_a_guess_is_offered_as_one() -> None:
    html = as_html(handoff(None), guess="IE")
    assert "Ireland? (a guess from your browser)" in html
    assert "116 123" not in html
    assert as_html(handoff(None), guess="XX") == as_html(handoff(None))
    assert as_html(handoff("GB"), guess="IE") == as_html(handoff("GB"))


def test_right_to_left_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    monkeypatch.setitem(texts(), "ar", replace(texts()["en"], language="ar", direction="rtl"))
    assert '<section class="hh" lang="ar" dir="rtl"' in as_html(handoff("US", "ar"))


def test_numbers_as_they_are_written() -> None:
    assert numbers_in("113 or 0800-0113") == ["113", "0800-0113"]
    assert numbers_in("HELP to 4357") == []
    assert word_and_number("HELP to 4357") == ("HELP", "4357")
    assert word_and_number("0477 13 11 14") == ("", "0477 13 11 14")
    assert word_and_number("WhatsApp 324 011 7252") is None
    assert dialled("(011) 5275-1135") == "01152751135"
    assert dialled("+43 1 406 43 43") == "+4314064343"


def test_hours_in_the_language_of_the_hand_off() -> None:
    german = texts()["de"].hours
    assert hours_in_words("always", german) == "Tag und Nacht, jeden Tag"
    assert hours_in_words("mon-fri 9:00-17:00, sat 10:00-14:00", german) == "Mo–Fr 9:00–17:00, Sa 10:00–14:00"
    assert hours_in_words("15:30-00:30", german) == "jeden Tag 15:30–00:30"
    assert hours_in_words("", german) == ""
    assert "Tag und Nacht" in as_html(handoff("US", "de"))
    assert "24 hours" not in as_html(handoff("US", "de"))


# --- how old


def test_stale_numbers_are_named() -> None:
    dates = [entry.checked for entry in entries()]
    assert stale_hotlines(min(dates) + datetime.timedelta(days=STALE_AFTER_DAYS)) == []
    told = stale_hotlines(max(dates) + datetime.timedelta(days=STALE_AFTER_DAYS + 1))
    assert any("Samaritans" in sentence and "check it again" in sentence for sentence in told)
    assert len(told) == sum(1 + len(country.lines) for country in HOTLINES.countries) + len(HOTLINES.directories)
