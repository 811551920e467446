"""Tells apart words that only their accents or tone marks tell apart, before the normaliser drops the marks.

Vietnamese "từ từ" is "slowly" and "tự tử" is "suicide"; without marks both are "tu tu".
"""

import re
import unicodedata
from collections.abc import Mapping


class MarkedWords:
    """Replaces marked words in a text by words without marks."""

    def __init__(self, words: Mapping[str, str]) -> None:
        """`words`: word or words with marks, in lower case -> what stands for them in patterns."""
        self._words = {_composed(word): plain for word, plain in words.items()}
        longest_first = sorted(self._words, key=len, reverse=True)
        several = "|".join(re.escape(word).replace(r"\ ", r"\s+") for word in longest_first)
        self._any = re.compile(rf"(?<!\w)(?:{several})(?!\w)", re.IGNORECASE) if several else None

    def replaced(self, text: str) -> str:
        """Return `text` with every marked word replaced, composed (NFC) if it is not ASCII. Never raises."""
        if self._any is None or text.isascii():
            return text
        composed = unicodedata.normalize("NFC", text)
        return self._any.sub(lambda match: self._words.get(_composed(match[0]), match[0]), composed)


def _composed(word: str) -> str:
    return " ".join(unicodedata.normalize("NFC", word).casefold().split())
