"""The pictures of personas: a file beside the persona's own, or a disc with the initial of its name."""

import unicodedata
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from pydantic import AfterValidator

from heard.prompts.fields import NonEmpty
from heard.prompts.files import PromptFileError
from heard.prompts.records import Persona

SVG = "image/svg+xml"
KINDS = {".svg": SVG, ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".webp": "image/webp"}
"""Media type by the ending of a file's name, in small letters."""
_BEGINS = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff", "image/webp": b"RIFF"}
LARGEST = 64 * 1024
"""Bytes of one picture: it is shown as large as a letter, beside every reply, and held in memory."""
COLOURS = ("#b04a3f", "#8a6d1f", "#1f7d74", "#2f74a8", "#7d5aa6")
"""Of the discs: a white letter stands out on each, and each on a light and on a dark page."""


@dataclass(frozen=True, slots=True)
class Picture:
    """An image as a browser takes it."""

    content: bytes
    media_type: str


def _beside(name: str) -> str:
    plain = name.isprintable() and not name.startswith(".") and not set(name) & {"/", "\\"}
    if not plain or Path(name).suffix.lower() not in KINDS:
        raise ValueError(f"must name a file beside this one that ends in {', '.join(KINDS)}")
    return name


PictureName = Annotated[NonEmpty, AfterValidator(_beside)]
"""The name of a picture in the folder of the file that names it."""


def read_picture(path: Path) -> Picture:
    """The picture in a file. Raises PromptFileError, also for one that is too large or not what its name says."""
    try:
        if path.exists() and not path.is_file():
            raise PromptFileError(f"{path} is no file. Put the picture in its place.")
        if path.stat().st_size > LARGEST:
            raise PromptFileError(f"{path} has more than {LARGEST // 1024} KB. Save a smaller picture: 128 pixels do.")
        content = path.read_bytes()
    except OSError as error:
        raise PromptFileError(f"{path} cannot be read: {error.strerror}. Put it back, or make it readable.") from error
    kind = KINDS[path.suffix.lower()]
    if not (_is_svg(content) if kind == SVG else content.startswith(_BEGINS[kind])):
        raise PromptFileError(f"{path} is no {path.suffix[1:].upper()} picture, as its name says. Save it as one.")
    return Picture(content, kind)


def _is_svg(content: bytes) -> bool:
    # Without the namespace a browser shows nothing.
    try:
        return ElementTree.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"
    except (ElementTree.ParseError, LookupError, ValueError):  # an encoding that is none, too
        return False


def initial_picture(persona: Persona) -> Picture:
    """The picture of a persona that names none: a disc in a colour by its id, the same every time."""
    colour = COLOURS[zlib.crc32(persona.id.encode()) % len(COLOURS)]
    drawn = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32" width="64" height="64">'
        f'<circle cx="16" cy="16" r="15" fill="{colour}"/>'
        '<text x="16" y="22" text-anchor="middle" font-family="system-ui, sans-serif" font-size="18" '
        f'font-weight="600" fill="#fff">{escape(initial(persona.name))}</text></svg>'
    )
    return Picture(drawn.encode(), SVG)


def initial(name: str) -> str:
    """The first letter or digit of a name with its marks, as a capital; else its first sign, or "?"."""
    start = next((place for place, sign in enumerate(name) if sign.isalnum()), None)
    if start is None:
        return next((sign for sign in name if sign.isprintable() and not sign.isspace()), "?")
    end = start + 1
    while end < len(name) and unicodedata.category(name[end]).startswith("M"):
        end += 1
    letter = name[start:end]
    return letter.upper() if len(letter.upper()) == len(letter) else letter
