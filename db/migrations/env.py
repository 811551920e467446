"""Alembic's way in: the connection and its transaction come from `db.engine.upgrade` (or from a test)."""

from alembic import context

from heard.db import chainlit_tables, study_tables  # noqa: F401 - their tables belong to the metadata too
from heard.db.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    compare_type=True,
    # SQLite can roll DDL back as long as we begin the transaction ourselves, which the engine does.
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
