"""Records of the desk: roles and links, exclusions, and the log of who saw and did what."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

LINK = "link-"
"""Beginning of the external ids of people who take part by a link with a role."""


class Role(StrEnum):
    """What a link lets its holder do."""

    PARTICIPANT = "participant"
    """Take part, under an id of their own."""
    RATER = "rater"
    """The same as somebody who rates for the researchers: nothing but ballots."""
    RESEARCHER = "researcher"
    """See the results and the desk of one study."""
    LEAD = "lead"
    """The same, and change: exclude, pause, close, give and revoke links, read the log."""

    @property
    def is_staff(self) -> bool:
        """Whether the role opens the desk; the others take part."""
        return self in (Role.RESEARCHER, Role.LEAD)


@dataclass(frozen=True, slots=True)
class Actor:
    """Who does something at the desk or by a command, as the log names them."""

    name: str
    role: Role = Role.LEAD
    link_id: str | None = None
    """The link by which they came; None for the setting researcher_token and for commands."""
    study: str | None = None
    """The only study that they may see; None for all."""

    @property
    def leads(self) -> bool:
        """Whether they may change anything."""
        return self.role is Role.LEAD

    def may_see(self, study: str) -> bool:
        """Return whether they may see anything of a study."""
        return self.study in (None, study)


@dataclass(frozen=True, slots=True)
class AccessLink:
    """One link with a role in a study, without its token."""

    id: str
    study_id: str
    role: Role
    name: str
    """Whom it was made for."""
    made_by: str
    made_at: datetime
    revoked_at: datetime | None = None

    @property
    def external_id(self) -> str:
        """The id under which its holder takes part in the study, which opens nothing: the token is stored nowhere."""
        return LINK + self.id


@dataclass(frozen=True, slots=True)
class Exclusion:
    """One exclusion of a person, in force unless it was lifted."""

    rule: str | None
    """The rule with its bound, such as "fast=3s"; None for one by hand."""
    reason: str
    made_by: str
    made_at: datetime
    lifted_by: str | None = None
    lifted_at: datetime | None = None
    lifted_reason: str | None = None


@dataclass(frozen=True, slots=True)
class LogLine:
    """One page that was seen, or one thing that was done."""

    at: datetime
    who: str
    role: Role
    did: str
    participant_id: str | None
    """The person it was about; None for nobody, or for somebody who has been erased."""
