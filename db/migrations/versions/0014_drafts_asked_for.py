"""Who asked for a draft beside the first, and room for those that a person asks for.

Revision: 0014, after 0013.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

REFERRING = ("score", "thumb")


def upgrade() -> None:
    """Apply. Nothing says who asked for the drafts of before."""
    _rebuild_draft("number BETWEEN 1 AND 99", grow=True)


def downgrade() -> None:
    """Undo: forgets who asked, and the drafts that find no room; the kept one is none of these."""
    op.execute(
        "DELETE FROM draft WHERE number = 9 AND reply_id IN (SELECT reply_id FROM draft WHERE kept AND number > 9)"
    )
    op.execute("UPDATE draft SET number = 9 WHERE kept AND number > 9")
    op.execute("DELETE FROM draft WHERE number > 9")
    _rebuild_draft("number BETWEEN 1 AND 9", grow=False)


def _rebuild_draft(numbers: str, *, grow: bool) -> None:
    # SQLite changes a rule only by making the table anew, and dropping the old one takes the rows that refer to it.
    lite = op.get_bind().dialect.name == "sqlite"
    for table in REFERRING if lite else ():
        op.execute(f"CREATE TEMPORARY TABLE kept_{table} AS SELECT * FROM {table}")  # noqa: S608
    with op.batch_alter_table("draft") as draft:
        draft.drop_constraint(op.f("ck_draft_number"), type_="check")
        draft.create_check_constraint(op.f("ck_draft_number"), numbers)
        if grow:
            draft.add_column(sa.Column("asked_by", sa.Text(), nullable=True))
            draft.create_check_constraint(op.f("ck_draft_asked_by"), "asked_by IN ('person', 'policy')")
        else:
            draft.drop_constraint(op.f("ck_draft_asked_by"), type_="check")
            draft.drop_column("asked_by")
    for table in REFERRING if lite else ():
        op.execute(f"INSERT INTO {table} SELECT * FROM kept_{table}")  # noqa: S608
        op.execute(f"DROP TABLE kept_{table}")
