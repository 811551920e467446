"""The first tables: our own seven, and the five of the page's history.

Revision: 0001, after nothing.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "participant",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_participant")),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("identifier", sa.Text(), nullable=False),
        sa.Column("createdAt", sa.Text(), nullable=True),
        sa.Column("metadata", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("identifier", name=op.f("uq_users_identifier")),
    )
    op.create_table(
        "consent",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("participant_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("chat", sa.Boolean(), nullable=False),
        sa.Column("research", sa.Boolean(), nullable=False),
        sa.Column("given_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["participant_id"], ["participant.id"], name=op.f("fk_consent_participant_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_consent")),
    )
    op.create_index(op.f("ix_consent_participant_id"), "consent", ["participant_id"], unique=False)
    op.create_table(
        "conversation",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("participant_id", sa.Text(), nullable=False),
        sa.Column("persona", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["participant_id"], ["participant.id"], name=op.f("fk_conversation_participant_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_conversation")),
    )
    op.create_index(op.f("ix_conversation_participant_id"), "conversation", ["participant_id"], unique=False)
    op.create_table(
        "threads",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("createdAt", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("userId", sa.Text(), nullable=False),
        sa.Column("userIdentifier", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=True),
        sa.Column("metadata", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["userId"], ["users.id"], name=op.f("fk_threads_userId"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_threads")),
    )
    op.create_index(op.f("ix_threads_userId"), "threads", ["userId"], unique=False)
    op.create_table(
        "elements",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("threadId", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("chainlitKey", sa.Text(), nullable=True),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("objectKey", sa.Text(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("display", sa.Text(), nullable=True),
        sa.Column("size", sa.Text(), nullable=True),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("page", sa.Integer(), nullable=True),
        sa.Column("props", sa.Text(), nullable=True),
        sa.Column("autoPlay", sa.Boolean(), nullable=True),
        sa.Column("playerConfig", sa.Text(), nullable=True),
        sa.Column("forId", sa.Text(), nullable=True),
        sa.Column("mime", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["threadId"], ["threads.id"], name=op.f("fk_elements_threadId"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_elements")),
    )
    op.create_index(op.f("ix_elements_forId"), "elements", ["forId"], unique=False)
    op.create_index(op.f("ix_elements_threadId"), "elements", ["threadId"], unique=False)
    op.create_table(
        "message",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "outcome IN ('pending', 'answered', 'crisis', 'refused', 'broken', 'stopped', 'interrupted')",
            name=op.f("ck_message_outcome"),
        ),
        sa.CheckConstraint("position >= 1", name=op.f("ck_message_position")),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversation.id"], name=op.f("fk_message_conversation_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_message")),
        sa.UniqueConstraint("conversation_id", "position", name=op.f("uq_message_conversation_id_position")),
    )
    op.create_index(
        "ix_message_pending",
        "message",
        ["outcome"],
        unique=False,
        sqlite_where=sa.text("outcome = 'pending'"),
        postgresql_where=sa.text("outcome = 'pending'"),
    )
    op.create_table(
        "steps",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("threadId", sa.Text(), nullable=False),
        sa.Column("parentId", sa.Text(), nullable=True),
        sa.Column("command", sa.Text(), nullable=True),
        sa.Column("modes", sa.Text(), nullable=True),
        sa.Column("streaming", sa.Boolean(), nullable=True),
        sa.Column("waitForAnswer", sa.Boolean(), nullable=True),
        sa.Column("isError", sa.Boolean(), nullable=True),
        sa.Column("metadata", sa.Text(), nullable=True),
        sa.Column("tags", sa.Text(), nullable=True),
        sa.Column("input", sa.Text(), nullable=True),
        sa.Column("output", sa.Text(), nullable=True),
        sa.Column("createdAt", sa.Text(), nullable=True),
        sa.Column("start", sa.Text(), nullable=True),
        sa.Column("end", sa.Text(), nullable=True),
        sa.Column("generation", sa.Text(), nullable=True),
        sa.Column("showInput", sa.Text(), nullable=True),
        sa.Column("defaultOpen", sa.Boolean(), nullable=True),
        sa.Column("autoCollapse", sa.Boolean(), nullable=True),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("icon", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["threadId"], ["threads.id"], name=op.f("fk_steps_threadId"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_steps")),
    )
    op.create_index(op.f("ix_steps_threadId"), "steps", ["threadId"], unique=False)
    op.create_table(
        "feedbacks",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("forId", sa.Text(), nullable=False),
        sa.Column("threadId", sa.Text(), nullable=True),
        sa.Column("value", sa.Integer(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["forId"], ["steps.id"], name=op.f("fk_feedbacks_forId"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_feedbacks")),
        sa.UniqueConstraint("forId", name=op.f("uq_feedbacks_forId")),
    )
    op.create_table(
        "reply",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("persona", sa.Text(), nullable=False),
        sa.Column("strategy", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["message_id"], ["message.id"], name=op.f("fk_reply_message_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reply")),
        sa.UniqueConstraint("message_id", name=op.f("uq_reply_message_id")),
    )
    op.create_table(
        "draft",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("reply_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("kept", sa.Boolean(), nullable=False),
        sa.Column("guidance", sa.Text(), nullable=True),
        sa.Column("prompt_sha256", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("parameters", sa.Text(), nullable=False),
        sa.Column("first_token_seconds", sa.Double(), nullable=True),
        sa.Column("total_seconds", sa.Double(), nullable=False),
        sa.Column("prompt_tokens", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("status IN ('complete', 'broken', 'stopped')", name=op.f("ck_draft_status")),
        sa.CheckConstraint("completion_tokens >= 0", name=op.f("ck_draft_completion_tokens")),
        sa.CheckConstraint("first_token_seconds >= 0", name=op.f("ck_draft_first_token_seconds")),
        sa.CheckConstraint("length(prompt_sha256) = 64", name=op.f("ck_draft_prompt_sha256")),
        sa.CheckConstraint("number BETWEEN 1 AND 3", name=op.f("ck_draft_number")),
        sa.CheckConstraint("prompt_tokens >= 0", name=op.f("ck_draft_prompt_tokens")),
        sa.CheckConstraint("total_seconds >= 0", name=op.f("ck_draft_total_seconds")),
        sa.ForeignKeyConstraint(["reply_id"], ["reply.id"], name=op.f("fk_draft_reply_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_draft")),
        sa.UniqueConstraint("reply_id", "number", name=op.f("uq_draft_reply_id_number")),
    )
    op.create_index(
        "uq_draft_kept",
        "draft",
        ["reply_id"],
        unique=True,
        sqlite_where=sa.text("kept"),
        postgresql_where=sa.text("kept"),
    )
    op.create_table(
        "score",
        sa.Column("draft_id", sa.Text(), nullable=False),
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
            name=op.f("ck_score_numbers_when_scored"),
        ),
        sa.CheckConstraint(
            "abs(empathy - (cognitive + emotional + behavioral) / 3) <= 0.02", name=op.f("ck_score_mean")
        ),
        sa.CheckConstraint("behavioral BETWEEN 1 AND 3", name=op.f("ck_score_behavioral")),
        sa.CheckConstraint("cognitive BETWEEN 1 AND 3", name=op.f("ck_score_cognitive")),
        sa.CheckConstraint("emotional BETWEEN 1 AND 3", name=op.f("ck_score_emotional")),
        sa.CheckConstraint("empathy BETWEEN 1 AND 3", name=op.f("ck_score_empathy")),
        sa.CheckConstraint("length(encoder_sha256) = 64", name=op.f("ck_score_encoder_sha256")),
        sa.CheckConstraint("length(head_sha256) = 64", name=op.f("ck_score_head_sha256")),
        sa.ForeignKeyConstraint(["draft_id"], ["draft.id"], name=op.f("fk_score_draft_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("draft_id", name=op.f("pk_score")),
    )


def downgrade() -> None:
    """Undo: drops every table and all that is in it."""
    op.drop_table("score")
    op.drop_index("uq_draft_kept", table_name="draft", sqlite_where=sa.text("kept"), postgresql_where=sa.text("kept"))
    op.drop_table("draft")
    op.drop_table("reply")
    op.drop_table("feedbacks")
    op.drop_index(op.f("ix_steps_threadId"), table_name="steps")
    op.drop_table("steps")
    op.drop_index(
        "ix_message_pending",
        table_name="message",
        sqlite_where=sa.text("outcome = 'pending'"),
        postgresql_where=sa.text("outcome = 'pending'"),
    )
    op.drop_table("message")
    op.drop_index(op.f("ix_elements_threadId"), table_name="elements")
    op.drop_index(op.f("ix_elements_forId"), table_name="elements")
    op.drop_table("elements")
    op.drop_index(op.f("ix_threads_userId"), table_name="threads")
    op.drop_table("threads")
    op.drop_index(op.f("ix_conversation_participant_id"), table_name="conversation")
    op.drop_table("conversation")
    op.drop_index(op.f("ix_consent_participant_id"), table_name="consent")
    op.drop_table("consent")
    op.drop_table("users")
    op.drop_table("participant")
