"""What the guard caught of a draft, why a reply was ended, and what the guard did to a study's answer.

Revision: 0007, after 0006.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

COLUMNS = ("caught", "caught_by", "ended_by")


def upgrade() -> None:
    """Apply. Drafts and answers of before were read by no guard: their new columns stay empty."""
    op.add_column("answer", sa.Column("guard", sa.Text(), nullable=True))
    op.add_column("answer", sa.Column("guard_kinds", sa.Text(), nullable=False, server_default="[]"))
    _rebuild_draft("status IN ('complete', 'broken', 'stopped', 'caught', 'empty')", grow=True)


def downgrade() -> None:
    """Undo: forgets what was caught, with the drafts themselves."""
    op.execute("DELETE FROM draft WHERE status IN ('caught', 'empty') AND NOT kept")
    op.execute("UPDATE draft SET status = 'broken' WHERE status IN ('caught', 'empty')")
    _rebuild_draft("status IN ('complete', 'broken', 'stopped')", grow=False)
    op.drop_column("answer", "guard_kinds")
    op.drop_column("answer", "guard")


def _rebuild_draft(statuses: str, *, grow: bool) -> None:
    # SQLite changes a rule only by making the table anew, and dropping the old one takes the scores that refer to it.
    lite = op.get_bind().dialect.name == "sqlite"
    if lite:
        op.execute("CREATE TEMPORARY TABLE kept_score AS SELECT * FROM score")
    with op.batch_alter_table("draft") as draft:
        draft.drop_constraint(op.f("ck_draft_status"), type_="check")
        draft.create_check_constraint(op.f("ck_draft_status"), statuses)
        for name in COLUMNS:
            if grow:
                draft.add_column(sa.Column(name, sa.Text(), nullable=True))
            else:
                draft.drop_column(name)
    if lite:
        op.execute("INSERT INTO score SELECT * FROM kept_score")
        op.execute("DROP TABLE kept_score")
