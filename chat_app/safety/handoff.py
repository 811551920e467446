"""The hand-off: what is shown in a reply's place when a message is a crisis. One record, which every page draws.

`handoff_pages.py` draws it as Markdown and as HTML. Nothing about a message is decided here: danger and language come
from the verdict, and the country is the one that the person chose, never one guessed from an address or a language.
"""

from dataclasses import dataclass
from functools import cache

from heard.chat_app.safety.crisis_numbers import (
    common_emergency_numbers,
    countries,
    country_with,
    hotlines,
    lines_for,
)
from heard.prompts.hours import hours_in_words
from heard.prompts.phone_numbers import call_link, numbers_in, text_link, word_and_number
from heard.prompts.safety_files import (
    GENERAL,
    Country,
    DangerText,
    HandoffText,
    Line,
    load_dangers,
    load_handoff,
)
from heard.prompts.variables import fill

MOST_SERVICES = 3
"""Services of a hand-off beside the emergency number; the page with all numbers has the rest."""
TRADITIONAL = frozenset({"TW", "HK", "MO"})
"""Countries where Chinese is written in traditional characters."""
NEUTRAL_PAGE = "https://www.wikipedia.org/"
"""Where the button that leaves the page fast leads."""


@dataclass(frozen=True, slots=True)
class Way:
    """One number to call or to write to: a button."""

    label: str
    """What the button shows."""
    name: str
    """What a screen reader says; it begins with the label."""
    href: str
    """`tel:` or `sms:`."""


@dataclass(frozen=True, slots=True)
class Service:
    """One line, or the emergency number, which has no name and no hours."""

    name: str
    ways: tuple[Way, ...]
    hours: str
    """In the language of the hand-off; "" where nobody knows."""
    note: str = ""
    """A way to write that is no plain number, as it stands in the file."""
    url: str = ""
    emergency: bool = False


@dataclass(frozen=True, slots=True)
class Picker:
    """The choice of a country, while none is chosen."""

    label: str
    guess: str
    """The offer of a guessed country, with `{country}` for its name; it says that it is a guess."""
    show: str
    options: tuple[tuple[str, str], ...]
    """(ISO code, English name) by name."""


@dataclass(frozen=True, slots=True)
class Handoff:
    """Everything a hand-off says, in one language, in the order in which it is read."""

    language: str
    direction: str
    """ "ltr" or "rtl"."""
    danger: str
    country: str | None
    """ISO code; None where none was chosen."""
    heading: str
    before: str
    """Line before the emergency numbers while no country is chosen; else ""."""
    services: tuple[Service, ...]
    leave: str
    """Label of the button that leaves the page fast; "" where there is none."""
    picker: Picker | None
    elsewhere: str
    directories: tuple[tuple[str, str], ...]
    """(name, address)."""
    sentences: tuple[str, ...]
    closing: str
    all_countries: str
    checked: str
    """When the numbers were checked; "" without a country."""


@cache
def texts() -> dict[str, HandoffText]:
    """Return the general texts by language. Raises PromptFileError."""
    return load_handoff()


@cache
def dangers() -> dict[str, DangerText]:
    """Return the texts of the other dangers. Raises PromptFileError."""
    return load_dangers()


def ending_dangers() -> frozenset[str]:
    """Return the dangers after whose hand-off nothing is answered in that conversation any more."""
    return frozenset(danger for danger, text in dangers().items() if text.ends)


def handoff(country: str | None, language: str | None = None, danger: str = GENERAL) -> Handoff:
    """Return the hand-off.

    `country`: the code that the person chose, or None; an unknown one counts as no choice. `language`: ISO 639-1 code
    of the message; where it has no text, English. `danger`: one of `prompts.safety_files.DANGERS`; a language without
    words for it gets its general text with that danger's numbers.
    """
    chosen = country_with(country)
    text = _text(language, chosen)
    kind = dangers().get(danger)
    words = kind.texts.get(text.language) if kind else None
    closing = text.ended if kind and kind.ends else (words.closing if words else "") or text.closing
    return Handoff(
        language=text.language,
        direction=text.direction,
        danger=danger,
        country=chosen.code if chosen else None,
        heading=words.heading if words else text.heading,
        before="" if chosen else text.common,
        services=_services(chosen, text, danger, kind) if chosen else (_common(text),),
        leave=text.leave if kind and kind.leave else "",
        picker=None if chosen else Picker(text.country, text.guess, text.show, tuple(countries())),
        elsewhere=text.elsewhere,
        directories=tuple((one.name, one.url) for one in hotlines().directories),
        sentences=words.body if words else text.body,
        closing=closing,
        all_countries=text.all,
        checked=fill(text.checked, {"date": _oldest(chosen, danger)}) if chosen else "",
    )


def _text(language: str | None, chosen: Country | None) -> HandoffText:
    if language == "zh" and chosen and chosen.code in TRADITIONAL:
        language = "zh-Hant"
    return texts().get(language or "en") or texts()["en"]


def _services(chosen: Country, text: HandoffText, danger: str, kind: DangerText | None) -> tuple[Service, ...]:
    services = [_service(line, text) for line in lines_for(chosen, danger)[:MOST_SERVICES]]
    number = chosen.police if kind and kind.police and chosen.police else chosen.emergency
    services.insert(0 if kind and kind.emergency_first else len(services), _emergency(number, text))
    return tuple(services)


def _emergency(written: str, text: HandoffText) -> Service:
    first, *others = numbers_in(written)
    sentence = fill(text.emergency, {"number": first})
    ways = [Way(sentence, sentence, call_link(first))]
    ways += [Way(other, fill(text.call, {"number": other}), call_link(other)) for other in others]
    return Service("", tuple(ways), "", emergency=True)


def _common(text: HandoffText) -> Service:
    ways = [
        Way(number, fill(text.call, {"number": number}), call_link(number)) for number in common_emergency_numbers()
    ]
    return Service("", tuple(ways), "", emergency=True)


def _service(line: Line, text: HandoffText) -> Service:
    by_name = fill(text.call, {"number": line.name})
    ways = [
        # After the first, the number is enough: the buttons stand side by side.
        _way(number if place else fill(text.call, {"number": number}), by_name, line, call_link(number))
        for place, number in enumerate(numbers_in(line.call))
    ]
    written = word_and_number(line.text) if line.text else None
    if written:
        word, number = written
        label = fill(text.write_word if word else text.write, {"number": number, "word": word})
        by_name = "" if word else fill(text.write, {"number": line.name})
        ways.append(_way(label, by_name, line, text_link(number, word)))
    note = "" if written else line.text
    return Service(line.name, tuple(ways), hours_in_words(line.hours, text.hours), note, line.url)


def _way(label: str, by_name: str, line: Line, href: str) -> Way:
    """A button. Its spoken name begins with what it shows: "Call 988 Suicide & Crisis Lifeline", no number twice."""
    return Way(label, by_name if by_name.startswith(label) else f"{label}, {line.name}", href)


def _oldest(chosen: Country, danger: str) -> str:
    shown = lines_for(chosen, danger)[:MOST_SERVICES]
    return min([chosen.checked, *(line.checked for line in shown)]).isoformat()
