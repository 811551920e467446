"""`heard settings` and `heard --version`: what is in force, where from, and no secret."""

import re
from importlib.metadata import version
from pathlib import Path

import pytest

from heard.chat_app.common.settings import SECRET, Settings
from tests.commands import heard


def rows(stdout: str) -> dict[str, tuple[str, str]]:
    """(value, source) by name."""
    parts = [re.split(r" {2,}", line) for line in stdout.splitlines()]
    return {name: (value, source) for name, value, source in parts}


def test_each_setting_with_its_value_and_source(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_text('port = 9001\npersona_word = "guide"\nhost = ""\n', encoding="utf-8")
    done = heard("settings", folder=tmp_path, HEARD_PERSONA_WORD="friend", HEARD_DATA_DIR="")
    assert done.status == 0, done.stderr
    told = rows(done.stdout)
    assert list(told) == list(Settings.model_fields)
    assert told["port"] == ("9001", "settings.toml")
    assert told["persona_word"] == ("friend", "HEARD_PERSONA_WORD")
    assert told["data_dir"] == ("var", "default")
    assert told["prompts_dir"] == ("-", "default")


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        (
            "postgresql+asyncpg://ann:s3cr%40t@db.example:5432/heard",
            "postgresql+asyncpg://ann:***@db.example:5432/heard",
        ),
        ("postgresql+asyncpg://db/heard?user=ann&password=s3cr", "postgresql+asyncpg://db/heard?***"),
        ("postgresql+asyncpg://ann:s3cr/x?@y@db/heard", "postgresql+asyncpg://ann:***@db/heard"),
        ("postgresql+asyncpg://ann@db/heard", "postgresql+asyncpg://ann@db/heard"),
        ("sqlite+aiosqlite:////srv/heard.db", "sqlite+aiosqlite:////srv/heard.db"),
    ],
)
def test_secrets_are_hidden(tmp_path: Path, url: str, seen: str) -> None:
    token = "s3cr-a-long-random-text"
    done = heard("settings", folder=tmp_path, HEARD_DATABASE_URL=url, HEARD_RESEARCHER_TOKEN=token)
    told = rows(done.stdout)
    assert told["database_url"] == (seen, "HEARD_DATABASE_URL")
    assert told["researcher_token"] == ("***", "HEARD_RESEARCHER_TOKEN")
    assert "s3cr" not in done.stdout
    assert {name for name in Settings.model_fields if name.endswith(("_token", "_url"))} == set(SECRET)


def test_a_faulty_setting_is_refused(tmp_path: Path) -> None:
    assert "HEARD_PORT" in heard("settings", folder=tmp_path, HEARD_PROT="1").sentence


@pytest.mark.parametrize("command", ["settings", "models list", "chat"])
def test_a_models_file_that_is_not_there_is_refused(tmp_path: Path, command: str) -> None:
    told = heard(*command.split(), folder=tmp_path, HEARD_MODELS_FILE="modles.toml").sentence
    assert told.startswith('HEARD_MODELS_FILE: models_file: there is no file "modles.toml".')
    (tmp_path / "settings.toml").write_text('models_file = "mine.toml"\n', encoding="utf-8")
    assert "settings.toml: models_file" in heard(*command.split(), folder=tmp_path).sentence


def test_a_models_file_that_is_there_is_taken(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("", encoding="utf-8")
    assert heard("models", "list", folder=tmp_path, HEARD_MODELS_FILE="mine.toml").status == 0


def test_the_version() -> None:
    assert heard("--version").stdout == f"heard {version('heard')}\n"
