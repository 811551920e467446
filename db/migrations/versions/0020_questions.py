"""Answers to the questions round the ballots, and who was screened out by one.

Revision: 0020, after 0019.
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply. Nobody of before was asked anything."""
    op.add_column("enrolment", sa.Column("screened_out_at", sa.DateTime(timezone=True), nullable=True))
    op.create_table(
        "question_answer",
        sa.Column("study_id", sa.Text(), nullable=False),
        sa.Column("participant_id", sa.Text(), nullable=False),
        sa.Column("item", sa.Text(), nullable=False),
        sa.Column("after_ballots", sa.Integer(), nullable=False),
        sa.Column("value", sa.Text(), nullable=True),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("after_ballots >= 0", name=op.f("ck_question_answer_after_ballots")),
        *(
            sa.ForeignKeyConstraint(
                [f"{table}_id"], [f"{table}.id"], name=op.f(f"fk_question_answer_{table}_id"), ondelete="CASCADE"
            )
            for table in ("study", "participant")
        ),
        sa.PrimaryKeyConstraint("study_id", "participant_id", "item", "after_ballots", name=op.f("pk_question_answer")),
    )
    op.create_index(op.f("ix_question_answer_participant_id"), "question_answer", ["participant_id"])


def downgrade() -> None:
    """Undo: drops the answers, and lets whoever was screened out count as enrolled."""
    op.drop_table("question_answer")
    op.drop_column("enrolment", "screened_out_at")
