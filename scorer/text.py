"""Before scoring: repair a text, and decide whether it can be scored at all.

One function, `read(text)`. The same function prepares the training texts, so that a head never sees anything
else. Why it is there: without one, Greek letters moved Empathy by .45, leetspeak by .37, full-width letters by
.45 and HTML by .14.
"""

import re
import unicodedata
from dataclasses import dataclass

import ftfy

from scorer import lookalikes
from scorer.english import English
from scorer.markup import plain
from scorer.records import ScoreStatus

LONGEST = 32_000
"""Characters. A longer text is no reply any more, and scoring it would hold up everybody else's."""
ENGLISH_SHARE = 0.5
"""Least share of English words in a text that is scored."""
FOREIGN_LETTERS = 0.4
"""With a greater share of letters outside the Latin script (after look-alikes are folded) a text is not English."""
MOST_CORRECTIONS = 100
"""Misspelt words mended in one text; the rest stays as it is, to bound the time."""

REASONS = {
    ScoreStatus.EMPTY: "There is no text to score.",
    ScoreStatus.EMOJI_ONLY: "Emoji alone are not scored: the labels behind the scorer are about words.",
    ScoreStatus.NOT_ENGLISH: "Only English can be scored, and this text does not read as English.",
    ScoreStatus.UNREADABLE: "This text has no readable sentence to score (digits, signs, code or chance letters).",
    ScoreStatus.TOO_LONG: "This text is too long to be scored as one reply; score a part of it.",
}

_LEET = str.maketrans("431075@$!", "aeiotsasi")
_LEET_L = str.maketrans("431075@$!", "aelotsasi")

# Emoji blocks, arrows and signs that are drawn as emoji, regional letters (flags), and keycaps.
_PICTURE = re.compile(
    "[0-9#*]\u20e3|[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u25a0-\u27bf\u2900-\u297f"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
_EMOTICON = re.compile(r"(?<!\w)(?:[:;=][-o^']?[()DPp/\\|*3\[\]]+|[xX]D+|<3+|\^_*\^|[Tt]_[Tt]|[()]:)(?!\w)")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_REPEATED_LETTER = re.compile(r"([^\W\d_])\1{2,}", re.IGNORECASE)
_REPEATED_SIGN = re.compile(r"([^\w\s.])\1+")
_DOTS = re.compile(r"\.{3,}")
_TOKEN = re.compile(r"[A-Za-z0-9@$!']+")
_CODE_SIGN = re.compile(r"[{}\[\]<>=;_\\|#$%^&+~]")
_MASH = re.compile(
    r"^[^aeiouy]{4,}$|[^aeiouy]{5,}|(?:asd|sdf|dfg|fgh|ghj|hjk|jkl|qwe|wer(?=t)|ert(?=y)|zxc|xcv|vbn)", re.IGNORECASE
)
_FTFY = ftfy.TextFixerConfig(unescape_html=False, normalization="NFKC", explain=False)


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
        nothing = all(char.isspace() or not _is_visible(char) for char in text)
        return Reading(ScoreStatus.EMPTY if nothing else ScoreStatus.UNREADABLE, "")
    if len(shown) > LONGEST:  # one sign may stand for a whole phrase
        return Reading(ScoreStatus.TOO_LONG, "")
    wordless = _EMOTICON.sub(" ", _PICTURE.sub(" ", shown))
    words = _WORD.findall(wordless)
    if not words:
        pictures = wordless != shown and not re.search(r"\d", wordless)
        return Reading(ScoreStatus.EMOJI_ONLY if pictures else ScoreStatus.UNREADABLE, "")
    english = English.load()
    folded = _unleet(_unrepeat(_fold(_PICTURE.sub(" ", shown), english), english), english)
    status = _verdict(folded, original=shown, english=english)
    if status is not ScoreStatus.SCORED:
        return Reading(status, "")
    return Reading(status, " ".join(_spell(folded, english).split()))


def visible(text: str) -> str:
    """The text with markup, invisible characters, broken characters and odd widths mended; "" if nothing is to be
    seen."""
    # A lone surrogate cannot be encoded; "�" says nothing. Both go.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\ufffd", " ")
    text = ftfy.fix_text(plain(text), _FTFY)
    text = text.replace("∂", "d")
    kept = (char for char in unicodedata.normalize("NFKD", text) if _is_visible(char))
    return unicodedata.normalize("NFKC", "".join(kept)).strip()


def _is_visible(char: str) -> bool:
    # Accents go as well (Mn): the encoder is uncased and drops them itself, and stacked marks are a disguise.
    return (
        char in "\n\t"
        or char == "\u20e3"
        or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Mn", "Me")
    )


def _fold(text: str, english: English) -> str:
    """Look-alike letters to Latin, word by word: by look, or by sound where only that gives an English word."""
    if text.isascii():
        return text

    def fold(match: re.Match[str]) -> str:
        word = match.group()
        if word.isascii():
            return word
        by_look = word.translate(lookalikes.BY_LOOK)
        by_sound = word.translate(lookalikes.BY_SOUND).translate(lookalikes.BY_LOOK)
        return by_sound if english.knows(by_sound.lower()) and not english.knows(by_look.lower()) else by_look

    return _WORD.sub(fold, text)


def _unrepeat(text: str, english: English) -> str:
    """ "sooo goood!!!" to "so good!": a letter three times or more is one or two, whichever makes a word."""

    def shorten(match: re.Match[str]) -> str:
        word = match.group()
        two, one = _REPEATED_LETTER.sub(r"\1\1", word), _REPEATED_LETTER.sub(r"\1", word)
        return two if english.knows(two.lower()) and not english.knows(one.lower()) else one

    text = _WORD.sub(shorten, text)
    return _DOTS.sub("...", _REPEATED_SIGN.sub(r"\1", text))


def _unleet(text: str, english: English) -> str:
    """ "y0u 4re l0ved" to "you are loved"; a token that makes no English word stays ("covid19", "2nd", "B12")."""

    def read_letters(match: re.Match[str]) -> str:
        word = match.group().rstrip("!'")
        rest = match.group()[len(word) :]
        if word.isalpha() or word.isdigit() or len(word) > 30:
            return match.group()
        for table in (_LEET, _LEET_L):
            candidate = word.translate(table)
            if english.knows(candidate.lower()):
                return candidate + rest
        return match.group()

    return _TOKEN.sub(read_letters, text)


def _verdict(text: str, *, original: str, english: English) -> ScoreStatus:
    letters = [char for char in text if char.isalpha()]
    foreign = sum(not char.isascii() for char in letters)
    if foreign > FOREIGN_LETTERS * len(letters):
        return ScoreStatus.NOT_ENGLISH
    signs = len(_CODE_SIGN.findall(text))
    if signs > 5 and signs > 0.08 * len(text):
        return ScoreStatus.UNREADABLE
    words = [word.lower() for word in _WORD.findall(_EMOTICON.sub(" ", text))]
    share = english.share(words)
    # A whole text in another script may fold into an English word by chance, so it needs more evidence.
    disguised = not any(char.isascii() and char.isalpha() for char in original)
    if share < ENGLISH_SHARE or (disguised and (len(words) < 3 or share < 0.75)):
        unknown = [word for word in words if not english.knows(word)]
        mashed = sum(_MASH.search(word) is not None for word in unknown)
        is_mash = not disguised and mashed * 2 >= max(1, len(unknown))
        return ScoreStatus.UNREADABLE if is_mash else ScoreStatus.NOT_ENGLISH
    return ScoreStatus.SCORED


def _spell(text: str, english: English) -> str:
    """Mend words one edit away from a common one; names (capitals inside a sentence) and known words stay."""
    budget = MOST_CORRECTIONS

    def mend(match: re.Match[str]) -> str:
        nonlocal budget
        word = match.group()
        if budget <= 0 or english.knows(word.lower()) or (word[0].isupper() and not word.isupper()):
            return word
        budget -= 1
        return english.correct(word.lower())

    return _WORD.sub(mend, text)
