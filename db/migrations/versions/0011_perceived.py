"""How empathic people would call a reply, with each score.

Revision: 0011, after 0010.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

COLUMNS = {"score": "perceived", "flag": "perceived", "answer": "score_perceived"}


def upgrade() -> None:
    """Apply. Scores of before have none. In SQL, because Alembic adds no rule to a table of SQLite without making it
    anew."""
    number = sa.Double().compile(dialect=op.get_bind().dialect)
    for table, column in COLUMNS.items():
        rule = f"CONSTRAINT ck_{table}_{column} CHECK ({column} BETWEEN 1 AND 3)"
        op.execute(f"ALTER TABLE {table} ADD COLUMN {column} {number} {rule}")


def downgrade() -> None:
    """Undo: forgets it."""
    for table, column in COLUMNS.items():
        op.execute(f"ALTER TABLE {table} DROP COLUMN {column}")
