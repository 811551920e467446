"""Tables of the desk from which a study is run: who was excluded and why, who has a link with which role, who saw what.

What says anything of a person (`exclusion`) goes when they are erased; a line of the log loses its person.
"""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from heard.db.desk_records import Role
from heard.db.tables import Base, one_of


class ExclusionRow(Base):
    """One exclusion of a person from the results of a study; it is lifted, and never deleted."""

    __tablename__ = "exclusion"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    study_id: Mapped[str] = mapped_column(ForeignKey("study.id", ondelete="CASCADE"), index=True)
    participant_id: Mapped[str] = mapped_column(ForeignKey("participant.id", ondelete="CASCADE"), index=True)
    rule: Mapped[str | None]
    """The rule with its bound, such as "fast=3s"; null for one by hand."""
    reason: Mapped[str]
    made_by: Mapped[str]
    made_at: Mapped[datetime]
    lifted_by: Mapped[str | None]
    lifted_at: Mapped[datetime | None]
    lifted_reason: Mapped[str | None]


class AccessLinkRow(Base):
    """One link with a role in a study. Its token is printed once and stored as a hash alone."""

    __tablename__ = "access_link"
    __table_args__ = (CheckConstraint(one_of("role", Role), name="role"),)
    id: Mapped[str] = mapped_column(primary_key=True)
    study_id: Mapped[str] = mapped_column(ForeignKey("study.id", ondelete="CASCADE"), index=True)
    role: Mapped[str]
    name: Mapped[str]
    token_sha256: Mapped[str] = mapped_column(unique=True)
    made_by: Mapped[str]
    made_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]


class DeskLogRow(Base):
    """One page that was seen at the desk, or one thing that was done there or by a command."""

    __tablename__ = "desk_log"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    study_id: Mapped[str | None] = mapped_column(ForeignKey("study.id", ondelete="CASCADE"), index=True)
    participant_id: Mapped[str | None] = mapped_column(ForeignKey("participant.id", ondelete="SET NULL"), index=True)
    who: Mapped[str]
    role: Mapped[str]
    did: Mapped[str]
    """In words of ours, which never repeat what somebody wrote."""
    at: Mapped[datetime]
