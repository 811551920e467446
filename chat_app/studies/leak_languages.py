"""Leaks by language: a reply that calls itself an AI, a product, or a professional, in words of five languages.

Each language is a table of the same slots (`leak_words.py`), and one builder makes its patterns, so that a form that is
known in one has its place in all. What decides is who speaks: after "as a therapist" it must be the writer who goes on,
and before "I am an AI" nobody may be quoted or compared.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from heard.chat_app.studies.leak_words import LANGUAGES

_NEAR = 60
"""Characters before a match in which a comparison or a quotation is looked for."""
_END = r"(?![-\w])"
_CLOSED = (
    r"(?= *(?:$|[.,;:!?\n)*\"»-]|(?:y|e|et|und|and|que|qui|der|die|das|that|who|but|pero"
    r"|mais|mas|aber|sin|sem|sans|ohne|without)\b))"
)
"""What comes after a word that people use of themselves too: an end, or more about the machine."""
_DEFINITE = {
    "en": ("the", "your", "this", "that"),
    "es": ("el", "la", "este", "esta", "tu"),
    "fr": ("le", "la", "cette", "votre", "ton"),
    "de": ("dein", "deine", "ihr", "ihre", "dieser", "dieses", "diese"),
    "pt": ("o", "a", "este", "esta", "seu", "sua"),
}
"""Articles after "as" with which somebody else is meant: "as the doctor said, I"."""
_BEING = {
    "en": r"(?:since|because|seeing as|given that) i(?:'m| am)(?: (?:an?|just|only))*",
    "es": r"(?:siendo|al ser|por ser|ya que soy|dado que soy|puesto que soy)(?: una?)?",
    "fr": r"(?:etant|puisque je suis|vu que je suis)(?: une?)?",
    "pt": r"(?:sendo|por ser|ja que sou|visto que sou)(?: uma?)?",
}
""""As I am", after which it does not matter how the sentence goes on."""
_NO_VERB = (
    r"(?!(?:tod|com|sol|cuand|quand|tant|much|muit|cert|ciert|otr|outr|mism|mesm|es|iss|est|ist|alg|ell|poc|pouc|per)"
    r"o\b)"
)
_VERB = {
    "es": rf"(?:(?:no|nunca|solo|siempre|tambien|ya) )?{_NO_VERB}[a-z]{{2,}}o\b",
    "pt": rf"(?:(?:nao|nunca|so|sempre|tambem|ja) )?{_NO_VERB}[a-z]{{2,}}o\b",
}
"""A verb of the writer's, right after the comma, where the language needs no "I"."""
_I_SAY = {
    "en": r"i (?:can |would |will )?(?:say|tell you)(?: this)?,?",
    "es": r"(?:lo )?digo",
    "fr": r"je (?:vous|te) (?:le )?dis(?: cela)?",
    "pt": r"digo(?: isso)?",
}
"""Before "as a doctor", with nothing after it."""
_NEVER = r"(?!)"
_ADJECTIVES = (
    r"(?:(?:[a-z]+ly|advanced|helpful|friendly|empathetic|supportive|caring|humble|mere|new|text-based|conversational"
    r"|avan[zc]ad[oa]|util|amable|sencill[oa]|empatic[oa]|gentil|util|prestativ[oa]|avance(?:e)?|bienveillant(?:e)?"
    r"|empathique|hilfreiche[rs]?|freundliche[rs]?|fortschrittliche[rs]?|einfuhlsame[rs]?) ){0,3}"
)
_REMINDER = re.compile(r"\b(?:remember|recuerd[ao]|rappel(?:le|ez|ons)|lembr(?:o|e|a|e-se))(?: de)? (?:that|que) $")
"""Before "that I am an AI" it is said in earnest."""
_GAP = r"[^\s.!?;:\n]+"


@dataclass(frozen=True, slots=True)
class _Patterns:
    calls_itself_ai: re.Pattern[str]
    machinery: re.Pattern[str]
    made: re.Pattern[str]
    is_professional: re.Pattern[str]
    likeness: re.Pattern[str]
    machines: re.Pattern[str]
    people: re.Pattern[str]
    """Words without which the first, and the fourth but for what only professionals say, cannot match: most texts have
    none of them, and these are quick to look for."""


@lru_cache(maxsize=8)
def _patterns(code: str, maker: str) -> _Patterns:
    words = LANGUAGES[code]
    goes_on = rf",?[\"»*_]*,? (?:(?!{words.second}\b){_GAP} ){{0,%d}}{words.first}\b"
    at_once = rf", (?:{_VERB.get(code, _NEVER)})"
    being, i_say = _BEING.get(code, _NEVER), _I_SAY.get(code, _NEVER)
    any_kind = rf"(?:{words.kind}|{words.weak})"
    kind = rf"(?:{words.kind}|chat ?gpt){_END}"
    as_ = rf"\b{words.as_}" + "".join(f"(?<! {word})(?<! {word} )" for word in _DEFINITE[code])
    said_as = (
        rf"\b{words.as_} ?{_ADJECTIVES}{kind}(?:{goes_on % 6}| ?(?:que soy|que sou|que je suis)\b"
        rf"|, (?=[^.!?\n]{{0,80}}\b{words.first}\b))"
        rf"|\b{words.as_} ?{_ADJECTIVES}{kind}{at_once}|\b{being} {_ADJECTIVES}{kind}"
        rf"|{as_} ?{words.weak}{_END}{goes_on % 1}"
    )
    i_am = r"(?<!no )(?<!nao )(?<!not )" + words.i_am
    am = rf"(?:{i_am}|{words.here}) ?{_ADJECTIVES}{kind}|{i_am} ?{words.weak}{_END}{_CLOSED}"
    made = (
        rf"(?:{words.i_am}|{as_}|\b(?:fui|he sido|wurde|j'ai ete|i was)) ?(?:[a-z-]+ ){{0,6}}?{words.made}{maker}"
        rf"|\b{maker} (?:[a-z]+ )?{words.made_me}\b|\b{words.made_me} {maker}"
        rf"|(?:{words.i_am}|{as_}) ?{_ADJECTIVES}{any_kind} (?:{words.from_}) ?{maker}"
    )
    is_human = (
        rf"{as_} ?{words.profession}{_END}(?:{goes_on % 2}|{at_once})|{i_am} ?{words.profession}{_END}"
        rf"|\b{i_say} {words.as_} ?{words.profession}{_END}|{words.practice}"
    )
    quick = (rf"\b(?:{words.kind}|{words.weak}|chat ?gpt)", rf"\b{words.profession}|{words.practice}")
    likeness = rf"(?:{words.likeness})"
    return _Patterns(*map(re.compile, (rf"{said_as}|{am}", words.machinery, made, is_human, likeness, *quick)))


def leaks_by_language(text: str, maker: str) -> set[str]:
    """Return those of "ai_self", "maker" and "professional" that are found in `text`, in any of the languages.

    `text` is in lower case without accents; `maker` is a regular expression of the makers of models.
    """
    found, has_maker = set(), bool(re.search(rf"\b{maker}", text))
    for code in LANGUAGES:
        patterns = _patterns(code, maker)

        def speaks(pattern: re.Pattern[str], likeness: re.Pattern[str] = patterns.likeness) -> bool:
            starts = (match.start() for match in pattern.finditer(text))
            return any(_is_meant(text[max(0, start - _NEAR) : start], likeness) for start in starts)

        if patterns.machinery.search(text) or (patterns.machines.search(text) and speaks(patterns.calls_itself_ai)):
            found.add("ai_self")
        if has_maker and speaks(patterns.made):
            found.add("maker")
        if patterns.people.search(text) and speaks(patterns.is_professional):
            found.add("professional")
    return found


def _is_meant(before: str, likeness: re.Pattern[str]) -> bool:
    """Return whether what follows `before` is said by the writer, and not compared, believed or quoted."""
    return not likeness.search(before) or bool(_REMINDER.search(before))


def naming() -> str:
    """Return a regular expression of what stands before a writer's own name, in any of the languages."""
    return "|".join(words.named for words in LANGUAGES.values())
