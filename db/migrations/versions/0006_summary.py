"""The table of running summaries of long conversations.

Revision: 0006, after 0005.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "summary",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("prompt_sha256", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("length(prompt_sha256) = 64", name=op.f("ck_summary_prompt_sha256")),
        sa.CheckConstraint("seconds >= 0", name=op.f("ck_summary_seconds")),
        sa.CheckConstraint("prompt_tokens >= 0", name=op.f("ck_summary_prompt_tokens")),
        sa.CheckConstraint("completion_tokens >= 0", name=op.f("ck_summary_completion_tokens")),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversation.id"], name=op.f("fk_summary_conversation_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["message_id"], ["message.id"], name=op.f("fk_summary_message_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_summary")),
        sa.UniqueConstraint("message_id", name=op.f("uq_summary_message_id")),
    )
    op.create_index(op.f("ix_summary_conversation_id"), "summary", ["conversation_id"], unique=False)


def downgrade() -> None:
    """Undo: drops the table and all that is in it."""
    op.drop_index(op.f("ix_summary_conversation_id"), table_name="summary")
    op.drop_table("summary")
