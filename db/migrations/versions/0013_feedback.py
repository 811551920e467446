"""Thumbs on replies, and whether people felt heard.

Revision: 0013, after 0012.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "thumb",
        sa.Column("draft_id", sa.Text(), nullable=False),
        sa.Column("participant_id", sa.Text(), nullable=False),
        sa.Column("up", sa.Boolean(), nullable=False),
        sa.Column("given_at", sa.DateTime(timezone=True), nullable=False),
        *_references("thumb", draft_id="draft", participant_id="participant"),
        sa.PrimaryKeyConstraint("draft_id", name=op.f("pk_thumb")),
    )
    op.create_index(op.f("ix_thumb_participant_id"), "thumb", ["participant_id"])
    op.create_table(
        "felt_heard",
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("participant_id", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("answer", sa.Integer(), nullable=True),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("answer BETWEEN 1 AND 5", name=op.f("ck_felt_heard_answer")),
        sa.CheckConstraint("answer IS NULL OR answered_at IS NOT NULL", name=op.f("ck_felt_heard_answered_at")),
        *_references("felt_heard", conversation_id="conversation", participant_id="participant", message_id="message"),
        sa.PrimaryKeyConstraint("conversation_id", name=op.f("pk_felt_heard")),
    )
    for column in ("participant_id", "message_id"):
        op.create_index(op.f(f"ix_felt_heard_{column}"), "felt_heard", [column])


def downgrade() -> None:
    """Undo: drops both tables and all that is in them."""
    op.drop_table("felt_heard")
    op.drop_table("thumb")


def _references(table: str, **columns: str) -> list[sa.ForeignKeyConstraint]:
    return [
        sa.ForeignKeyConstraint([column], [f"{other}.id"], name=op.f(f"fk_{table}_{column}"), ondelete="CASCADE")
        for column, other in columns.items()
    ]
