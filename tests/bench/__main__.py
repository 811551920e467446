"""`make bench`: the figures of the README, measured on this machine in one run. Takes an hour.

python -m tests.bench                 all of them
python -m tests.bench start speed     only these, of start, speed, arms, card, crowd, scorer, protocol, votes,
                                      results, coverage, desk, export, compare, prompts, tone, modules, handoffs,
                                      hostile, crisis
"""

import asyncio
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from heard.chat_app.common.settings import Settings
from heard.chat_app.models.downloads import ensure_weights
from tests.bench.agreement_coverage import agreement_coverage
from tests.bench.arms import arms
from tests.bench.card import card
from tests.bench.compare import compare
from tests.bench.coverage import coverage
from tests.bench.crowd import crowd
from tests.bench.desk import desk
from tests.bench.export import export
from tests.bench.handoffs import handoffs
from tests.bench.hostile import hostile
from tests.bench.modules import modules
from tests.bench.prompts import prompts
from tests.bench.protocol import protocol
from tests.bench.results import results
from tests.bench.scorer import scorer
from tests.bench.served import machine, served
from tests.bench.speed import speed
from tests.bench.start import start
from tests.bench.table import HEADINGS, Row
from tests.bench.tone import tone
from tests.bench.votes import votes

PARTS = (
    "start", "speed", "arms", "card", "crowd", "scorer", "protocol", "votes", "results", "coverage", "desk", "export",
    "compare", "prompts", "tone", "modules", "handoffs", "hostile", "crisis",
)  # fmt: skip
CASES = Path(__file__).parents[1] / "safety_cases"
console = Console()


async def measure(parts: list[str]) -> list[Row]:
    """The rows of every part asked for; each part gets a server of its own, so none inherits another's memory."""
    weights = ensure_weights(Settings().cache_dir)
    rows: list[Row] = []
    for part in parts:
        console.print(f"measuring: {part} ...")
        if part == "start":
            new = await start()
        elif part == "coverage":
            new = await asyncio.to_thread(agreement_coverage)
        elif part == "arms":
            new = await arms(weights)
        elif part == "card":
            new = await card()
        elif part == "scorer":
            new = await asyncio.to_thread(scorer, weights.encoder)
        elif part == "results":
            new = await results()
        elif part == "desk":
            new = await desk()
        elif part == "export":
            new = await asyncio.to_thread(export)
        elif part == "compare":
            new = await asyncio.to_thread(compare)
        elif part == "prompts":
            new = await asyncio.to_thread(prompts)
        elif part == "protocol":
            new = await asyncio.to_thread(protocol, weights.encoder)
        elif part == "votes":
            new = await votes()
        elif part == "tone":
            await tone(weights, console)
            continue
        elif part == "modules":
            await modules(weights, console)
            continue
        elif part == "handoffs":
            new = await handoffs(weights, console)
        else:
            with served() as server:
                if part == "speed":
                    new = await speed(server, weights)
                elif part == "hostile":
                    new = await hostile(server)
                else:
                    new = await crowd(server)
        for row in new:  # at once, so that a run that is broken off has shown what it measured
            console.print("  " + " | ".join(row.cells()))
        rows += new
    return rows


def main() -> int:
    """Print the table; exit status 1 when a target is missed, so that nobody overlooks it."""
    parts = sys.argv[1:] or list(PARTS)
    if set(parts) - set(PARTS):
        console.print(f"Parts of the bench: {', '.join(PARTS)}.")
        return 2
    rows = asyncio.run(measure([part for part in parts if part != "crisis"]))
    if rows:
        table = Table(*HEADINGS, title=machine())
        for row in rows:
            table.add_row(*row.cells())
        console.print(table)
    covers = coverage(console) if "coverage" in parts else True
    if "crisis" in parts:
        subprocess.run([Path(sys.executable).with_name("heard"), "check", "--measure", CASES], check=True)
    return 0 if covers and all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
