"""What the ballot's scripts say (`static/ballot.js`, `static/survey.js`), as a survey's page brings it along."""

from heard.chat_app.studies.survey_words import Words
from heard.sentences import sentence

SAID = (
    sentence(
        "Your vote did not reach the server. Your choice is kept: check the connection and press the button again."
    ),
    sentence(
        "The server has not answered within {seconds} seconds. Your choice is kept: wait a moment and press the button "
        "again; the same vote counts once."
    ),
    sentence(
        "The server could not take the vote just now. Your choice is kept: wait a moment and press the button again."
    ),
    sentence("Mark the most empathetic answer first, or press one of the other buttons."),
    sentence("Mark the most and the least empathetic answer first, or press one of the other buttons."),
    sentence(
        "The reason has {length} characters, and {most} are allowed. Shorten it and press the button again; your "
        "choice is kept."
    ),
    sentence("Saving…"),
    sentence("Save and go on"),
)


def ballot_words(words: Words) -> dict[str, str]:
    """Return the sentences of the scripts, English to the study's language; empty in English, which they have."""
    said = {str(one): words.gettext(one) for one in SAID}
    return {english: other for english, other in said.items() if english != other}
