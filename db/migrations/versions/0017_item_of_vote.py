"""The item of a vote, so that results read people and items from the index that they group by.

Revision: 0017, after 0016.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

_GROUPED = ["study_id", "sources", "unvotable", "leaks", "choice", "most", "least", "attention", "condition"]


def upgrade() -> None:
    """Apply. Votes of before get the item of their ballot."""
    op.add_column("vote", sa.Column("item_id", sa.Text(), nullable=True))
    op.execute("UPDATE vote SET item_id = (SELECT ballot.item_id FROM ballot WHERE ballot.id = vote.ballot_id)")
    op.drop_index("ix_vote_counts", table_name="vote")
    op.create_index("ix_vote_counts", "vote", [*_GROUPED, "participant_id", "item_id"], unique=False)


def downgrade() -> None:
    """Undo. Nothing is lost: the ballot has the item too."""
    op.drop_index("ix_vote_counts", table_name="vote")
    op.create_index("ix_vote_counts", "vote", _GROUPED, unique=False)
    op.drop_column("vote", "item_id")
