"""One page of a study, in the study's language, and what it tells of itself there."""

from typing import Any

from fastapi import Request
from fastapi.responses import Response

from heard.chat_app.common.notice import named_operator
from heard.chat_app.common.settings import Settings
from heard.chat_app.studies.study_file import StudyFile, StudyFileError
from heard.chat_app.studies.study_texts import StudyTexts
from heard.chat_app.studies.survey import PageRefused
from heard.chat_app.studies.survey_links import study_name
from heard.chat_app.studies.survey_words import ENGLISH, Words
from heard.chat_app.web.dependencies import Site
from heard.chat_app.web.pages.markup import as_document
from heard.chat_app.web.pages.rendering import page
from heard.db.errors import StoreError
from heard.db.study_phases import copy_id
from heard.db.study_records import Phase


def survey_page(name: str, status: int = 200, *, texts: StudyTexts, study: StudyFile, **values: Any) -> Response:
    """One page of a study. The chat's own notice and its footer stand on none of them."""
    shown = about(study, texts)
    return page(name, status, scripted=True, in_survey=True, words=texts.words, study=study, about=shown, **values)


def about(study: StudyFile, texts: StudyTexts) -> dict[str, Any]:
    """Return what every page of a study has: where its information is, whom to ask, and whether votes count."""
    preview = study.id.endswith(copy_id("", Phase.PREVIEW))
    return {"href": f"/survey/{study.id}/information", "contact": texts.text("contact"), "preview": preview}


def told(texts: StudyTexts, settings: Settings) -> dict[str, Any]:
    """Return what `study_texts.html` shows: the study's texts, and who runs the site."""
    shown: dict[str, Any] = {
        name: texts.text(name) for name in ("title", "purpose", "contact", "ethics_approval", "language")
    }
    shown |= {name: as_document(texts.text(name)) for name in ("information", "consent", "stored") if texts.text(name)}
    shown |= {"version": texts.version, "operator": named_operator(settings)}
    shown |= {"legal_basis": settings.legal_basis, "complaints": settings.complaint_authority}
    return {"information": "", "consent": "", "stored": "", **shown}


async def words_of_request(request: Request, site: Site) -> Words:
    """Return the words of the study that an address names; English where there is none."""
    name = request.path_params.get("name") or study_name(request.query_params.multi_items())
    try:
        study = await site.surveys.study(str(name))
        return (await site.surveys.texts(study)).words
    except (PageRefused, StoreError, StudyFileError):
        return ENGLISH
