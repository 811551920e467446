"""The survey's own words in the language of a study: a catalogue of gettext for each language, in `words/`.

A catalogue is read from its .po file when it is first needed, so that nothing has to be compiled. A study may bring a
catalogue of its own, which goes before the one that comes with heard: `words.po` among its texts.
"""

import gettext
import io
import re
from functools import lru_cache
from pathlib import Path

from babel import Locale, UnknownLocaleError
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import PoFileError, read_po

from heard.errors import UserError
from heard.hints import nearest_name
from heard.sentences import Sentence

FOLDER = Path(__file__).parent / "words"
SHIPPED = tuple(sorted(path.stem for path in FOLDER.glob("*.po")))
"""Languages whose words come with heard, machine-written and not checked by anybody who speaks them."""
_PLACEHOLDER = re.compile(r"%\(\w+\)[sd]|\{\w+(?::,)?\}")


class WordsError(UserError):
    """A catalogue that cannot be used; `str()` names the fault and the next step."""


class Words:
    """The words of one language, as templates and routes ask for them: by the English ones."""

    def __init__(self, language: str, translations: gettext.NullTranslations) -> None:
        self.language = language
        self.gettext, self.ngettext = translations.gettext, translations.ngettext

    @property
    def direction(self) -> str:
        """ "ltr" or "rtl"."""
        try:
            return str(Locale.parse(self.language, sep="-").text_direction)
        except (UnknownLocaleError, ValueError):
            return "ltr"

    def of(self, said: str) -> str:
        """Return a sentence in this language; as it is if the catalogue does not have it."""
        if not isinstance(said, Sentence):
            return self.gettext(said)
        # What is filled in may be a sentence of its own, such as the reason why an answer cannot be chosen.
        values = {name: self.of(value) if isinstance(value, str) else value for name, value in said.values.items()}
        return self.gettext(said.pattern).format(**values) if values else self.gettext(said.pattern)


ENGLISH = Words("en", gettext.NullTranslations())


@lru_cache(maxsize=64)
def words_of(language: str, own: str = "") -> Words:
    """Return the words of a language; `own` is the text of a study's own catalogue, and goes before ours.

    What neither has is English. "de-AT" is answered by "de". Raises WordsError for a catalogue that cannot be used.
    """
    ours = _shipped(language)
    if ours is None and not own:
        raise WordsError(
            f'There are no words for the language "{language}". {nearest_name(language, SHIPPED)} Or put a catalogue '
            "of your own into the study's folder of texts, as words.po: docs/studies.md tells how."
        )
    translations: gettext.NullTranslations = gettext.NullTranslations()
    for catalog in (_checked(own) if own else None, ours):
        if catalog is not None:
            read = _translations(catalog)
            if isinstance(translations, gettext.GNUTranslations):
                translations.add_fallback(read)
            else:
                translations = read
    return Words(language, translations)


def catalog_of(language: str) -> Catalog:
    """Return the catalogue of a language that comes with heard."""
    with (FOLDER / f"{language}.po").open("rb") as file:
        return read_po(file, locale=language, abort_invalid=True)


def faults_of(catalog: Catalog, known: set[str]) -> list[str]:
    """Return what is wrong with a catalogue, as sentences: words that no page has, placeholders that differ."""
    faults = []
    for message in catalog:
        ids = message.id if isinstance(message.id, (tuple, list)) else (message.id,)
        strings = message.string if isinstance(message.string, (tuple, list)) else (message.string,)
        if not ids[0]:
            continue
        shown = ids[0] if len(ids[0]) <= 60 else f"{ids[0][:60]}..."
        if ids[0] not in known:
            faults.append(f'no page says "{shown}"')
        for string in filter(None, strings):
            wanted = set().union(*(_PLACEHOLDER.findall(one) for one in ids))
            if not set(_PLACEHOLDER.findall(string)) <= wanted or (
                len(strings) == 1 and set(_PLACEHOLDER.findall(string)) != wanted
            ):
                faults.append(f'the placeholders of "{shown}" are {", ".join(sorted(wanted)) or "none"}')
    return faults


@lru_cache(maxsize=1)
def known_words() -> frozenset[str]:
    """Return every English sentence that a page of a survey can say: those of the English catalogue."""
    found = (message.id for message in catalog_of("en") if message.id)
    return frozenset(one[0] if isinstance(one, (tuple, list)) else one for one in found)


@lru_cache(maxsize=16)
def _shipped(language: str) -> Catalog | None:
    name = next((name for name in (language, language.partition("-")[0]) if name in SHIPPED), None)
    return catalog_of(name) if name else None


def _checked(own: str) -> Catalog:
    """Return a study's own catalogue. Raises WordsError."""
    try:
        catalog = read_po(io.BytesIO(own.encode("utf-8")), abort_invalid=True)
    except (PoFileError, ValueError, UnknownLocaleError) as error:
        raise WordsError(f"words.po is not a gettext catalogue: {error}. Mend that line.") from None
    if faults := faults_of(catalog, set(known_words())):
        raise WordsError(f"words.po: {faults[0]}. Mend it, and leave out what you do not translate.")
    return catalog


def _translations(catalog: Catalog) -> gettext.GNUTranslations:
    compiled = io.BytesIO()
    write_mo(compiled, catalog)
    compiled.seek(0)
    return gettext.GNUTranslations(compiled)
