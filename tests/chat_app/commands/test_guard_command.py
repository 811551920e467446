"""`heard guard` and `heard train-guard` as a developer types them."""

from pathlib import Path

import pytest

from tests.commands import heard


def test_a_pair_is_judged_by_its_exit_status() -> None:
    bad = heard("guard", "i love you", "Oh. I love you too!")
    assert bad.status == 1
    assert "contact (by rule): I love you too!" in bad.stdout
    good = heard("guard", "i love you", "That's a tender thing to say.")
    assert (good.status, good.stdout) == (0, "nothing caught\n")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "Give a message and a reply"),
        (("only a message",), "Give a message and a reply"),
        (("a", "b", "--measure", "x.csv"), "Give a message and a reply"),
        (("a", "b", "--folds"), "--folds says how lines are measured"),
        (("--measure", "none.csv"), "none.csv cannot be read"),
    ],
)
def test_a_wrong_command_line_is_told(arguments: tuple[str, ...], told: str, tmp_path: Path) -> None:
    assert told in heard("guard", *arguments, folder=tmp_path).sentence


def test_lines_are_measured_by_kind_and_writer(tmp_path: Path) -> None:
    path = tmp_path / "lines.csv"
    path.write_text(
        "writer,kind,verdict,message,reply\n"
        "ann,contact,caught,i love you,I love you too!\n"
        "ben,contact,clean,i love you,That's a tender thing to say.\n",
        encoding="utf-8",
    )
    done = heard("guard", "--measure", path)
    assert done.status == 0
    rows = [line.split() for line in done.stdout.splitlines()]
    assert next(row for row in rows if row[:1] == ["contact"])[:3] == ["contact", "1", "100.0%"]
    assert {"ann", "ben"} <= {row[0] for row in rows if row}
    assert "good replies caught: rules 0." in done.stdout


def test_a_head_in_the_way_is_not_replaced_unasked(tmp_path: Path) -> None:
    (tmp_path / "guard.toml").write_text("title = 1\n")
    assert "Give another folder, or --force" in heard("train-guard", "--out", tmp_path).sentence
    assert "is a file" in heard("train-guard", "--out", tmp_path / "guard.toml").sentence
