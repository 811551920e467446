"""Whether an answer ends in mid-sentence. Such an answer is not judged: people would mark the break, not the answer."""

import re
import unicodedata

BROKE_OFF = "It broke off in mid-sentence."
"""Why such an answer stands on no ballot, or cannot be chosen there."""

_CLOSERS = "\"'”’“»«)]}*_~`」』】›"
"""What may stand behind the end of a sentence: quotes, brackets, marks of bold text."""
_ENDS = ".!?…。！？｡।॥؟۔։።"
"""What ends a sentence, in the scripts that have a sign for it."""
_GO_ON = ",;:–—-/&+=([{<،、，；："
"""What no finished text ends with."""
_UNMARKED = ("THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN")
"""Scripts without a sign for the end of a sentence."""
_LIST_ITEM = re.compile(r"\s*(?:[-*+•–]|\d{1,3}[.)])\s")
_FEWEST_WORDS = 4
"""A last line with fewer words, "Take care" or "Anna", is a greeting and no sentence."""


def breaks_off(text: str, *, cut: bool = False) -> bool:
    """Return whether `text` ends in mid-sentence. An empty one does not.

    With `cut`, where the writer is known to have been stopped by a limit, only the end of a sentence is an end. Else
    an item of a list, a short last line, a picture, and a script that has no sign for it are ends too.
    """
    bare = text.rstrip().rstrip(_CLOSERS).rstrip()
    if not bare or bare[-1] in _ENDS:
        return False
    if cut:
        return True
    last = bare[-1]
    if last in _GO_ON:
        return True
    if not last.isalnum() or unicodedata.name(last, "").startswith(_UNMARKED):
        return False
    line = bare.splitlines()[-1]
    return not _LIST_ITEM.match(line) and len(line.split()) >= _FEWEST_WORDS
