"""The desk from which a study is run: exclusions, links with a role, the log; pauses, and people who were screened out.

Revision: 0021, after 0020.
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Apply. Nobody of before is excluded or screened out, and no study is paused."""
    op.add_column("study", sa.Column("paused_at", _TIME, nullable=True))
    op.create_table(
        "exclusion",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("study_id", sa.Text(), nullable=False),
        sa.Column("participant_id", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("made_at", _TIME, nullable=False),
        sa.Column("lifted_by", sa.Text(), nullable=True),
        sa.Column("lifted_at", _TIME, nullable=True),
        sa.Column("lifted_reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], op.f("fk_exclusion_study_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["participant_id"], ["participant.id"], op.f("fk_exclusion_participant_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_exclusion")),
    )
    op.create_index(op.f("ix_exclusion_study_id"), "exclusion", ["study_id"])
    op.create_index(op.f("ix_exclusion_participant_id"), "exclusion", ["participant_id"])
    op.create_table(
        "access_link",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("study_id", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("token_sha256", sa.Text(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("made_at", _TIME, nullable=False),
        sa.Column("revoked_at", _TIME, nullable=True),
        sa.CheckConstraint("role IN ('participant', 'rater', 'researcher', 'lead')", name=op.f("ck_access_link_role")),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], op.f("fk_access_link_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_access_link")),
        sa.UniqueConstraint("token_sha256", name=op.f("uq_access_link_token_sha256")),
    )
    op.create_index(op.f("ix_access_link_study_id"), "access_link", ["study_id"])
    op.create_table(
        "desk_log",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("study_id", sa.Text(), nullable=True),
        sa.Column("participant_id", sa.Text(), nullable=True),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("did", sa.Text(), nullable=False),
        sa.Column("at", _TIME, nullable=False),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], op.f("fk_desk_log_study_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["participant_id"], ["participant.id"], op.f("fk_desk_log_participant_id"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_desk_log")),
    )
    op.create_index(op.f("ix_desk_log_study_id"), "desk_log", ["study_id"])
    op.create_index(op.f("ix_desk_log_participant_id"), "desk_log", ["participant_id"])


def downgrade() -> None:
    """Undo: everybody counts again, links with a role open nothing, and the log is gone."""
    for table in ("desk_log", "access_link", "exclusion"):
        op.drop_table(table)
    op.drop_column("study", "paused_at")
