"""Free texts of a question page: cleaned, and read for a crisis before anything of them is stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from heard.chat_app.common.text import clean_unicode, has_visible
from heard.chat_app.questions.question_file import LONGEST_TEXT
from heard.chat_app.safety.assessment import assess
from heard.chat_app.safety.bounded_text import bounded_text


@dataclass(slots=True)
class Texts:
    """What the texts of a page are."""

    texts: dict[str, str] = field(default_factory=dict)
    """Cleaned, by the item's id; "" for one with nothing to see, or in a crisis."""
    in_crisis: list[str] = field(default_factory=list)
    """Items whose text reads like a crisis. It is not stored."""
    crisis: str | None = None
    """The language of the first of them."""


def checked_texts(typed: Mapping[str, str]) -> Texts:
    """Check what was typed, by the item's id. Blocks: the crisis check of a long text takes its time."""
    found = Texts()
    for name, raw in typed.items():
        text = clean_unicode(raw).replace("\r\n", "\n").replace("\r", "\n").strip()
        if not has_visible(text):
            found.texts[name] = ""
            continue
        verdict = assess(bounded_text(text, LONGEST_TEXT))
        found.texts[name] = "" if verdict.crisis else text
        if verdict.crisis:
            found.in_crisis.append(name)
            found.crisis = found.crisis or verdict.language or "en"
    return found
