"""Every table, every write (`store.py`) and every read; the only home of SQLAlchemy."""
