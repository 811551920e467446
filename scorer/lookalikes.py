"""Letters of other alphabets that stand for Latin ones, as used to disguise a text or to decorate it."""

from collections.abc import Mapping
from functools import lru_cache

_LIKE = (
    # Greek: by its look, then by its sound
    "αa βb γyg δd εe ζz ηnhe θo ιi κk λl μmu νvn ξxe οo πnp ρpr σos ςcs τt υuy φfo χxh ψu ωwo "
    "ΑA ΒB ΓG ΔAD ΕE ΖZ ΗH ΘO ΙI ΚK ΛAL ΜM ΝN ΞE ΟO ΠNP ΡPR ΣES ΤT ΥY ΦFO ΧX ΨY ΩO "
    # Cyrillic: by its look, for its sounds would make English of Russian
    "аa вb гr еe зe иn іi јj кk мm нh оo пn рp сc тt уy хx ѕs ьb яr ԁd һh ԛq ԝw "
    "АA ВB ЕE ЅS ІI ЈJ КK МM НH ОO РP СC ТT УY ХX ЯR ИN "
    # small capitals and struck letters
    "ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz ıi łl øo đd"
)

LATIN: Mapping[str, str] = {entry[0]: entry[1:] for entry in _LIKE.split()}
"""Each letter to the Latin ones it may stand for, the likeliest first."""


@lru_cache(maxsize=4096)
def latin(char: str) -> str:
    """The Latin letters that one letter may stand for, the likeliest first; the letter itself if there are none.

    Letters that are not in LATIN go by the Unicode consortium's list of confusables (UTS #39), if their alphabet has
    capitals: in others (Arabic, Hebrew) the likeness is of chance, and the text is in that language.
    """
    if char in LATIN or char.isascii():
        return LATIN.get(char, char)
    if char.lower() == char.upper():
        return char
    from confusable_homoglyphs import confusables  # type: ignore[import-untyped]  # here: English never needs it

    like = (entry["c"] for entry in confusables.confusables_data.get(char, ()))
    return next((one for one in like if len(one) == 1 and one.isascii() and one.isalpha()), char)
