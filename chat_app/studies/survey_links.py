"""Addresses of a survey: what a link may carry, and where the questions about consent may lead back to."""

import re
from collections.abc import Mapping
from urllib.parse import quote

NAMES = ("pid", "PROLIFIC_PID")
"""Parameters that hold a person's id in whatever program recruited them; the first one that is there counts."""
LONGEST = 100
"""Characters of an external id."""

_ID = rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST - 1}}}"
_STUDY = r"[a-z0-9][a-z0-9_-]{0,62}"
_ENTRY = re.compile(rf"/survey/{_STUDY}(?:\?pid={_ID})?")

DAMAGED = (
    "The id in this link is damaged: an id has letters, digits, hyphens, underscores and full stops, and 100 of them "
    "at most. Nothing was stored. Copy the whole link once more, or ask whoever sent it for a new one."
)


class DamagedLink(Exception):
    """The external id of a link cannot be one; `str()` is the sentence for the page and never repeats the id."""


def external_id(given: Mapping[str, str]) -> str | None:
    """The external id in a link's parameters, without white space round it; None for a walk-in.

    An id begins with a letter or digit (ASCII), so that it can be neither a path nor a spreadsheet's formula. Raises
    DamagedLink for anything else.
    """
    for name in NAMES:
        value = given.get(name, "").strip(" ")
        if value:
            if not re.fullmatch(_ID, value):
                raise DamagedLink(DAMAGED)
            return value
    return None


def study_name(given: Mapping[str, str]) -> str:
    """The study that `/survey?...` names. Prolific's STUDY_ID counts only where there is no `study`."""
    return given.get("study", "").strip() or given.get("STUDY_ID", "").strip()


def entry(study: str, external: str | None, page: str = "") -> str:
    """The address at which a person enters a study, or `page` below it, for an id that `external_id` has passed."""
    return f"/survey/{study}{page}" + (f"?pid={external}" if external else "")


def asked_first(study: str, external: str | None) -> str:
    """The consent page, from which a person comes back to the study."""
    return "/consent?next=" + quote(entry(study, external), safe="/")


def onward(given: str) -> str:
    """`given` if it is the entry of a survey on this server, else "": nothing else is led to after the consent page."""
    return given if _ENTRY.fullmatch(given) else ""
