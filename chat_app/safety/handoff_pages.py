"""The hand-off as Markdown, for the history and for programs, and as HTML, for every page that shows it to a person."""

from collections.abc import Iterable

from heard.chat_app.common.notice import templates
from heard.chat_app.safety.handoff import NEUTRAL_PAGE, Handoff, Service

TEMPLATE = "handoff_card.html"


def as_markdown(shown: Handoff) -> str:
    """Return a hand-off as Markdown, in the order in which it is read."""
    rows = [shown.before] if shown.before else []
    rows += [_row(service) for service in shown.services]
    links = "; ".join(f"[{name}]({url})" for name, url in shown.directories)
    parts = [f"### {shown.heading}", "\n".join(rows), *shown.sentences]
    if shown.picker:
        parts.append(f"{shown.elsewhere} {links}; [{shown.all_countries}](/help)")
    return "\n\n".join([*parts, shown.closing]) + "\n"


def as_html(shown: Handoff, *, guess: str | None = None, own_page: bool = False) -> str:
    """Return a hand-off as HTML: one `section`, everything in it escaped.

    `guess` is the code of the country that the browser's language names; it is offered as a guess, and only while none
    is chosen. On a page of its own the heading is the page's, and the closing
    sentence, which speaks of the chat, is left out.
    """
    named = dict(shown.picker.options).get(guess or "") if shown.picker else None
    card = templates().get_template(TEMPLATE)
    return card.render(
        shown=shown, guess=guess if named else None, guessed=named, neutral_page=NEUTRAL_PAGE, own_page=own_page
    )


def _row(service: Service) -> str:
    ways = _listed(f"**{way.label}**" for way in service.ways)
    if service.note:
        ways = _listed(part for part in (ways, service.note) if part)
    if not service.ways and service.url:
        ways = _listed(part for part in (ways, service.url) if part)
    named = ", ".join(part for part in (service.name, ways) if part)
    return f"- {named}" + (f" ({service.hours})" if service.hours else "")


def _listed(parts: Iterable[str]) -> str:
    return " · ".join(parts)
