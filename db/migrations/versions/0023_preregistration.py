"""The preregistration of a study: the file, its stop rule, and when, why and by whom the results were opened.

Revision: 0023, after 0021.
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply. No study was preregistered before."""
    op.create_table(
        "preregistration",
        sa.Column("study_id", sa.Text(), nullable=False),
        sa.Column("file_name", sa.Text(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("registered_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("heard", sa.Text(), nullable=False),
        sa.Column("definition_sha256", sa.Text(), nullable=False),
        sa.Column("votes_before", sa.Integer(), nullable=False),
        sa.Column("stop_people", sa.Integer(), nullable=True),
        sa.Column("stop_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("met_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("opened_by", sa.Text(), nullable=True),
        sa.Column("opened_reason", sa.Text(), nullable=True),
        sa.CheckConstraint("length(sha256) = 64", name=op.f("ck_preregistration_sha256")),
        sa.CheckConstraint("stop_people IS NOT NULL OR stop_at IS NOT NULL", name=op.f("ck_preregistration_stop_rule")),
        sa.CheckConstraint("stop_people >= 1", name=op.f("ck_preregistration_stop_people")),
        sa.CheckConstraint(
            "(opened_at IS NULL) = (opened_by IS NULL) AND (opened_at IS NULL) = (opened_reason IS NULL)",
            name=op.f("ck_preregistration_opened"),
        ),
        sa.ForeignKeyConstraint(
            ["study_id"], ["study.id"], name=op.f("fk_preregistration_study_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("study_id", name=op.f("pk_preregistration")),
    )


def downgrade() -> None:
    """Undo: the files and the stop rules are gone."""
    op.drop_table("preregistration")
