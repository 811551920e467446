"""Does a reply meet the news? The judge of tone: `scorer/shared_emotion.py` against what news of a kind asks for.

How often the phrases agree with a reader is measured on `labelled.csv`; `docs/tone.md` has the figure.
"""

from heard.scorer.shared_emotion import SharedEmotion, shared_emotion

EXPECTED: dict[str, SharedEmotion] = {"good": "joy", "bad": "sorrow", "mixed": "both"}
"""The tone that meets news of each kind."""


def meets(kind: str, reply: str) -> bool:
    """Whether a reply meets news of a kind ("good", "bad" or "mixed") as such."""
    return shared_emotion(reply) == EXPECTED[kind]
