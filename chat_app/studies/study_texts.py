"""What a study tells its people: information, consent, debrief, and who answers for it, in the study's language.

They are read from the folder beside the study's file when it is imported, and stored as one version: a person's answer
to the consent page, their enrolment and their votes name it. Where a study has no consent text of its own, a plain one
in its language stands there.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from heard.chat_app.studies.study_file import StudyFile, StudyFileError
from heard.chat_app.studies.survey_words import Words, WordsError, words_of
from heard.db.study_records import StudyKind
from heard.hints import nearest_name
from heard.scorer.csv_rows import read_file
from heard.scorer.errors import ScorerError
from heard.scorer.text_encoding import decode
from heard.sentences import sentence

FILES = {"information": ".md", "consent": ".md", "debrief": ".md", "words": ".po"}
"""Texts that may stand in the folder, and the endings of their files."""
OF_FILE = ("title", "introduction", "purpose", "contact", "ethics_approval", "language")
"""Keys of the study's file that are shown to people beside the texts, and so belong to a version of them."""
LONGEST = 100_000
"""Most characters of one text."""

CONSENT = sentence(
    "Taking part is your choice. You may stop at any time by closing the page, without giving a reason and without "
    "any disadvantage. You may also take your consent back later: your votes then count in no result and no export."
)
STORED = sentence(
    "Stored are what you mark, what you write about it, how long each ballot took, whether the page was as wide as a "
    "phone, a tablet or a desktop, your answers on this page, and a random id. If you came by a link with an id, that "
    "id is stored too. No name, no e-mail address and no IP address are stored. Under “Your data” you can see, "
    "download or erase all of it at any time. A cookie in this browser is the only key to it."
)
"""What a survey stores, whatever a study's own texts say."""


@dataclass(frozen=True, slots=True)
class StudyTexts:
    """One version of a study's texts, by name: those of FILES and OF_FILE, and `stored`."""

    texts: Mapping[str, str]

    @property
    def version(self) -> str:
        """12 hexadecimal digits of the sha256 of all texts as canonical JSON: another with every letter."""
        whole = json.dumps(dict(self.texts), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(whole.encode("utf-8")).hexdigest()[:12]

    @property
    def versioned(self) -> tuple[str, Mapping[str, str]]:
        """The version and the texts, as `record_of` takes them."""
        return self.version, self.texts

    def text(self, name: str) -> str:
        """Return a text; "" if the study has none of this name."""
        return self.texts.get(name, "")

    @property
    def words(self) -> Words:
        """The survey's own words in the language of these texts."""
        return words_of(self.text("language") or "en", self.text("words"))


def read_texts(path: Path, study: StudyFile) -> StudyTexts:
    """Return the texts beside the study's file at `path`. Raises StudyFileError for a folder that is named and not
    there, a file of an unknown name, and one that cannot be read or used."""
    folder = path.parent / study.texts
    found: dict[str, str] = {}
    if folder.is_dir():
        for file in sorted(folder.iterdir()):
            if file.name.startswith(".") or file.is_dir():
                continue
            name, language = _name_of(file)
            if language in ("", study.language) and (language or name not in found):
                found[name] = _read(file)
    elif "texts" in study.model_fields_set:
        raise StudyFileError(f"{path}: there is no folder {study.texts} beside it. Make it, or leave texts out.")
    return texts_of(study, found)


def texts_of(study: StudyFile, found: Mapping[str, str] | None = None) -> StudyTexts:
    """Return the texts of a study with those of its folder, or without any. Raises StudyFileError for a language that
    has no words, and for faults of the study's own."""
    texts = {name: text for name, text in (found or {}).items() if text}
    try:
        words = words_of(study.language, texts.get("words", ""))
    except WordsError as error:
        raise StudyFileError(f"study {study.id}: {error}") from None
    texts |= {name: value for name in OF_FILE if (value := getattr(study, name))}
    texts["title"] = words.gettext(study.title)  # one of the study's own is in its language already
    if study.kind is StudyKind.SURVEY:  # a live study has the chat's own notice, as it takes place there
        texts.setdefault("consent", words.of(CONSENT))
        texts["stored"] = words.of(STORED)
    return StudyTexts(texts)


def _name_of(file: Path) -> tuple[str, str]:
    """Return which text a file holds, and of which language; "" for the study's. Raises StudyFileError."""
    name, _, language = file.stem.partition(".")
    if FILES.get(name) != file.suffix:
        known = [f"{name}{ending}" for name, ending in FILES.items()]
        raise StudyFileError(
            f"{file}: there is no such text of a study. {nearest_name(file.name, known)} Rename the file, or take it "
            "out of the folder."
        )
    return name, language


def _read(file: Path) -> str:
    try:
        text = decode(str(file), read_file(file)).text.replace("\r\n", "\n").strip()
    except ScorerError as error:
        raise StudyFileError(str(error)) from None
    if len(text) > LONGEST:
        raise StudyFileError(f"{file} has {len(text):,} characters, and {LONGEST:,} are allowed. Shorten it.")
    return text
