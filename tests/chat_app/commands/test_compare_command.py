"""`heard compare` and `heard evaluate-policy` as people call them, and what they refuse."""

import csv
import shutil
from collections import Counter
from pathlib import Path

import pytest

from heard.chat_app.models.downloads import Weights
from heard.prompts.library import BUILT_IN
from tests.chat_app.comparing.comparing import REPLY, WIRE, asked, journal, served, write_questions
from tests.commands import Done, heard
from tests.servers import Script

COLD = "Just get over it and stop whining about your problems."
CRITIQUE = "Warmth: it lacks any."
QUICK = ("--per-minute", "60000")


@pytest.fixture
def folder(tmp_path: Path, weights: Weights) -> Path:
    """A fresh folder with questions; asking for the weights here keeps their download out of the commands."""
    write_questions(tmp_path, 3)
    return tmp_path


def compare(folder: Path, *more: str, models: str = "echo", strategies: str = "plain", out: str = "out") -> Done:
    given = ("--models", models, "--strategies", strategies, "--questions", "questions.csv", "--out", out)
    return heard("compare", *given, *more, folder=folder)


def evaluate(folder: Path, *policies: str, model: str = "echo", more: tuple[str, ...] = ()) -> Done:
    return heard("evaluate-policy", *policies, "--questions", "questions.csv", "--model", model, *more, folder=folder)


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_every_combination_in_a_table_a_summary_and_radars(folder: Path) -> None:
    with (folder / "questions.csv").open("a") as file:
        file.write("I want to kill myself tonight.\nWhat do I do about day 1?\n")
    more = ("--personas", "listener,quiet", "--open-calls", "2")
    done = compare(folder, *more, models="echo", strategies="plain,definition")
    assert done.status == 0, done.stderr
    assert "Written: 12. There before: 0. Failed: 0." in done.stdout
    assert "1 question is a crisis and is never sent to a model." in done.stderr
    assert "left out, line 6: the same question as in line 2." in done.stderr
    assert "kill" not in done.stdout + done.stderr
    found = rows(folder / "out" / "results.csv")
    assert len(found) == 12
    assert {(row["persona"], row["strategy"]) for row in found} == {
        (persona, strategy) for persona in ("listener", "quiet") for strategy in ("plain", "definition")
    }
    assert all(row["status"] == "complete" and len(row["prompt_sha256"]) == 64 for row in found)
    assert all(row["text"].startswith("I hear you say: What do I do") for row in found)
    assert "kill" not in (folder / "out" / "journal.jsonl").read_text()
    summary = (folder / "out" / "summary.md").read_text(encoding="utf-8")
    for words in ("| quiet / definition |", "| all / definition | 3 |", "against plain", "median seconds"):
        assert words in summary
    assert {path.name for path in (folder / "out").iterdir()} == {
        "journal.jsonl", "journal.lock", "results.csv", "summary.csv", "summary.md", "radar.png", "radar.svg",
    }  # fmt: skip
    again = compare(folder, *more, models="echo", strategies="plain,definition")
    assert "Written: 0. There before: 12. Failed: 0." in again.stdout
    assert len(journal(folder / "out")) == 24, "a text and its score for each answer, and nothing twice"


def test_examples_are_tried_against_none_in_one_run(folder: Path) -> None:
    with served(folder, WIRE.reply(REPLY), questions=3) as server:
        done = compare(folder, "--personas", "quiet,study", "--examples", "both", *QUICK, models="one")
        assert done.status == 0, done.stderr
        lengths = Counter(len(texts) for texts in asked(server))
    names = Counter(row["persona"] for row in rows(folder / "out" / "results.csv"))
    assert names == {"quiet": 3, "quiet without examples": 3, "study": 3}
    assert (lengths[1], lengths[2]) == (3, 3), "study has none, and quiet without them a system text and the question"
    assert sum(number for length, number in lengths.items() if length >= 4) == 3
    summary = (folder / "out" / "summary.md").read_text(encoding="utf-8")
    assert "| quiet / plain | 3 |" in summary.split("Examples against none")[1]
    parts = {row["part"] for row in rows(folder / "out" / "summary.csv")}
    assert "against no examples" in parts
    assert "nothing to hold against" not in done.stdout


def test_examples_can_be_off_and_edited_ones_are_another_comparison(folder: Path) -> None:
    with served(folder, WIRE.reply(REPLY), questions=3) as server:
        assert compare(folder, "--personas", "quiet", "--examples", "off", *QUICK, models="one").status == 0
        assert {len(texts) for texts in asked(server)} == {2}
    shutil.copytree(BUILT_IN / "examples", folder / "mine" / "examples")
    (folder / "settings.toml").write_text('prompts_dir = "mine"\n', encoding="utf-8")
    assert compare(folder, "--personas", "quiet", out="second").status == 0
    path = folder / "mine" / "examples" / "quiet.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("You did it!", "You made it!"), encoding="utf-8")
    assert "quiet of its examples has changed since" in compare(folder, "--personas", "quiet", out="second").sentence
    assert compare(folder, "--examples", "bth").sentence == '--examples has no value "bth". Did you mean both?'


PEOPLE = """questionText,answerText
What do I do about day 1?,"I am so sorry. That sounds really hard, and I am here with you."
What do I do about day 1?,Get over it.
What do I do about  day 2?,"It makes sense that you feel worn out, and so I"
What about the moon?,It is far.
What do I do about day 3?,
"""


def test_people_are_a_source_in_every_table_that_fits_80_columns(folder: Path) -> None:
    (folder / "people.csv").write_text(PEOPLE, encoding="utf-8")
    given = ("--personas", "listener,quiet", "--examples", "both", "--answers", "people.csv")
    given += ("--columns", "message=questionText,reply=answerText", "--models", "echo", "--out", "out")
    strategies = ("--strategies", "plain,empathize-first", "--questions", "questions.csv")
    done = heard("compare", *given, *strategies, folder=folder, COLUMNS="80")
    assert done.status == 0, done.stderr
    assert "Left out of people.csv: 1 without a text, 1 to none of the questions." in done.stderr
    assert "end in mid-sentence: 1, the first in line 4" in done.stderr
    assert "human: 3 answers to 2 of 3 questions" in done.stderr
    assert "Written: 27. There before: 0. Failed: 0." in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "…" not in done.stdout
    found = [row for row in rows(folder / "out" / "results.csv") if row["model"] == "human"]
    assert [row["question_id"] for row in found] == ["2", "2", "3"]
    first, second, third = (float(row["empathy"]) for row in found)
    tables = {(row["part"], row["model"], row["measure"]): row for row in rows(folder / "out" / "summary.csv")}
    mean = tables["score", "human", "empathy"]
    assert (mean["n"], float(mean["value"])) == ("2", pytest.approx(((first + second) / 2 + third) / 2, abs=2e-4))
    assert tables["against human", "echo", "empathy"]["n"] == "2"
    summary = (folder / "out" / "summary.md").read_text(encoding="utf-8")
    assert summary.count("| human | ") == 2
    assert "| quiet without examples / empathize-first | 2 |" in summary.split("Each source against human")[1]
    assert "human" in (folder / "out" / "radar.svg").read_text(encoding="utf-8")
    # What a terminal shows in parts is whole: every figure of the table stands in it.
    shown = " ".join(done.stdout.split())
    cells = [cell for line in summary.splitlines() if line.startswith("| ") for cell in line.split(" | ")[1:]]
    assert [cell for cell in cells if cell.rstrip(" |") not in shown] == []
    # Ended answers stay; people's may be added to later, and models are not asked again for that.
    (folder / "people.csv").write_text(PEOPLE + "What do I do about day 3?,Rest.\n", encoding="utf-8")
    assert "Written: 1. There before: 27." in heard("compare", *given, *strategies, folder=folder).stdout


def test_failures_are_told_and_the_rest_is_written(folder: Path) -> None:
    with served(folder, WIRE.refusal(401, "no, KEY-7"), WIRE.reply(REPLY, reason="length"), questions=3):
        done = compare(folder, "--open-calls", "1", *QUICK, models="one")
    assert done.status == 2
    assert "Written: 2. There before: 0. Failed: 1." in done.stdout
    assert "line 2, one / listener / plain: " in done.stderr
    assert "Failures: 1 bad_key." in done.stderr
    assert done.stderr.endswith("Run the same command again to go on with them.\n")
    found = rows(folder / "out" / "results.csv")
    assert [(row["status"], row["error"], row["cut"]) for row in found] == [
        ("failed", "bad_key", "no"), ("complete", "", "yes"), ("complete", "", "yes"),
    ]  # fmt: skip
    assert "KEY-7" not in done.stdout + done.stderr + (folder / "out" / "journal.jsonl").read_text()
    assert "1 bad_key" in (folder / "out" / "summary.md").read_text()
    assert "nothing to hold against each other" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"models": "ecko"}, 'No model "ecko". Did you mean echo?'),
        ({"strategies": "plain,definitoin"}, 'No strategy "definitoin". Did you mean definition?'),
        ({"strategies": "plain,plain"}, 'The strategy "plain" is named twice.'),
        ({"models": " , "}, "Name at least one model."),
        ({"out": "questions.csv"}, "questions.csv cannot be written to (File exists)."),
    ],
)
def test_what_is_not_there_is_refused(folder: Path, arguments: dict[str, str], sentence: str) -> None:
    assert compare(folder, **arguments).sentence.startswith(sentence)  # type: ignore[arg-type]
    assert not (folder / "out").exists()


def test_a_folder_of_another_comparison_is_refused_and_kept(folder: Path) -> None:
    compare(folder)
    before = (folder / "out" / "journal.jsonl").read_bytes()
    assert "its strategies are plain" in compare(folder, strategies="plain,definition").sentence
    write_questions(folder, 4)
    assert "its questions are others" in compare(folder).sentence
    assert (folder / "out" / "journal.jsonl").read_bytes() == before


def test_bad_files_are_refused_before_anything_is_opened(folder: Path) -> None:
    (folder / "questions.csv").write_text("questoin\nWhat now?\n")
    assert "no column question, message or Context" in compare(folder).sentence
    (folder / "questions.csv").write_text("")
    assert "is empty" in evaluate(folder, "never").sentence
    assert not (folder / "var").exists()


# Policies


def test_policies_are_held_against_their_own_first_drafts(folder: Path) -> None:
    scripts: tuple[Script, ...] = (
        WIRE.reply(COLD), WIRE.reply(CRITIQUE), WIRE.reply(REPLY),
        WIRE.reply(COLD), WIRE.reply(CRITIQUE), WIRE.cut("I am"),
        WIRE.refusal(400, "no"),
        WIRE.reply(REPLY),
    )  # fmt: skip
    with served(folder, *scripts, questions=3) as server:
        more = ("--out", "out", "--open-calls", "1", *QUICK)
        done = evaluate(folder, "critique", model="one", more=more)
        assert done.status == 2
        assert len(server.requests) == 7
        assert "Written: 2. There before: 0. Failed: 1." in done.stdout
        again = evaluate(folder, "critique", model="one", more=more)
        assert again.status == 0
        assert "Written: 1. There before: 2. Failed: 0." in again.stdout
        assert len(server.requests) in (8, 10), "the third question alone"
    values = {row["measure"]: row for row in rows(folder / "out" / "policies.csv")}
    assert float(values["gain_empathy"]["value"]) > 0
    assert values["improved"]["value"] == "0.3333"
    assert (values["answers"]["value"], values["broken"]["value"]) == ("3", "1")
    assert float(values["times_seconds"]["value"]) > 1
    assert "| critique | 3 |" in (folder / "out" / "policies.md").read_text()
    steps = [draft["steps"] for line in journal(folder / "out") for draft in line["drafts"]]
    assert [step["text"] for found in steps for step in found][:2] == [CRITIQUE] * 2


def test_with_the_embedded_model_the_kept_draft_is_never_worse(folder: Path) -> None:
    write_questions(folder, 1)
    done = evaluate(folder, "best-of-3", model="smollm2", more=("--persona", "quiet", "--out", "out"))
    assert done.status == 0, done.stderr
    values = {row["measure"]: row["value"] for row in rows(folder / "out" / "policies.csv")}
    assert values["drafts"] == "3"
    assert float(values["gain_empathy"]) >= 0
    assert float(values["times_tokens"]) > 1.5


def test_without_a_folder_nothing_is_kept(folder: Path) -> None:
    before = {path.name for path in folder.iterdir()}
    done = evaluate(folder, "never", "best-of-3")
    assert "+0.00" in done.stdout
    assert done.status == 0, done.stderr
    assert "Written: 6." in done.stdout
    assert "Everything is in" not in done.stdout
    assert {path.name for path in folder.iterdir()} == before | {"var"}


def test_an_unknown_policy_is_refused(folder: Path) -> None:
    assert evaluate(folder, "below-treshold").sentence.startswith(
        'No policy "below-treshold". Did you mean below-threshold?'
    )
