"""Texts of a study by version, and which of them a person agreed to and voted under.

Revision: 0018, after 0017.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply. People and votes of before have no version: they saw the chat's notice."""
    op.create_table(
        "study_texts",
        sa.Column("study_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("texts", sa.Text(), nullable=False),
        sa.Column("stored_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_study_texts_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "version", name=op.f("pk_study_texts")),
    )
    for table in ("study", "enrolment", "vote"):
        op.add_column(table, sa.Column("texts_version", sa.Text(), nullable=True))


def downgrade() -> None:
    """Undo. Which texts a person saw is lost."""
    for table in ("vote", "enrolment", "study"):
        op.drop_column(table, "texts_version")
    op.drop_table("study_texts")
