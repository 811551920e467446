"""Before scoring: repair a text, and decide whether it can be scored at all.

One function, `read(text)`. The same function prepares the training texts, so that a head never sees anything
else. Why it is there: without one, Greek letters moved Empathy by .45, leetspeak by .37, full-width letters by
.45 and HTML by .14.
"""

import re
from dataclasses import dataclass

from heard.scorer.disguises import plain_letters
from heard.scorer.english import English
from heard.scorer.markup import plain
from heard.scorer.normalise import WORD, close_up, fold, spell, unleet, unrepeat
from heard.scorer.records import ScoreStatus

LONGEST = 32_000
"""Characters. A longer text is no reply any more, and scoring it would hold up everybody else's."""
ENGLISH_SHARE = 0.5
"""Least share of English words in a text that is scored."""
READ_OF_MESSAGE = 500
"""Characters of the message that are read for its language."""
FEWEST_FOREIGN = 5
"""Words of a message in Latin letters that may tell it from English."""
FOREIGN_LETTERS = 0.4
"""With a greater share of letters outside the Latin script (after look-alikes are folded) a text is not English."""

REASONS = {
    ScoreStatus.EMPTY: "There is no text to score.",
    ScoreStatus.EMOJI_ONLY: "Emoji alone are not scored: the labels behind the scorer are about words.",
    ScoreStatus.NOT_ENGLISH: "Only English can be scored, and this text does not read as English.",
    ScoreStatus.UNREADABLE: "This text has no readable sentence to score (digits, signs, code or chance letters).",
    ScoreStatus.TOO_LONG: "This text is too long to be scored as one reply; score a part of it.",
    ScoreStatus.OTHER_LANGUAGE: "Not scored: the reply is in another language than the message.",
    ScoreStatus.INCOHERENT: "Not scored: this text does not hang together (debris, loops, or words without sense).",
}

# Emoji blocks, arrows and signs that are drawn as emoji, regional letters (flags), and keycaps.
_PICTURE = re.compile(
    "[0-9#*]\u20e3|[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_EMOTICON = re.compile(r"(?<!\w)(?:[:;=][-o^']?[()DPp/\\|*3\[\]]+|[xX]D+|<3+|\^_*\^|[Tt]_[Tt]|[()]:)(?!\w)")
_CODE_SIGN = re.compile(r"[{}\[\]<>=;_\\|#$%^&+~]")
_MASH = re.compile(
    r"^[^aeiouy]{4,}$|[^aeiouy]{5,}|(?:asd|sdf|dfg|fgh|ghj|hjk|jkl|qwe|wer(?=t)|ert(?=y)|zxc|xcv|vbn)", re.IGNORECASE
)
_DAMAGED = re.compile(r"[^\x00-\x7f]{2}")
"""A text that was decoded by the wrong table (“Iâ€™m”) has two such characters side by side, an English one seldom."""
_KEYCAP = "\u20e3"


@dataclass(frozen=True, slots=True)
class Reading:
    """A text made ready for the encoder, or the reason why it cannot be scored."""

    status: ScoreStatus
    """SCORED means "can be scored"."""
    text: str
    """The repaired text; empty unless `status` is SCORED."""

    @property
    def reason(self) -> str | None:
        """A plain sentence for the person; None when the text can be scored."""
        return REASONS.get(self.status)


def read(text: str) -> Reading:
    """Repair `text` and judge whether it can be scored. Takes any `str`, never raises, and is deterministic."""
    if len(text) > LONGEST:
        return Reading(ScoreStatus.TOO_LONG, "")
    shown = visible(text)
    if not shown:
        return Reading(ScoreStatus.UNREADABLE if plain_letters(text).strip() else ScoreStatus.EMPTY, "")
    if len(shown) > LONGEST:  # one sign may stand for a whole phrase
        return Reading(ScoreStatus.TOO_LONG, "")
    wordless = _EMOTICON.sub(" ", _PICTURE.sub(" ", shown))
    words = WORD.findall(wordless)
    if not words:
        pictures = wordless != shown and not re.search(r"\d", wordless)
        return Reading(ScoreStatus.EMOJI_ONLY if pictures else ScoreStatus.UNREADABLE, "")
    english = English.load()
    mended = close_up(fold(_PICTURE.sub(" ", shown), english), english)
    mended = unleet(unrepeat(mended, english), english)
    status = _verdict(mended, original=shown, english=english)
    if status is not ScoreStatus.SCORED:
        return Reading(status, "")
    return Reading(status, " ".join(spell(mended, english).split()))


def language_status(message: str, reply: ScoreStatus) -> ScoreStatus:
    """The status of a reply, where the message that it answers has a say: OTHER_LANGUAGE where one of the two is
    English and the other is not. A message of few words is no evidence."""
    if reply not in (ScoreStatus.SCORED, ScoreStatus.NOT_ENGLISH):
        return reply
    asked = read(message[:READ_OF_MESSAGE]).status
    if {asked, reply} != {ScoreStatus.SCORED, ScoreStatus.NOT_ENGLISH}:
        return reply
    if asked is ScoreStatus.NOT_ENGLISH and message.isascii() and len(message.split()) < FEWEST_FOREIGN:
        return reply
    return ScoreStatus.OTHER_LANGUAGE


def visible(text: str) -> str:
    """The text with markup, invisible characters, broken characters and odd widths mended; "" if nothing is to be
    seen."""
    # A lone surrogate cannot be encoded; "�" says nothing. Both go.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\ufffd", " ")
    text = plain(_letters(text))  # signs of HTML and Markdown may be in odd widths themselves
    return (text if text.isascii() else _letters(text)).strip()


def _letters(text: str) -> str:
    if _DAMAGED.search(text):
        import ftfy  # here: 50 ms that few texts need

        text = ftfy.fix_encoding(text)
    return plain_letters(text, _KEYCAP)


def _verdict(text: str, *, original: str, english: English) -> ScoreStatus:
    if not text.isascii():
        letters = [char for char in text if char.isalpha()]
        foreign = sum(not char.isascii() for char in letters)
        if foreign > FOREIGN_LETTERS * len(letters):
            return ScoreStatus.NOT_ENGLISH
    signs = len(_CODE_SIGN.findall(text))
    if signs > 5 and signs > 0.08 * len(text):
        return ScoreStatus.UNREADABLE
    words = [word.lower() for word in WORD.findall(_EMOTICON.sub(" ", text))]
    share = english.share(words)
    # A whole text in another script may fold into an English word by chance, so it needs more evidence.
    disguised = not any(char.isascii() and char.isalpha() for char in original)
    if share < ENGLISH_SHARE or (disguised and (len(words) < 3 or share < 0.75)):
        unknown = [word for word in words if not english.knows(word)]
        mashed = sum(_MASH.search(word) is not None for word in unknown)
        is_mash = not disguised and mashed * 2 >= max(1, len(unknown))
        return ScoreStatus.UNREADABLE if is_mash else ScoreStatus.NOT_ENGLISH
    return ScoreStatus.SCORED
