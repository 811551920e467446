"""Texts of models as safe Markdown: nothing is loaded, linked or swallowed, and no letter is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from heard.chat_app.common.markdown import safe_final_markdown, safe_markdown

LINKS = (
    "[bank](https://evil.example)", "[bank]( <https://evil.example> 'title' )", "[b*an*k](//evil.example)",
    "[bank](javascript:alert)", "[bank](mailto:a@evil.example)", "[bank][x]\n\n[x]: https://evil.example",
    "[x]\n\n[x]: <https://evil.example>", "[x][]\n\n[x]:\n  https://evil.example", "> [x]: /evil\n\n[x]",
    "<https://evil.example>", "<mailto:a@evil.example>", "[![i](/i.png)](/evil)", "[a [b](/c)](/evil)",
    "1. [bank](/evil)\n2. **[bank](/evil)**", "[bank]\\\n(/evil)", "[ba\nnk](/evil)",
)  # fmt: skip


@pytest.mark.parametrize("text", LINKS)
def test_no_label_hides_an_address(text: str) -> None:
    """Rendered as Markdown the text has no link and no picture, and every letter of it is there to be read."""
    rendered = MarkdownIt("commonmark", {"html": False}).render(safe_markdown(text))
    assert "<a" not in rendered
    assert "<img" not in rendered
    assert "evil" not in text or "evil" in rendered


@given(st.text(alphabet="[]()<>:/!.h \n", max_size=60))
def test_no_text_becomes_a_link(text: str) -> None:
    rendered = MarkdownIt("commonmark", {"html": False}).render(safe_markdown(text))
    assert "<a" not in rendered
    assert "<img" not in rendered


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("![x](http://e.example/p.png)", "!["),
        ("![x][r]\n\n[r]: http://e.example/p.png", "!["),
        ("![](<http://e.example/p.png>)", "!["),
        ("[![a](http://e.example/a.png)](http://e.example)", "!["),
        ("feel:good", ":g"),
        (":::note\nx\n:::", ":n"),
        ("cur\u200bsor", "\u200b"),
        ("nul\x00", "\x00"),
        ("see [your bank](https://evil.example/x)", "]("),
        ("see [your bank][1]\n\n[1]: https://evil.example", "]["),
        ("see [1]\n\n[1]: https://evil.example", "]:"),
        ("<https://evil.example>", "<h"),
        ("go to https://evil.example now", "://"),
        ("go to WWW.evil.example now", "WWW."),
        ("<a href='https://evil.example'>bank</a>", "://"),
    ],
)
def test_nothing_is_loaded_or_swallowed(text: str, gone: str) -> None:
    shown = safe_markdown(text)
    assert gone not in shown
    assert shown.replace("\u2060", "") == text.replace("\u200b", "").replace("\x00", "")


def test_ordinary_words_stay_as_they_are() -> None:
    text = "At 10:30 I said: **no!** Really? [a note] (an aside) a < b, x] :) \U0001f642 $5"
    assert safe_markdown(text) == text


@given(st.text(alphabet="![]:/<.wab \u200b\x00(", max_size=40), st.integers(0, 40))
def test_a_longer_text_only_extends_the_shorter_one(text: str, cut: int) -> None:
    assert safe_markdown(text).startswith(safe_markdown(text[:cut]))


@given(st.text(max_size=80))
def test_every_text_can_be_shown(text: str) -> None:
    safe_final_markdown(text + "\ud800").encode("utf-8")
