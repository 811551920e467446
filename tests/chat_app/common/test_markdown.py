"""No link of a model: rendered as Markdown its texts have none, whatever they try, and lose no letter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from heard.chat_app.common.markdown import safe_markdown

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


@given(st.text(alphabet="[]()<>:/!.wha \n", max_size=60))
def test_no_text_becomes_a_link(text: str) -> None:
    rendered = MarkdownIt("commonmark", {"html": False}).render(safe_markdown(text))
    assert "<a" not in rendered
    assert "<img" not in rendered
