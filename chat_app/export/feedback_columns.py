"""The columns of what people said of their talks in a research export: `thumbs` and `felt_heard`."""

from heard.chat_app.export.columns import SCALES, Column, ExportTable, Kind

_PERSON = Column(
    "participant_id", Kind.TEXT, "The person's random id of this installation, as in people.", origin="participant.id"
)
_TALK = Column("conversation", Kind.TEXT, "The conversation's random id.", origin="conversation.id")

THUMBS = ExportTable(
    "thumbs",
    "one thumb on one draft of a reply in the chat",
    (
        _PERSON,
        _TALK,
        Column(
            "position", Kind.WHOLE, "Place in the conversation of the message that was answered.", "1, 2, ..",
            "message.position",
        ),
        Column("reply", Kind.TEXT, "The reply's random id.", origin="reply.id"),
        Column("draft", Kind.TEXT, "The draft's random id: what the person read.", origin="thumb.draft_id"),
        Column("draft_number", Kind.WHOLE, "The reply's first, second, .. draft.", "1, 2, ..", "draft.number"),
        Column("kept", Kind.YES_NO, "Whether this draft is the reply still.", origin="draft.kept"),
        Column(
            "asked_by", Kind.TEXT, "Who asked for this draft where there was one already.",
            "person, policy; empty for the first", "draft.asked_by",
        ),
        Column("up", Kind.YES_NO, "Thumb up (helpful) or down (not helpful).", "true is up", "thumb.up"),
        Column("given_at", Kind.TIME, "When the thumb was given, or last changed.", origin="thumb.given_at"),
        Column("persona", Kind.TEXT, "Who answered.", "a file's name", "reply.persona"),
        Column("strategy", Kind.TEXT, "The strategy of the prompt.", "a file's name", "reply.strategy"),
        Column("model", Kind.TEXT, "The model that wrote it.", "an entry of models.toml", "draft.model"),
        Column("policy", Kind.TEXT, "The policy of writing again.", "a file's name; empty is none", "reply.policy"),
        *(
            Column(
                scale, Kind.NUMBER, f"The scorer's {scale} of the draft.",
                "1 (lacking) to 3 (strong); empty when it could not be scored", f"score.{scale}",
            )
            for scale in SCALES
        ),
    ),
)  # fmt: skip
FELT_HEARD = ExportTable(
    "felt_heard",
    "one conversation in the chat after which the person was asked whether they felt heard",
    (
        _PERSON,
        _TALK,
        Column("persona", Kind.TEXT, "The conversation's persona.", "a file's name", "conversation.persona"),
        Column(
            "position", Kind.WHOLE, "Place of the message under whose reply it was asked.", "1, 2, ..",
            "message.position",
        ),
        Column("messages", Kind.WHOLE, "The person's messages in the conversation, later ones too.", "1 or more",
               "counted in message"),
        Column(
            "felt_heard", Kind.WHOLE, "Did you feel heard in this talk?",
            "1 (not at all) to 5 (fully); empty is no answer", "felt_heard.answer",
        ),
        Column("asked_at", Kind.TIME, "When it was asked.", origin="felt_heard.asked_at"),
        Column(
            "answered_at", Kind.TIME, "When it was answered or skipped; empty if the person just went on.",
            origin="felt_heard.answered_at",
        ),
    ),
)  # fmt: skip
