"""A `heard chat` whose rules read the other dangers, which only the head behind `assess` will read: by these messages.

The seam is `crisis_check.check`, replaced in the server's own process; all that follows a verdict is the product's.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.journeys.talking import Served, serving

ROOT = Path(__file__).parents[2]
READ = {
    "my husband is beating me right now": "domestic_violence",
    "he raped me last night": "sexual_assault",
    "my neighbour hits his little girl": "child_abuse",
    "im 13 and my dad hits me": "minor",
    "i just swallowed all my pills": "poisoning",
    "i want to kill my wife, i have a gun": "threat",
    "the voices tell me to jump": "psychosis",
    "i have not eaten for six days": "eating_disorder",
}
"""Message -> the danger it is read as."""
_START = """
import sys
sys.path[:0] = [{root!r}, {source!r}]
from heard.chat_app.safety import crisis_check
from heard.chat_app.safety.verdict import Danger, Level, SafetyVerdict
from tests.journeys.dangers import READ
rules = crisis_check.check
def check(text):
    danger = READ.get(text)
    return SafetyVerdict(Level.CRISIS, danger, "en", Danger(danger), "head") if danger else rules(text)
crisis_check.check = check
from heard.chat_app.cli import main
main()
"""


@contextmanager
def serving_dangers(folder: Path) -> Iterator[Served]:
    """Start it in `folder`."""
    start = _START.format(root=str(ROOT), source=str(ROOT / "src"))
    with serving(folder, command=(sys.executable, "-c", start, "chat")) as served:
        yield served
