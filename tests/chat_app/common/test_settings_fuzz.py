"""Whatever stands in settings.toml or in a HEARD_ variable: settings that can be used, or one sentence."""

import os
import string
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from heard.chat_app.common.places import in_force
from heard.chat_app.common.settings import Settings, SettingsError, load_settings, printable_value, setting_sources
from heard.db.engine import create_engine
from heard.errors import UserError
from tests.commands import heard

NAMES = sorted(Settings.model_fields)
ODD = (
    "", " ", "nan", "inf", "-inf", "1e999", "9" * 5000, "true", "null", "[]", "{}", "~", "~/x", "~nobody/x",
    "/dev/null",
     "/proc/x", "a\nb", "\ufeff5", "%", "100%", "what?", "a/../b", "..", "\u202e", "İ", "x" * 300, "/" + "x" * 300,
     ":memory:", "sqlite+aiosqlite://", "sqlite+aiosqlite:///:memory:", "postgresql+asyncpg://a:b:c@d:e/f?sslmode=x",
     "*", "a*b", "..", "a..b", "http://x", "[::1", "US-CA", "judge:", "listener/plain",
)  # fmt: skip
TEXTS = st.one_of(st.sampled_from(ODD), st.text(max_size=30))
VALUES = st.one_of(
    TEXTS, st.integers(), st.floats(), st.booleans(), st.lists(TEXTS, max_size=3), st.datetimes(),
    st.dictionaries(st.text(string.ascii_letters, min_size=1, max_size=5), st.integers(0, 9), max_size=2),
)  # fmt: skip
QUIET = settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def toml(value: object) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(f"\\U{ord(letter):08X}" for letter in value) + '"'
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key} = {toml(item)}' for key, item in value.items())}}}"
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


@contextmanager
def variables(**values: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("HEARD_")]:
            patch.delenv(name)
        for name, value in values.items():
            patch.setenv(name, value)
        yield


def used(folder: Path) -> None:
    """What a start does with the settings before it makes anything. Raises what a command would."""
    found = load_settings(folder)
    for name in NAMES:
        printable_value(found, name).encode()
    setting_sources(folder)
    create_engine(found.database)
    in_force(found)


def ends_well(folder: Path) -> None:
    with suppress(UserError):
        used(folder)
        return
    with pytest.raises(UserError) as caught:
        used(folder)
    assert str(caught.value).rstrip().endswith((".", "?", ")")), str(caught.value)
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize("name", NAMES)
def test_each_odd_value_of_each_setting(tmp_path: Path, name: str) -> None:
    for value in ODD:
        with variables(**{f"HEARD_{name.upper()}": value}):
            ends_well(tmp_path)
        (tmp_path / "settings.toml").write_text(f"{name} = {toml(value)}\n", encoding="utf-8")
        with variables():
            ends_well(tmp_path)
        (tmp_path / "settings.toml").unlink()


@QUIET
@given(st.sampled_from(NAMES), VALUES)
def test_any_value_in_the_file(tmp_path: Path, name: str, value: object) -> None:
    (tmp_path / "settings.toml").write_text(f"{name} = {toml(value)}\n", encoding="utf-8", errors="replace")
    with variables():
        ends_well(tmp_path)


@QUIET
@given(st.sampled_from(NAMES), st.one_of(TEXTS, st.binary(max_size=20).map(os.fsdecode)))
def test_any_value_of_a_variable(tmp_path: Path, name: str, value: str) -> None:
    with suppress(ValueError, UnicodeEncodeError), variables(**{f"HEARD_{name.upper()}": value}):  # none of a system's
        ends_well(tmp_path)


@QUIET
@given(st.one_of(st.binary(max_size=60), st.text(alphabet="port=9'\"[]{}.#\n\\ufea-:", max_size=40).map(str.encode)))
def test_any_bytes_in_the_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "settings.toml").write_bytes(content)
    with variables():
        ends_well(tmp_path)


@QUIET
@given(st.text(alphabet=string.ascii_uppercase + "_0", max_size=12))
def test_any_name_of_a_variable(tmp_path: Path, name: str) -> None:
    with variables(**{f"HEARD_{name}": "1"}):
        ends_well(tmp_path)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfep\x00o\x00r\x00t\x00", "not UTF-8"),
        (b"port = \xff", "not UTF-8"),
        (b"port = " + b"9" * 5000, "too many digits"),
        (b"port = " + b"[" * 5000, "nested too deep"),
        (b"port = 1\nport = 2", "Cannot overwrite a value (at line 2"),
        (b'data_dir = "a\\u0000b"', "a character that is none"),
        (b"save_seconds = inf", "save_seconds"),
        (b"save_seconds = nan", "save_seconds"),
        (b"first_token_seconds = inf", "first_token_seconds"),
    ],
)
def test_what_cannot_be_is_a_sentence(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "settings.toml").write_bytes(content + b"\n")
    with variables(), pytest.raises(SettingsError) as caught:
        load_settings(tmp_path)
    assert words in str(caught.value)


def test_an_editor_s_mark_is_no_part_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").write_bytes(b'\xef\xbb\xbfport = 9001\r\npersona_word = "guide"\r\n')
    with variables():
        found = load_settings(tmp_path)
    assert (found.port, found.persona_word) == (9001, "guide")


def test_a_folder_in_the_place_of_the_file_and_a_link_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "settings.toml").mkdir()
    with variables(), pytest.raises(SettingsError, match="cannot be read"):
        load_settings(tmp_path)
    (tmp_path / "settings.toml").rmdir()
    (tmp_path / "settings.toml").symlink_to(tmp_path / "settings.toml")
    with variables(), pytest.raises(SettingsError, match="cannot be read"):
        load_settings(tmp_path)


def test_the_home_of_whoever_runs_it(tmp_path: Path) -> None:
    with variables(HEARD_DATA_DIR="~/heard data", HOME=str(tmp_path)):
        assert load_settings(tmp_path).data_dir == tmp_path / "heard data"


@pytest.mark.parametrize("name", ["what?", "100%", "50%3F", "q?mode=ro&uri=true", "a#b", "ä"])
def test_any_data_folder_holds_its_database(tmp_path: Path, name: str) -> None:
    with variables():
        done = heard("db", "upgrade", folder=tmp_path, HEARD_DATA_DIR=name)
    assert done.status == 0, done.stderr
    assert [one.name for one in (tmp_path / name).iterdir()] == ["heard.db"]
    assert [one.name for one in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    "query", ["password=hunter2", "sslmode=disable&password=hunter2", "user=ann&password=hunter2&host=x"]
)
def test_no_password_of_an_address_is_printed(tmp_path: Path, query: str) -> None:
    with variables():
        done = heard("db", "upgrade", folder=tmp_path, HEARD_DATABASE_URL=f"postgresql+asyncpg://127.0.0.1:1/d?{query}")
        shown = heard("settings", folder=tmp_path, HEARD_DATABASE_URL=f"postgresql+asyncpg://127.0.0.1:1/d?{query}")
    assert done.status == 2
    assert "hunter2" not in done.stdout + done.stderr + shown.stdout + shown.stderr
