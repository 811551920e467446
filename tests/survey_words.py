"""Every sentence that a survey's pages can say, as templates and code mark them: `python -m tests.survey_words` brings
the catalogues up to date with them, and leaves new ones empty there."""

from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "chat_app/studies/words"
LANGUAGES = ("en", "de", "el", "es", "fr")
TEMPLATES = "**/templates/**.html"
HEADER = """\
# What the pages of a survey say, in {language}.
# Machine-written, and not checked by anybody who speaks the language: read it before you run a study with it.
# A study may bring a catalogue of its own, as words.po among its texts (docs/studies.md)."""
DAY = datetime(2026, 11, 30, tzinfo=UTC)
"""In the head of each catalogue: one for all, so that only what is said changes a file."""
OPTIONS = {TEMPLATES: {"trimmed": "true", "trim_blocks": "true", "lstrip_blocks": "true"}}
METHODS = [(TEMPLATES, "jinja2.ext:babel_extract"), ("**.py", "python")]
KEYWORDS = {"_": None, "gettext": None, "ngettext": (1, 2), "sentence": None}


def said() -> list[str | tuple[str, ...]]:
    """The English of every sentence, in the order of the files; a pair for one and for many."""
    found: dict[str | tuple[str, ...], None] = {}
    for room in ("chat_app/web", "chat_app/studies", "chat_app/questions", "db"):
        rows = extract_from_dir(ROOT / room, METHODS, OPTIONS, KEYWORDS)
        for _, _, message, *_ in sorted(rows, key=lambda row: (not row[0].endswith(".html"), row[0], row[1])):
            found.setdefault(message if isinstance(message, str) else tuple(message))
    return list(found)


def main() -> None:
    """Write the catalogues anew: English as it stands, the others with what they have."""
    for language in LANGUAGES:
        path = FOLDER / f"{language}.po"
        old = Catalog(locale=language)
        if path.exists():
            with path.open("rb") as file:
                old = read_po(file, locale=language)
        new = Catalog(
            locale=language, project="heard", version="1", msgid_bugs_address="none", last_translator="none",
            language_team="none", creation_date=DAY, revision_date=DAY, fuzzy=False,
        )  # fmt: skip
        new.header_comment = HEADER.format(language=new.locale.english_name)
        for message in said():
            before = old.get(message if isinstance(message, str) else message[0])
            new.add(message, message if language == "en" else before.string if before else "")
        with path.open("wb") as file:
            write_po(file, new, width=120, omit_header=False)


if __name__ == "__main__":
    main()
