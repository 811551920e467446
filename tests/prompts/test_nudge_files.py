"""Notes towards people, and lines for children: the files that come with heard, and how a faulty one is refused."""

import datetime
from pathlib import Path

import pytest
import yaml

from heard.prompts.child_line_files import load_child_lines
from heard.prompts.files import PromptFileError
from heard.prompts.nudge_files import BY_WORDS, NudgeKind, load_nudges
from heard.prompts.safety_files import FOLDER, load_hotlines


def test_every_kind_has_several_texts_and_those_by_words_have_phrasings() -> None:
    nudges = load_nudges()
    texts = [text for nudge in nudges.kinds.values() for text in nudge.texts]
    assert set(nudges.kinds) == set(NudgeKind)
    assert all(len(nudge.texts) >= 3 for nudge in nudges.kinds.values())
    assert len(set(texts)) == len(texts)
    assert all(bool(nudge.phrasings) == (kind in BY_WORDS) for kind, nudge in nudges.kinds.items())
    said = [text for nudge in nudges.kinds.values() for text in nudge.phrasings]
    assert len({*said, *nudges.others}) == len(said) + len(nudges.others)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda values: values["kinds"].pop("long_talk"), 'has no "long_talk"'),
        (lambda values: values["kinds"]["love"].pop("phrasings"), "love has no phrasings"),
        (lambda values: values["kinds"]["love"].update(texts=["One."]), "list of at least 2"),
        (lambda values: values["kinds"]["love"].update(text=["One."]), "Did you mean texts?"),
        (lambda values: values["kinds"].update(lvoe={"texts": ["One.", "Two."]}), "lvoe"),
        (lambda values: values["kinds"]["love"]["texts"].append("Hello {name}"), "{name}"),
        (lambda values: values.pop("others"), "others is missing"),
    ],
)
def test_a_faulty_file_is_refused_with_its_place(tmp_path: Path, change: object, told: str) -> None:
    values = yaml.safe_load((FOLDER / "nudges.yaml").read_text(encoding="utf-8"))
    change(values)  # type: ignore[operator]
    path = tmp_path / "nudges.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    with pytest.raises(PromptFileError) as caught:
        load_nudges(path)
    assert told in " ".join(caught.value.faults)
    assert str(path) in str(caught.value)


def test_every_line_for_children_can_be_reached_and_has_its_page() -> None:
    lines = load_child_lines(load_hotlines())
    assert {one.code for one in lines} >= {"AU", "CA", "GB", "IE", "IN", "NZ", "US", "ZA", ""}
    assert lines[-1].code == "", "those of several countries come last"
    for one in lines:
        for line in one.lines:
            assert line.call or line.text or line.url
            assert line.source.startswith("http")
            assert line.checked >= datetime.date(2026, 11, 28)


def test_a_line_that_nobody_can_reach_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "child_lines.yaml"
    path.write_text("name: E\nlines:\n  - {name: x, source: y, checked: 2026-11-30}\n", encoding="utf-8")
    with pytest.raises(PromptFileError) as caught:
        load_child_lines(load_hotlines(), path)
    assert "nobody could reach it" in " ".join(caught.value.faults)
