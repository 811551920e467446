"""What the safety check says of a message: how grave it is, which danger it speaks of, and which reader said so."""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How a message is met."""

    NONE = "none"
    """It is answered as any other."""
    RECOVERY = "recovery"
    """A danger long past, told with pride or calm: a fixed acknowledgement, and the talk goes on."""
    CHECK_IN = "check_in"
    """No clear statement, yet a friend would ask: one direct question, once."""
    CRISIS = "crisis"
    """The hand-off: no model, no scorer and no ballot sees it."""


class Danger(StrEnum):
    """Who or what is in danger; each has its own hand-off."""

    SUICIDE = "suicide"
    """Suicide or self-harm, of the writer or of somebody they know."""
    DOMESTIC_VIOLENCE = "domestic_violence"
    SEXUAL_ASSAULT = "sexual_assault"
    CHILD_ABUSE = "child_abuse"
    """Told by an adult about a child, or by a child about themselves."""
    MINOR = "minor"
    """A writer who says that they are a child, in trouble or not: the chat is for adults."""
    POISONING = "poisoning"
    """Poison or too much of a medicine, swallowed now."""
    THREAT = "threat"
    """The writer means to harm somebody else."""
    PSYCHOSIS = "psychosis"
    """Voices or certainties that command."""
    EATING_DISORDER = "eating_disorder"
    """Days without food, or purging to collapse."""


@dataclass(frozen=True, slots=True)
class SafetyVerdict:
    """The result of the check."""

    level: Level = Level.NONE
    category: str | None = None
    """One of `prompts.safety_files.CATEGORIES` for suicide, else the danger's value; None below CHECK_IN."""
    language: str | None = None
    """ISO 639-1 code of the message for the hand-off, "en" where only the head read it; None if there is no crisis."""
    danger: Danger = Danger.SUICIDE
    """What the hand-off is about; of no meaning below CHECK_IN."""
    reader: str | None = None
    """ "rules", "head", "both" or "conversation" (several messages together); None where nothing was found."""

    @property
    def crisis(self) -> bool:
        """Whether the message is handed off."""
        return self.level is Level.CRISIS
