"""Which texts the consent page asks about: a study's own, or the chat's notice."""

from dataclasses import dataclass
from typing import Any

from fastapi.responses import HTMLResponse

from heard.chat_app.common.notice import notice
from heard.chat_app.studies.study_file import StudyFile
from heard.chat_app.studies.study_texts import StudyTexts
from heard.chat_app.studies.survey import Consent, PageRefused
from heard.chat_app.studies.survey_links import survey_of
from heard.chat_app.studies.survey_words import ENGLISH, Words
from heard.chat_app.web.dependencies import Site
from heard.chat_app.web.pages.rendering import page
from heard.chat_app.web.pages.study_page import about
from heard.db.study_records import StudyKind


@dataclass(frozen=True, slots=True)
class Asked:
    """What a person is asked to agree to."""

    version: str
    """Of the texts, as it is stored with the answer."""
    agreed: bool
    """Whether the person agrees to it already."""
    study: StudyFile | None = None
    texts: StudyTexts | None = None
    """The study's texts; None for the chat."""

    @property
    def in_survey(self) -> bool:
        """Whether it is a survey, on whose pages the chat's notice does not stand. A live study takes place in the
        chat, so the notice stands below its texts."""
        return self.study is not None and self.study.kind is StudyKind.SURVEY

    @property
    def words(self) -> Words:
        """The words of the page."""
        return self.texts.words if self.texts is not None and self.in_survey else ENGLISH

    def page(self, name: str, status: int = 200, **values: Any) -> HTMLResponse:
        """One page round the questions, in the words of the study."""
        shown = None
        if self.study is not None and self.texts is not None and self.in_survey:
            shown = about(self.study, self.texts)
        return page(name, status, in_survey=self.in_survey, words=self.words, about=shown, **values)


async def asked_of(site: Site, to: str, participant: str | None) -> Asked:
    """Return what the person is asked about who wants to go to `to`: a study that is there, or the chat."""
    version = notice(site.services.settings).version
    agreed = await site.services.store.agreed_versions(participant) if participant else frozenset()
    name = survey_of(to)
    try:
        study = await site.surveys.study(name) if name else None
    except PageRefused:
        study = None  # the study's own page says so
    if study is None:
        return Asked(version, version in agreed)
    participation = await site.surveys.participation(study, participant) if participant else None
    texts = await site.surveys.texts(study, participation)
    status = await site.surveys.consent(study, participant, participation)
    of_study = await site.surveys.consent_version(study, participation)
    return Asked(of_study, status is not Consent.MISSING, study, texts)
