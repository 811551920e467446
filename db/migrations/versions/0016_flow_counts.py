"""How many visits of a study were turned away, by reason, and how many people of it were erased: numbers only.

Revision: 0016, after 0015.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

REASONS = (
    "declined", "under_age", "no_research", "no_id", "not_listed", "other_link", "in_use", "address_limit", "full",
    "ended", "erased",
)  # fmt: skip


def upgrade() -> None:
    """Apply. Nothing was counted before."""
    names = ", ".join(f"'{name}'" for name in REASONS)
    op.create_table(
        "flow_count",
        sa.Column("study_id", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.CheckConstraint(f"reason IN ({names})", name=op.f("ck_flow_count_reason")),
        sa.CheckConstraint("number >= 1", name=op.f("ck_flow_count_number")),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_flow_count_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "reason", name=op.f("pk_flow_count")),
    )


def downgrade() -> None:
    """Undo: the numbers are gone."""
    op.drop_table("flow_count")
