"""What a message was to the person's safety: a turn after a hand-off, a check-in, a danger long past.

Revision: 0009, after 0008.
"""

from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

VALUES = "'supported', 'safe', 'checked_in', 'denied', 'recovery'"


def upgrade() -> None:
    """Apply. Messages of before have none. In SQL, because Alembic adds no rule to a table of SQLite without making it
    anew, and dropping the old one would take the replies that refer to it."""
    rule = f"CONSTRAINT ck_message_safety CHECK (safety IN ({VALUES}))"
    op.execute(f"ALTER TABLE message ADD COLUMN safety TEXT {rule}")


def downgrade() -> None:
    """Undo: forgets it, so that the turns of before count as ordinary ones."""
    op.execute("ALTER TABLE message DROP COLUMN safety")
