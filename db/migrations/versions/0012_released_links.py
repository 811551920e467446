"""Links that may go on in another browser, and when they last did.

Revision: 0012, after 0011.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

COLUMNS = ("released_at", "resumed_at")


def upgrade() -> None:
    """Apply. No link of before counts as released."""
    for column in COLUMNS:
        op.add_column("enrolment", sa.Column(column, sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Undo: forgets both."""
    for column in COLUMNS:
        op.drop_column("enrolment", column)
