"""What is taken off a text before anybody judges it, and what stays."""

import time

import pytest

from heard.chat_app.studies.stimulus_text import Repairs


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<p>It is <b>long</b>.</p><p>What&#39;s on your mind?</p>", "It is long.\n\nWhat's on your mind?"),
        ("One.<br/>Two.<BR>Three.", "One.\nTwo.\nThree."),
        ("<ul><li>Walk.</li><li>Sleep.</li></ul>After.", "- Walk.\n- Sleep.\n\nAfter."),
        ("<p class='x' id=y>Over\ntwo lines</p>", "Over two lines"),
        ("<b>Hi</b>\nthere <a href=\"http://a.org/?b=1&c=2\">you</a>", "Hi\nthere you"),
        ("&lt;p&gt;Hi&lt;/p&gt; &amp;#39;x&amp;#39;", "Hi\n\n'x'"),
        ("Tom &amp; I,&nbsp;&quot;we&quot;&#8230;", 'Tom & I, "we"…'),
        ("<style>p { x }</style>Hi<script>alert()</script><!-- not shown --> <o:p></o:p>you", "Hi you"),
        ("Iâ€™m sad â€” my cafÃ© closed", "I’m sad — my café closed"),
        ("&acirc;&#128;&#153;tis", "’tis"),
    ],
)  # fmt: skip
def test_marks_of_the_web_are_taken_off(text: str, words: str) -> None:
    repairs = Repairs()
    assert repairs.mended(text, 7) == words
    assert repairs.sentences()
    assert all("1 text (the first in line 7)" in sentence for sentence in repairs.sentences())


@pytest.mark.parametrize(
    "text",
    [
        "I <3 you, and a < b > c",
        "so a <b and c> d, said <my name>",
        "AT&T; R&D &c. &copy you",
        "naïve café — “quoted” … façade; ça va? Ærø",
        "我很难过，睡不着",
        "Line one\r\n\r\n- **two**\n    three",
        "> a quote of *Markdown* with `code`",
    ],
)
def test_what_a_person_wrote_stays(text: str) -> None:
    repairs = Repairs()
    assert repairs.mended(text, 1) == text
    assert repairs.sentences() == []


@pytest.mark.parametrize("text", ["", "  ", "\u200b", "<p>&nbsp;</p>", "\0"])
def test_what_shows_nothing_is_nothing(text: str) -> None:
    assert Repairs().mended(text, 1) == ""


def test_texts_are_counted_once_a_kind_and_lost_letters_are_told() -> None:
    repairs = Repairs()
    for line, text in enumerate(["<p>a</p><p>b</p>", "plain", "<br>c", "I\ufffdm &amp; you\ufffd"], 2):
        repairs.mended(text, line)
    assert repairs.sentences("row") == [
        "Mended: tags of HTML were taken off 2 texts (the first in row 2).",
        "Mended: signs such as &amp; were written out in 1 text (the first in row 5).",
        "Look at 1 text (the first in row 5) with \ufffd in place of a letter that was lost before.",
    ]


@pytest.mark.parametrize("piece", ["<!--", "<a ", "<a x=", "<a x='", "<script>", "&", "&#", "<p\t", "\n"])
def test_no_text_takes_long(piece: str) -> None:
    start = time.monotonic()
    Repairs().mended(piece * 30_000 + "<p>", 1)
    assert time.monotonic() - start < 5
