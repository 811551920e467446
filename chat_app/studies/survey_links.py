"""URLs of a survey: the parameters of a link, and the URLs to which the consent page may lead back."""

import re
from collections.abc import Mapping
from urllib.parse import quote

ID_PARAMETERS = ("pid", "PROLIFIC_PID")
"""Parameters that hold a person's id of a recruiting platform; the first one present counts."""
LONGEST_ID = 100
"""Most characters of an external id."""

_ID = rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST_ID - 1}}}"
_STUDY = r"[a-z0-9][a-z0-9_-]{0,62}"
_ENTRY = re.compile(rf"/survey/{_STUDY}(?:\?pid={_ID})?")

DAMAGED = (
    "The id in this link is damaged: an id has letters, digits, hyphens, underscores and full stops, and 100 of them "
    "at most. Nothing was stored. Copy the whole link once more, or ask whoever sent it for a new one."
)


class DamagedLink(Exception):
    """The external id of a link is malformed; `str()` is the sentence for the page and never repeats the id."""


def external_id(parameters: Mapping[str, str]) -> str | None:
    """Return the external id in a link's parameters, stripped; None for a walk-in.

    An id begins with an ASCII letter or digit, so that it can be neither a path nor a spreadsheet's formula. Raises
    DamagedLink for anything else.
    """
    for name in ID_PARAMETERS:
        value = parameters.get(name, "").strip(" ")
        if value:
            if not re.fullmatch(_ID, value):
                raise DamagedLink(DAMAGED)
            return value
    return None


def study_name(parameters: Mapping[str, str]) -> str:
    """Return the study that `/survey?...` names. Prolific's STUDY_ID counts only if there is no `study`."""
    return parameters.get("study", "").strip() or parameters.get("STUDY_ID", "").strip()


def entry_url(study: str, external: str | None, page: str = "") -> str:
    """Return the URL at which a person enters a study, or `page` below it; `external` is an id of `external_id`."""
    return f"/survey/{study}{page}" + (f"?pid={external}" if external else "")


def consent_url(study: str, external: str | None) -> str:
    """Return the URL of the consent page, from which a person comes back to the study."""
    return "/consent?next=" + quote(entry_url(study, external), safe="/")


def safe_next_url(url: str) -> str:
    """Return `url` if it is the entry of a survey on this server, else ""."""
    return url if _ENTRY.fullmatch(url) else ""
