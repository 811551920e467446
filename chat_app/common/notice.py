"""The notice that people consent to, and its version: a date and a fingerprint of its exact text."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

NOTICE_DATE = "2026-11-28"
"""Day of the last change of meaning. The fingerprint beside it changes with every letter."""

HERE = Path(__file__).parents[1] / "web" / "pages"


@lru_cache(maxsize=1)
def templates() -> Environment:
    """Return the environment of the page templates, in which everything is escaped unless it is Markup."""
    return Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


@dataclass(frozen=True, slots=True)
class Notice:
    """The notice in one wording: `html` to show, and `version` to store with an answer (date + 12 hex digits)."""

    html: Markup
    version: str


@lru_cache(maxsize=4)
def notice(persona_word: str) -> Notice:
    """Return the notice with the deployment's word for the persona; another word is another version."""
    html = templates().get_template("notice.html").render(persona_word=persona_word)
    fingerprint = hashlib.sha256(" ".join(html.split()).encode("utf-8")).hexdigest()[:12]
    return Notice(Markup(html), f"{NOTICE_DATE}.{fingerprint}")
