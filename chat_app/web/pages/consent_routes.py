"""`/` and `/consent`: the notice, the questions and their answers."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel, Field

from heard.chat_app.common.identity import COOKIE_SECONDS, COUNTRY_COOKIE, VISITOR_COOKIE, new_participant
from heard.chat_app.common.notice import notice
from heard.chat_app.common.places import in_force
from heard.chat_app.safety.crisis_numbers import countries
from heard.chat_app.studies.survey_links import safe_next_url, survey_of
from heard.chat_app.web.dependencies import CountryDep, ParticipantDep, Site, SiteDep, check_newcomer
from heard.chat_app.web.pages.crisis_help import SAY, child_lines, phone_numbers
from heard.chat_app.web.pages.panel_returns import return_of
from heard.chat_app.web.pages.study_consent import Asked, asked_of
from heard.chat_app.web.pages.study_page import told
from heard.db.records import ConsentRecord
from heard.db.study_records import FlowReason
from heard.sentences import sentence

CHAT = "/chat/"
NEW_VISITOR = "heard-new-visitor-1"
"""Purpose of the sealed id in the form."""
Next = Annotated[str, Query(alias="next")]
"""Where to go on after the questions: a survey's entry (all that `survey_links.safe_next_url` allows), or the chat."""

ADULT = "Please say how old you are: the chat is for people of {age} or older. The crisis lines are for everybody."
RESEARCH = "Please answer the question about research. Both answers open the chat."
COUNTRY = sentence("Please choose a country from the list, or none.")
ANSWER = "Please use one of the two buttons to say whether you want to use the chat."
OF_SURVEY = {
    ANSWER: sentence("Please use one of the two buttons to say whether you want to take part."),
    ADULT: sentence("Please say how old you are: the study is for people of {age} or older."),
    RESEARCH: sentence("Please answer the question about research. The study needs a yes."),
}
"""The same in a survey, where nobody chats."""
COOKIES = sentence(
    "Your browser has not kept this page's cookie, so nothing was stored: the answers could not be told from another "
    "person's. Allow cookies for this page, or open the link in another browser or in a window of its own, and try "
    "again."
)
STALE = sentence("The notice changed while this page was open. Please read it again and answer once more.")

router = APIRouter()


class Answers(BaseModel):
    """The form of the questions, as the browser sends it."""

    chat: str = ""
    """ "yes" or "no", by the button that was pressed."""
    research: str = ""
    adult: str = ""
    country: str = ""
    version: str = ""
    """Of the notice that was on the page."""
    visitor: str = ""
    """A sealed id for somebody new, which the page brought along: the same form sent twice makes one person."""
    to: str = Field(default="", alias="next")

    def problems(self, asked: Asked, least_age: int) -> list[tuple[str, str]]:
        """(field, sentence) for each answer that cannot be taken to what is `asked`."""
        found = (
            ("agree", self.chat != "yes", ANSWER),
            ("main", asked.version != self.version, STALE),
            ("adult", self.adult != "yes", ADULT),
            ("research", self.research not in ("yes", "no"), RESEARCH),
            ("country", bool(self.country) and self.country not in dict(countries()), COUNTRY),
        )
        of_survey = OF_SURVEY if asked.in_survey else {}
        return [
            (field, asked.words.of(of_survey.get(said, said)).format(age=least_age))
            for field, wrong, said in found
            if wrong
        ]


async def stored_consent(site: SiteDep, participant: ParticipantDep) -> ConsentRecord | None:
    """The participant's newest answers, or None."""
    return await site.services.store.latest_consent(participant) if participant else None


ConsentDep = Annotated[ConsentRecord | None, Depends(stored_consent)]


@router.get("/")
async def first_page(
    site: SiteDep, participant: ParticipantDep, stored: ConsentDep, country: CountryDep, to: Next = ""
) -> Response:
    """The questions; for whoever has agreed to what is asked here, the way on."""
    asked = await asked_of(site, to, participant)
    if asked.agreed:
        return RedirectResponse(safe_next_url(to) or CHAT, 303)
    return _question_page(site, asked, stored, Answers(country=country or ""), to)


@router.get("/consent")
async def change_answers(
    site: SiteDep, participant: ParticipantDep, stored: ConsentDep, country: CountryDep, to: Next = ""
) -> Response:
    """The questions with what was answered; nothing is ticked at the first visit, nor by answers to other texts in a
    survey."""
    asked, answers = await asked_of(site, to, participant), Answers(country=country or "")
    if stored is not None and (asked.agreed or not asked.in_survey):
        answers.adult = "yes" if stored.chat else ""
        answers.research = "yes" if stored.research else "no"
    return _question_page(site, asked, stored, answers, to)


@router.post("/consent")
async def answer(
    request: Request,
    site: SiteDep,
    participant: ParticipantDep,
    stored: ConsentDep,
    country: CountryDep,
    answers: Annotated[Answers, Form()],
    returned: bool = False,
) -> Response:
    """Take the answers, or ask once more.

    Somebody new is sent here once more with the cookie (`returned`), before anything is stored: a browser that keeps
    none would make a new person of each answer.
    """
    asked = await asked_of(site, answers.to, participant)
    if answers.adult == "no":  # whichever button was pressed
        response = await _minor(site, asked, stored, answers.country or country, answers.to)
    elif answers.chat == "no":
        response = await _refused(site, asked, stored, country, answers.to)
    elif problems := answers.problems(asked, in_force(site.services.settings).least_age):
        return _question_page(site, asked, stored, answers, answers.to, problems)
    elif participant is None and returned:
        return _question_page(site, asked, stored, answers, answers.to, [("main", asked.words.of(COOKIES))])
    elif participant is None and (new := site.identity.unseal(answers.visitor, NEW_VISITOR)):
        return _remember(site, RedirectResponse("/consent?returned=true", 307), new)
    else:
        if participant is None and site.surveys.live is not None:
            check_newcomer(request, site, site.surveys.live)
        response = await _agreed(site, asked, participant, answers)
    name = site.identity.cookie_name(COUNTRY_COOKIE)
    if answers.country in dict(countries()):
        response.set_cookie(name, answers.country, COOKIE_SECONDS, httponly=True, samesite="lax")
    elif answers.chat == "yes":
        response.delete_cookie(name)
    return response


async def _agreed(site: Site, asked: Asked, known: str | None, answers: Answers) -> Response:
    participant, store = known or new_participant(), site.services.store
    if asked.study is not None:
        await site.surveys.keep_texts(asked.study)
    await store.ensure_participant(participant)
    research = answers.research == "yes"
    await store.save_consent(ConsentRecord(participant, asked.version, True, research, datetime.now(UTC)))
    return _remember(site, RedirectResponse(safe_next_url(answers.to) or CHAT, 303), participant)


def _remember(site: Site, response: Response, participant: str) -> Response:
    signed = site.identity.sign(participant)
    name, seconds = site.identity.cookie_name(VISITOR_COOKIE), 24 * 3600 * site.services.settings.session_days
    response.set_cookie(name, signed, seconds or None, httponly=True, samesite="lax")
    return response


async def _refused(site: Site, asked: Asked, stored: ConsentRecord | None, country: str | None, to: str) -> Response:
    await _count_refusal(site, stored, to, FlowReason.DECLINED)
    await _withdraw(site, asked, stored)
    # Not the chat's hand-off: its words answer a message, and here nobody has written one.
    back = await return_of(site, to, "decline")
    return asked.page(
        "declined.html", stored=stored is not None, survey=safe_next_url(to), back=back, **phone_numbers(country)
    )


async def _minor(site: Site, asked: Asked, stored: ConsentRecord | None, country: str | None, to: str) -> Response:
    """Say kindly that the chat is for adults, and who listens to children."""
    await _count_refusal(site, stored, to, FlowReason.UNDER_AGE)
    await _withdraw(site, asked, stored)
    return asked.page(
        "minor.html",
        stored=stored is not None,
        survey=safe_next_url(to),
        back=await return_of(site, to, "screen_out"),
        least_age=in_force(site.services.settings).least_age,
        child_lines=child_lines(country),
        say=SAY,
    )


async def _count_refusal(site: Site, stored: ConsentRecord | None, to: str, reason: FlowReason) -> None:
    """Count it for the study whose link led here, if one did. Who takes part there withdraws, and is counted so."""
    if study := survey_of(to):
        await site.surveys.turned_away(study, reason, stored.participant_id if stored else None)


async def _withdraw(site: Site, asked: Asked, stored: ConsentRecord | None) -> None:
    # Somebody who never agreed leaves no trace. A withdrawal is stored, since it must outlive this request.
    if stored:
        participant = stored.participant_id
        withdrawal = ConsentRecord(participant, asked.version, False, False, datetime.now(UTC))
        await site.services.store.save_consent(withdrawal)
        await site.chats.stop(participant)
        await site.chats.dismiss(participant)


def _question_page(
    site: Site,
    asked: Asked,
    stored: ConsentRecord | None,
    answers: Answers,
    to: str,
    problems: Sequence[tuple[str, str]] = (),
) -> HTMLResponse:
    settings = site.services.settings
    return asked.page(
        "survey_consent.html" if asked.in_survey else "consent.html",
        422 if problems else 200,
        here="/",
        scripted=stored is None,
        notice=notice(settings).html,
        told=told(asked.texts, settings) if asked.texts is not None else None,
        version=asked.version,
        persona_word=settings.persona_word,
        least_age=in_force(settings).least_age,
        countries=countries(),
        stored=stored,
        changing=asked.agreed if asked.in_survey else stored is not None,
        current=asked.agreed,
        answers=answers,
        visitor="" if stored else site.identity.seal(new_participant(), NEW_VISITOR),
        survey=safe_next_url(to),
        problems=problems,
    )
