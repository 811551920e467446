"""Alembic migrations, packaged so that `db.engine.upgrade` works from any folder."""
