"""The pictures of personas: those that come with heard, those of one's own, and the discs with an initial."""

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from heard.prompts.files import PromptFileError
from heard.prompts.library import BUILT_IN, PromptLibrary
from heard.prompts.pictures import COLOURS, KINDS, LARGEST, initial, initial_picture
from tests.commands import heard

OURS = PromptLibrary.load()
THEME = BUILT_IN.parent / "chat_app" / "page" / "public" / "theme.json"
PERSONA = "name: A\ndescription: b\nsystem: c\n"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
SOUND = {
    "a.svg": SVG,
    "a.SVG": b'<?xml version="1.0"?>\n<!DOCTYPE svg>\n' + SVG,
    "a face.png": b"\x89PNG\r\n\x1a\nrest",
    "Gesicht-\u00e4.jpeg": b"\xff\xd8\xff\xe0rest",
    "a.b.webp": b"RIFF1234WEBP",
}
"""Pictures, as far as their beginning tells."""


def light(colour: str) -> float:
    """The relative luminance of "#rrggbb" (WCAG 2.2)."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: float, other: float) -> float:
    return (max(one, other) + 0.05) / (min(one, other) + 0.05)


def grounds() -> list[float]:
    """The luminance of the page and of the menu in both themes, whose colours are nearly grey."""
    themes = json.loads(THEME.read_text(encoding="utf-8"))["variables"].values()
    shares = [float(theme[name].split()[-1].rstrip("%")) for theme in themes for name in ("--background", "--popover")]
    return [light("#" + f"{round(share * 2.55):02x}" * 3) for share in shares]


def faults(folder: Path) -> tuple[str, ...]:
    with pytest.raises(PromptFileError) as told:
        PromptLibrary.load(folder)
    return told.value.faults


@pytest.fixture
def mine(folder: Path) -> Callable[[str], Path]:
    """Write a persona "mine" that names a picture; gives the folder of personas."""

    def write(picture: str) -> Path:
        (folder / "personas" / "mine.yaml").write_text(f"{PERSONA}picture: {picture}\n", encoding="utf-8")
        return folder / "personas"

    return write


def test_each_persona_of_heard_has_a_face_that_no_other_has() -> None:
    assert set(OURS.pictures) == set(OURS.personas)
    drawn = [picture.content.decode() for picture in OURS.pictures.values()]
    assert len(set(drawn)) == len(drawn)
    assert len({re.findall('fill="(#[0-9a-f]{6})"', one)[0] for one in drawn}) == len(drawn)


def test_they_are_drawn_shapes_and_stand_out_on_every_ground() -> None:
    colours = set(COLOURS)
    for picture in OURS.pictures.values():
        tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(picture.content).iter()}
        assert tags <= {"svg", "circle", "rect", "path"}
        assert (picture.media_type, len(picture.content) < 600) == ("image/svg+xml", True)
        colours |= set(re.findall('fill="(#[0-9a-f]{6})"', picture.content.decode()))
    for colour in colours:
        assert all(contrast(light(colour), ground) >= 3 for ground in grounds()), colour
        assert contrast(light(colour), 1.0) >= 4.5, colour


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Warm listener", "W"), ("\u00e9lan", "\u00c9"), ("e\u0301lan", "E\u0301"), ("\u201eNele\u201c", "N"),
        ("  2nd ear", "2"), ("\u0448\u0443\u043c", "\u0428"), ("\u6797", "\u6797"), ("\u0646\u0648\u0631", "\u0646"),
        ("\u00dfa", "\u00df"), ("\U0001f33b", "\U0001f33b"), ("\U0001f33b Sun", "S"), ("<&>", "<"), ("\u200b", "?"),
        ("\U0001d504da", "\U0001d504"), ("\u0939\u093f\u0928\u094d\u0926\u0940", "\u0939\u093f"),
    ],
)  # fmt: skip
def test_a_persona_without_a_picture_gets_its_initial(name: str, shown: str) -> None:
    assert initial(name) == shown
    drawn = ElementTree.fromstring(initial_picture(replace(OURS.personas["quiet"], name=name)).content)
    assert "".join(drawn.itertext()) == shown


def test_the_disc_keeps_its_colour_and_not_all_are_alike() -> None:
    personas = [replace(OURS.personas["quiet"], id=f"persona-{number}") for number in range(40)]
    discs = [initial_picture(persona).content for persona in personas]
    assert discs == [initial_picture(persona).content for persona in personas]
    assert len(set(discs)) == len(COLOURS)


@pytest.mark.parametrize("name", SOUND)
def test_a_persona_may_name_a_picture_of_one_s_own(mine: Callable[[str], Path], name: str) -> None:
    (folder := mine(name)).joinpath(name).write_bytes(SOUND[name])
    library = PromptLibrary.load(folder.parent)
    picture = library.pictures["mine"]
    assert (picture.content, picture.media_type) == (SOUND[name], KINDS[Path(name).suffix.lower()])
    assert set(library.pictures) == {*OURS.pictures, "mine"}


@pytest.mark.parametrize(
    "named",
    [
        "../quiet.svg", "/etc/face.png", "faces/a.svg", "..\\a.svg", ".svg", ".hidden.svg", "quiet", "quiet.gif",
        "https://example.org/a.svg", "quiet.yaml", '"a\\0.svg"', '"a\\n.svg"',
    ],
)  # fmt: skip
def test_a_picture_lies_beside_the_file_that_names_it(mine: Callable[[str], Path], named: str) -> None:
    (told,) = faults(mine(named).parent)
    assert told.endswith("mine.yaml:4: picture must name a file beside this one that ends in " + ", ".join(KINDS) + ".")


@pytest.mark.parametrize("named", ["''", "", "7", "[quiet.svg]", "true"])
def test_what_is_no_name_is_refused(mine: Callable[[str], Path], named: str) -> None:
    (told,) = faults(mine(named).parent)
    assert "mine.yaml:4: picture " in told


def test_one_that_is_not_there_is_told_with_the_nearest(mine: Callable[[str], Path]) -> None:
    folder = mine("quite.svg")
    assert faults(folder.parent) == (
        f"{folder / 'mine.yaml'}: there is no picture quite.svg beside it. Did you mean quiet.svg?",
    )
    done = heard("prompts", "check", folder=folder.parent, HEARD_PROMPTS_DIR=str(folder.parent))
    assert (done.status, "quite.svg" in done.stdout + done.stderr) == (2, True)
    for path in [*folder.glob("*.svg"), *folder.glob("[!m]*.yaml")]:
        path.unlink()
    assert faults(folder.parent)[0].endswith("Put it there, or remove the key picture.")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.png", b"\xff\xd8\xff\xe0", "is no PNG picture"),
        ("a.jpg", b"\x89PNG\r\n\x1a\n", "is no JPG picture"),
        ("a.webp", b"", "is no WEBP picture"),
        ("a.svg", b"", "is no SVG picture"),
        ("a.svg", b"<svg/>", "is no SVG picture"),
        ("a.svg", b"<html xmlns='http://www.w3.org/1999/xhtml'/>", "is no SVG picture"),
        ("a.svg", SVG[:-2], "is no SVG picture"),
        ("a.svg", b'<?xml version="1.0" encoding="klingon"?>' + SVG, "is no SVG picture"),
        ("a.svg", b"\x89PNG\r\n\x1a\n", "is no SVG picture"),
        ("a.svg", b"<g>" * 20_000, "is no SVG picture"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(LARGEST), "has more than 64 KB"),
    ],
)
def test_one_that_no_browser_would_show_is_refused(
    mine: Callable[[str], Path], name: str, content: bytes, words: str
) -> None:
    folder = mine(name)
    (folder / name).write_bytes(content)
    (told,) = faults(folder.parent)
    assert told.startswith(f"{folder / name} {words}")


def test_a_folder_a_pipe_and_a_link_to_nothing_are_no_pictures(mine: Callable[[str], Path]) -> None:
    folder = mine("a.svg")
    (folder / "a.svg").mkdir()
    assert faults(folder.parent) == (f"{folder / 'a.svg'} is no file. Put the picture in its place.",)
    (folder / "a.svg").rmdir()
    os.mkfifo(folder / "a.svg")
    assert faults(folder.parent) == (f"{folder / 'a.svg'} is no file. Put the picture in its place.",)
    (folder / "a.svg").unlink()
    (folder / "a.svg").symlink_to("nowhere.svg")
    assert "there is no picture a.svg" in faults(folder.parent)[0]


def test_pictures_that_come_change_and_go_are_seen_without_a_restart(folder: Path) -> None:
    library = PromptLibrary.load(folder)
    personas = folder / "personas"
    (personas / "0-dangling.svg").symlink_to("nowhere.svg")  # hides no edit of the others
    (personas / "mine.yaml").write_text(f"{PERSONA}picture: a.svg\n", encoding="utf-8")
    assert library.refresh()
    assert "there is no picture a.svg" in str(library.fault)
    (personas / "a.svg").write_bytes(SVG)
    assert library.refresh()
    assert (library.fault, library.pictures["mine"].content) == (None, SVG)
    (personas / "a.svg").write_bytes(SVG + b"\n")
    assert library.refresh()
    assert library.pictures["mine"].content == SVG + b"\n"
    (personas / "a.svg").unlink()
    assert library.refresh()
    assert "there is no picture a.svg" in str(library.fault)
    assert library.pictures["mine"].content == SVG + b"\n", "the last good one stays"
    (personas / "mine.yaml").write_text(PERSONA, encoding="utf-8")
    assert library.refresh()
    assert (library.fault, "mine" in library.pictures) == (None, False)
