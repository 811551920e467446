"""The tables of blind votes.

Revision: 0004, after 0003.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "study",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("definition_sha256", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('survey', 'live')", name=op.f("ck_study_kind")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_study")),
    )
    op.create_table(
        "enrolment",
        sa.Column("study_id", sa.Text(), nullable=False),
        sa.Column("participant_id", sa.Text(), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=True),
        sa.Column("condition", sa.Text(), nullable=True),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("completed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("closing", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["participant_id"], ["participant.id"], name=op.f("fk_enrolment_participant_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_enrolment_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("study_id", "participant_id", name=op.f("pk_enrolment")),
        sa.UniqueConstraint("study_id", "external_id", name=op.f("uq_enrolment_study_id_external_id")),
    )
    op.create_index(op.f("ix_enrolment_participant_id"), "enrolment", ["participant_id"], unique=False)
    op.create_table(
        "item",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("study_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("attention", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_item_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_item")),
        sa.UniqueConstraint("study_id", "number", name=op.f("uq_item_study_id_number")),
    )
    op.create_table(
        "answer",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("study_id", sa.Text(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=True),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("human", sa.Boolean(), nullable=False),
        sa.Column("persona", sa.Text(), nullable=True),
        sa.Column("strategy", sa.Text(), nullable=True),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("parameters", sa.Text(), nullable=False),
        sa.Column("prompt_sha256", sa.Text(), nullable=True),
        sa.Column("first_token_seconds", sa.Double(), nullable=True),
        sa.Column("total_seconds", sa.Double(), nullable=True),
        sa.Column("prompt_tokens", sa.Integer(), nullable=True),
        sa.Column("completion_tokens", sa.Integer(), nullable=True),
        sa.Column("improve_assigned", sa.Boolean(), nullable=True),
        sa.Column("improved", sa.Boolean(), nullable=False),
        sa.Column("drafts", sa.Text(), nullable=False),
        sa.Column("characters", sa.Integer(), nullable=False),
        sa.Column("words", sa.Integer(), nullable=False),
        sa.Column("formatting", sa.Text(), nullable=False),
        sa.Column("leak", sa.Text(), nullable=False),
        sa.Column("score_status", sa.Text(), nullable=True),
        sa.Column("score_reason", sa.Text(), nullable=True),
        sa.Column("score_cognitive", sa.Double(), nullable=True),
        sa.Column("score_emotional", sa.Double(), nullable=True),
        sa.Column("score_behavioral", sa.Double(), nullable=True),
        sa.Column("score_empathy", sa.Double(), nullable=True),
        sa.Column("score_head_name", sa.Text(), nullable=True),
        sa.Column("score_head_sha256", sa.Text(), nullable=True),
        sa.Column("score_encoder_sha256", sa.Text(), nullable=True),
        sa.Column("score_details", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "status IN ('pending', 'complete', 'failed', 'stopped', 'interrupted')", name=op.f("ck_answer_status")
        ),
        sa.CheckConstraint("score_empathy BETWEEN 1 AND 3", name=op.f("ck_answer_score_empathy")),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_answer_item_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_answer_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_answer")),
        sa.UniqueConstraint("item_id", "source", name=op.f("uq_answer_item_id_source")),
    )
    op.create_index(
        "ix_answer_pending",
        "answer",
        ["status"],
        unique=False,
        sqlite_where=sa.text("status = 'pending'"),
        postgresql_where=sa.text("status = 'pending'"),
    )
    op.create_index("ix_answer_study_id", "answer", ["study_id"], unique=False)
    op.create_table(
        "ballot",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("study_id", sa.Text(), nullable=False),
        sa.Column("participant_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=True),
        sa.Column("conversation_id", sa.Text(), nullable=True),
        sa.Column("message_id", sa.Text(), nullable=True),
        sa.Column("order_seed", sa.Integer(), nullable=False),
        sa.Column("order_row", sa.Integer(), nullable=False),
        sa.Column("condition", sa.Text(), nullable=True),
        sa.Column("drawn_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("closed_reason", sa.Text(), nullable=True),
        sa.Column("attention", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversation.id"], name=op.f("fk_ballot_conversation_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_ballot_item_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["message_id"], ["message.id"], name=op.f("fk_ballot_message_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["participant_id"], ["participant.id"], name=op.f("fk_ballot_participant_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_ballot_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ballot")),
        sa.UniqueConstraint("message_id", name=op.f("uq_ballot_message_id")),
        sa.UniqueConstraint(
            "study_id", "participant_id", "number", name=op.f("uq_ballot_study_id_participant_id_number")
        ),
    )
    op.create_index(op.f("ix_ballot_conversation_id"), "ballot", ["conversation_id"], unique=False)
    op.create_index("ix_ballot_item_id", "ballot", ["item_id"], unique=False)
    op.create_index(op.f("ix_ballot_participant_id"), "ballot", ["participant_id"], unique=False)
    op.create_table(
        "slot",
        sa.Column("ballot_id", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("answer_id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("votable", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.CheckConstraint("position BETWEEN 1 AND 5", name=op.f("ck_slot_position")),
        sa.ForeignKeyConstraint(["answer_id"], ["answer.id"], name=op.f("fk_slot_answer_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["ballot_id"], ["ballot.id"], name=op.f("fk_slot_ballot_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("ballot_id", "position", name=op.f("pk_slot")),
    )
    op.create_index("ix_slot_answer_id", "slot", ["answer_id"], unique=False)
    op.create_table(
        "vote",
        sa.Column("ballot_id", sa.Text(), nullable=False),
        sa.Column("study_id", sa.Text(), nullable=False),
        sa.Column("participant_id", sa.Text(), nullable=False),
        sa.Column("choice", sa.Text(), nullable=False),
        sa.Column("most", sa.Integer(), nullable=True),
        sa.Column("least", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("width_class", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("voted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changes", sa.Integer(), nullable=False),
        sa.Column("sources", sa.Text(), nullable=False),
        sa.Column("unvotable", sa.Text(), nullable=False),
        sa.Column("leaks", sa.Text(), nullable=False),
        sa.Column("attention", sa.Text(), nullable=True),
        sa.Column("condition", sa.Text(), nullable=True),
        sa.CheckConstraint("(choice = 'ranked') = (most IS NOT NULL)", name=op.f("ck_vote_most_when_ranked")),
        sa.CheckConstraint("choice IN ('ranked', 'same', 'none', 'skipped')", name=op.f("ck_vote_choice")),
        sa.CheckConstraint("least IS NULL OR choice = 'ranked'", name=op.f("ck_vote_least_when_ranked")),
        sa.CheckConstraint("width_class IN ('phone', 'tablet', 'desktop')", name=op.f("ck_vote_width_class")),
        sa.CheckConstraint("most <> least", name=op.f("ck_vote_most_is_not_least")),
        sa.CheckConstraint("most BETWEEN 1 AND 5 AND least BETWEEN 1 AND 5", name=op.f("ck_vote_positions")),
        sa.CheckConstraint("seconds >= 0", name=op.f("ck_vote_seconds")),
        sa.ForeignKeyConstraint(["ballot_id"], ["ballot.id"], name=op.f("fk_vote_ballot_id"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["participant_id"], ["participant.id"], name=op.f("fk_vote_participant_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["study_id"], ["study.id"], name=op.f("fk_vote_study_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("ballot_id", name=op.f("pk_vote")),
    )
    op.create_index(
        "ix_vote_counts",
        "vote",
        [
            "study_id",
            "sources",
            "unvotable",
            "leaks",
            "choice",
            "most",
            "least",
            "attention",
            "condition",
        ],
        unique=False,
    )
    op.create_index(
        "ix_vote_attention",
        "vote",
        ["study_id"],
        unique=False,
        sqlite_where=sa.text("attention IS NOT NULL"),
        postgresql_where=sa.text("attention IS NOT NULL"),
    )
    op.create_index(op.f("ix_vote_participant_id"), "vote", ["participant_id"], unique=False)
    op.create_table(
        "vote_change",
        sa.Column("ballot_id", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("choice", sa.Text(), nullable=False),
        sa.Column("most", sa.Integer(), nullable=True),
        sa.Column("least", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("width_class", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("voted_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["ballot_id"], ["vote.ballot_id"], name=op.f("fk_vote_change_ballot_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("ballot_id", "number", name=op.f("pk_vote_change")),
    )


def downgrade() -> None:
    """Undo: drops the tables and every vote in them."""
    op.drop_table("vote_change")
    op.drop_index(op.f("ix_vote_participant_id"), table_name="vote")
    op.drop_index("ix_vote_counts", table_name="vote")
    op.drop_index("ix_vote_attention", table_name="vote")
    op.drop_table("vote")
    op.drop_index("ix_slot_answer_id", table_name="slot")
    op.drop_table("slot")
    op.drop_index(op.f("ix_ballot_participant_id"), table_name="ballot")
    op.drop_index("ix_ballot_item_id", table_name="ballot")
    op.drop_index(op.f("ix_ballot_conversation_id"), table_name="ballot")
    op.drop_table("ballot")
    op.drop_index("ix_answer_study_id", table_name="answer")
    op.drop_index(
        "ix_answer_pending",
        table_name="answer",
        sqlite_where=sa.text("status = 'pending'"),
        postgresql_where=sa.text("status = 'pending'"),
    )
    op.drop_table("answer")
    op.drop_table("item")
    op.drop_index(op.f("ix_enrolment_participant_id"), table_name="enrolment")
    op.drop_table("enrolment")
    op.drop_table("study")
