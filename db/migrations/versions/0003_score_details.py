"""What else the scorer said of a text, beside its numbers: notes, intervals, evidence.

Revision: 0003, after 0002.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.add_column("score", sa.Column("details", sa.Text(), nullable=True))
    op.add_column("flag", sa.Column("details", sa.Text(), nullable=True))


def downgrade() -> None:
    """Undo: forgets the details."""
    op.drop_column("flag", "details")
    op.drop_column("score", "details")
