"""Addresses of databases: the parameters that PostgreSQL's own programs know are understood, or one sentence says why
not; and no address ends in a traceback."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from heard.db.engine import create_engine, printable_url, upgrade
from heard.db.errors import StoreUnavailable
from heard.db.sqlite_file import sqlite_url
from heard.db.store import Store
from tests.db.postgres import NEEDED

KNOWN = (
    "sslmode=disable", "sslmode=prefer", "ssl=prefer", "ssl=false", "connect_timeout=3", "connect_timeout=0",
    "application_name=other", "options=-c%20search_path%3Dpublic", "options=-csearch_path=public",
    "keepalives=1&keepalives_idle=30", "target_session_attrs=any", "command_timeout=5", "tcp_user_timeout=1000",
    "prepared_statement_cache_size=0", "statement_cache_size=0", "gssencmode=disable", "channel_binding=prefer",
    "fallback_application_name=x", "client_encoding=UTF8", "search_path=public", "timezone=UTC",
)  # fmt: skip
REFUSED = {
    "sslmode=banana": "do not fit", "sslmode=parse": "do not fit",
    "target_session_attrs=x": "do not fit", "port=x": "do not fit",
    "sslmode=verify-full&sslrootcert=nowhere.crt": 'no file "nowhere.crt"', "sslcert=x.pem": 'no file "x.pem"',
    "connect_timeout=soon": "must be a number", "connect_timeout=-1": "must be a number",
    "command_timeout=nan": "must be a number", "statement_cache_size=1.5": "must be a number",
    "sslmod=require": '"sslmod"', "charset=utf8": '"charset"', "options=-c%20nonsense%3D1": "does not know a parameter",
    "timezone=Mars/Base": "does not know a parameter",
}  # fmt: skip


@pytest.fixture
def asked(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("empty_server"))


class TestOnAServer:
    """With a server that reads the address to its end."""

    pytestmark = NEEDED

    @pytest.mark.parametrize("query", KNOWN)
    async def test_parameters_that_other_programs_know(self, asked: str, query: str) -> None:
        engine = create_engine(f"{asked}&{query}")
        await Store(engine).ensure_participant("p")
        async with engine.connect() as connection:
            shown = [
                (await connection.execute(text(f"SHOW {name}"))).scalar_one()
                for name in ("application_name", "statement_timeout", "lock_timeout")
            ]
        assert shown == ["other" if "=other" in query else "heard", "10s", "5s"]
        await engine.dispose()

    @pytest.mark.parametrize(("query", "words"), REFUSED.items(), ids=REFUSED)
    async def test_what_cannot_be_is_one_sentence(self, asked: str, query: str, words: str) -> None:
        with pytest.raises(StoreUnavailable, match=words):
            await upgrade(f"{asked}&{query}")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("sqlite+aiosqlite:///:memory:", "in memory"),
        ("sqlite+aiosqlite://", "in memory"),
        ("sqlite+aiosqlite:///", "in memory"),
        ("sqlite+aiosqlite:///file::memory:?uri=true", "in memory"),
        ("sqlite+aiosqlite:///file:x?mode=memory&cache=shared&uri=true", "in memory"),
        ("sqlite+aiosqlite://host/x.db", "names no host"),
        ("sqlite+aiosqlite:///x.db?sslmode=require", '"sslmode"'),
        ("sqlite+aiosqlite:///x.db?timeout=soon", '"timeout"'),
        ("sqlite+aiosqlite:///what?.db", '".db"'),
        ("sqlite+aiosqlite:///x.db?mode=ro", "uri=true"),
        ("sqlite+aiosqlite:///a\0b.db", "character"),
        ("postgresql+asyncpg://h:port/x", "is not one"),
        ("postgresql+asyncpg://h:99999/x", "reached"),
        ("postgresql+asyncpg://u@/x?host=a:1&host=b", "do not fit together"),
    ],
)
async def test_an_address_that_cannot_be_is_one_sentence(url: str, words: str) -> None:
    with pytest.raises(StoreUnavailable, match=words):
        await upgrade(url)


def files_in(folder: Path) -> list[Path]:
    return sorted(found.relative_to(folder) for found in folder.rglob("*") if found.is_file())


@pytest.mark.parametrize("name", ["what?", "100%", "50%3F", "a#b", "a b", "q?x=1&y", "ä€", "file:x", "per%cent?"])
async def test_any_folder_can_hold_the_database(tmp_path: Path, name: str) -> None:
    url = sqlite_url(tmp_path / name / "heard.db")
    await upgrade(url)
    await upgrade(url)
    assert files_in(tmp_path) == [Path(name, "heard.db")]
    engine = create_engine(url)
    await Store(engine).ensure_participant("p")
    await engine.dispose()


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.text(max_size=60),
        st.builds(
            "{}://{}".format,
            st.sampled_from(["sqlite+aiosqlite", "postgresql+asyncpg", "sqlite", "postgres"]),
            st.text(alphabet="/:@?=&%#[]x1. ,\0ä", max_size=30),
        ),
        st.builds(
            "postgresql+asyncpg://u:p@h:1/d?{}={}".format,
            st.sampled_from(["sslmode", "options", "host", "port", "connect_timeout", "ssl", "x"]),
            st.text(max_size=12),
        ),
    )
)
async def test_no_address_is_an_unknown_fault(url: str) -> None:
    with suppress(StoreUnavailable):
        engine = create_engine(url)
        printable_url(url)
        await engine.dispose()
