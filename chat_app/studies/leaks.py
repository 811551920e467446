"""Find what gives away who wrote an answer: an AI that says so, its maker, a model's name, a signature, a professional
who says so.

Such an answer is marked and left out of default statistics, because a vote for it was not blind. Rules alone, and
narrow on purpose: an answer may speak about AI, about somebody called Claude or about a message to ChatGPT. So a bare
name counts only where the writer calls itself so, and a name with a version ("GPT-4o", "Claude 3.7 Sonnet") always.
"""

import re
from collections.abc import Iterable
from functools import lru_cache

from heard.chat_app.safety.normalise import plain_text
from heard.chat_app.studies.leak_languages import leaks_by_language, naming
from heard.scorer.disguises import look, sound

LEAK_KINDS = ("ai_self", "maker", "model_name", "signature")
"""The kinds of leaks, in the order of `leaks_in`."""

_MADE = r"(?:developed|created|trained|made|built|designed|programmed|powered|provided|released|fine-?tuned)"
_MAKER = (
    r"(?:open ?ai|anthropic|google(?: deep ?mind)?|deep ?mind|meta(?: ai| platforms)?|facebook|microsoft"
    r"|mistral(?: ai)?"
    r"|alibaba(?: cloud)?|deep ?seek|x\.?ai|hugging ?face|cohere|amazon|apple|nvidia|ibm|baidu|tencent|moonshot ai)\b"
)
_KIND = (
    r"(?:ai|a\.i\.|artificial intelligence|llm|(?:large |small |ai |artificial )*language model|chat ?bot|bot"
    r"|(?:virtual|digital|ai|computer) (?:assistant|companion|therapist|counsell?or|system|program|model)"
    r"|computer program|machine learning model|neural network)"
)
_TAIL = (
    r"(?= *(?:$|[.,;:!?)\n*_\"]|-- ?|[\u2013\u2014]| - |"
    r"(?:i|i'm|i've|my|it|we|here|so|and|but|or|not|without|with|that|who|which|there|language|assistant|model"
    r"|chat ?bot"
    r"|system|program|companion|therapist|counsell?or|tool|bot|made|built|created|developed|trained|designed|based"
    r"|programmed|powered|by|from|can(?:'?t|not)?|do(?:n't)?|cannot|rather|though|although|because|since)\b(?![-']s)"
    r"(?! (?:researcher|engineer|company|trainer|developer|specialist|student|expert|team|startup|lab)\b)))"
)
_SOFT = r"(?:just|only|actually|really|simply|merely|also|still|after all|of course|in fact|to be honest|technically)"
_I_AM = rf"\b(?:i am|i'm|im|i was|i've been|i have been)(?:,? {_SOFT},?){{0,3}} "
_ADJECTIVES = (
    r"(?:[a-z-]+ly |(?:advanced|helpful|friendly|empathetic|supportive|powerful|caring|humble|mere|new|text-based) )"
    r"{0,4}"
)
_LIKENESS = re.compile(
    r"\b(?:like|as if|as though|think|thinks|thought|believe[sd]?|if|that|whether|feel|feels|felt|wish|pretend(?:ed"
    r"|ing)?"
    r"|dreamed|dreamt|says?|said|accused|tells? me|told me|jokes?|joked|because|sure|imagine|treat(?:ed|s|ing)?|seen"
    r"|viewed|described|regarded|used|see|see me|works?|worked|working|acts?|acted|acting|known|view) *"
    r"(?:(?:me|her|him|you|them|us|it|that|,|exactly|just|really|merely|only) *){0,2}$"
)
"""What stands before "I'm an AI" or "as an AI" where nobody says that they are one."""

_AS_AI = re.compile(rf"\bas an? {_ADJECTIVES}{_KIND}\b{_TAIL}")
_I_AM_AI = re.compile(rf"{_I_AM}(?:an? |your )(?!not ){_ADJECTIVES}{_KIND}\b{_TAIL}")
_NOT_HUMAN = re.compile(
    rf"{_I_AM}not (?:actually |really |truly )?(?:an? )?(?:human|(?:real|actual) (?:person|human|therapist))"
    r"(?: being)?(?= *(?:$|[.,;:!?\n]|and\b|but\b|so\b|or\b|-))"
)
_MACHINERY = re.compile(
    r"\bmy (?:training data|knowledge cut-?off|algorithms?)\b"
    r"|\bmy programming (?:does|doesn't|allows?|prevents?|limits?|forbids?|keeps?|tells?)\b"
    r"|\bmy (?:developers|creators|programmers) (?:have |has )?(?:made|built|trained|designed|created|programmed) me\b"
    r"|\bi (?:was|am|have been) (?:programmed|trained) (?:to|on|by|not)\b(?! (?:be a (?:people|good)|my|his|her))"
    r"|\bi (?:do not|don't|cannot|can't) (?:have|experience|feel) (?:any )?(?:real |human |personal |true )?"
    r"(?:feelings|emotions|consciousness)(?: or [a-z]+)? (?:like|as|the way) (?:a |you|humans?|people)"
)
"""What only a machine says of itself. "I was trained to be a people pleaser" is a person."""

_SELF = (
    rf"(?:{_I_AM}|\bas |\bthis is "
    r"|\byou(?:'re| are) (?:now )?(?:talking|speaking|chatting|writing|connected) (?:to|with) )"
)
_A_KIND = rf"(?:(?:an? |the |your )?(?:[a-z0-9.-]+ ){{0,6}}?(?:{_KIND}|assistant|model)\b[^.!?\n]{{0,60}}?)?"
_MADE_BY = re.compile(
    rf"{_SELF}{_A_KIND},? ?(?:(?:that|which|who) (?:was|is) )?(?:originally )?{_MADE}(?: and [a-z-]+)?"
    rf"(?: (?:as|to be) an? [^.!?\n]{{0,40}}?)? by (?:the )?(?:[a-z]+ ){{0,4}}?(?:at )?{_MAKER}"
    rf"|{_SELF}(?:an? |the |your )?(?:[a-z0-9.-]+ ){{0,6}}?{_KIND}\b,? (?:from|by|of) {_MAKER}"
    rf"|\b(?:my|our) (?:developers?|creators?|makers?|parent company|company|team)(?: (?:is|are|at|of"
    rf"|from),?)+ {_MAKER}"
    rf"|{_I_AM}{_MAKER}'s (?:[a-z0-9.-]+ ){{0,4}}?(?:ai|model|assistant|chat ?bot)\b"
    rf"|\b{_MAKER} (?:has )?(?:{_MADE}) me\b"
)

_VERSIONED = re.compile(
    r"\b(?:gpt[- ]?(?:[1-9](?:\.\d)?(?:o|v)?|oss)\b|chatgpt[- ]?\d|claude[- ](?:v?\d|instant|opus|sonnet|haiku)"
    r"|gemini[- ](?:\d|pro|flash|ultra|nano)\b|(?:meta[- ])?llama[- ]?\d|smollm\d?|qwen[- ]?\d|mi[sx]tral[- ]?(?:\d"
    r"|large|7b)"
    r"|deepseek[- ](?:r|v)\d|gemma[- ]?\d|grok[- ]?\d|phi-\d|command[- ]r\b)"
)
_BARE = (
    r"(?:chat ?gpt|gpt|claude|gemini|bard|llama|meta ai|(?:microsoft )?copilot|grok|qwen|mistral|mixtral|deep ?seek"
    r"|gemma"
    r"|smol ?lm|pi|replika|woebot|wysa|bing)"
)
_NOT_MINE = r"(?!'s\b|[a-z0-9-])"
_SPEAKER = r"^[ *_#>]*"

_CLOSING = (
    r"(?:yours )?(?:sincerely|truly|faithfully|respectfully)(?: yours)?|(?:all the |with "
    r"|my )?(?:very )?(?:kind(?:est)?|warm(?:est)?"
    r"|best) (?:regards|wishes)|all my best|all the best|best|regards|warmly|kindly|cheers|love|with (?:love|care"
    r"|warmth|kindness|"
    r"compassion|empathy|gratitude|support)|take care|be well|blessings|yours|in solidarity|thinking of you|signed"
)
_NAME = r"(?:Dr\.? |Prof\.? |Mrs?\.? |Ms\.? )?[A-Z][\w'\u2019.-]*(?: [A-Z][\w'\u2019.-]*){0,3}"
_LETTERS = (
    r"(?:Ph\.?\s?D|Psy\.?\s?D|Ed\.?\s?D|M\.?D|LCSW(?:-[A-Z])?|LICSW|LMSW|MSW|LMFT|MFT|LPCC?(?:-[A-Z])?|LMHC|LCPC"
    r"|LCMHC|LPC-MHSP"
    r"|NCC|RN|M\.?\s?A|M\.?\s?S|M\.?\s?Ed|MBACP|CADC|BCBA|RCC|CCC)"
)
_PLACEHOLDER = re.compile(
    r"[\[{<](?:your|my|the|insert|therapist|counsell?or)?(?:['\u2019]?s)?[ _-]*(?:full |first |last )?"
    r"(?:(?:therapist|counsell?or|doctor|author|writer)(?:['\u2019]?s)?[ _-]*)?(?:name|signature|title|credentials"
    r"|therapist)"
    r"(?: here)?[\]}>]",
    re.IGNORECASE,
)
_LAST_LINE = re.compile(
    rf"(?:^|\n)[ *_]*(?:(?:--+|[\u2013\u2014~]+) ?{_NAME}(?:, ?{_LETTERS}\.?)*"
    rf"|(?:- ?)?(?:Dr|Prof)\.? {_NAME}(?:, ?{_LETTERS}\.?)*"
    rf"|(?:- ?)?{_NAME}(?:,? {_LETTERS}\.?)(?:, ?{_LETTERS}\.?)*"
    rf"|(?i:your )(?i:therapist|counsell?or|psychologist))[ *_.]*$"
)
_SIGNED = re.compile(
    rf"(?:^|[\n.!?])[ *_]*(?i:{_CLOSING})(?:,[ *_]*\n\s*|[ *_]*\n\s*|, ?)[ *_]*(?P<name>{_NAME}"
    rf"|(?i:your [a-z ]{{1,30}}))"
    rf"(?:, ?{_LETTERS}\.?)*[ *_.]*(?:\n[^\n]{{1,60}}){{0,2}}$"
)
_ONE_LINE_FAREWELL = re.compile(r"(?i:take care|be well|love|best|cheers|thinking of you|blessings), ?\S")
_CREDENTIALS = re.compile(
    rf"(?:^|\n|[.!?] |[-\u2013\u2014] ?)[ *_]*{_NAME},? {_LETTERS}\.?(?:, ?{_LETTERS}\.?)*[ *_]*$"
)
_SELF_NAMED = re.compile(
    rf"\b(?i:my name is|i am|i'm|this is) (?:Dr\.?|Prof\.?) [A-Z]"
    rf"|\b(?:[Mm]y name is|I am|I'm) {_NAME},? (?:(?:and )?(?:I'm |I am )?an? )?(?:licensed|certified|registered"
    rf"|clinical)\b"
)


def leaks_in(text: str, names: Iterable[str] = ()) -> list[str]:
    """Return the LEAK_KINDS found in `text`, in their order; empty for none. Never raises.

    `names` are those of the study's own models: ids, providers' names and labels. A name with a digit counts anywhere,
    and one without only where the writer calls itself so. Look-alike letters, accents, invisible characters and case
    hide nothing.
    """
    cased = re.sub(r"[^\S\n]+", " ", "".join(map(_plain_letter, plain_text(text)))).strip()
    lower = cased.lower().replace("\u2019", "'")
    spoken = leaks_by_language(lower, _MAKER)
    versioned, called = _name_patterns(tuple(sorted(set(names))))
    found = {
        "ai_self": any(
            not _LIKENESS.search(lower, max(0, match.start() - 60), match.start())
            for pattern in (_AS_AI, _I_AM_AI)
            for match in pattern.finditer(lower)
        )
        or bool(_NOT_HUMAN.search(lower) or _MACHINERY.search(lower))
        or "ai_self" in spoken,
        "maker": bool(_MADE_BY.search(lower)) or "maker" in spoken,
        "model_name": bool(
            _VERSIONED.search(lower) or called.search(lower) or (versioned is not None and versioned.search(lower))
        ),
        "signature": _is_signed(cased) or "professional" in spoken,
    }
    return [kind for kind in LEAK_KINDS if found[kind]]


def _plain_letter(character: str) -> str:
    if character.isascii() or not character.isalpha():
        return character
    plain = (look(character)[:1] or sound(character) or character).lower()
    return plain.upper() if character.isupper() else plain


@lru_cache(maxsize=64)
def _name_patterns(names: tuple[str, ...]) -> tuple[re.Pattern[str] | None, re.Pattern[str]]:
    """Return the pattern of the names with a digit, and that of a writer who calls itself by any name without one."""
    with_digit, without = list[str](), [_BARE]
    for name in names:
        short = re.sub(r"\(.*?\)", "", name).rpartition("/")[2].strip().lower()
        pattern = r"[- _.]?".join(map(re.escape, re.findall(r"[^\W\d_]+|\d+", short)))
        if sum(character.isalpha() for character in short) < 2:
            continue
        (with_digit if any(character.isdigit() for character in short) else without).append(pattern)
    bare = f"(?:{'|'.join(without)}){_NOT_MINE}"
    called = re.compile(
        rf"(?:{_I_AM}|\bmy name is |{naming()}|\bi am called |\bi'm called |\byou can call me "
        rf"|\bi go by )(?:an? )?{bare}(?! (?:'s|and i met)\b)"
        rf"|\bas {bare},? i\b|\bthis is {bare} (?:here|speaking|from)\b|{_SPEAKER}{bare} ?(?:here\b|[*_]*:)"
        rf"|\n[ *_]*[-\u2013\u2014~]+ ?{bare}[ *_.]*$",
        re.MULTILINE,
    )
    return (re.compile(rf"\b(?:{'|'.join(with_digit)})\b") if with_digit else None), called


def _is_signed(text: str) -> bool:
    if _PLACEHOLDER.search(text) or _SELF_NAMED.search(text):
        return True
    end = text[-300:]
    signed = _SIGNED.search(end)
    # "Take care, Anna!" speaks to Anna; "Take care,", a new line and "Anna" is signed by her.
    if signed and not _ONE_LINE_FAREWELL.search(signed[0]):
        return True
    return bool(_LAST_LINE.search(end) or _CREDENTIALS.search(end))
