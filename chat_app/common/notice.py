"""The notice that people consent to, and its version: a date and a fingerprint of its exact text."""

import hashlib
import ipaddress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from heard.chat_app.common.places import in_force
from heard.chat_app.common.settings import Settings

NOTICE_DATE = "2026-11-30"
"""Day of the last change of meaning. The fingerprint beside it changes with every letter."""

TOLD_TO_OTHERS = ("operator_name", "contact", "purpose", "legal_basis", "complaint_authority")
"""Settings that the notice needs wherever other people than the operator write."""

HERE = Path(__file__).parents[1] / "web" / "pages"


@lru_cache(maxsize=1)
def templates() -> Environment:
    """Return the environment of the page templates, in which everything is escaped unless it is Markup.

    A page that is rendered with `words` says what is marked as translatable in their language; all others in English.
    """
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=["jinja2.ext.i18n"],
    )
    made.policies["ext.i18n.trimmed"] = True
    made.install_gettext_callables(_in_words, _counted_in_words, newstyle=True)  # type: ignore[attr-defined]
    return made


@pass_context
def _in_words(context: Context, text: str) -> str:
    words = context.get("words")
    return str(words.gettext(text)) if words else text


@pass_context
def _counted_in_words(context: Context, one: str, many: str, number: int) -> str:
    words = context.get("words")
    return str(words.ngettext(one, many, number)) if words else one if number == 1 else many


@dataclass(frozen=True, slots=True)
class Notice:
    """The notice in one wording: `html` to show, and `version` to store with an answer (date + 12 hex digits)."""

    html: Markup
    version: str


@lru_cache(maxsize=8)
def notice(settings: Settings) -> Notice:
    """Return the notice of a deployment; what the settings and the rules of its places change is another version.

    Raises PlacesError.
    """
    html = (
        templates()
        .get_template("notice.html")
        .render(
            settings=settings,
            persona_word=settings.persona_word,
            rules=in_force(settings),
            in_study=in_study(settings),
            researchers_look=researchers_look(settings),
        )
    )
    fingerprint = hashlib.sha256(" ".join(html.split()).encode("utf-8")).hexdigest()[:12]
    return Notice(Markup(html), f"{NOTICE_DATE}.{fingerprint}")


def in_study(settings: Settings) -> bool:
    """Return whether a live study answers here, so that models of its own choice write the answers."""
    return bool(settings.blind_study or settings.blind_arms)


def researchers_look(settings: Settings) -> bool:
    """Return whether somebody may be looking while people write: in a live study, or where `/results` is open.

    "Nobody reads along" is said only where this is False.
    """
    return in_study(settings) or bool(settings.researcher_token)


def named_operator(settings: Settings) -> str:
    """Return who runs the site with their contact, as a phrase; "" if no setting says so."""
    if settings.operator or not settings.operator_name:
        return settings.operator
    return f"{settings.operator_name} ({settings.contact})" if settings.contact else settings.operator_name


def unfilled_notice(settings: Settings) -> list[str]:
    """Return the settings that the notice should have and lacks, in order of the settings.

    Whoever serves others than themselves should say who they are; rules of places may ask for more. Raises PlacesError.
    """
    named = set(in_force(settings).fields) | (set(TOLD_TO_OTHERS) if serves_others(settings) else set())
    return [name for name in Settings.model_fields if name in named and not getattr(settings, name)]


def serves_others(settings: Settings) -> bool:
    """Return whether browsers on other machines can reach the page."""
    if settings.public_host:
        return True
    try:
        return not ipaddress.ip_address(settings.host).is_loopback
    except ValueError:
        return settings.host != "localhost"
