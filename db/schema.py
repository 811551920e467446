"""Whether a database has the tables of this version of heard: the revision of its migrations, and each table's name."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

from heard.db import chainlit_tables, desk_tables, study_tables
from heard.db.errors import StoreOutdated
from heard.db.tables import Base
from heard.db.translate import translate

MIGRATIONS = Path(__file__).parent / "migrations"
NEWER = (
    "The database was made by a newer version of heard. Install that version, or point `database_url` or `data_dir` at "
    "another database."
)
MISSING = (
    "Tables of the database are missing, so what they held is not there. Whoever runs this page needs to stop heard "
    "and put a whole copy of the database in its place."
)
_NAMES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
    "postgresql": "SELECT tablename FROM pg_tables WHERE schemaname = ANY (current_schemas(false))",
}
TABLES = frozenset(Base.metadata.tables)
"""Names of every table, with those of the modules imported here."""
assert {study_tables.VoteRow.__tablename__, desk_tables.ExclusionRow.__tablename__, chainlit_tables.STEPS.name} < TABLES


@cache
def revisions() -> tuple[str, ...]:
    """Return the revisions of the migrations, the newest first."""
    return tuple(script.revision for script in ScriptDirectory(str(MIGRATIONS)).walk_revisions())


async def check_schema(connection: AsyncConnection | AsyncSession, dialect: str) -> None:
    """Raise StoreOutdated unless the database has the newest revision that is known here, and every table."""
    found: Sequence[str]
    try:
        found = (await connection.execute(text("SELECT version_num FROM alembic_version"))).scalars().all()
    except DBAPIError as error:
        if not isinstance(translate(error), StoreOutdated):
            raise
        found = ()
    if not found or set(found) < set(revisions()[1:]):
        raise StoreOutdated
    if set(found) != {revisions()[0]}:
        raise StoreOutdated(NEWER)
    if TABLES - set((await connection.execute(text(_NAMES[dialect]))).scalars()):
        raise StoreOutdated(MISSING)
