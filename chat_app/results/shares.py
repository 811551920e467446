"""How often each source was marked as most and as least empathetic: the study's Figure 3."""

from collections import Counter

from heard.chat_app.results.intervals import share_of
from heard.chat_app.results.records import Leak, SourceShares
from heard.chat_app.results.selection import Cells
from heard.db.study_records import Choice, asks_least


def shares(cells: Cells) -> list[SourceShares]:
    """Shares by source over the judged ballots where it was shown and votable, the most often marked first.

    "About the same" and "none of these" are judgements that mark nobody, so they stay below the line and the shares add
    up to less than 1; a skipped ballot is no judgement. Votes of one person are taken as independent.
    """
    shown, asked, most, least = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for cell, number in cells.items():
        if cell.choice is Choice.SKIPPED:
            continue
        places = cell.votable
        for place in places:
            shown[cell.sources[place - 1]] += number
            if asks_least(len(places)):
                asked[cell.sources[place - 1]] += number
        if cell.most is not None:
            most[cell.sources[cell.most - 1]] += number
        if cell.least is not None:
            least[cell.sources[cell.least - 1]] += number
    found = [
        SourceShares(name, share_of(most[name], shown[name]), share_of(least[name], asked[name])) for name in shown
    ]
    return sorted(found, key=lambda one: (-(one.most.share or 0), one.source))


def leaks(cells: Cells) -> list[Leak]:
    """Of each source's showings, those whose answer gave it away; ballots that leaked must be among `cells`."""
    shown, leaked = Counter[str](), Counter[str]()
    for cell, number in cells.items():
        for place, source in enumerate(cell.sources, 1):
            shown[source] += number
            if place in cell.leaks:
                leaked[source] += number
    return [Leak(source, share_of(leaked[source], shown[source])) for source in sorted(shown)]
