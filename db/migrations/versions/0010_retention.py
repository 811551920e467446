"""When a study ended, the day of a person's last nudge, and an index by which old messages are found.

Revision: 0010, after 0009.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply. Studies of before count as running, and nobody as nudged."""
    op.add_column("participant", sa.Column("nudged_on", sa.Date(), nullable=True))
    op.add_column("study", sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index("ix_message_created_at", "message", ["created_at"], unique=False)


def downgrade() -> None:
    """Undo: forgets both dates, so that ended studies run again."""
    op.drop_index("ix_message_created_at", table_name="message")
    op.drop_column("study", "ended_at")
    op.drop_column("participant", "nudged_on")
