"""A team's CSV: what is taken, which rows are told as bad, and which files are refused."""

from pathlib import Path

import numpy as np
import pytest

from heard.scorer.csv_rows import read_sheet
from heard.scorer.errors import ScorerError
from heard.scorer.records import COMPONENTS
from heard.scorer.training.data import tabulate
from heard.scorer.training.labels import account, check_enough, disagreement, read_labels

HEADER = "seeker,reply,cognitive,emotional,behavioral\n"
GOOD = "x,I hear you.,1,2,3\n"


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "labels.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_ratings_are_read_and_blank_means_not_rated(tmp_path: Path) -> None:
    path = write(tmp_path, HEADER + 'I lost my job,"I\'m so sorry, that is hard.",2.5,3,\n,Call them.,,,3\n')
    labels = read_labels(path)
    first, second = labels.examples
    assert first.labels == {"cognitive": 0.75, "emotional": 1.0}
    assert second.labels == {"behavioral": 1.0}
    assert np.isnan(tabulate([first, second], COMPONENTS).targets).sum() == 3
    assert account(labels) == f"{path}: 2 of 2 rows can be used."


def test_columns_may_be_in_any_order_and_the_message_left_out(tmp_path: Path) -> None:
    text = " Behavioral ,cognitive,emotional,REPLY\n3,1,2,That is hard.\n1,1,1,That is sad.\n"
    first, second = read_labels(write(tmp_path, text)).examples
    assert (first.seeker, first.reply) == ("", "That is hard.")
    assert first.labels == {"cognitive": 0.0, "emotional": 0.5, "behavioral": 1.0}
    assert first.group != second.group


@pytest.mark.parametrize("separator", [";", "\t", "|"])
@pytest.mark.parametrize("before", ["", "sep={}\r\n", '"sep={}"\n'])
def test_a_spreadsheet_of_another_country_is_read(tmp_path: Path, separator: str, before: str) -> None:
    """Other separators, decimal commas and the British name of a component."""
    rows = [HEADER.strip().replace("behavioral", "Behavioural"), "x,That is hard.,1,2.5,3", "y,I hear you.,2,3,1.5"]
    text = "\n".join(row.replace(",", separator).replace(".5", ",5") for row in rows)
    labels = read_labels(write(tmp_path, before.format(separator) + text))
    assert [list(one.labels.values()) for one in labels.examples] == [[0.0, 0.75, 1.0], [0.5, 1.0, 0.25]]
    assert [rated.line for rated in labels.rated] == ([3, 4] if before else [2, 3])


def test_a_column_without_a_name_is_not_read(tmp_path: Path) -> None:
    labels = read_labels(write(tmp_path, f",{HEADER.strip()},\n0,x,That is hard.,1,2,3,\n"))
    assert labels.examples[0].labels == {"cognitive": 0.0, "emotional": 0.5, "behavioral": 1.0}


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("a,That is hard.,1,4,3\n", 'emotional is "4", but ratings are numbers from 1 to 3'),
        ("a,That is hard.,0.99,2,3\n", 'cognitive is "0.99"'),
        ("a,That is hard.,nan,2,3\n", 'cognitive is "nan"'),
        ('a,That is hard.,"2,555",2,3\n', 'cognitive is "2,555"'),
        ("a,That is hard.,high,2,3\n", 'cognitive is "high"'),
        ("a,That is hard.,1,2\n", "this row has 4 cells, but the first line has 5"),
        ("a,That is hard.,1,2,3,4\n", "this row has 6 cells"),
        ("a,That is hard.,,,\n", "no rating. Give at least one of cognitive"),
        ("a,,1,2,3\n", "this reply cannot be scored. There is no text"),
        ("a,lo siento mucho,1,2,3\n", "this reply cannot be scored. Only English"),
        (f"a,{'x' * 40_000},1,2,3\n", "this reply cannot be scored. This text is too long"),
        (f"a,{'x' * 1_000_000},1,2,3\n", "a cell has more than 131,072 characters"),
        ('a,"He said "no" to you.",1,2,3\n', "a quote within a cell must be written twice"),
    ],
)
def test_a_bad_row_is_told_by_its_line_and_the_others_are_used(tmp_path: Path, row: str, reason: str) -> None:
    labels = read_labels(write(tmp_path, HEADER + GOOD + row + GOOD))
    assert [rated.line for rated in labels.rated] == [2, 4]
    (fault,) = labels.faults
    assert fault.line == 3
    assert reason in fault.reason
    told = account(labels)
    assert "2 of 3 rows can be used" in told
    assert f"line 3: {fault.reason}" in told


def test_lines_are_counted_through_cells_with_line_breaks(tmp_path: Path) -> None:
    reply = '"That is hard.\n\nI am ""here"".\r\nTell me more."'
    labels = read_labels(write(tmp_path, HEADER + f"a,{reply},1,2,3\n\nb,That is sad.,1,9,3\n{GOOD}"))
    assert [rated.line for rated in labels.rated] == [2, 8]
    assert labels.examples[0].reply == 'That is hard.\n\nI am "here".\r\nTell me more.'
    assert [fault.line for fault in labels.faults] == [7]


def test_many_bad_rows_are_counted(tmp_path: Path) -> None:
    told = account(read_labels(write(tmp_path, HEADER + GOOD + "a,That is hard.,0,0,0\n" * 50)))
    assert "1 of 51 rows" in told
    assert "and 30 more" in told
    assert len(told.splitlines()) == 23


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "is empty. Its first line must be reply,cognitive"),
        ("\n , \n", "is empty"),
        (HEADER, "no rows"),
        (HEADER + "a,That is hard.,4,4,4\n", r"no row that can be used \(1 faults\)\. The first: line 2: cognitive"),
        ("seeker,reply,cognitive,emotional\n", "line 1: no column behavioral"),
        ("cognitive,emotional,behavioral\n", "line 1: no column reply"),
        (HEADER.replace("seeker", "seker"), "unknown column seker. Did you mean seeker"),
        (HEADER.replace("seeker", "mood"), "unknown column mood. The columns are reply,"),
        (HEADER.strip() + ",reply\n", "the column reply is there twice"),
        (HEADER + GOOD + 'a,"open quote,1,2,3\n' + GOOD, "line 3: a quote is opened here that is not closed"),
        (HEADER + GOOD + 'a,"I said\nthat "hello",1,2,3\n' + GOOD, "line 3: a quote is opened here"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x00\x01\x02\x81\x8d", "in no encoding that can be told"),
        (b"\xff\xfe\x00", "in no encoding that can be told"),
        (HEADER.encode() + b"a,\0\0\0\0\0\0 hard,1,2,3\n", "line 2: a byte of 0 stands here"),
    ],
)
def test_a_file_that_cannot_be_trusted_is_refused(tmp_path: Path, text: str | bytes, match: str) -> None:
    with pytest.raises(ScorerError, match=match):
        read_labels(write(tmp_path, text))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ScorerError, match=r"cannot be read .*Check the path"):
        read_labels(tmp_path / "nowhere.csv")
    with pytest.raises(ScorerError, match="cannot be read"):
        read_labels(tmp_path)


CURLY = HEADER + "My café closed – again,“I’m so sorry. That’s hard…”,1,2,3\n"


@pytest.mark.parametrize(
    ("codec", "title"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8-sig", "UTF-8"),
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16"),
        ("utf-16-be", "UTF-16"),
        ("utf-32", "UTF-32"),
        ("cp1252", "Windows-1252"),
        ("mac_roman", "Mac Roman"),
    ],
)
@pytest.mark.parametrize("rows", [1, 200])
def test_the_encoding_is_found(tmp_path: Path, codec: str, title: str, rows: int) -> None:
    text = CURLY + "".join(f"day {n},It’s okay that you’re tired.,1,2,3\n" for n in range(rows - 1))
    labels = read_labels(write(tmp_path, text.encode(codec)))
    assert labels.encoding == title
    assert labels.examples[0].seeker == "My café closed – again"
    assert labels.examples[0].reply == "“I’m so sorry. That’s hard…”"
    assert ("read as" in account(labels)) is (title != "UTF-8")


def test_latin_1_is_found_too(tmp_path: Path) -> None:
    text = HEADER + "Ma sœur".replace("œ", "oe") + ",I’m glad you found a café.".replace("’", "'") + ",1,2,3\n"
    assert "café" in read_labels(write(tmp_path, text.encode("latin-1"))).examples[0].reply


def test_blank_rows_are_passed_over_and_doubles_stay_in_one_group(tmp_path: Path) -> None:
    rows = "a,That is hard.,1,2,3\na,That is hard.,2,2,3\n\n,,,,\n , ,,,\n"
    labels = read_labels(write(tmp_path, HEADER + rows))
    first, second = labels.examples
    assert labels.faults == []
    assert first.group == second.group
    assert (first.labels["cognitive"], second.labels["cognitive"]) == (0.0, 0.5)


def test_raters_are_told_and_compared(tmp_path: Path) -> None:
    header = "rater,reply,cognitive,emotional,behavioral\n"
    rows = ["ann,That is hard.,1,2,3", "bob,That is hard.,2,2,", "ann,I hear you.,1,1,1", "ann,I hear you.,3,3,3"]
    labels = read_labels(write(tmp_path, header + "\n".join(rows) + "\n"))
    assert [str(fault) for fault in labels.faults] == ["line 5: ann has rated this reply in line 4 already."]
    assert disagreement(labels) == pytest.approx(0.5)  # 1 apart on cognitive, 0 on emotional
    assert "2 rater(s); two ratings of a reply differ by 0.50." in account(labels)
    alone = read_labels(write(tmp_path, header + rows[0] + "\n"))
    assert disagreement(alone) is None
    assert "1 rater(s); no reply was rated by two." in account(alone)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("".join(f"{n % 4},That is hard.,1,2,3\n" for n in range(40)), "4 different message"),
        ("".join(f"{n},That is hard.,1,2,\n" for n in range(40)), "no rating in the column behavioral"),
    ],
)
def test_labels_that_are_too_few_to_train_on_are_refused(tmp_path: Path, text: str, match: str) -> None:
    path = write(tmp_path, HEADER + text)
    labels = read_labels(path)
    assert len(labels.rated) == 40
    with pytest.raises(ScorerError, match=match):
        check_enough(labels)


def test_a_sheet_knows_only_its_columns() -> None:
    sheet = read_sheet("standard input", b"reply,seeker\nI hear you.,\n", ["reply"], ["seeker"])
    assert [(row.line, row.cells) for row in sheet.rows] == [(2, {"reply": "I hear you.", "seeker": ""})]
