"""What a study tells its people, against a real database: its own texts, its language, and each person's version."""

import re
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import text

from heard.chat_app.studies.study_file import record_of, study_of
from heard.chat_app.studies.study_texts import texts_of
from heard.db.study_store import StudyStore
from tests.journeys.survey_steps import agree, begin, finish, get, rows, vote, words
from tests.journeys.survey_steps import studies as studies
from tests.journeys.surveying import make
from tests.journeys.web import HERE, Web
from tests.journeys.web import store as store
from tests.journeys.web import web as web

FOUND = {
    "information": "# Wer wir sind\n\nEin [Labor](https://lab.example). <b>x</b>",
    "consent": "Ich **willige ein**.",
    "debrief": "Es ging um Einfühlung.",
}
GERMAN: dict[str, Any] = {
    "language": "de", "title": "Gute Worte", "purpose": "Mehr Einfühlung.", "contact": "Dr. Eva Lang, eva@lab.example",
    "ethics_approval": "EK 12/2026", "open_question": "", "introduction": "",
}  # fmt: skip
ENGLISH = re.compile(r"\b(the|your|this|study|answer|votes?|stored|research)\b", re.IGNORECASE)
AI = "An AI, not a therapist"


async def told(studies: StudyStore, found: dict[str, str]) -> str:
    """Store a new version of the study's texts, as `heard study import` does, and return it."""
    known = await studies.study("blind")
    assert known
    texts = texts_of(study_of(known), found)
    await studies.save_study(record_of(study_of(known), known, texts.versioned), await studies.items("blind"))
    return texts.version


async def test_a_survey_speaks_its_language_from_consent_to_debrief(web: Web, studies: StudyStore) -> None:
    await make(studies, sources=2, **GERMAN)
    version = await told(studies, FOUND)
    asked = await get(web, "/consent?next=/survey/blind")
    assert '<html lang="de">' in asked.text
    for shown in ("Wer wir sind</h3>", '<a href="https://lab.example">', "&lt;b&gt;", "<strong>willige ein</strong>",
                  "Mehr Einfühlung.", "EK 12/2026", "Dr. Eva Lang", "E-Mail-Adresse",
                  version, "Ich bin 18 oder älter."):  # fmt: skip
        assert shown in asked.text, shown
    # Neither the chat's notice nor what is only true of the chat.
    assert "This is an AI" not in asked.text
    assert AI not in asked.text
    refused = await web.answer(research="", next="/survey/blind")
    assert "Bitte beantworten Sie die Frage zur Forschung." in refused.text
    # The chat's notice is another text: who agreed to it has not agreed to the study.
    await web.answer(research="yes")
    assert (await get(web, "/survey/blind")).headers["location"].startswith("/consent")
    await agree(web)
    assert (await get(web, "/chat/")).status_code == 200  # and the other way round
    pages = [await get(web, "/survey/blind")]
    await begin(web)
    pages += [await get(web, "/survey/blind/1"), await get(web, "/survey/blind/information")]
    await finish(web, studies)
    pages.append(await get(web, "/survey/blind/end"))
    assert "Es ging um Einfühlung." in pages[-1].text
    assert 'data-words="{&#34;' in pages[1].text
    refusal = await web.client.post(
        "/vote", json={"ballot": rows(web, "SELECT id FROM ballot LIMIT 1")[0][0], "choice": "ranked", "seconds": 1,
                       "width": "phone", "request": "5f0c1b1e-7a53-4a8e-9d7e-0a4b5c6d7e8f"}, headers=HERE,
    )  # fmt: skip
    assert refusal.json()["sentence"] == "Markieren Sie zuerst die einfühlsamste Antwort."
    for page in pages:
        assert page.status_code == 200
        assert AI not in page.text
        shown = re.sub(r"(Message|Reply) number [^.<]+\.", "", words(page)).replace("heard", "")
        assert not ENGLISH.findall(shown), shown
    for path, sentence in (
        ("/survey/blind?pid=%3Cb%3E", "Die Kennung in diesem Link ist beschädigt"),
        ("/survey/blind?pid=other", "nimmt an dieser Studie schon unter einem anderen Link teil"),
    ):
        assert sentence in words(await get(web, path))
    declined = await web.client.post(
        "/consent", data={"chat": "no", "next": "/survey/blind", "version": ""}, headers=HERE
    )
    assert "Sie nehmen an der Studie nicht teil." in words(declined)


async def test_each_person_and_each_vote_keeps_its_version(web: Web, studies: StudyStore) -> None:
    await make(studies)
    first = await told(studies, {"information": "The first words."})
    await agree(web)
    await begin(web)
    await vote(web, studies, 1)
    second = await told(studies, {"information": "The second words."})
    assert await studies.text_versions("blind") == [first, second]
    # Who takes part goes on, and reads what they agreed to.
    assert (await get(web, "/survey/blind")).headers["location"] == "/survey/blind/2"
    assert "The first words." in words(await get(web, "/survey/blind/information"))
    await vote(web, studies, 2)
    web.client.cookies.clear()
    stale = await web.client.post(
        "/consent",
        data={"chat": "yes", "adult": "yes", "research": "yes", "version": f"blind.{first}", "next": "/survey/blind"},
        headers=HERE,
    )
    assert stale.status_code == 422
    assert "The second words." in words(stale)
    await agree(web)
    await begin(web)
    await vote(web, studies, 1)
    assert rows(web, "SELECT version FROM consent ORDER BY id") == [(f"blind.{first}",), (f"blind.{second}",)]
    assert rows(web, "SELECT texts_version FROM vote ORDER BY voted_at") == [(first,), (first,), (second,)]
    texts = await studies.texts("blind", first)
    assert texts
    assert texts["information"] == "The first words."
    assert texts["stored"].startswith("Stored are what you mark")


async def test_people_of_before_there_were_texts_go_on(web: Web, studies: StudyStore) -> None:
    await make(studies)
    await agree(web)
    await begin(web)
    await web.answer(research="yes")  # the notice, as everybody was asked then
    await studies.keep_texts("blind", "0" * 12, {"title": "x"}, datetime.now(UTC))
    async with web.store.engine.begin() as connection:
        await connection.execute(text("UPDATE enrolment SET texts_version = NULL"))
        await connection.execute(text("DELETE FROM consent WHERE version LIKE 'blind.%'"))
    assert (await get(web, "/survey/blind")).headers["location"] == "/survey/blind/1"
