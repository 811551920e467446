"""Whether the conditions of a study may be taken together: only if their people had the same sources to choose from.

A source's share of "most" depends on what stands beside it on the ballot, so that a share over two sets of sources is
that of neither, and moves with how many people each condition has.
"""

from collections.abc import Mapping

from heard.db.vote_reads import Cell


def why_not_pooled(cells: Mapping[Cell, int]) -> str | None:
    """Return why these votes are not one sample; None if they are."""
    sources: dict[str, set[str]] = {}
    for cell in cells:
        if cell.condition is not None and cell.attention is None:
            sources.setdefault(cell.condition, set()).update(cell.sources)
    if len({frozenset(one) for one in sources.values()}) < 2:
        return None
    listed = "; ".join(f"{name}: {', '.join(sorted(sources[name]))}" for name in sorted(sources))
    return (
        f"People of different conditions had different sources to choose from ({listed}). A share depends on what "
        "stands beside an answer, so the conditions are not taken together."
    )
