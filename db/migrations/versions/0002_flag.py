"""The table of cases that people mark on the scorer's page.

Revision: 0002, after 0001.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "flag",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("participant_id", sa.Text(), nullable=False),
        sa.Column("seeker", sa.Text(), nullable=False),
        sa.Column("reply", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("cognitive", sa.Double(), nullable=True),
        sa.Column("emotional", sa.Double(), nullable=True),
        sa.Column("behavioral", sa.Double(), nullable=True),
        sa.Column("empathy", sa.Double(), nullable=True),
        sa.Column("head_name", sa.Text(), nullable=False),
        sa.Column("head_sha256", sa.Text(), nullable=False),
        sa.Column("encoder_sha256", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "(status = 'scored') = (cognitive IS NOT NULL) AND (status = 'scored') = (emotional IS NOT NULL) AND "
            "(status = 'scored') = (behavioral IS NOT NULL) AND (status = 'scored') = (empathy IS NOT NULL)",
            name=op.f("ck_flag_numbers_when_scored"),
        ),
        sa.CheckConstraint(
            "abs(empathy - (cognitive + emotional + behavioral) / 3) <= 0.02", name=op.f("ck_flag_mean")
        ),
        sa.CheckConstraint("behavioral BETWEEN 1 AND 3", name=op.f("ck_flag_behavioral")),
        sa.CheckConstraint("cognitive BETWEEN 1 AND 3", name=op.f("ck_flag_cognitive")),
        sa.CheckConstraint("emotional BETWEEN 1 AND 3", name=op.f("ck_flag_emotional")),
        sa.CheckConstraint("empathy BETWEEN 1 AND 3", name=op.f("ck_flag_empathy")),
        sa.CheckConstraint("length(encoder_sha256) = 64", name=op.f("ck_flag_encoder_sha256")),
        sa.CheckConstraint("length(head_sha256) = 64", name=op.f("ck_flag_head_sha256")),
        sa.ForeignKeyConstraint(
            ["participant_id"], ["participant.id"], name=op.f("fk_flag_participant_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flag")),
    )
    op.create_index(op.f("ix_flag_participant_id"), "flag", ["participant_id"], unique=False)


def downgrade() -> None:
    """Undo: drops the table and all that is in it."""
    op.drop_index(op.f("ix_flag_participant_id"), table_name="flag")
    op.drop_table("flag")
