"""How long a text is and how much Markdown is in it, so that a study can tell liking a reply from liking its form."""

import re

from markdown_it import MarkdownIt

COUNTS = ("paragraphs", "headings", "bullets", "numbered", "bold", "links", "emoji")
"""The keys of `formatting_of`, in the order of exports."""

_MARKDOWN = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])
_ADDRESS = re.compile(r"(?:https?://|www\.)\w", re.IGNORECASE)
_PICTURE = (
    "[\U0001f300-\U0001faff\u2600-\u27bf\u2b05-\u2b55\u231a\u231b\u23e9-\u23f3\U0001f004\U0001f0cf\U0001f18e"
    "\U0001f191-\U0001f19a]"
)
_ONE = f"{_PICTURE}[\ufe0f\U0001f3fb-\U0001f3ff]*"
_EMOJI = re.compile(f"[\U0001f1e6-\U0001f1ff]{{2}}|[0-9#*]\ufe0f?\u20e3|{_ONE}(?:\u200d{_ONE})*")
"""One match for what is seen as one picture: flags, keys, skin tones and joined families are single ones."""


def formatting_of(text: str) -> dict[str, int]:
    """The number of each of COUNTS in `text`, read as Markdown. Never raises.

    A list's items are no paragraphs; numbered items are no bullets. `links` are Markdown links and bare addresses.
    """
    counts = dict.fromkeys(COUNTS, 0)
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


def words_of_text(text: str) -> int:
    """Words: pieces between white space with at least one letter or digit, so that bullets and dashes are none."""
    return sum(any(character.isalnum() for character in piece) for piece in text.split())
