"""The message that takes the place of an edited one.

Revision: 0015, after 0014.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply. No message of before was edited."""
    op.add_column("message", sa.Column("replaced_by", sa.Text(), nullable=True))


def downgrade() -> None:
    """Undo: an edited message stands beside the one in its place."""
    op.drop_column("message", "replaced_by")
