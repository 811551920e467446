"""What CONTRIBUTING.md promises: a provider is one new file, a column of the vote four places. Tried on a copy."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installing import ROOT, copied

PROVIDER = '''"""A provider of somebody's own, which repeats what it is told."""

from heard.chat_app.models.echo_chat import EchoChat
from heard.chat_app.models.provider import Call, Provider


def chat_model(call: Call) -> EchoChat:
    """The LangChain chat model for one call."""
    assert call.key == "a-key"
    return EchoChat(max_tokens=call.max_tokens)


PROVIDER = Provider(
    name="acme", chat=chat_model, module="json", url="http://127.0.0.1:9", key_wanted="ACME_KEY", hottest=1,
    sampling=("top_p",),
)
'''
RIGHT = 'one = { provider = "acme", model = "acme-1", key_env = "ACME_KEY", temperature = 1 }\n'
WRONG = """
hot = { provider = "acme", model = "acme-1", key_env = "ACME_KEY", temperature = 1.5 }
odd = { provider = "acme", model = "acme-1", key_env = "ACME_KEY", sampling = { top_k = 5 } }
open = { provider = "acme", model = "acme-1" }
typo = { provider = "acmee", model = "acme-1" }
"""

MIGRATION = '''"""How sure the voter was.

Revision: {number}, after {last}.
"""

import sqlalchemy as sa
from alembic import op

revision = "{number}"
down_revision = "{last}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    for table in ("vote", "vote_change"):
        op.add_column(table, sa.Column("sure", sa.Integer(), nullable=True))
'''
COLUMN = [
    # The table, with its migration.
    ("db/study_tables.py", "    choice: Mapped[str]\n", "    sure: Mapped[int | None]\n"),
    # The record.
    (
        "db/study_records.py",
        "    voted_at: datetime\n",
        "    sure: int | None = None\n",
    ),
    # The request: what a page sends, and what becomes of it.
    (
        "chat_app/web/vote_routes.py",
        "    most: Letter | None = None\n",
        "    sure: int | None = Field(None, ge=1, le=5)\n",
    ),
    ("chat_app/web/vote_routes.py", "            choice=self.choice,\n", "            sure=self.sure,\n"),
    # The export: the vote and what it was before.
    (
        "chat_app/export/columns.py",
        "\n_VOTE = (\n",
        '    Column("sure", W, "How sure the person was.", "1 to 5", "vote.sure"),\n',
    ),
    ("chat_app/export/columns.py", "\nCHANGES = (\n", '    Column("sure", W, "How sure the person was.", "1 to 5"),\n'),
]
"""(file, lines that stand there, lines added below them)."""
VOTING = """
import asyncio, sys
from pathlib import Path

from heard.chat_app.common.settings import Settings
from heard.chat_app.export.study_export import ExportOptions, export_study
from heard.db.engine import create_engine, upgrade
from heard.db.store import Store
from tests.db.conftest import Make
from tests.db.studying import Studying
from tests.journeys.web import HERE, built
from tests.vote_server import vote_call

async def main(folder):
    url = Settings(data_dir=folder).database
    await upgrade(url)
    store = Store(create_engine(url))
    web, studying = built(folder, store), Studying(store, Make())
    async with web.client:
        await web.answer(research="yes")
        await studying.survey()
        ballot, _ = await studying.enrolled(web.participant)
        for sure, status in ((4, 200), (9, 422), (2, 200)):
            call = vote_call(ballot, studying.make.id(), f"{sure} of 5") | {"sure": sure}
            answer = await web.client.post("/vote", json=call, headers=HERE)
            assert answer.status_code == status, answer.text
    await export_study(
        store.engine, ExportOptions("blind"), folder / "results", force=False, progress=lambda *_: None
    )
    await store.engine.dispose()

asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A copy of the code, to be changed."""
    return copied(tmp_path / "source")


def run(source: Path, code: str, *arguments: str | Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run `code` with the copy in the place of heard; the tests' own helpers are those of here."""
    environment = {**os.environ, "PYTHONPATH": str(source / "src"), "HEARD_DATA_DIR": str(source / "var"), **variables}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_a_provider_is_one_new_file(source: Path) -> None:
    (source / "chat_app" / "models" / "providers" / "acme.py").write_text(PROVIDER, encoding="utf-8")
    file = source / "models.toml"

    def heard(entries: str, *command: str, key: str = "") -> tuple[int, str]:
        file.write_text(entries, encoding="utf-8")
        code = "from heard.chat_app.cli import main; main()"
        done = run(source, code, "models", *command, HEARD_MODELS_FILE=str(file), ACME_KEY=key)
        return done.returncode, done.stdout + done.stderr

    status, listed = heard(RIGHT, "list")
    assert status == 0, listed
    assert re.search(r"^one +acme +needs its key in ACME_KEY +one$", listed, re.MULTILINE), listed
    status, answer = heard(RIGHT, "try", "one", "I feel low.", key="a-key")
    assert status == 0, answer
    assert "I feel low." in answer
    status, faults = heard(WRONG, "list")
    assert status == 2, faults
    for told in (
        "model hot: temperature",
        'model odd: unknown sampling parameter "top_k"',
        "model open: key_env",
        'model typo: unknown provider "acmee". Did you mean acme?',
    ):
        assert told in faults, faults


def test_a_column_of_the_vote_is_four_places(source: Path, tmp_path: Path) -> None:
    versions = source / "db" / "migrations" / "versions"
    last = max(path.name[:4] for path in versions.glob("0*.py"))
    number = f"{int(last) + 1:04}"
    (versions / f"{number}_sure.py").write_text(MIGRATION.format(number=number, last=last), encoding="utf-8")
    for name, above, added in COLUMN:
        text = (source / name).read_text(encoding="utf-8")
        assert text.count(above) == 1, f"{name}: {above}"
        (source / name).write_text(text.replace(above, above + added), encoding="utf-8")
    assert len({name for name, *_ in COLUMN}) == 4
    done = run(source, VOTING, tmp_path)
    assert done.returncode == 0, done.stderr
    for table, sure in (("votes_wide", "2"), ("vote_changes", "4")):
        with (tmp_path / "results" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
            assert [row["sure"] for row in csv.DictReader(file)] == [sure], table
    assert "How sure the person was." in (tmp_path / "results" / "codebook.md").read_text(encoding="utf-8")
