"""The rules of places: each with its law, the strictest of each where several apply, and every fault told."""

from dataclasses import fields
from datetime import date, timedelta
from pathlib import Path

import pytest

from heard.chat_app.common.places import (
    ADULT,
    BUILT_IN,
    KINDS,
    Age,
    InForce,
    PlacesError,
    check_names,
    in_force,
    kind_of,
    known_places,
    read_places,
)
from heard.chat_app.common.settings import Settings, SettingsError, load_settings

LAW = 'law = "A law, section 1"\naddress = "https://law.example/1"\nsince = 2026-01-01\nsays = "It asks."\n'
READ = LAW + "read = 2026-11-30\n"


def own(folder: Path, text: str) -> Path:
    path = folder / "places.toml"
    path.write_text(text, encoding="utf-8")
    return path


def rule(code: str, body: str) -> str:
    return f'[{code}]\nname = "Somewhere"\n[[{code}.rules]]\n{body}'


def test_the_places_that_come_with_heard_each_have_their_law() -> None:
    places = read_places(BUILT_IN)
    assert set(places) == {"US-IL", "US-NV", "US-UT", "US-NY", "US-CA", "EU"}
    rules = [one for place in places.values() for one in place.rules]
    assert {kind_of(one) for one in rules} == set(KINDS), "every kind of rule is used"
    for one in rules:
        assert one.law
        assert one.address.startswith("https://")
        assert (one.read is None) == one.unread
        assert one.read is None or one.read >= date(2026, 11, 30)
        assert ("By th" in one.says) == one.unread, "what was not read is told as what others say"


def test_without_places_it_is_said_once_and_for_adults_only() -> None:
    assert in_force(Settings()) == InForce()
    rules = InForce()
    assert (rules.at_start, rules.in_talk, rules.every, rules.least_age) == (True, False, None, 18)
    assert all(not getattr(rules, field.name) for field in fields(rules) if field.name not in ("at_start", "least_age"))


def test_the_strictest_of_each_holds() -> None:
    assert in_force(Settings(places=("EU",))).every is None
    assert in_force(Settings(places=("US-UT",))).every == timedelta(days=7)
    together = in_force(Settings(places=("US-UT", "EU", "US-CA", "US-IL", "US-NV")))
    assert together.every == timedelta(hours=3)
    assert together.in_talk
    assert together.published
    assert together.counts == {"hand_offs"}
    assert "contact" in together.fields
    assert len(together.notice) == 3
    assert {"therapy", "counselor"} <= set(together.forbidden)
    assert together.forbidden.count("therapy") == 1
    assert [one.code for one in together.because][:2] == ["US-UT", "EU"]


def test_an_age_is_raised_and_never_lowered(tmp_path: Path) -> None:
    path = own(tmp_path, rule("XA", f'kind = "age"\nleast = 21\n{READ}'))
    assert in_force(Settings(places=("XA", "US-CA"), places_file=path)).least_age == 21
    own(tmp_path, rule("XB", f'kind = "age"\nleast = 16\n{READ}'))
    with pytest.raises(PlacesError, match="least must be a whole number from 18 to 25, not 16"):
        read_places(path)
    assert Age.model_fields["least"].metadata[0].ge == ADULT


def test_a_place_of_one_s_own_takes_the_place_of_ours_whole(tmp_path: Path) -> None:
    path = own(tmp_path, rule("US-NY", f'kind = "disclosure"\nat_start = true\n{READ}'))
    rules = in_force(Settings(places=("US-NY",), places_file=path))
    assert (rules.in_talk, rules.every, rules.published) == (True, None, False)
    assert known_places(path)["US-NY"].name == "Somewhere"
    assert known_places(path)["US-CA"] == read_places(BUILT_IN)["US-CA"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[XA", "is not valid TOML"),
        (rule("XA", f'kind = "disclosur"\n{READ}'), 'XA, rule 1: kind is "disclosur". Did you mean disclosure?'),
        (rule("XA", READ), 'XA, rule 1: kind is "".'),
        (rule("XA", f'kind = "age"\nleats = 18\n{READ}'), 'XA, rule 1: unknown key "leats". Did you mean least?'),
        (rule("XA", f'kind = "disclosure"\nevery_hours = 0\n{READ}'), "every_hours must be a number"),
        (rule("XA", f'kind = "disclosure"\n{LAW}'), "needs either read"),
        (rule("XA", f'kind = "disclosure"\nunread = true\n{READ}'), "needs either read"),
        (rule("XA", f'kind = "notice"\nfields = ["contakt"]\n{READ}'), "Did you mean contact?"),
        (rule("XA", f'kind = "log"\ncounts = ["words"]\n{READ}'), "hand_offs"),
        (rule("xa", f'kind = "disclosure"\n{READ}'), '"xa" is no code of a place'),
        ('[XA]\nname = "Somewhere"\n', "XA: rules is missing."),
        (rule("XA", 'kind = "disclosure"\naddress = "law.example"\n'), "XA, rule 1: law is missing."),
    ],
)
def test_every_fault_is_told_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    path = own(tmp_path, text)
    with pytest.raises(PlacesError) as caught:
        read_places(path)
    assert told in str(caught.value)
    assert str(path) in str(caught.value)


def test_all_faults_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    path = own(tmp_path, rule("XA", 'kind = "age"\nleats = 18\n'))
    with pytest.raises(PlacesError) as caught:
        read_places(path)
    assert len(str(caught.value).splitlines()) == 6


def test_an_unknown_place_and_a_forbidden_word_are_refused() -> None:
    with pytest.raises(PlacesError, match=r'no rules for "US-CAL"\. Did you mean US-CA'):
        in_force(Settings(places=("US-CAL",)))
    with pytest.raises(PlacesError, match=r'persona_word says "therapist", which the rules of Illinois forbid'):
        in_force(Settings(places=("EU", "US-IL"), persona_word="kind Therapist"))
    assert in_force(Settings(places=("EU",), persona_word="kind Therapist")).because
    rules = in_force(Settings(places=("US-NV",)))
    check_names(rules, {"listener": "Warm supportive listener"})
    with pytest.raises(PlacesError, match=r'persona doc says "psychiatrist".*Nevada'):
        check_names(rules, {"doc": "Your Psychiatrist"})


def test_places_are_a_list_in_the_file_and_a_line_in_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "settings.toml").write_text('places = ["US-CA", "EU"]\n', encoding="utf-8")
    assert load_settings(tmp_path).places == ("US-CA", "EU")
    monkeypatch.setenv("HEARD_PLACES", "US-NY, EU,")
    assert load_settings(tmp_path).places == ("US-NY", "EU")
    monkeypatch.setenv("HEARD_PLACES_FILE", "plcaes.toml")
    with pytest.raises(SettingsError, match=r"HEARD_PLACES_FILE: places_file: there is no file.*places.toml is read"):
        load_settings(tmp_path)


def test_the_page_of_docs_has_every_kind_and_key() -> None:
    docs = (Path(__file__).parents[3] / "docs" / "places.md").read_text(encoding="utf-8")
    for name, kind in KINDS.items():
        assert f"| `{name}` |" in docs
        for key in kind.model_fields:
            assert f"`{key}`" in docs or f"`{key} = " in docs, key
    for name in ("retention_days", "nudge_after_minutes", "nudge_after_days", "places_file"):
        assert f"`{name}`" in docs or f"{name} = " in docs
        assert name in Settings.model_fields
    assert f"`nudge_after_minutes` ({Settings().nudge_after_minutes})" in docs
    assert f"`nudge_after_days` ({Settings().nudge_after_days})" in docs
