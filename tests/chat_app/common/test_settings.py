"""Environment over file over default; nothing unknown is let through."""

from pathlib import Path

import pytest

from heard.chat_app.common.settings import Settings, SettingsError, load_settings


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in list(os.environ):
        if name.startswith("HEARD_"):
            monkeypatch.delenv(name)


def test_defaults_are_usable_as_they_stand(tmp_path: Path) -> None:
    settings = load_settings(tmp_path)
    assert settings.host == "127.0.0.1"
    assert settings.database.startswith("sqlite+aiosqlite:///")
    assert settings.persona_word != "therapist"


def test_the_file_wins_over_the_default_and_the_environment_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "settings.toml").write_text('port = 9001\npersona_word = "guide"\n')
    assert load_settings(tmp_path).port == 9001
    monkeypatch.setenv("HEARD_PORT", "9002")
    settings = load_settings(tmp_path)
    assert (settings.port, settings.persona_word) == (9002, "guide")
    assert load_settings(tmp_path, port=9003).port == 9003


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("prot = 1", ["settings.toml", "prot", "Did you mean port?"]),
        ("port = 0", ["settings.toml", "port"]),
        ('port = "x"', ["port"]),
        ("port = ", ["not valid TOML"]),
        ("auto_improve_threshold = 9.0", ["auto_improve_threshold"]),
        ('database_url = "sqlite:///x"', ["async driver"]),
        ('persona_word = ""', ["persona_word"]),
    ],
)
def test_a_faulty_file_is_refused_in_a_plain_sentence(tmp_path: Path, content: str, words: list[str]) -> None:
    (tmp_path / "settings.toml").write_text(content + "\n")
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path)
    for word in words:
        assert word in str(caught.value)


def test_an_unknown_variable_is_refused_with_the_nearest_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARD_PERSONA_WROD", "x")
    with pytest.raises(SettingsError, match="HEARD_PERSONA_WORD"):
        load_settings(tmp_path)


def test_a_database_password_is_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARD_DATABASE_URL", "mysql://me:hunter2@host/db")
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path)
    assert "hunter2" not in str(caught.value)


def test_settings_are_frozen() -> None:
    with pytest.raises(Exception, match="frozen"):
        Settings().port = 1  # type: ignore[misc]
