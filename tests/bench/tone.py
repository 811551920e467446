"""Is good news met as good news? Each persona under three strategies, on messages with news, by the embedded model.

On the half of `tests/tone/cases.csv` on which no wording of a prompt was chosen. The judge is
`scorer/shared_emotion.py`; how far to trust it is measured first, against a reader's labels
(`tests/tone/labelled.csv`).
"""

import asyncio
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from heard.chat_app.commands.progress import Progress
from heard.chat_app.models.client import Models, load_models
from heard.chat_app.models.downloads import Weights
from heard.chat_app.models.llama_engine import Engine
from heard.chat_app.results.intervals import wilson_share
from heard.prompts.library import PromptLibrary
from heard.scorer.shared_emotion import EXPECTED, meets, shared_emotion
from tests.tone.labelled import Labelled, labelled
from tests.tone.replies import Case, cases, replies

STRATEGIES = ("plain", "definition", "empathize-first")
PATIENCE = 600.0
"""Seconds; the machine may be busy."""


async def tone(weights: Weights, console: Console) -> None:
    """Ask, judge, and print two tables: the judge's agreement with a reader, and the share of news met as such."""
    console.print(judge_table(labelled()))
    asked = [case for case in cases() if case.held_out]
    library = PromptLibrary.load()
    columns = (*(f"{kind} news" for kind in EXPECTED), "bad news met with joy")
    table = Table("persona", "strategy", *columns, title="news met as such, share (95%)")
    engine = Engine(weights.chat_model)
    limits = {"first_token_seconds": PATIENCE, "stall_seconds": PATIENCE}
    try:
        async with Models(load_models(None), engine=engine, **limits) as models:
            with Progress() as on_progress:
                for persona in library.personas.values():
                    for strategy in (library.strategies[name] for name in STRATEGIES):
                        answered: list[tuple[Case, str]] = []
                        async for one in replies(models, persona, strategy, asked):
                            answered.append(one)
                            on_progress(f"{persona.id}, {strategy.id}", len(answered), len(asked))
                        met = (_met(answered, kind) for kind in EXPECTED)
                        table.add_row(persona.id, strategy.id, *met, _congratulated(answered))
    finally:
        await asyncio.to_thread(engine.close)
    console.print(table)


def _met(answered: Sequence[tuple[Case, str]], kind: str) -> str:
    met = [meets(kind, reply) for case, reply in answered if case.kind == kind]
    return shown(sum(met), len(met))


def _congratulated(answered: Sequence[tuple[Case, str]]) -> str:
    """The worst error: bad news that is answered with joy and no sorrow."""
    bad = [shared_emotion(reply) == "joy" for case, reply in answered if case.kind == "bad"]
    return f"{sum(bad)} of {len(bad)}"


def shown(count: int, of: int) -> str:
    """A share with Wilson's interval, in percent."""
    share = wilson_share(count, of)
    if share.share is None or share.low is None or share.high is None:
        return "-"
    return f"{100 * share.share:.0f}% ({100 * share.low:.0f} to {100 * share.high:.0f}, {count} of {of})"


def judge_table(rows: Sequence[Labelled]) -> Table:
    """How often the judge says what a reader has said, over all labelled replies and for each tone."""
    table = Table("a reader says", "the judge agrees", title="the judge of tone against a reader's labels")
    for name in (*sorted({row.tone for row in rows}), "all"):
        own = [row for row in rows if name in (row.tone, "all")]
        table.add_row(name, shown(sum(shared_emotion(row.reply) == row.tone for row in own), len(own)))
    return table
