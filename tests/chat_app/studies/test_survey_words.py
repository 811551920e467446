"""The survey's words: whole in every language, with their placeholders, and a study's own before them."""

import re
from pathlib import Path

import pytest

from heard.chat_app.studies.study_file import StudyFile, StudyFileError, read_study_file
from heard.chat_app.studies.study_texts import read_texts, texts_of
from heard.chat_app.studies.survey_words import SHIPPED, WordsError, catalog_of, faults_of, words_of
from heard.chat_app.web.pages import ballot_words
from heard.sentences import sentence
from tests.survey_words import FOLDER, LANGUAGES, said

STATIC = Path(ballot_words.__file__).parent / "static"
SURVEY = 'id = "s"\nkind = "survey"\nsources = ["human", "x"]\n'


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_is_said_in_every_language(language: str) -> None:
    assert set(LANGUAGES) == set(SHIPPED)
    catalog, known = catalog_of(language), said()
    ids = {one if isinstance(one, str) else one[0] for one in known}
    assert {one if isinstance(one, str) else one[0] for one in (m.id for m in catalog) if one} == ids
    for message in catalog:
        strings = message.string if isinstance(message.string, tuple) else (message.string,)
        assert all(strings), message.id
        assert not message.fuzzy
        tags = re.findall(r"<[^>]+>", message.id if isinstance(message.id, str) else message.id[0])
        assert all(sorted(re.findall(r"<[^>]+>", one)) == sorted(tags) for one in strings if message.id), message.id
    assert faults_of(catalog, ids) == []
    if language != "en":
        same = [m.id for m in catalog if m.id and m.id == m.string]
        assert len(same) < 8, same  # words such as "Information" that are the same there
    assert "Machine-written" in (FOLDER / f"{language}.po").read_text(encoding="utf-8")


def test_what_the_scripts_say_is_in_the_catalogue() -> None:
    scripts = "".join((STATIC / name).read_text(encoding="utf-8") for name in ("ballot.js", "survey.js"))
    scripts = re.sub(r'"\s*\+ "', "", scripts)
    in_scripts = set(re.findall(r'word\("([^"]+)"', scripts)) | {"Saving…", "Save and go on"}
    assert in_scripts == {str(one) for one in ballot_words.SAID}
    assert ballot_words.ballot_words(words_of("en")) == {}
    assert ballot_words.ballot_words(words_of("de")).keys() == in_scripts


def test_a_sentence_with_values_is_said_with_them() -> None:
    inner = sentence("This answer did not arrive.")
    whole = sentence("Answer {letter} cannot be chosen: {reason}", letter="B", reason=inner)
    assert whole == "Answer B cannot be chosen: This answer did not arrive."
    assert words_of("de").of(whole) == "Antwort B kann nicht gewählt werden: Diese Antwort ist nicht angekommen."
    assert words_of("de-AT").of("No") == "Nein"
    assert words_of("es").of("of a database") == "of a database"


OWN = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n\nmsgid "Start"\nmsgstr "Başla"\n'


def test_a_study_brings_words_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(f'{SURVEY}language = "tr"\n', encoding="utf-8")
    study = read_study_file(file)
    with pytest.raises(StudyFileError, match=r'no words for the language "tr"\. .*words\.po'):
        read_texts(file, study)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "words.po").write_text(OWN, encoding="utf-8")
    words = read_texts(file, study).words
    assert (words.gettext("Start"), words.gettext("Skip"), words.language) == ("Başla", "Skip", "tr")
    assert words_of("de", OWN).gettext("Skip") == "Überspringen"  # what it leaves out is ours
    assert words_of("ar", OWN).direction == "rtl"
    for wrong, fault in (
        (OWN.replace('"Start"', '"Strat"'), 'no page says "Strat"'),
        (OWN + '\nmsgid "Version %(version)s."\nmsgstr "Sürüm."\n', "placeholders"),
        ('msgid "Start\n', "not a gettext catalogue"),
    ):
        with pytest.raises(WordsError, match=fault):
            words_of("tr", wrong)


def test_texts_are_one_version_and_faults_are_told(tmp_path: Path) -> None:
    file, folder = tmp_path / "study.toml", tmp_path / "texts"
    file.write_text(f'{SURVEY}language = "de"\nethics_approval = "EC 12/2026"\n', encoding="utf-8")
    study = read_study_file(file)
    plain = read_texts(file, study)
    assert plain.text("consent").startswith("Die Teilnahme ist freiwillig.")
    assert plain.text("title") == "Eine Studie über einfühlsame Antworten"
    assert (plain.text("ethics_approval"), plain.text("debrief")) == ("EC 12/2026", "")
    assert texts_of(study).version == plain.version
    folder.mkdir()
    for name, text in (("consent.md", "Every"), ("consent.de.md", "Deutsch"), ("consent.fr.md", "Français")):
        (folder / name).write_text(text, encoding="utf-8")
    other = read_texts(file, study)
    assert (other.text("consent"), other.version != plain.version) == ("Deutsch", True)
    (folder / "debreif.md").write_text("x", encoding="utf-8")
    with pytest.raises(StudyFileError, match=r"no such text of a study\. Did you mean debrief\.md"):
        read_texts(file, study)
    with pytest.raises(StudyFileError, match="no folder elsewhere beside it"):
        read_texts(file, StudyFile.model_validate({**study.model_dump(), "texts": "elsewhere"}))
