"""`heard places`, `heard retention` and `heard study end`, on a real database; and what a start warns of."""

import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from heard.chat_app.commands.chat import tell_notice
from heard.chat_app.common.settings import Settings
from tests.commands import heard


@pytest.fixture
def folder(tmp_path: Path, migrated: Path) -> Path:
    """With a message of 40 days ago and one of today, of one person, and a live study."""
    (tmp_path / "var").mkdir()
    shutil.copy(migrated, tmp_path / "var")
    now = datetime.now(UTC)
    with closing(sqlite3.connect(tmp_path / "var" / "heard.db")) as database, database:
        database.execute("INSERT INTO participant (id, created_at) VALUES ('p', '2026-01-01 00:00:00')")
        database.execute(
            "INSERT INTO conversation (id, participant_id, persona, created_at) VALUES ('c', 'p', 'quiet', ?)",
            (f"{now - timedelta(days=40):%Y-%m-%d %H:%M:%S}.000000",),
        )
        for place, days in ((1, 40), (2, 0)):
            at = f"{now - timedelta(days=days):%Y-%m-%d %H:%M:%S}.000000"
            database.execute(
                "INSERT INTO message (id, conversation_id, position, text, outcome, created_at) "
                "VALUES (?, 'c', ?, 'private words', 'answered', ?)",
                (f"m{place}", place, at),
            )
        database.execute(
            "INSERT INTO study (id, kind, definition, definition_sha256, created_at) "
            "VALUES ('talk', 'live', '{}', 'd', '2026-01-01 00:00:00')"
        )
    return tmp_path


def rows(folder: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(folder / "var" / "heard.db")) as database:
        return database.execute(sql).fetchall()


def test_places_without_any(tmp_path: Path) -> None:
    told = heard("places", folder=tmp_path).stdout
    assert "no legal advice" in told
    assert "In force, as no place is set:" in told
    assert "Nobody under 18 is let in." in told
    assert "US-NY (New York)" in told


def test_places_tell_the_law_the_day_and_the_effect(tmp_path: Path) -> None:
    told = heard("places", folder=tmp_path, HEARD_PLACES="US-NY,EU,US-NV").stdout
    assert "section 1702, from 2025-11-05; read on 2026-11-30: https://www.nysenate.gov" in told
    assert "UNREAD: known from others only" in told
    assert "at the start of a chat, every 3 hours of a talk" in told
    assert "again every 3 hours" in told
    assert "The notice needs: operator_name" in told
    assert "Words that name no persona: therapist" in told
    assert "Not set: US-IL" in told


def test_a_place_that_is_not_known_is_refused(tmp_path: Path) -> None:
    assert heard("places", folder=tmp_path, HEARD_PLACES="US-NYC").sentence.endswith("Did you mean US-NY?")
    (tmp_path / "places.toml").write_text("[XA]\n", encoding="utf-8")
    assert "XA: name is missing." in heard("places", folder=tmp_path, HEARD_PLACES="EU").stderr


def test_retention_counts_before_it_deletes(folder: Path) -> None:
    counted = heard("retention", "--dry-run", folder=folder, HEARD_RETENTION_DAYS="30").stdout
    assert [line.split() for line in counted.splitlines()[:2]] == [["message", "1"], ["reply", "0"]]
    assert rows(folder, "SELECT count(*) FROM message") == [(2,)]
    done = heard("retention", folder=folder, HEARD_RETENTION_DAYS="30")
    assert done.status == 0, done.stderr
    assert done.stdout.split()[:2] == ["message", "1"]
    assert rows(folder, "SELECT id FROM message") == [("m2",)]
    assert "private words" not in done.stdout + done.stderr
    again = heard("retention", folder=folder, HEARD_RETENTION_DAYS="30").stdout
    assert again.startswith("Deleted what was older than 30 days")


def test_retention_without_the_setting_is_refused(folder: Path) -> None:
    assert "retention_days is 0" in heard("retention", folder=folder).sentence
    assert rows(folder, "SELECT count(*) FROM message") == [(2,)]


def test_a_study_is_ended_once_and_only_on_purpose(folder: Path) -> None:
    assert 'no study "tlak". Did you mean talk?' in heard("study", "end", "tlak", folder=folder).sentence
    assert "Export study talk first" in heard("study", "end", "talk", folder=folder).sentence
    assert rows(folder, "SELECT ended_at FROM study") == [(None,)]
    first = heard("study", "end", "talk", "--yes", folder=folder).stdout
    assert first.startswith("Study talk ended on ")
    stored = rows(folder, "SELECT ended_at FROM study")
    assert heard("study", "end", "talk", "--yes", folder=folder).stdout == first
    assert rows(folder, "SELECT ended_at FROM study") == stored


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, ""),
        ({"host": "0.0.0.0"}, "operator_name, contact, purpose, legal_basis, complaint_authority, although others"),
        ({"places": ("EU",)}, "although the rules of European Union ask for them"),
        ({"public_host": "chat.example.org", "places": ("EU",)}, "can reach this page and the rules of European Un"),
    ],
)  # fmt: skip
def test_a_start_warns_of_what_the_notice_lacks(
    settings: dict[str, object], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    tell_notice(Settings(**settings))  # type: ignore[arg-type]
    told = capsys.readouterr().err
    assert (said in told) if said else told == ""
