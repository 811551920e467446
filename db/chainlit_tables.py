"""The five tables that Chainlit's `SQLAlchemyDataLayer` (2.12.0) reads and writes but does not create.

Its names and camel-case columns are fixed. Lists and objects (tags, metadata, modes, generation, props, playerConfig)
are JSON in a text here, on SQLite and PostgreSQL alike; its times are texts too.
"""

from sqlalchemy import Boolean, Column, ForeignKey, Integer, Table, Text, UniqueConstraint

from heard.db.tables import Base

USERS = Table(
    "users",
    Base.metadata,
    Column("id", Text, primary_key=True),
    Column("identifier", Text, nullable=False),  # the participant's id
    Column("createdAt", Text),
    Column("metadata", Text, nullable=False),
    UniqueConstraint("identifier"),
)

THREADS = Table(
    "threads",
    Base.metadata,
    Column("id", Text, primary_key=True),
    Column("createdAt", Text),
    Column("name", Text),
    Column("userId", Text, ForeignKey("users.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("userIdentifier", Text, nullable=False),
    Column("tags", Text),
    Column("metadata", Text),
)

STEPS = Table(
    "steps",
    Base.metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("threadId", Text, ForeignKey("threads.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("parentId", Text),
    Column("command", Text),
    Column("modes", Text),
    Column("streaming", Boolean),
    Column("waitForAnswer", Boolean),
    Column("isError", Boolean),
    Column("metadata", Text),
    Column("tags", Text),
    Column("input", Text),
    Column("output", Text),
    Column("createdAt", Text),
    Column("start", Text),
    Column("end", Text),
    Column("generation", Text),
    Column("showInput", Text),
    Column("defaultOpen", Boolean),
    Column("autoCollapse", Boolean),
    Column("language", Text),
    Column("icon", Text),
)

ELEMENTS = Table(
    "elements",
    Base.metadata,
    Column("id", Text, primary_key=True),
    Column("threadId", Text, ForeignKey("threads.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("type", Text, nullable=False),
    Column("chainlitKey", Text),
    Column("url", Text),
    Column("objectKey", Text),
    Column("name", Text, nullable=False),
    Column("display", Text),
    Column("size", Text),
    Column("language", Text),
    Column("page", Integer),
    Column("props", Text),
    Column("autoPlay", Boolean),
    Column("playerConfig", Text),
    Column("forId", Text, index=True),
    Column("mime", Text),
)

FEEDBACKS = Table(
    "feedbacks",
    Base.metadata,
    Column("id", Text, primary_key=True),
    Column("forId", Text, ForeignKey("steps.id", ondelete="CASCADE"), nullable=False),
    Column("threadId", Text),
    Column("value", Integer, nullable=False),
    Column("comment", Text),
    UniqueConstraint("forId"),  # Chainlit would add a row for every click
)

STEP_COLUMNS = frozenset(column.name for column in STEPS.columns)
ELEMENT_COLUMNS = frozenset(column.name for column in ELEMENTS.columns)
