"""The code and the link back to a panel for people whom a page turns away, by the study that they came for."""

from fastapi import Request

from heard.chat_app.studies.panel_return import Outcome, PanelReturn, panel_return
from heard.chat_app.studies.survey import PageRefused
from heard.chat_app.studies.survey_links import safe_next_url
from heard.chat_app.web.dependencies import Site, site_of


async def return_of(site: Site, to: str, outcome: Outcome) -> PanelReturn | None:
    """Return how somebody goes back who has come to the questions from a study's entry; None from anywhere else."""
    entry = safe_next_url(to)
    return await _of_study(site, entry.removeprefix("/survey/").partition("?")[0], outcome) if entry else None


async def return_of_screened(request: Request) -> PanelReturn | None:
    """Return how somebody goes back whom a page of a study has turned away because it does not need them."""
    return await _of_study(await site_of(request), request.path_params.get("name", ""), "screen_out")


async def _of_study(site: Site, name: str, outcome: Outcome) -> PanelReturn | None:
    try:
        return panel_return(await site.surveys.study(name), outcome)
    except PageRefused:  # there is no such study
        return None
