"""The code and the link with which a panel's people go back: at the end, screened out, or having declined."""

from dataclasses import dataclass
from typing import Literal

from heard.chat_app.common.return_links import with_code
from heard.chat_app.studies.study_file import StudyFile

Outcome = Literal["completion", "screen_out", "decline"]
OUTCOMES: tuple[Outcome, ...] = ("completion", "screen_out", "decline")
"""How a visit can end for a panel."""


@dataclass(frozen=True, slots=True)
class PanelReturn:
    """What is shown to somebody who goes back to the panel; one of both may be ""."""

    code: str
    url: str
    """With the code in its place."""


def panel_return(study: StudyFile, outcome: Outcome) -> PanelReturn | None:
    """Return the code and the link of a study for one way to leave it; None if its file has neither."""
    code, url = {
        "completion": (study.completion_code, study.completion_url),
        "screen_out": (study.screen_out_code, study.screen_out_url),
        "decline": (study.decline_code, study.decline_url),
    }[outcome]
    return PanelReturn(code, with_code(url, code)) if code or url else None
