"""What came before a draft and how it ended: hidden steps, a cut end, another model in its place, the policy followed.

Revision: 0005, after 0004.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply. Drafts of before had no steps, and nothing says whether they were cut: they count as whole."""
    op.add_column("reply", sa.Column("policy", sa.Text(), nullable=True))
    op.add_column("answer", sa.Column("cut", sa.Boolean(), nullable=True))
    op.add_column("answer", sa.Column("policy", sa.Text(), nullable=True))
    _rebuild_draft("number BETWEEN 1 AND 9", grow=True)


def downgrade() -> None:
    """Undo: forgets the steps and the marks."""
    op.execute("DELETE FROM draft WHERE number > 3")
    _rebuild_draft("number BETWEEN 1 AND 3", grow=False)
    op.drop_column("answer", "policy")
    op.drop_column("answer", "cut")
    op.drop_column("reply", "policy")


def _rebuild_draft(numbers: str, *, grow: bool) -> None:
    # SQLite changes a rule only by making the table anew, and dropping the old one takes the scores that refer to it.
    lite = op.get_bind().dialect.name == "sqlite"
    if lite:
        op.execute("CREATE TEMPORARY TABLE kept_score AS SELECT * FROM score")
    with op.batch_alter_table("draft") as draft:
        draft.drop_constraint(op.f("ck_draft_number"), type_="check")
        draft.create_check_constraint(op.f("ck_draft_number"), numbers)
        if grow:
            draft.add_column(sa.Column("cut", sa.Boolean(), nullable=False, server_default=sa.false()))
            draft.add_column(sa.Column("fallback_for", sa.Text(), nullable=True))
            draft.add_column(sa.Column("steps", sa.Text(), nullable=False, server_default="[]"))
        else:
            for name in ("steps", "fallback_for", "cut"):
                draft.drop_column(name)
    if grow:
        with op.batch_alter_table("draft") as draft:  # the defaults were for the rows of before
            draft.alter_column("cut", server_default=None)
            draft.alter_column("steps", server_default=None)
    if lite:
        op.execute("INSERT INTO score SELECT * FROM kept_score")
        op.execute("DROP TABLE kept_score")
