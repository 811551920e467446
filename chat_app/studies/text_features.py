"""Length and Markdown formatting of a text, so that a study can tell liking a reply from liking its form."""

import re

from markdown_it import MarkdownIt

FORMATTING_KEYS = ("paragraphs", "headings", "bullets", "numbered", "bold", "links", "emoji")
"""The keys of `count_formatting`, in the order of exports."""

_MARKDOWN = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])
_ADDRESS = re.compile(r"(?:https?://|www\.)\w", re.IGNORECASE)
_PICTURE = (
    "[\U0001f300-\U0001faff\u2600-\u27bf\u2b05-\u2b55\u231a\u231b\u23e9-\u23f3\U0001f004\U0001f0cf\U0001f18e"
    "\U0001f191-\U0001f19a]"
)
_ONE = f"{_PICTURE}[\ufe0f\U0001f3fb-\U0001f3ff]*"
_EMOJI = re.compile(f"[\U0001f1e6-\U0001f1ff]{{2}}|[0-9#*]\ufe0f?\u20e3|{_ONE}(?:\u200d{_ONE})*")
"""Matches what is displayed as one picture: a flag, a keycap, a picture with a skin tone, a joined family."""


def count_formatting(text: str) -> dict[str, int]:
    """Return the number of each of FORMATTING_KEYS in `text`, parsed as Markdown. Never raises.

    Items of a list do not count as paragraphs, nor numbered items as bullets. `links` are Markdown links and bare URLs.
    """
    counts = dict.fromkeys(FORMATTING_KEYS, 0)
    lists: list[str] = []
    for token in _MARKDOWN.parse(text):
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                lists.append("bullets" if token.type.startswith("bullet") else "numbered")
            case "bullet_list_close" | "ordered_list_close":
                lists.pop()
            case "list_item_open":
                counts[lists[-1]] += 1
            case "heading_open":
                counts["headings"] += 1
            case "paragraph_open":
                counts["paragraphs"] += not lists
            case "inline":
                linked = 0
                for child in token.children or ():
                    counts["bold"] += child.type == "strong_open"
                    counts["links"] += child.type == "link_open"
                    linked += (child.type == "link_open") - (child.type == "link_close")
                    if child.type == "text" and not linked:
                        counts["links"] += len(_ADDRESS.findall(child.content))
    counts["emoji"] = len(_EMOJI.findall(text))
    return counts


def count_words(text: str) -> int:
    """Return the number of words: pieces between white space with at least one letter or digit."""
    return sum(any(character.isalnum() for character in piece) for piece in text.split())
