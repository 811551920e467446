"""Files of human answers in each form, and what is wrong with each."""

from pathlib import Path

import pytest

from heard.chat_app.comparing.human_answers import HumanAnswers, check_names, question_names, read_human_answers
from heard.chat_app.comparing.questions import Question, read_questions
from heard.chat_app.studies.column_names import parse_columns
from heard.errors import UserError

QUESTIONS = (Question(2, "I feel low."), Question(3, "I won."))


def read(folder: Path, text: str, columns: str = "") -> HumanAnswers:
    path = folder / "people.csv"
    path.write_text(text, encoding="utf-8")
    return read_human_answers(path, QUESTIONS, parse_columns(columns))


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("Context,Response\nI feel low.,Oh no.\nI feel low.,Why?\nI won.,Yes!\n", ""),
        ("message,answer\nI feel low.,Oh no.\nI feel  low.,Why?\nI won.,<p>Yes!</p>\nI won.,Yes!\n", ""),
        (
            "message,source,answer\nI feel low.,human,Oh no.\nI feel low.,human-b,Why?\nI won.,gpt,No.\n"
            "I won.,human,Yes!\n",
            "",
        ),
        ("message,human,gpt,human-b\nI feel low.,Oh no.,Well.,Why?\nI won.,Yes!,So.,\n", ""),
        ("q,a\nI feel low.,Oh no.\nI feel low.,Why?\nI won.,Yes!\n", "message=q,reply=a"),
    ],
)
def test_every_form_gives_the_same_answers(tmp_path: Path, text: str, columns: str) -> None:
    found = read(tmp_path, text, columns)
    assert [(one.question.id, one.text) for one in found.answers] == [(2, "Oh no."), (2, "Why?"), (3, "Yes!")]
    assert found.told[-1].startswith("human: 3 answers to 2 of 2 questions")
    assert len({one.key for one in found.answers}) == 3


@pytest.mark.parametrize(
    ("text", "columns", "sentence"),
    [
        ("message,gpt\nI won.,Yes!\n", "", "people.csv, line 1: no column of human answers."),
        ("text,human\nI won.,Yes!\n", "", "people.csv, line 1: no column of messages."),
        ("message,answer\nI lost.,Oh.\n", "", "people.csv has no human answer to any of the questions."),
        ("message,source,answer\nI won.,gpt,Oh.\n", "", "people.csv has no human answer to any of the questions."),
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, text: str, columns: str, sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        read(tmp_path, text, columns)
    assert str(refused.value).startswith(sentence)


def test_names_of_columns_are_those_of_either_file(tmp_path: Path) -> None:
    questions, people = tmp_path / "questions.csv", tmp_path / "people.csv"
    questions.write_text("q\nI won.\nI won.\nI feel low.\n", encoding="utf-8")
    people.write_text("q,a\nI won.,Yes!\n", encoding="utf-8")
    names = parse_columns("message=q,reply=a")
    check_names(names, (questions, people))
    found = read_questions(questions, 99, question_names(questions, names), repeats=True)
    assert ([one.text for one in found.questions], found.faults) == (["I won.", "I feel low."], [])
    assert question_names(people.with_suffix(".txt"), names) == {}
    with pytest.raises(UserError, match='No file has a column "b"'):
        check_names(parse_columns("reply=b"), (questions, people))
