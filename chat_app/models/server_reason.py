"""What a server says of a refused request, cleaned: no key, and none of the words of the prompt.

A server may quote what it was sent. A word that stands in the prompt is left out, unless it is one of the plain words
of such errors; and so is a row of several, whichever they are.
"""

import re
from collections.abc import Iterable

LONGEST = 300
"""Characters of a reason."""
GAP = "…"
LONGEST_ROW = 3
"""Words in a row that may stand in the prompt as they do here."""
PLAIN = frozenset(
    """
    a an and are as at be been but by can cannot could did do does for from has have if in instead is it its least less
    more most must need no not of on one only or other please should than that the their there this to too under up use
    used using was were when with you your model models parameter parameters value values support supported unsupported
    default field fields request requests message messages invalid missing required error type content token tokens
    temperature maximum minimum max min context length limit system role roles user assistant stop key api server
    service number string integer array object null true false expected got found unknown set enabled disabled available
    exceeded exceeds exceed input output allowed allow thinking reasoning effort budget name property body json format
    account access permission region version endpoint deployment
    """.split()  # noqa: SIM905 - as a list it would be a page
)
_WORD = re.compile(r"\w+(?:['’_.:/-]\w+)*")
_KEY = re.compile(
    r"(?:sk|pk|rk|gsk|hf|xai|pplx|AIza|ya29|key|req)[-_.][-_A-Za-z0-9*.]{6,}|AIza[-_A-Za-z0-9]{10,}"
    r"|Bearer\s+\S+|(?=[A-Za-z0-9+/=_]*\d)(?=[A-Za-z0-9+/=_]*[A-Za-z])[A-Za-z0-9+/=_]{20,}|[\w.+-]+@[\w-]+\.[\w.]+",
)
_PARTS = re.compile(r"[_.:/'’-]")
_QUERY = re.compile(r"(https?://[^\s?]+)\?\S*")
_GAPS = re.compile(rf"(?:{GAP}[\s\W]*)+{GAP}")


def cleaned(said: str, prompt: Iterable[str], secrets: Iterable[str]) -> str | None:
    """Return a server's words without keys and without the words of the prompt's texts; None if nothing is left."""
    text = " ".join(said.split())[: 4 * LONGEST]
    for secret in secrets:
        text = text.replace(secret, GAP)
    text = _KEY.sub(GAP, _QUERY.sub(r"\1", text))
    whole = "\n".join(prompt).casefold()
    known = [found.casefold() for found in _WORD.findall(whole)]
    rows = {tuple(known[start : start + LONGEST_ROW + 1]) for start in range(len(known) - LONGEST_ROW)}
    found = list(_WORD.finditer(text))
    words = [match.group().casefold() for match in found]
    told = [_is_told(word, whole, set(known)) for word in words]
    for start in range(len(words) - LONGEST_ROW):
        if tuple(words[start : start + LONGEST_ROW + 1]) in rows:
            told[start : start + LONGEST_ROW + 1] = [True] * (LONGEST_ROW + 1)
    for match, is_told in reversed(list(zip(found, told, strict=True))):
        if is_told:
            text = text[: match.start()] + GAP + text[match.end() :]
    text = _GAPS.sub(GAP, text)[:LONGEST].strip()
    return text if any(character.isalnum() for character in text) else None


def _is_told(word: str, whole: str, known: set[str]) -> bool:
    """Whether a word of the server's, in small letters, is of the prompt: it, its beginning, or around one of its."""
    if word in PLAIN or word.isdigit():
        return word.isdigit() and len(word) > 3 and word in known
    if not word.isascii():
        return any(word[start : start + 2] in whole for start in range(max(1, len(word) - 1)))
    if word in known or (len(word) > 3 and word in whole):
        return True
    if any(len(part) > 1 and part in known and part not in PLAIN for part in _PARTS.split(word)):
        return True
    return any(len(other) > 5 and other not in PLAIN and other in word for other in known)
