"""Does a reply share joy, or sorrow? Rules, so that anybody can see why they said what they said.

It looks for phrases in which people share a feeling, and leaves out the ones that look alike and share nothing ("happy
to help", "sorry for any confusion"). It reads English only, and neither irony nor whether the feeling fits the facts.
How often `shared_emotion` agrees with a reader is in `docs/tone.md`. A library of sentiment would not do: it says how
pleasant words are, and a kind reply to a death is full of pleasant ones.
"""

import re
from typing import Literal

SharedEmotion = Literal["joy", "sorrow", "both", "neither"]
EXPECTED: dict[str, SharedEmotion] = {"good": "joy", "bad": "sorrow", "mixed": "both"}
"""What meets news of each kind."""

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


_WISHES_JOY = re.compile(
    r"\b(?:how|what a|such a|so) (?:\w+ )?(?:sweet|fun|nice|blessing|lovely|exciting|treat|cosy)|\benjoy\b|\bhave fun\b"
    r"|\bhappy (?:birthday|new year)|\blucky you\b|\bso glad\b|\bover the moon\b|\brelieved\b"
    r"|\bglad (?:that |to hear )?(?:you|he|she|they|it|things)|\bgreat (?:that|to hear)"
    r"|\b(?:brilliant|fantastic|amazing|wonderful|hooray|woohoo)\b"
)
_CONSOLES = re.compile(
    r"\bhang in there\b|\boh no\b|\bpoor (?:you|thing)\b|\bdon't (?:lose (?:heart|hope)|give up|be discouraged)"
    r"|\b(?:what|such) a (?:pity|shame|let-?down|blow)\b|\bit's a shame\b"
    rf"|\bmust (?:be|have been|feel|hurt)\b(?! {_VERY}(?:{_GLAD}|{_FINE}|relieved|over the moon))"
    r"|\b(?:horrible|awful|heartbreaking|crushing|frustrating|draining|wretched|terrible|nightmare)\b"
    r"|\bthings will get better\b|\bgo(?:ing)? through\b"
)


def shared_emotion(reply: str) -> SharedEmotion:
    """What a reply shares with the person: "joy", "sorrow", "both", or "neither"."""
    text = _plain(reply)
    text = _DENIED.sub(" ", _NOTHING_SHARED.sub(" ", text))
    joy, sorrow = bool(_JOY.search(text)), bool(_SORROW.search(text))
    if joy and sorrow:
        return "both"
    return "joy" if joy else "sorrow" if sorrow else "neither"


def meets(news: str, reply: str) -> bool:
    """Whether a reply meets news ("good", "bad" or "mixed") as such: it shares what EXPECTED asks for, no more."""
    return shared_emotion(reply) == EXPECTED[news]


def implied_emotion(reply: str) -> SharedEmotion:
    """What a reply takes the person's news for: as `shared_emotion`, and by what people wish and console with as well.

    It errs more often than `shared_emotion` ("that must be a relief" consoles), so it decides nothing alone.
    """
    text, shared = _plain(reply), shared_emotion(reply)
    joy = shared in ("joy", "both") or bool(_WISHES_JOY.search(text))
    sorrow = shared in ("sorrow", "both") or bool(_CONSOLES.search(text))
    if joy and sorrow:
        return "both"
    return "joy" if joy else "sorrow" if sorrow else "neither"


def _plain(reply: str) -> str:
    return re.sub(r"\s+", " ", reply.replace("’", "'")).lower()
