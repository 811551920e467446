"""Normalises a message to tokens: plain lower-case words, with disguises undone.

First the whole text is mapped to plain letters, then each word is read: leetspeak, stars, stretched letters, glued or
spaced-out words, one-letter misspellings. A disguise is undone only if the result is a word of the lexicon, so that
ordinary text is never bent into a match. `heard.scorer.disguises` lists the possible readings; this module picks one.
"""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from heard.chat_app.safety.scripts import VOWEL_SIGNS, is_own_script, one_spelling, without_clitics
from heard.scorer.disguises import (
    LEET,
    is_drawn_out,
    look,
    plain_letters,
    readings,
    shortened,
    sound,
    speller,
    split_words,
)

BOUNDARY = "."
"""Token for the end of a sentence. A gap in a pattern never crosses it."""

SOFT_BOUNDARY = ","
"""Token for a comma, a dash, dots or a new line. It ends a gap only in exceptions, which must not cover too much."""

_TAG = re.compile(r"</?(?:b|i|u|s|em|strong|span|small|mark|font|sub|sup|a)(?:\s[^<>]{0,300})?>", re.IGNORECASE)
_BLOCK = re.compile(r"</?(?:p|br|div|li|ul|ol|h[1-6]|td|tr|table|blockquote|pre|code|hr)(?:\s[^<>]{0,300})?/?>", re.I)
UNSPACED_SCRIPTS = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\u0e00-\u0e7f\U00020000-\U0003134f"
"""Scripts written without spaces: each character is a token of its own."""
_ENCLOSED = re.compile("[\U0001f100-\U0001f1ff]")
"""Letters in squares and circles, and the regional indicators that flags are made of."""
_AFTER_END = re.compile(rf"(?<=[\u3002\u3001])|(?<=[!?,;:])(?=[{UNSPACED_SCRIPTS}])")
_LINES = re.compile(r"\n[\s]*")
_UNSPACED = re.compile(f"[{UNSPACED_SCRIPTS}]")
_LETTER = rf"(?:[^\W_{UNSPACED_SCRIPTS}]|[{VOWEL_SIGNS}])"
_PIECE = re.compile(rf"[{UNSPACED_SCRIPTS}]|{_LETTER}+(?:'{_LETTER}+)*")
_SOFT_END = re.compile(r"(?:[,:\u3001\uff0c\u2026)]|\.\.|[-\u2013\u2014]+)[\"')\]*_]*$")
_END = re.compile(r"(?<!\.)[.!?;\u3002\uff01\uff1f\uff1b][\"')\]*_]*$|^[!?;]+$")
_CENSOR_SIGNS = "*#%&_\u2022\u00b7"
"""Signs that may stand for a letter: k*ll, d#e."""
_LEET_CHUNK = re.compile(rf"[^\W_{UNSPACED_SCRIPTS}]*[{re.escape(''.join(LEET) + _CENSOR_SIGNS)}]")
_PUNCTUATION = "\"'()[]{}<>,.:;?!*_~#-\u2013\u2014\u2026\u00ab\u00bb\u201c\u201d\u201e/\\|=^"
_LONGEST_CHUNK = 64
"""Most characters of a chunk that is searched for glued words, leetspeak and misspellings."""
_MOST_READINGS = 64
"""Most readings that are tried of one disguised word."""
_STOPS = frozenset({BOUNDARY, SOFT_BOUNDARY})


def plain_text(text: str) -> str:
    """Return `text` in plain letters, without entities and tags. Never raises."""
    if "&" in text:
        text = html.unescape(html.unescape(text))
    if "<" in text:
        text = _BLOCK.sub(" ", _TAG.sub("", text))
    text = plain_letters(_ENCLOSED.sub(lambda match: sound(match[0]), text), VOWEL_SIGNS).replace("`", "'")
    return text if text.isascii() else _AFTER_END.sub(" ", one_spelling(text))


def plain_tokens(text: str, rewrites: Mapping[str, str]) -> list[str]:
    """Return the words of a pattern, in plain letters and rewritten like a message's; no disguise is undone."""
    out: list[str] = []
    for piece in _PIECE.findall(plain_text(text)):
        plain = piece.casefold()
        bare = plain.replace("'", "")
        known = next((form for form in (plain, bare) if form in rewrites), None)
        out.extend(rewrites[known].split() if known else (bare,))
    return out


def _boundary_of(chunk: str) -> tuple[str, ...]:
    if chunk[-1:].isalnum():
        return ()
    if _SOFT_END.search(chunk):
        return (SOFT_BOUNDARY,)
    return (BOUNDARY,) if _END.search(chunk) else ()


class Normaliser:
    """Turns text into tokens over one vocabulary.

    `vocabulary`: every plain word in a pattern. `keys`: the telling words among them; their misspellings are
    corrected, and glued or disguised text is split only if one of them results. `rewrites`: word -> words ("dont" ->
    "do not"). `real_words`: words one letter away from a key that are not misspellings ("pill" for "kill").
    """

    def __init__(
        self,
        vocabulary: Iterable[str],
        keys: Iterable[str],
        rewrites: Mapping[str, str],
        real_words: Iterable[str],
        prefixes: Iterable[str] = (),
    ) -> None:
        self._rewrites = {word: tuple(words.split()) for word, words in rewrites.items()}
        self._keys = frozenset(keys)
        self._words = frozenset(vocabulary) | self._keys | self._rewrites.keys()
        self._long_keys = frozenset(key for key in self._keys if len(key) > 3)
        self._split_scores = dict.fromkeys(self._words, -1.0)  # the fewest words are the best ones to split into
        self._prefixes = frozenset(prefixes)
        self._real_words = frozenset(real_words)
        self._longest = max(map(len, self._words), default=1)
        self._keys_by_length: dict[int, list[str]] = {}
        for key in sorted(self._keys):
            self._keys_by_length.setdefault(len(key), []).append(key)
        self._correct = speller(dict.fromkeys(sorted(self._long_keys), 1))
        # Bounded, and holds single words only, so that a common word is not read anew in each message.
        self._chunk = lru_cache(maxsize=16384)(self._read_chunk)

    def tokens(self, text: str) -> list[str]:
        """Return the words of `text` in order, with `BOUNDARY` after each sentence. Linear time; never raises."""
        out: list[str] = []
        chunk = self._chunk
        for raw in _LINES.sub(" , ", plain_text(text)).split():
            out.extend(chunk(raw) if len(raw) <= _LONGEST_CHUNK else self._read_long(raw))
        out = _without_stray_ends(out)
        joined = self._join_letters(self._join_halves(out))
        return [word for token in joined for word in (self._rewrite_letter(token) if len(token) == 1 else (token,))]

    def _rewrite_letter(self, token: str) -> tuple[str, ...]:
        return self._rewrites.get(token, (token,))

    def _read_long(self, raw: str) -> tuple[str, ...]:
        out: list[str] = []
        for piece in _PIECE.findall(raw):
            out.extend(self._chunk(piece) if len(piece) <= _LONGEST_CHUNK else (piece[:_LONGEST_CHUNK].lower(),))
        return (*out, *_boundary_of(raw[-8:]))

    def _read_chunk(self, raw: str) -> tuple[str, ...]:
        """Return the tokens of a chunk, a stretch of text without spaces."""
        end = _boundary_of(raw)
        core = raw.strip(_PUNCTUATION)
        if core.isalpha() and not _UNSPACED.search(core):
            return self._word(core) + end
        if _LEET_CHUNK.search(raw):
            for candidate in dict.fromkeys((core, raw.strip("\"'.,:;?()"), raw.strip("\"'.,:;?"))):
                word = self._read_leetspeak(candidate.casefold())
                if word:
                    return (*word, *end)
        pieces = _PIECE.findall(raw)
        joined = "".join(pieces)
        if len(pieces) > 1 and joined.casefold() in self._keys:  # sui-cide, ki.ll
            return (joined.casefold(), *end)
        return tuple(token for piece in pieces for token in self._piece(piece)) + end

    def _piece(self, piece: str) -> tuple[str, ...]:
        return (piece,) if len(piece) == 1 and _UNSPACED.match(piece) else self._word(piece)

    def _word(self, word: str) -> tuple[str, ...]:
        """Return a single word in its plain form, as tokens."""
        plain = word.casefold()
        if plain.endswith("'s") and plain not in self._rewrites and plain[:-2] in self._words:
            return self._lookup(plain[:-2]) or (plain[:-2],)
        for form in self._forms(word, plain):
            known = self._lookup(form)
            if known:
                return known
        if is_own_script(plain):
            return self._shorten_stretched(plain) or (plain,)
        if not plain.isascii():
            # A sign that looks like no letter stands for some letter, as a star does.
            choices = map(_possible_letters, word)
            plain = "".join(choice[0] if len(choice[0]) == 1 else "*" for choice in choices).casefold()
        return (
            self._read_leetspeak(plain)
            or self._shorten_stretched(plain)
            or self._fix_misspelling(plain)
            or self._split_glued(plain)
            or (plain.replace("'", ""),)
        )

    def _forms(self, word: str, plain: str) -> Iterable[str]:
        yield plain
        if "'" in plain:
            yield plain.replace("'", "")
        if is_own_script(plain):
            yield from without_clitics(plain)
        elif not plain.isascii():
            looks = [_possible_letters(char) for char in word if char != "'"]
            yield from (form.casefold() for form in readings(looks, _MOST_READINGS))
            yield "".join(char if char.isascii() else sound(char) for char in word).casefold().replace("'", "")

    def _lookup(self, form: str) -> tuple[str, ...] | None:
        if form in self._rewrites and len(form) > 1:  # single letters wait: they may be part of a spaced-out word
            return self._rewrites[form]
        if form in self._words or form in self._real_words:
            return (form,)
        if any(form.startswith(prefix) for prefix in self._prefixes):
            return (form,)
        return None

    def _read_leetspeak(self, chunk: str) -> tuple[str, ...] | None:
        """k1ll, $uicide, k*ll, su1c*de, kms! -> the word meant; None if no known word fits."""
        usable = len(chunk) <= 24 and not chunk.isalpha() and any(c.isalpha() for c in chunk)
        if not usable and chunk != "1":
            return None
        letters = [LEET.get(c, "?" if c in _CENSOR_SIGNS else c) for c in chunk]
        hidden = letters.count("?")
        if hidden == 0:
            word = next((form for form in readings(letters, _MOST_READINGS) if form in self._words), None)
            if word is not None:
                return self._lookup(word)
        several = any(len(choice) > 1 for choice in letters)
        if (hidden or several) and hidden * 2 <= len(letters):
            for key in self._keys_by_length.get(len(letters), ()):
                if all(c == "?" or k in c for c, k in zip(letters, key, strict=True)):
                    return self._lookup(key)
        if hidden == 0 and len(letters) >= 7:
            return self._split_glued("".join(choice[0] for choice in letters))
        return None

    def _shorten_stretched(self, word: str) -> tuple[str, ...] | None:
        """dieeee, killllll, suiciiide -> die, kill, suicide."""
        known = self._words if is_drawn_out(word) else self._long_keys
        pieces = shortened(word)
        forms = ("".join(max(piece, key=len) for piece in pieces), *readings(pieces, _MOST_READINGS))
        found = next((form for form in forms if form in known and form != word), None)
        return None if found is None else self._lookup(found)

    def _fix_misspelling(self, word: str) -> tuple[str, ...] | None:
        """Return the key of four letters or more that is one slip away: a letter less, more, wrong, or two swapped."""
        if not 3 <= len(word) <= 20 or word in self._real_words or not word.isalpha():
            return None
        found = self._correct(word)
        return self._lookup(found[0][0]) if found else None

    def _split_glued(self, word: str) -> tuple[str, ...] | None:
        """iwanttodie, killmyself -> the words; None unless the whole splits into known words with a key among them."""
        if len(word) < 6 or not word.isalpha() or not word.isascii():
            return None
        parts = split_words(word, self._split_scores.get, self._longest)
        if not any(part in self._keys for part in parts):
            return None
        return tuple(token for part in parts for token in (self._lookup(part) or (part,)))

    def _join_halves(self, tokens: list[str]) -> list[str]:
        """sui cide, ki ll -> suicide, kill."""
        out: list[str] = []
        for token in tokens:
            if out and token not in self._words and (out[-1] + token) in self._keys:
                out[-1] += token
            else:
                out.append(token)
        return out

    def _join_letters(self, tokens: list[str]) -> list[str]:
        """k i l l m y s e l f -> kill myself. Runs of three single letters or more."""
        if not any(len(token) == 1 and token.isalpha() for token in tokens):
            return tokens
        out: list[str] = []
        run: list[str] = []

        def close() -> None:
            letters = [token for token in run if token not in _STOPS]
            if len(set(letters)) >= 3:
                word = "".join(letters)
                for cut in range(3 if len(word) <= _LONGEST_CHUNK else 1):
                    for part in (word[cut:], word[: len(word) - cut]):
                        if part in self._keys:
                            found: tuple[str, ...] | None = self._lookup(part)
                        else:
                            found = self._split_glued(part)
                        if found:
                            out.extend(found)
                            run.clear()
                            return
            out.extend(run)
            run.clear()

        for token in tokens:
            if (len(token) == 1 and token.isascii() and token.isalpha()) or (run and token in _STOPS):
                run.append(token)
            else:
                if run:
                    close()
                out.append(token)
        if run:
            close()
        return out


def _without_stray_ends(tokens: list[str]) -> list[str]:
    """Turn the boundary beside a one-word sentence into a soft one: "I. Want. To. Die." is one sentence."""
    if BOUNDARY not in tokens:
        return tokens
    ends = [at for at, token in enumerate(tokens) if token == BOUNDARY]
    sizes = [after - before - 1 for before, after in pairwise([-1, *ends, len(tokens)])]
    out = list(tokens)
    for at, before, after in zip(ends, sizes[:-1], sizes[1:], strict=True):
        if before < 2 or after < 2:
            out[at] = SOFT_BOUNDARY
    return out


def _possible_letters(char: str) -> Sequence[str]:
    """Return the letters that a character may stand for: what it looks like, else what it sounds like."""
    return char if char.isascii() else look(char) or [sound(char) or char]
