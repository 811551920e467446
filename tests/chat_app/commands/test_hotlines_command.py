"""`heard hotlines`: what there is, and what is due to be checked again."""

from datetime import date
from pathlib import Path

import pytest

from heard.chat_app.safety import crisis_numbers
from heard.prompts.safety_files import FOLDER, load_hotlines
from tests.commands import heard

FILE = (FOLDER / "hotlines.yaml").read_text(encoding="utf-8")


def serve(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    """Have the file at `path` read in place of the one that comes with heard."""
    monkeypatch.setattr(crisis_numbers, "hotlines", lambda: load_hotlines(path))
    monkeypatch.setattr(crisis_numbers, "_by_code", lambda: {one.code: one for one in load_hotlines(path).countries})


def test_none_is_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    today = date.today().isoformat()
    path = tmp_path / "hotlines.yaml"
    path.write_text(FILE.replace("2026-11-28", today).replace("2026-11-30", today), encoding="utf-8")
    serve(monkeypatch, path)
    done = heard("hotlines", "check")
    assert done.status == 0
    assert done.stdout == f"All {len(crisis_numbers.entries())} entries were checked within a year.\n"


def test_old_ones_are_listed_and_are_exit_status_1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "hotlines.yaml"
    path.write_text(FILE.replace("2026-11-28", "2020-01-31"), encoding="utf-8")
    serve(monkeypatch, path)
    done = heard("hotlines", "check")
    assert done.status == 1
    assert "Samaritans was last checked on 2020-01-31: check it again" in done.stdout
    assert len(done.stdout.splitlines()) >= FILE.count("checked: 2026-11-28")


def test_a_broken_file_is_exit_status_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "hotlines.yaml"
    path.write_text(FILE.replace("emergency:", "emergancy:", 1), encoding="utf-8")
    serve(monkeypatch, path)
    for arguments in (("check",), ("list",), ("list", "GB")):
        done = heard("hotlines", *arguments)
        assert "Did you mean emergency?" in done.sentence


def test_one_country_with_its_sources() -> None:
    done = heard("hotlines", "list", "gb")
    assert done.status == 0
    assert done.stdout.startswith("GB  United Kingdom\n    emergency: 999  [2026-11-28]  https://")
    assert "Samaritans: call 116 123, always (suicide)  [2026-11-28]  https://www.samaritans.org/" in done.stdout
    assert "Childline: call 0800 1111, always (minor, child_abuse)" in done.stdout
    assert "Germany" not in done.stdout


def test_every_country() -> None:
    shown = heard("hotlines", "list").stdout
    for country in load_hotlines().countries:
        assert f"{country.code}  {country.name}\n" in shown
    assert "--  findahelpline.com: https://findahelpline.com" in shown


@pytest.mark.parametrize("country", ["XX", "Britain", ""])
def test_a_country_without_numbers(country: str) -> None:
    done = heard("hotlines", "list", country)
    assert done.status == 2
    assert f'There are no numbers for "{country}".' in done.stderr


def test_the_help_teaches_it() -> None:
    assert "Exit status 0 if there is none, 1 if there are some, 2" in " ".join(
        heard("hotlines", "check", "--help").stdout.split()
    )
    assert "hotlines" in heard("--help").stdout


def test_prompts_check_says_which_texts_no_speaker_has_read() -> None:
    shown = heard("prompts", "check").stdout
    assert "hand-off  ja " in shown
    assert "machine-written, no speaker has read it yet" in shown
