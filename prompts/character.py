"""The system text of a persona from the parts of its file, always in the same order:

system, voice, background, traits (gender, empathic concern, perspective taking, similarity of experience), language,
culture

Texts stand as they are written. Only traits and language are worded here, briefly: a small model loses its way in long
prompts. A persona with none of the parts but `system` reads exactly that.
"""

from collections.abc import Mapping

LEVELS = ("low", "medium", "high")
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
"""The attributes of a persona in the study of story-evoked empathy ("Talk, Listen, Connect"), beside gender, and what
the model reads for each of LEVELS. The first two are scales of the Interpersonal Reactivity Index (Davis 1983)."""
GENDER = "gender"


def system_text(
    system: str, voice: str, background: str, traits: Mapping[str, str], language: str, culture: str
) -> str:
    """The whole system text, a line for each part that is there. `traits`: gender in a word, of the others a level."""
    told = [f"Your gender: {traits[GENDER]}."] if GENDER in traits else []
    told += [words[LEVELS.index(traits[name])] for name, words in TRAITS.items() if name in traits]
    answers = f"Always answer in {language}." if language else ""
    parts = (system, voice, background, " ".join(told), answers, culture)
    return "\n".join(part.strip() for part in parts if part.strip())
