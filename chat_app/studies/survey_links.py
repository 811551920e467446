"""URLs of a survey: the parameters of a link, and the URLs to which the consent page may lead back."""

import re
from collections.abc import Sequence
from urllib.parse import quote

from heard.chat_app.studies.study_file import StudyFile
from heard.sentences import sentence

ID_PARAMETERS = ("pid", "PROLIFIC_PID", "prolific_id", "participant_id")
"""Parameters that hold a person's id of a recruiting platform, unless the study names its own. The first of them that
is present counts, whatever the order in the link."""
STUDY_PARAMETERS = ("study", "STUDY_ID", "study_name")
"""The same for the study that `/survey?...` names. Prolific's STUDY_ID counts only if there is no `study`."""
LONGEST_ID = 100
"""Most characters of an external id."""

Query = Sequence[tuple[str, str]]
"""The parameters of a link, names with values, in their order."""

_ID = rf"[A-Za-z0-9][A-Za-z0-9._-]{{0,{LONGEST_ID - 1}}}"
_STUDY = r"[a-z0-9][a-z0-9_-]{0,72}"
_PARAMETER = r"[A-Za-z][A-Za-z0-9._-]{0,63}"
_ENTRY = re.compile(rf"/survey/({_STUDY})(?:\?{_PARAMETER}={_ID})?")
_UNFILLED = ("undefined", "null", "none", "nan")

DAMAGED = sentence(
    "The id in this link is damaged: an id has letters, digits, hyphens, underscores and full stops, and 100 of them "
    "at most. Nothing was stored. Copy the whole link once more, or ask whoever sent it for a new one."
)
UNFILLED = sentence(
    "The id in this link is damaged: where it should stand is still the name of a field. Nothing was stored. Tell "
    "whoever sent the link that the id is not filled in."
)
TWO_IDS = sentence(
    "The id in this link is damaged: there are two of them, and they differ. Nothing was stored. Copy the whole link "
    "once more, or ask whoever sent it for a new one."
)


class DamagedLink(Exception):
    """The external id of a link is malformed; `str()` is the sentence for the page and never repeats the id."""


def external_id(query: Query, study: StudyFile) -> str | None:
    """Return the external id in a link to `study`; None for a walk-in.

    Case, hyphens and underscores in the parameters' names do not count. Raises DamagedLink.
    """
    for name in study.id_parameters or ID_PARAMETERS:
        if values := _values(query, name):
            if len(values) > 1:
                raise DamagedLink(TWO_IDS)
            (value,) = values
            if _folded(value) in (_folded(name), *_UNFILLED):
                raise DamagedLink(UNFILLED)
            return checked_id(value, study)
    return None


def checked_id(value: str, study: StudyFile) -> str | None:
    """Return an id as the study stores it, stripped; None for an empty one.

    An id begins with an ASCII letter or digit, so that it can be neither a path nor a spreadsheet's formula. Raises
    DamagedLink for anything else.
    """
    value = value.strip(" ")
    if not value:
        return None
    if not re.fullmatch(_ID, value):
        raise DamagedLink(DAMAGED)
    return value.lower() if study.ids_ignore_case else value


def study_name(query: Query) -> str:
    """Return the study that `/survey?...` names; "" for none."""
    return next((values[0] for name in STUDY_PARAMETERS if (values := _values(query, name))), "")


def entry_url(study: StudyFile, external: str | None, page: str = "") -> str:
    """Return the URL at which a person enters a study, or `page` below it; `external` is an id of `external_id`."""
    name = (study.id_parameters or ID_PARAMETERS)[0]
    return f"/survey/{study.id}{page}" + (f"?{name}={external}" if external else "")


def consent_url(study: StudyFile, external: str | None) -> str:
    """Return the URL of the consent page, from which a person comes back to the study."""
    return "/consent?next=" + quote(entry_url(study, external), safe="/")


def safe_next_url(url: str) -> str:
    """Return `url` if it is the entry of a survey on this server, else ""."""
    return url if _ENTRY.fullmatch(url) else ""


def survey_of(url: str) -> str:
    """Return the id of the survey whose entry `url` is; "" for any other."""
    found = _ENTRY.fullmatch(url)
    return found[1] if found else ""


def _values(query: Query, name: str) -> list[str]:
    """Return the different values of a parameter, however its name is spelt, stripped and without empty ones."""
    spelt = (text.strip() for key, text in query if _folded(key) == _folded(name))
    return [value for value in dict.fromkeys(spelt) if value]


def _folded(name: str) -> str:
    return re.sub(r"[\W_]", "", name.casefold())
