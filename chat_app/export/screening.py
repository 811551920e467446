"""Look for what may tell who wrote a free text, or about whom: mails, links, numbers, addresses and names.

Patterns alone, for English, German, French, Spanish and Portuguese: what they are sure of is replaced by its kind in
brackets; capitals within a sentence that may be a name are only listed. They miss names in lower case, nicknames, small
places and what is told of a life, so that a person has to read every text before it is published.
"""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

# Repetitions have bounds, so that a text of one endless word takes no longer than another.
_CAP = r"(?<!\w)[A-ZÀ-ÖØ-Þ][\w'’-]{0,40}"
_OF = r"(?:(?:van|von|de|da|di|del|la|le|den|der) ){0,2}"
_NAME = rf"{_OF}{_CAP}(?: {_OF}{_CAP}){{0,3}}"
_TLD = "com|org|net|edu|gov|io|info|co|uk|de|fr|es|pt|br|eu|ch|at|ca|au|us"
_STREET = "Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Court|Ct|Square|Sq|Way|Close|Place|Boulevard|Blvd|Terrace"
_WAY = "rue|avenue|boulevard|allée|impasse|calle|avenida|plaza|paseo|rua|travessa|praça|via"
_TITLE = (
    "Mr|Mrs|Ms|Miss|Mx|Dr|Prof|Professor|Doctor|Herr|Herrn|Frau|Monsieur|Madame|Mme|Mlle|Señor|Señora|Sr|Sra|Don|Doña|"
    "Dom|Dona|Senhor|Senhora|Doutor|Doutora"
)
_INTRODUCED = (
    "my name is|my name's|i am called|i'm called|call me|they call me|ich heiße|ich heisse|mein name ist|"
    "je m'appelle|mon nom est|me llamo|mi nombre es|chamo-me|me chamo|meu nome é|o meu nome é"
)
_RELATION = (
    "friend|brother|sister|husband|wife|son|daughter|boss|therapist|partner|boyfriend|girlfriend|colleague|teacher|"
    "neighbour|neighbor|uncle|aunt|cousin|ex|mother|father|mum|mom|dad|dog|cat|doctor"
)

PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("mail", re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}")),
    ("mail", re.compile(r"(?<![\w.+-])[\w.+-]{1,64} ?(?:\(at\)|\[at\]| at ) ?[\w-]{1,63} ?"
                        r"(?:\(dot\)|\[dot\]| dot ) ?\w{1,20}", re.I)),
    ("link", re.compile(r"(?:https?://|www\.)\S+", re.I)),
    ("link", re.compile(rf"(?<![\w.-])[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{0,5}}\.(?:{_TLD})\b(?:/\S*)?")),
    ("handle", re.compile(r"(?<![\w@])@\w{2,}")),
    ("address", re.compile(rf"\b\d{{1,5}}[A-Za-z]?,? (?:{_CAP} ){{1,3}}(?:{_STREET})\b\.?")),
    ("address", re.compile(r"\b[A-ZÄÖÜ][\w-]{0,40}(?:straße|strasse|str\.|weg|platz|allee|gasse) ?\d{1,4} ?[a-z]?\b")),
    ("address", re.compile(rf"(?:\b\d{{1,4}},? )?\b(?i:{_WAY}) (?:(?:de|du|des|del|la|los|las|da|do|dos) )*{_NAME}"
                           r"(?:,? \d{1,4}\b)?")),
    ("address", re.compile(r"\b[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}\b")),
    ("number", re.compile(r"\b(?:\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}-\d{2}-\d{2})\b")),
    ("number", re.compile(r"(?<!\w)\+?\(?\d(?:[\s().\-/]{0,3}\d){5,}")),
    ("name", re.compile(rf"(?<=\b)(?P<before>(?i:{_INTRODUCED}) ){_NAME}")),
    ("name", re.compile(rf"(?P<before>\b(?i:my|our|his|her|their) (?i:{_RELATION}),? ){_NAME}")),
    ("name", re.compile(rf"\b(?P<before>(?:{_TITLE})\.? ){_NAME}")),
)  # fmt: skip
"""What is replaced, in this order; the group `before` stays."""

_WORD = re.compile(r"\b\w{8,}\b")
"""What may be a code, such as a panel's id: with three digits or more, and letters."""
_POSSIBLE = re.compile(rf"(?<=[\w,;:'’\"()-] )(?:{_CAP})(?: {_CAP})*")
_NO_NAMES = frozenset(
    re.findall(
        r"[\w'’]+",
        """I I'm I’m I'd I’d I'll I’ll I've I’ve A B C D E AI GPT ChatGPT LLM OK TV PTSD ADHD CBT English German French
        Spanish Portuguese American British European Monday Tuesday Wednesday Thursday Friday Saturday Sunday January
        February March April May June July August September October November December Christmas God Response Answer""",
    )
)


@dataclass(frozen=True, slots=True)
class Screened:
    """One text after the screening."""

    text: str
    """With [id], [mail], [link], [handle], [address], [number] and [name] for what was found."""
    replaced: tuple[str, ...]
    """Kinds of what was replaced, one for each place."""
    possible: tuple[str, ...]
    """Words with a capital within a sentence, left as they are."""


def screen(text: str, known: Iterable[str] = (), ids: Collection[str] = ()) -> Screened:
    """Return the text with what the patterns found replaced, and every one of `ids`. `known` are words that are no
    names, such as sources."""
    replaced: list[str] = []

    def without_id(found: re.Match[str]) -> str:
        if found[0] not in ids:
            return found[0]
        replaced.append("id")
        return "[id]"

    def without_code(found: re.Match[str]) -> str:
        digits = sum(letter.isdigit() for letter in found[0])
        if digits < 3 or digits == len(found[0]):
            return found[0]
        replaced.append("number")
        return "[number]"

    text = re.sub(r"[\w-]+", without_id, text) if ids else text
    for kind, pattern in PATTERNS:

        def put(found: re.Match[str], kind: str = kind) -> str:
            replaced.append(kind)
            return f"{found.groupdict().get('before') or ''}[{kind}]"

        text = pattern.sub(put, text)
    text = _WORD.sub(without_code, text)
    no_names = _NO_NAMES | set(known)
    words = (word for found in _POSSIBLE.findall(text) for word in found.split())
    possible = tuple(dict.fromkeys(word for word in words if word.removesuffix("'s") not in no_names))
    return Screened(text, tuple(replaced), possible)
