"""Does a reply share joy, or sorrow? A judge made of rules, so that anybody can see why it said what it said.

It looks for phrases in which people share a feeling, and leaves out the ones that look alike and share nothing ("happy
to help", "sorry for any confusion"). It reads English only, and neither irony nor whether the feeling fits the facts.
How often it agrees with a reader is measured on `labelled.csv`; `docs/tone.md` has the figure. A library of sentiment
would not do: it says how pleasant words are, and a kind reply to a death is full of pleasant ones.
"""

import re
from typing import Literal

Tone = Literal["joy", "sorrow", "both", "neither"]
EXPECTED: dict[str, Tone] = {"good": "joy", "bad": "sorrow", "mixed": "both"}
"""The tone that meets news of each kind."""

_VERY = r"(?:(?:so|very|really|truly|just|absolutely|such|a|an|quite|incredibly|extremely|pretty|always) )*"
_GLAD = r"(?:glad|happy|thrilled|delighted|excited|proud|pleased|overjoyed)"
_FINE = r"(?:wonderful|great|amazing|fantastic|incredible|exciting|lovely|beautiful|awesome|brilliant|terrific|good)"
_HARD = (
    r"(?:hard|difficult|tough|painful|challenging|devastating|heartbreaking|frustrating|overwhelming|disappointing|"
    r"upsetting|exhausting|scary|frightening|lonely|stressful|unfair|terrible|awful|sad|disheartening|isolating)"
)
_NOTHING_SHARED = re.compile(
    r"\b(?:glad|happy|pleased|delighted) to (?:help|assist|listen|support|hear from|be here|chat|talk|share|offer)"
    r"|\b(?:glad|happy|thankful) (?:that )?you(?:'ve| have|'re)? (?:\w+ )?"
    r"(?:shar|reach|told|tell|ask|came|talk|open)\w*"
    r"|\b(?:great|good|wonderful|nice|lovely) to (?:hear from|meet|have you|talk|chat|support)"
    r"|\b(?:great|good|wonderful) (?:that|how) you(?:'re| are|'ve| have)? (?:taking|taken|reach\w+|shar\w+|talk\w+)"
    r"|\bsorry (?:for|about) (?:any|the) (?:\w+ )?(?:confusion|misunderstanding|inconvenience|error|mistake|delay)"
    r"|\bsorry,? (?:but )?(?:i|we) (?:can't|cannot|don't|didn't|am not|'m not)"
    r"|\b(?:great|good|wonderful) (?:question|idea|opportunity|way|place|partner|team|deal)",
)
_NOT = r"(?:not|n't|never|hardly|without|no)"
_DENIED = re.compile(rf"(?:\b|(?<=\w)){_NOT} (?:\w+ )?(?={_GLAD}|{_FINE}|sorry|{_HARD})\w+")
_JOY = re.compile(
    r"\bcongratulat\w*|\bcongrats\b|\bwell done\b|\bhoora+y\b|\byay\b|\bgood for you\b|\bwoo ?hoo\b"
    rf"|\b(?:i'm|i am|we're|we are|i feel|makes me|made me) {_VERY}{_GLAD}\b"
    rf"|\b{_GLAD} (?:for|with|of) you|\bbe {_VERY}proud\b|\b(?:proud|happy) of (?:you|yourself|what you)"
    rf"|\b(?:that's|that is|it's|it is|this is|how|what|sounds|such) {_VERY}{_FINE}\b"
    rf"|\b{_FINE} (?:news|achievement|accomplishment|milestone|feeling|moment|day)\b"
    r"|\bcelebrat\w+|\b(?:achievement|accomplishment|milestone)\b|\byou (?:\w+ )?(?:deserve|earned) (?:this|it)\b"
    r"|\bwhat (?:a|an) (?:\w+ )?(?:joy|relief|delight|gift|day|moment)\b|\b(?:great|such|pure|much) (?:joy|relief)\b"
)
_SORROW = re.compile(
    r"\bsorry\b|\bcondolence\w*|\byour (?:\w+ )?loss\b|\bmy heart (?:goes|breaks|aches|hurts|is)\b"
    rf"|\b(?:must|can|could|may|might|will) (?:be|have been|feel|seem) {_VERY}(?:like )?{_VERY}{_HARD}\b"
    rf"|\b(?:that's|that is|it's|it is|this is|sounds|sound|feels|feel|seems|seem|felt|how) {_VERY}(?:like )?"
    rf"(?:it must be )?{_VERY}{_HARD}\b"
    rf"|\b{_HARD} (?:time|times|situation|moment|day|week|experience|period|journey|feeling|thing|place|news|spot)\b"
    r"|\b(?:sadness|grief|grieving|sorrow|pain|heartbreak|heartache|hurting|hurts|mourn\w*|suffering|struggling)\b"
    r"|\b(?:feel|feeling|feels|felt|be|so|very|are) (?:\w+ )?(?:sad|hurt|alone|lonely|lost|overwhelmed|heartbroken)\b"
)


def tone_of(reply: str) -> Tone:
    """What a reply shares with the person: "joy", "sorrow", "both", or "neither"."""
    text = re.sub(r"\s+", " ", reply.replace("’", "'")).lower()
    text = _DENIED.sub(" ", _NOTHING_SHARED.sub(" ", text))
    joy, sorrow = bool(_JOY.search(text)), bool(_SORROW.search(text))
    if joy and sorrow:
        return "both"
    return "joy" if joy else "sorrow" if sorrow else "neither"


def meets(kind: str, reply: str) -> bool:
    """Whether a reply meets news of a kind ("good", "bad" or "mixed") as such."""
    return tone_of(reply) == EXPECTED[kind]
