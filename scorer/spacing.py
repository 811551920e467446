"""Words whose letters stand apart ("s o r r y", "s.o.r.r.y"): close them up again."""

import re
from math import log

from heard.scorer.english import English

_RUN = re.compile(r"(?<![^\W_])(?<!['’])[^\W_]([ .\-_*·~|/])(?:(?:[^\W_]|['’])\1)*[^\W_](?![^\W_])")
"""Single letters, all parted by the same one sign. A wider gap ends a run."""
_LONGEST_WORD = 20
_CORPUS = 1e12
"""Words that the frequencies were counted in."""


def close_up(text: str, english: English) -> str:
    """`text` with spaced-out words closed up, if it has any; else the text itself.

    Evidence is a run of four letters or more that are a word, or several, when they are closed up. Then runs of two and
    three letters are closed up as well, and words that are in no list, so long as a wider gap parts them from the next.
    """
    runs = [(run[0].replace(run[1], ""), run[1]) for run in _RUN.finditer(text)]
    if not any(len(letters) >= 4 and _words(letters, english) for letters, _ in runs):
        return text
    wide = re.search(r"[^\W_] [^\W_] {2,}[^\W_]", text) is not None

    def closed(run: re.Match[str]) -> str:
        letters = run[0].replace(run[1], "")
        apart = wide or run[1] != " "
        return _words(letters, english) or (letters if apart else run[0])

    text = _RUN.sub(closed, text)
    return re.sub(r"(?<=\w) +(?=[.,!?;:](?:\s|$))", "", text)


def _words(letters: str, english: English) -> str:
    """`letters` as one English word, or parted into several; "" if they are none."""
    # The likeliest way to part them, each word by its frequency (Norvig 2009, "Natural Language Corpus Data").
    lower = letters.lower()
    best: list[tuple[float, int]] = [(0.0, 0)]
    for end in range(1, len(lower) + 1):
        best.append(
            max(
                (best[start][0] + _likelihood(lower[start:end], english), start)
                for start in range(max(0, end - _LONGEST_WORD), end)
            )
        )
    parts: list[str] = []
    end, known = len(letters), 0
    while end:
        start = best[end][1]
        parts.append(letters[start:end])
        known += (end - start) * english.knows(lower[start:end])
        end = start
    one_letter = sum(len(part) == 1 and part.lower() not in "ai" for part in parts)
    if known < 0.8 * len(letters) or one_letter or len(letters) < 1.5 * len(parts):
        return ""
    return " ".join(reversed(parts))


def _likelihood(word: str, english: English) -> float:
    count = english.frequency(word)
    if len(word) == 1 and word not in "ai":
        count = 0
    return log(count / _CORPUS) if count else log(10 / _CORPUS) - 2.3 * len(word)
