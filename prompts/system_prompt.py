"""The system text of a persona from the parts of its file, always in the same order:

system, voice, background, traits (gender, empathic concern, perspective taking, similarity of experience), language,
culture

Texts stand as they are written. Only traits and language are worded here, briefly: a small model loses its way in long
prompts. A persona with none of the parts but `system` reads exactly that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from heard.prompts.fields import NonEmpty

Level = Literal["low", "medium", "high"]
LEVELS = get_args(Level)
TRAITS: Mapping[str, tuple[str, str, str]] = {
    "empathic_concern": (
        "Other people's troubles do not move you much.",
        "Other people's troubles move you.",
        "Other people's troubles move you deeply, and you care how they fare.",
    ),
    "perspective_taking": (
        "You see things from your own side.",
        "You try to see things from the other person's side too.",
        "Before you speak you picture in full how things look from the other person's side.",
    ),
    "similarity_of_experience": (
        "You have known nothing like what the person tells.",
        "You have known something a little like what the person tells.",
        "You have known the same as the person tells; still, tell no stories of your own.",
    ),
}
"""What the model reads for each of LEVELS."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """The attributes of a persona in the study of story-evoked empathy ("Talk, Listen, Connect").

    The first two levels are scales of the Interpersonal Reactivity Index (Davis 1983).
    """

    gender: NonEmpty | None = None
    empathic_concern: Level | None = None
    perspective_taking: Level | None = None
    similarity_of_experience: Level | None = None


def compose_system_prompt(system: str, voice: str, background: str, traits: Traits, language: str, culture: str) -> str:
    """The whole system text, a line for each part that is there."""
    sentences = [f"Your gender: {traits.gender}."] if traits.gender else []
    levels = [(words, getattr(traits, name)) for name, words in TRAITS.items()]
    sentences += [words[LEVELS.index(level)] for words, level in levels if level]
    answers = f"Always answer in {language}." if language else ""
    parts = (system, voice, background, " ".join(sentences), answers, culture)
    return "\n".join(part.strip() for part in parts if part.strip())
