"""Another language than the message's: told by script and small words, never on a few words alone."""

import pytest

from heard.chat_app.safety.reply_language import LanguageComparison
from heard.prompts.guard_files import load_languages

LANGUAGES = LanguageComparison(load_languages())


@pytest.mark.parametrize(
    ("messages", "sentence"),
    [
        (["hello, how are you today"], "我很好，谢谢你"),
        (["i feel sad today"], "Estoy muy bien, gracias por preguntar."),
        (["my husband left"], "Es ist verständlich, dass du dich jetzt verlassen fühlst."),
        (["hate mondays"], "Les lundis sont souvent les jours les plus lourds."),
        (["I feel low"], "That is hard, 你的感受 matters."),
        (["Mein Freund hat mich verlassen und ich bin traurig."], "Lo siento, una ruptura así duele mucho."),
        (["ich bin so einsam seit der trennung"], "That sounds lonely, how long has it been like this?"),
    ],
)
def test_another_language_is_seen(messages: list[str], sentence: str) -> None:
    assert LANGUAGES.differs(messages, sentence)


@pytest.mark.parametrize(
    ("messages", "sentence"),
    [
        (["my mum made pierogi"], "Pierogi! What went into them?"),
        (["i said привет to her"], "And what did she say to your привет?"),
        (["ich bin so einsam"], "Das klingt sehr traurig, seit wann ist es so?"),
        (["estoy triste"], "Hm."),
        (["i was sad all week", "gracias"], "It was good to hear that you are better."),
        (["k"], "Oui."),
        (["asdf jkl qwer uiop"], "It makes sense that you feel worn out."),
        ([f"<b>Long</b> {'y' * 300}"], "It makes sense that you feel worn out."),
        ([], "What is on your mind tonight?"),
        (["Tenho medo de voar."], "O medo de voar é mais comum do que parece, quando começou?"),
        (["das meeting war der horror"], "So ein Meeting kann einem den ganzen Tag verderben."),
        (["got a 2:1!!"], "Brilliant, a 2:1! All those library nights."),
        (["my dog Zoë ran off"], "Oh no, Zoë! Where did you last see her?"),
    ],
)
def test_the_same_language_or_too_little_of_it(messages: list[str], sentence: str) -> None:
    assert not LANGUAGES.differs(messages, sentence)
