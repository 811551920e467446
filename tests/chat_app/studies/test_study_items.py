"""Items from CSV files as people have them: three forms, and what is wrong with each."""

import uuid
from pathlib import Path

import pytest

from heard.chat_app.models.catalogue import BUILT_IN
from heard.chat_app.studies.item_drafts import ItemsError
from heard.chat_app.studies.study_file import StudyFile, parse_study
from heard.chat_app.studies.study_items import Items, read_items, read_questions
from heard.db.study_records import AnswerStatus
from heard.scorer.errors import ScorerError

ARM = {"name": "warm", "persona": "listener", "model": "echo"}
CRISIS = "I want to kill myself tonight."


def study(*sources: str, arms: int = 0) -> StudyFile:
    named = [{**ARM, "name": f"arm-{number}"} for number in range(arms)]
    return parse_study({"id": "s", "kind": "survey", "sources": list(sources), "arms": named}, "test")


def items(folder: Path, text: str | bytes, of: StudyFile, limit: int | None = None) -> Items:
    path = folder / "items.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_items(path, of, BUILT_IN, limit)


def seen(found: Items) -> list[tuple[str, dict[str, str]]]:
    return [(item.message, {answer.source: answer.text for answer in item.answers}) for item in found.items]


def test_a_public_set_as_it_is(tmp_path: Path) -> None:
    text = (
        "Context,Response\r\n"
        'I feel low.,"You are not alone,\r\nand it can get better."\r\n'
        "I feel low.,Try a walk.\r\n"
        ",Nobody asked.\r\n"
        "I am new here.,Welcome.\r\n"
        "I am new here.,Welcome.\r\n"
        "I am late.,  \r\n"
        f"{CRISIS},Call somebody.\r\n"
        "I won.,Great,too many\r\n"
    )
    found = items(tmp_path, text, study("human", arms=1))
    assert seen(found) == [
        ("I feel low.", {"human": "You are not alone,\r\nand it can get better.", "arm-0": ""}),
        ("I am new here.", {"human": "Welcome.", "arm-0": ""}),
    ]
    skipped = found.skipped
    assert (skipped.empty, skipped.repeated, skipped.further_responses, skipped.faulty, skipped.crisis) == (
        2,
        1,
        1,
        1,
        1,
    )
    assert len(skipped.sentences()) == 5
    human, arm = found.items[0].answers
    assert (human.status, human.human, human.words) == (AnswerStatus.COMPLETE, True, 9)
    assert human.formatting["paragraphs"] == 1
    assert (arm.status, arm.human, arm.persona, arm.model) == (AnswerStatus.PENDING, False, "listener", "echo")


def test_other_columns_of_a_public_set_do_not_matter(tmp_path: Path) -> None:
    found = items(tmp_path, "id,Response,Context\n1,Welcome.,I am new.\n", study("human", arms=1))
    assert [item.message for item in found.items] == ["I am new."]


def test_the_long_form_with_a_mark_at_its_beginning(tmp_path: Path) -> None:
    text = "message,source,answer\nHello?,human,Yes.\nHello?,gpt,No.\nHello?,gpt,No.\nBye?,gpt,Go.\nBye?,human,Stay.\n"
    for raw in (text.encode(), text.encode("utf-8-sig"), text.encode("utf-16"), text.replace("\n", "\r\n").encode()):
        found = items(tmp_path, raw, study("human", "gpt"))
        assert seen(found) == [("Hello?", {"human": "Yes.", "gpt": "No."}), ("Bye?", {"gpt": "Go.", "human": "Stay."})]
        assert found.skipped.repeated == 1


def test_the_encoding_of_a_spreadsheet_of_the_west(tmp_path: Path) -> None:
    text = "message,human,gpt\nMy caf\u00e9 closed and I\u2019m sad about it.,Oh no \u2013 that\u2019s hard.,Sorry.\n"
    assert "caf\u00e9" in items(tmp_path, text.encode("cp1252"), study("human", "gpt")).items[0].message


def test_the_wide_form_with_line_breaks_and_quotes(tmp_path: Path) -> None:
    text = 'message,human,gpt\n"I said ""no"".\nTwice.","Good.\n\nReally.",Fine.\n'
    assert seen(items(tmp_path, text, study("human", "gpt"))) == [
        ('I said "no".\nTwice.', {"human": "Good.\n\nReally.", "gpt": "Fine."})
    ]


def test_the_limit_takes_the_first(tmp_path: Path) -> None:
    text = "message,human,gpt\n" + "".join(f"m{n},a,b\n" for n in range(9))
    found = items(tmp_path, text, study("human", "gpt"), 2)
    assert [(item.number, item.message) for item in found.items] == [(1, "m0"), (2, "m1")]


def test_an_item_keeps_its_id_and_an_answers_id_tells_nothing(tmp_path: Path) -> None:
    one = items(tmp_path, "message,human,gpt\na,1,2\nb,3,4\n", study("human", "gpt")).items
    two = items(tmp_path, "message,gpt,human\nb,4,3\na,2,1\n", study("human", "gpt")).items
    assert {item.message: item.id for item in one} == {item.message: item.id for item in two}
    ids = [answer.id for item in (*one, *two) for answer in item.answers]
    assert {uuid.UUID(one_id).version for one_id in ids} == {4}
    assert len(set(ids)) == 8


def test_an_attention_item_brings_its_own_answers(tmp_path: Path) -> None:
    text = "message,source,answer,attention\nMark A.,a,x,\nMark A.,b,y,a\nHi?,human,z,\n"
    attention, ordinary = items(tmp_path, text, study("human", arms=1)).items
    assert (attention.attention, [answer.source for answer in attention.answers]) == ("a", ["a", "b"])
    assert (ordinary.attention, [answer.source for answer in ordinary.answers]) == (None, ["human", "arm-0"])


def test_an_answer_that_gives_itself_away_is_marked(tmp_path: Path) -> None:
    text = 'message,human,gpt\nHi?,"Hello.\nSincerely, Dr. Smith","As an AI, hello."\n'
    (item,) = items(tmp_path, text, study("human", "gpt")).items
    assert [answer.leak for answer in item.answers] == [["signature"], ["ai_self"]]


PAIR = ("human", "gpt")
SIX = ",".join("abcdef")


@pytest.mark.parametrize(
    ("text", "of", "sentence"),
    [
        ("message,answer\nx,y\n", study(*PAIR), "line 1: no column source"),
        ("source,answer\nx,y\n", study(*PAIR), "line 1: no column message"),
        ("message,source\nx,human\n", study(*PAIR), "line 1: no column answer"),
        ("text,human\nx,y\n", study(*PAIR), "line 1: no column message"),
        ("", study(*PAIR), "is empty"),
        ("message,human,gpd\nx,y,z\n", study(*PAIR), 'no source "gpd" in study s. Did you mean gpt?'),
        ("message,source,answer\nx,humann,y\n", study(*PAIR), 'line 2: no source "humann"'),
        ("Context,Response\nx,y\n", study("gpt", arms=1), 'no source "human"'),
        ("message,human\nx,y\n", study("human"), "line 2: this message has 1 answer, and a ballot needs two"),
        ("Context,Response\nx,y\n", study("human"), "line 2: this message has 1 answer, and a ballot needs two"),
        (f"message,{SIX}\nx,{SIX}\n", study(*"abcdef"), "line 2: this message has 6 answers, and 5 fit"),
        ("message,human\nx,y\n", study("human", arms=5), "has 6 answers (5 of them by the study's arms)"),
        ("message,human,gpt\nx,y,\n", study(*PAIR), "line 2: the cell of gpt is empty"),
        ("message,human,gpt\n\u200b,y,z\n", study(*PAIR), "line 2: the cell of message is empty"),
        ("message,source,answer\nx,human,y\nx,gpt, \n", study(*PAIR), "line 3: the answer is empty"),
        ("message,source,answer\nx,human,y\nx,human,z\n", study(*PAIR), 'line 3: source "human" has answered'),
        ("message,human,gpt\nx,y,z\nx,y,w\n", study(*PAIR), "line 3: this message stands in line 2 already"),
        ("message,human,human\nx,y,z\n", study(*PAIR), "the column human is there twice"),
        ("message,human,gpt\nx,y,z,w\n", study(*PAIR), "line 2: this row has 4 cells"),
        ('message,human,gpt\nx,"y,z\n', study(*PAIR), "line 2: a quote is opened here"),
        (b"message,human,gpt\nx,\x00\x01\x02,z\n", study(*PAIR), "line 2: a byte of 0 stands here"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\x00\x01\x02\x81\x8d", study(*PAIR), "no encoding that can be told"),
        ("message,human,gpt,attention\nx,y,z,gdt\n", study(*PAIR), 'names "gdt", which has no answer'),
        (
            "message,source,answer,attention\nx,a,1,a\nx,b,2,b\n",
            study(*PAIR),
            "line 3: the column attention names two sources",
        ),
    ],
)
def test_a_fault_is_one_sentence_with_its_line(tmp_path: Path, text: str | bytes, of: StudyFile, sentence: str) -> None:
    with pytest.raises((ItemsError, ScorerError)) as raised:
        items(tmp_path, text, of)
    told = str(raised.value)
    assert sentence in told
    assert told.startswith("items.csv")
    assert told.endswith((".", "?"))
    assert "\n" not in told


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ScorerError, match="cannot be read"):
        read_items(tmp_path / "none.csv", study(*PAIR), {})


def test_questions_in_any_of_their_columns(tmp_path: Path) -> None:
    path = tmp_path / "questions.csv"
    for column in ("message", "Context", "Question"):
        path.write_text(f"id,{column},note\n1,One?,x\n2,,y\n3,One?,z\n4,{CRISIS},w\n5,Two?,v\n", encoding="utf-8")
        found = read_questions(path, study(arms=2))
        assert [(item.number, item.message) for item in found.items] == [(1, "One?"), (2, "Two?")]
        assert {answer.status for item in found.items for answer in item.answers} == {AnswerStatus.PENDING}
        assert (found.skipped.empty, found.skipped.repeated, found.skipped.crisis) == (1, 1, 1)
    for text, fault in (("text\nOne?\n", "no column message"), ("", "is empty")):
        path.write_text(text, encoding="utf-8")
        with pytest.raises((ItemsError, ScorerError), match=fault):
            read_questions(path, study(arms=2))
    path.write_text("message\nOne?\n", encoding="utf-8")
    with pytest.raises(ItemsError, match="a ballot needs two answers"):
        read_questions(path, study(arms=1))
    with pytest.raises(ItemsError, match="has 6 answers"):
        read_questions(path, study(arms=6))
