"""Parses the lexicon's patterns into elements.

    word            that word                       wo*         any word that begins so (at least three letters)
    a|b|c           one of these words              (a|b c)     one of these, with several words each
    [x]             x or nothing                    {name}      the alternatives of that macro
    ~3              nought to three words of any kind, not across the end of a sentence
    #               any number in digits
    ^ and $         the beginning and the end of a sentence (or of a clause set off by a comma or a new line)

Chinese, Japanese, Korean and Thai have one token a character, so `想死` is two words here.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from heard.errors import UserError

Words = tuple[str, ...]
Element = tuple[str, frozenset[Words], int]
"""("words", alternatives, 1 if optional else 0) or ("gap", frozenset(), most words)."""


_SPECIAL_SIGNS = frozenset("[](){}~")


class PatternError(UserError, ValueError):
    """A pattern cannot be read; `str()` names the pattern and the fault."""


class PatternReader:
    """Parses patterns, and collects the words (`vocabulary`) and beginnings of words (`prefixes`) in them."""

    def __init__(self, tokenise: Callable[[str], Sequence[str]]) -> None:
        """`tokenise` turns a pattern's words into tokens as the text's are."""
        self._tokenise = tokenise
        self._macros: dict[str, frozenset[Words]] = {}
        self.vocabulary: set[str] = set()
        self.prefixes: set[str] = set()

    def define(self, macros: Mapping[str, str]) -> None:
        """Replace the macros: name -> "a|b c|d", which may use macros defined before it. Raises PatternError."""
        self._macros = {}
        for name, text in macros.items():
            self._macros[name] = self._alternatives(text, text)

    def elements(self, pattern: str) -> list[Element]:
        """Return the elements of one pattern. Raises PatternError if it cannot be read or would match any text."""
        out: list[Element] = []
        parts = _split_outside_brackets(pattern, pattern)
        for part in parts:
            if re.fullmatch(r"~\d+", part):
                out.append(("gap", frozenset(), int(part[1:])))
            elif part.startswith("[") and part.endswith("]"):
                out.append(("words", self._alternatives(part[1:-1], pattern), 1))
            else:
                inner = part[1:-1] if part.startswith("(") and part.endswith(")") else part
                alternatives = self._alternatives(inner, pattern)
                if len(alternatives) == 1:
                    out.extend(("words", frozenset({(word,)}), 0) for word in next(iter(alternatives)))
                else:
                    out.append(("words", alternatives, 0))
        if not any(kind == "words" and not optional for kind, _, optional in out):
            raise PatternError(f'"{pattern}" would match any text: it needs a word that is not optional.')
        return out

    def _alternatives(self, text: str, pattern: str) -> frozenset[Words]:
        found: set[Words] = set()
        for option in _split_outside_brackets(text, pattern, alternatives=True):
            rows: list[Words] = [()]
            for word in _split_outside_brackets(option, pattern):
                choices = self._choices(word, pattern)
                rows = [(*row, *more) for row in rows for more in choices]
            if () in rows:
                raise PatternError(f'"{pattern}" has an empty alternative: use [..] for what may be missing.')
            found.update(rows)
        return frozenset(found)

    def _choices(self, word: str, pattern: str) -> frozenset[Words]:
        """Return what may stand in the place of one word, or of what is in brackets."""
        if word[0] + word[-1] in ("()", "[]"):
            inner = self._alternatives(word[1:-1], pattern)
            return inner | {()} if word[0] == "[" else inner
        if word.startswith("{") and word.endswith("}"):
            name = word[1:-1]
            if name not in self._macros:
                raise PatternError(f'"{pattern}": there is no macro "{name}".')
            return self._macros[name]
        if not _SPECIAL_SIGNS.isdisjoint(word):
            raise PatternError(f'"{pattern}": gaps cannot stand inside brackets ("{word}").')
        if word in ("#", "^", "$"):
            return frozenset({(word,)})
        if word.endswith("*"):
            if len(word) < 4:
                raise PatternError(f'"{pattern}": "{word}" is too short to begin a word with.')
            stem = "".join(self._tokenise(word[:-1]))
            self.prefixes.add(stem)
            return frozenset({(f"{stem}*",)})
        tokens = tuple(self._tokenise(word))
        self.vocabulary.update(tokens)
        return frozenset({tokens})


def _split_outside_brackets(text: str, pattern: str, *, alternatives: bool = False) -> list[str]:
    """Split at blanks outside brackets, or at bars where `alternatives` are asked for; those may be empty.

    Raises PatternError for brackets of `pattern` that do not pair.
    """
    parts: list[str] = [""]
    depth = 0
    for piece in re.findall(r"[\[(]|[\])]|\||\s+|[^\s\[\]()|]+", text.strip()):
        if piece in "[(":
            depth += 1
        elif piece in "])":
            depth -= 1
        if depth < 0:
            raise PatternError(f'"{pattern}": brackets do not pair.')
        if depth == 0 and (piece == "|" if alternatives else piece.isspace()):
            parts.append("")
        else:
            parts[-1] += piece
    if depth:
        raise PatternError(f'"{pattern}": a bracket is not closed.')
    return parts if alternatives else [part for part in parts if part]
