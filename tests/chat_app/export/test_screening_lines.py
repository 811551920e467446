"""How much of lines that were written after the patterns is found: the figures of docs/export.md."""

from pathlib import Path

from heard.chat_app.export.screening import screen
from tests.chat_app.export.exporting import read_csv

LINES = read_csv(Path(__file__).with_name("screening_lines.csv"))
DOCS = Path(__file__).parents[3] / "docs" / "export.md"


def test_the_figures_on_the_page_are_those_of_the_lines() -> None:
    hidden = [(row["hidden"], screen(row["text"])) for row in LINES if row["hidden"]]
    replaced = [name for name, found in hidden if name.split()[-1] not in found.text]
    listed = [name for name, found in hidden if name not in replaced and name.split()[-1] in found.possible]
    innocent = [screen(row["text"]) for row in LINES if not row["hidden"]]
    wrong = [found.text for found in innocent if found.replaced]
    text = " ".join(DOCS.read_text(encoding="utf-8").split())
    said = (
        f"Of {len(hidden)} lines in these languages that were written after the patterns and hold one such thing, "
        f"{len(replaced)} were replaced, {len(listed)} only listed and {len(hidden) - len(replaced) - len(listed)} "
        f"missed; of {len(innocent)} lines without any, {len(wrong)} were changed."
    )
    assert said in text, (said, sorted({name for name, _ in hidden} - set(replaced)), wrong)
