"""What a hand-off was about and its language, with the message.

Revision: 0008, after 0007.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

COLUMNS = ("danger", "language")


def upgrade() -> None:
    """Apply. Of messages of before nobody knows it: their new columns stay empty."""
    for name in COLUMNS:
        op.add_column("message", sa.Column(name, sa.Text(), nullable=True))


def downgrade() -> None:
    """Undo: forgets it, so that a conversation that had ended goes on."""
    for name in COLUMNS:
        op.drop_column("message", name)
