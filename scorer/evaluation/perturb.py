"""Ways to spoil a reply's wording and leave most of its meaning: the founding study's seven kinds, and disguises.

Rules and a seeded generator only: the same text, kind and seed give the same result on any machine.
"""

import random
import re
from collections.abc import Callable, Mapping

from heard.scorer.evaluation.registers import CASUAL, CONTRACTIONS, ELEVATED

Perturb = Callable[[str, int], str]
"""(text, seed) to the perturbed text, which is the text itself where the kind finds nothing to change."""

_WORD = re.compile(r"[A-Za-z]+(?:['’][A-Za-z]+)*")
_LETTER = re.compile(r"[A-Za-z]")
_SENTENCE = re.compile(r".+?(?:[.!?]+[\"'”’)]*(?=\s|$)|$)", re.DOTALL)
_CLAUSE = re.compile(r"[,;:–—]\s|\s(?=(?:and|but|because|so|which|when)\s)")

_GREEK = dict(zip("abdeghiklmnoprstuvwxyzABEHIKMNOPTXYZ", "αβδεγηικλμνορρστυνωχγζΑΒΕΗΙΚΜΝΟΡΤΧΥΖ", strict=True))
_CYRILLIC = dict(zip("aceijopsxyABCEHIJKMOPSTX", "асеіјорѕхуАВСЕНІЈКМОРЅТХ", strict=True))
_LEET = dict(zip("aeiostAEIOST", "431057431057", strict=True))
_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def excessive(text: str, seed: int) -> str:
    """Signs three to six times, letters of half the words drawn out, and an exclamation at the end."""
    dice = random.Random(f"excessive {seed} {text}")
    text = _drawn_out(text, dice)
    text = re.sub(r"[.!?,](?=\s|$)", lambda sign: sign[0] * dice.randint(3, 6), text)
    return text if re.search(r"[.!?]\s*$", text) or not text.strip() else text + "!" * dice.randint(3, 6)


def repetition(text: str, seed: int) -> str:
    """Letters of half the words drawn out, the signs left alone."""
    return _drawn_out(text, random.Random(f"repetition {seed} {text}"))


def greek(text: str, seed: int) -> str:
    """Every letter that has one replaced by a Greek letter of its look or sound."""
    return _LETTER.sub(lambda letter: _GREEK.get(letter[0], letter[0]), text)


def look_alikes(text: str, seed: int) -> str:
    """About half of the letters that have a Greek or Cyrillic twin replaced by it, the two mixed within a word."""
    dice = random.Random(f"look-alikes {seed} {text}")

    def twin(letter: re.Match[str]) -> str:
        twins = [table[letter[0]] for table in (_CYRILLIC, _GREEK) if letter[0] in table]
        return dice.choice(twins) if twins and dice.random() < 0.5 else letter[0]

    return _LETTER.sub(twin, text)


def misspelling(text: str, seed: int) -> str:
    """One slip of the fingers in a third of the words of four letters or more; the first letter stays."""
    return _misspelt(text, random.Random(f"misspelling {seed} {text}"))


def spelling_and_truncation(text: str, seed: int) -> str:
    """Misspelt words, and a fifth of the words of six letters or more without their end."""
    dice = random.Random(f"spelling {seed} {text}")

    def cut(word: re.Match[str]) -> str:
        return word[0][: -dice.randint(1, 3)] if len(word[0]) >= 6 and dice.random() < 0.2 else word[0]

    return _misspelt(_WORD.sub(cut, text), dice)


def leetspeak(text: str, seed: int) -> str:
    """a, e, i, o, s and t as digits, everywhere."""
    return _LETTER.sub(lambda letter: _LEET.get(letter[0], letter[0]), text)


def shortened(text: str, seed: int) -> str:
    """The first third of the sentences; of a single one the first clause."""
    sentences = [sentence for sentence in _SENTENCE.findall(text.strip()) if sentence.strip()]
    if len(sentences) > 1:
        return "".join(sentences[: -(-len(sentences) // 3)]).strip()
    clause = _CLAUSE.split(text, maxsplit=1)[0]
    return clause.strip() + "." if clause != text and len(clause.split()) > 2 else text


def elevated(text: str, seed: int) -> str:
    """Short forms written out and plain words exchanged for elevated ones."""
    return _exchanged(_exchanged(text, ELEVATED), CONTRACTIONS)


def casual(text: str, seed: int) -> str:
    """Words drawn together and exchanged for casual ones, small letters, no stop at the end."""
    text = _exchanged(text, {full.lower(): short for short, full in CONTRACTIONS.items()})
    text = _exchanged(text, CASUAL).lower()
    return re.sub(r"(?<=\w)\.\s*$", "", text)


def full_width(text: str, seed: int) -> str:
    """Every visible ASCII sign in its full-width form."""
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)


def in_html(text: str, seed: int) -> str:
    """The text as a web page would hold it: elements around it, a word in bold, signs as entities."""
    dice = random.Random(f"html {seed} {text}")
    words = [word.replace("&", "&amp;").replace("<", "&lt;").replace("'", "&#39;") for word in text.split(" ")]
    at = dice.randrange(len(words))
    words[at] = f"<b>{words[at]}</b>"
    first = "&nbsp;".join(words[at : at + 2])  # one space as an entity
    inner = " ".join([*words[:at], first, *words[at + 2 :]])
    return f'<div class="reply">\n  <p style="color:#333">{inner}</p><br/>\n</div>'


STUDY: Mapping[str, Perturb] = {
    "excessive punctuation and letter repetition": excessive,
    "Greek letters": greek,
    "spelling errors and truncation": spelling_and_truncation,
    "leetspeak": leetspeak,
    "shortened": shortened,
    "elevated language": elevated,
    "casual language": casual,
}
"""The founding study's seven kinds."""

DISGUISES: Mapping[str, Perturb] = {
    "repetition": repetition,
    "look-alikes": look_alikes,
    "full-width": full_width,
    "HTML": in_html,
    "leetspeak": leetspeak,
    "misspelling": misspelling,
}
"""Kinds that leave the words what they are, so that a score should not follow them."""


def _drawn_out(text: str, dice: random.Random) -> str:
    def draw(word: re.Match[str]) -> str:
        places = [at for at, char in enumerate(word[0]) if char in "aeiouAEIOU" or at == len(word[0]) - 1]
        if len(word[0]) < 2 or dice.random() < 0.5:
            return word[0]
        at = dice.choice(places)
        return word[0][:at] + word[0][at] * dice.randint(3, 6) + word[0][at + 1 :]

    return _WORD.sub(draw, text)


def _misspelt(text: str, dice: random.Random) -> str:
    def slip(word: re.Match[str]) -> str:
        whole = word[0]
        if len(whole) < 4 or not whole.isalpha() or dice.random() >= 1 / 3:
            return whole
        at = dice.randrange(1, len(whole) - 1)
        before, char, after = whole[:at], whole[at], whole[at + 1 :]
        kind = dice.choice(("dropped", "doubled", "swapped", "neighbour"))
        if kind == "dropped":
            return before + after
        if kind == "doubled":
            return before + char * 2 + after
        if kind == "swapped":
            return before + after[0] + char + after[1:]
        return before + _neighbour(char, dice) + after

    return _WORD.sub(slip, text)


def _neighbour(char: str, dice: random.Random) -> str:
    row = next((row for row in _KEYBOARD if char.lower() in row), char.lower())
    at = row.index(char.lower())
    return dice.choice([row[near] for near in (at - 1, at + 1) if 0 <= near < len(row)] or [char])


def _exchanged(text: str, table: Mapping[str, str]) -> str:
    """`text` with the longest entries of `table` exchanged; a capital at the beginning stays one."""
    entries = sorted((entry.lower() for entry in table), key=len, reverse=True)
    lower = {entry.lower(): other for entry, other in table.items()}
    pattern = re.compile(rf"(?<![\w'])(?:{'|'.join(map(re.escape, entries))})(?![\w'])", re.IGNORECASE)

    def other(found: re.Match[str]) -> str:
        new = lower[found[0].lower()]
        return new[0].upper() + new[1:] if found[0][0].isupper() else new

    straight = text.replace("’", "'")
    return pattern.sub(other, straight) if pattern.search(straight) else text
