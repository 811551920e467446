"""`heard study power`: its table, its cost and its refusals."""

from pathlib import Path

from tests.commands import heard

FAST = ("--items", "10,20", "--people", "10,30", "--studies", "20", "--effect", "1.2")
STUDY = 'id = "warm"\nkind = "survey"\nsources = ["human", "leaflet", "plain"]\nitems_per_person = 5\n'


def test_the_table_fits_and_tells_fewest_people_cost_and_check(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    done = heard(
        "study", "power", "study.toml", *FAST, "--rate", "12", "--fee", "25", "--minutes", "2", "--picture", "p.svg",
        folder=tmp_path, COLUMNS="80",
    )  # fmt: skip
    assert done.status == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "Power to tell the best source from every other one" in done.stdout
    assert "A person judges 5 items" in done.stdout
    assert (
        "75" in next(line for line in done.stdout.splitlines() if line.split()[:1] == ["30"]).split()[-1]
    )  # 30*10/60*12*1.25
    assert "Check with an effect of 0" in done.stdout
    assert "<svg" in (tmp_path / "p.svg").read_text(encoding="utf-8")
    pair = heard("study", "power", "study.toml", *FAST, "--between", "human,plain", folder=tmp_path)
    assert "Power to tell human from plain" in pair.stdout
    assert "give --rate for the cost" in pair.stdout


def test_what_makes_no_sense_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    for arguments, words in (
        (("--items", "1,20"), "--items takes numbers from 2"),
        (("--people", "many"), "--people takes whole numbers"),
        (("--items", "2,3,4,5,6,7"), "takes 5 numbers at most"),
        (("--effect", "0"), "always made"),
        (("--between", "a,b"), "Name the file too"),
        (("study.toml", "--between", "human,plan"), 'no source "plan"'),
        (("study.toml", "--between", "human"), "takes two sources"),
        (("study.toml", "--sources", "3"), "Leave out --sources"),
        (("--picture", "p.png"), "does not end in .svg"),
    ):
        assert words in heard("study", "power", *arguments, folder=tmp_path).sentence
