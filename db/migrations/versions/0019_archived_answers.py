"""Answers that an import no longer names, copies of a study for previews and pilots, and messages held back as crises.

Revision: 0019, after 0018.
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply. Every study of before is itself."""
    op.create_table(
        "archived_answer",
        sa.Column("answer_id", sa.Text(), nullable=False),
        sa.Column("study_id", sa.Text(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("recipe", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("archived_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["study_id"], ["study.id"], name=op.f("fk_archived_answer_study_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("answer_id", name=op.f("pk_archived_answer")),
    )
    op.create_index(op.f("ix_archived_answer_study_id"), "archived_answer", ["study_id"])
    op.add_column("study", sa.Column("phase", sa.Text(), nullable=False, server_default="study"))
    op.add_column("study", sa.Column("copy_of", sa.Text(), nullable=True))
    op.create_table(
        "held_item",
        sa.Column("study_id", sa.Text(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("held_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("admitted_by", sa.Text(), nullable=True),
        sa.Column("admitted_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_held_item_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "item_id", name=op.f("pk_held_item")),
    )
    op.add_column("item", sa.Column("admitted_by", sa.Text(), nullable=True))
    op.add_column("item", sa.Column("admitted_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Undo. Archived answers and who admitted a message are lost; copies stand as studies of their own."""
    op.drop_column("item", "admitted_at")
    op.drop_column("item", "admitted_by")
    op.drop_table("held_item")
    op.drop_column("study", "copy_of")
    op.drop_column("study", "phase")
    op.drop_table("archived_answer")
