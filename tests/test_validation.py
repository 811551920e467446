"""What pydantic finds, in sentences of ours: for dataclasses and models, whatever file they are of."""

from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, Strict, TypeAdapter, ValidationError, with_config

from heard.prompts.fields import validated
from heard.validation import Fault, faults_of


class Size(StrEnum):
    """Of a part."""

    SMALL = "small"
    LARGE = "large"


@dataclass(frozen=True)
class Part:
    """One of a list."""

    name: Annotated[str, Field(min_length=1, max_length=5)]
    size: Size = Size.SMALL


@with_config(extra="forbid")
@dataclass(frozen=True)
class Whole:
    """A record with a field of every kind."""

    title: str
    parts: Annotated[tuple[Part, ...], Field(max_length=2)] = ()
    number: Annotated[int, Field(ge=1, le=9), Strict()] = 1
    least: Annotated[int, Field(ge=2)] = 2
    share: Annotated[float, Field(gt=0)] | None = None
    only: Literal["yes"] = "yes"
    switch: Annotated[bool, Strict()] = False
    day: Annotated[date, Strict()] = date(2026, 1, 1)
    code: Annotated[str, Field(pattern="^[a-z]+$", examples=["abc"])] = "abc"
    words: dict[Literal["first", "second"], str] = field(default_factory=dict)
    pair: Annotated[str, AfterValidator(lambda text: validated(text, text.split()))] = ""


WHOLE = TypeAdapter(Whole)


def faults(values: Any) -> list[Fault]:
    with pytest.raises(ValidationError) as caught:
        WHOLE.validate_python(values)
    return faults_of(caught.value, WHOLE.json_schema())


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"titel": "x"}, 'unknown key "titel". Did you mean title?'),
        ({"part": []}, 'unknown key "part". Did you mean parts?'),
        ({"title": 3}, "title must be a text, not 3: put it in quotes."),
        ({"title": None}, "title is empty; it must be a text."),
        ({"parts": "x"}, 'parts must be a list of at most 2, not "x".'),
        ({"parts": [{"name": "a"}] * 3}, "parts must be a list of at most 2, not 3."),
        ({"parts": [{"name": "a"}, 4]}, "parts.2 must hold keys such as name and size, not 4."),
        ({"parts": [{"name": "a", "sise": "small"}]}, 'unknown key "parts.1.sise". Did you mean size?'),
        ({"parts": [{"name": "a", "size": "smal"}]}, 'size must be small or large, not "smal". Did you mean small?'),
        ({"parts": [{"name": "abcdef"}]}, "parts.1.name must be a text of 1 to 5 characters, not 6."),
        ({"parts": [{}]}, "parts.1.name is missing."),
        ({"number": 10}, "number must be a whole number from 1 to 9, not 10."),
        ({"number": True}, "number must be a whole number from 1 to 9, not true."),
        ({"number": "x" * 41}, "number must be a whole number from 1 to 9, not a text of 41 characters."),
        ({"least": 1}, "least must be a whole number of at least 2, not 1."),
        ({"share": 0}, "share must be a number above 0, not 0."),
        ({"only": ["no"]}, "only must be yes, not a list."),
        ({"switch": 1}, "switch must be true or false, not 1."),
        ({"day": "today"}, 'day must be a date such as 2026-11-28, not "today".'),
        ({"code": "A"}, 'code must be a text such as "abc", not "A".'),
        ({"words": {"frist": "x"}}, 'unknown key "words.frist". Did you mean first?'),
        ({"words": {"first": {}}}, "words.first is empty; it must be a text."),
        ({"words": ["x"]}, "words must hold names with values, not a list."),
    ],
)  # fmt: skip
def test_a_sentence_names_key_fault_and_what_belongs_there(values: dict[str, Any], sentence: str) -> None:
    assert any(fault.sentence.endswith(sentence) for fault in faults({"title": "t"} | values))


def test_all_faults_come_at_once_with_their_places_and_a_misspelt_key_before_the_one_that_is_missing() -> None:
    assert [fault.place for fault in faults({"number": 0, "parts": [{"name": "a", "sise": 1}], "titel": "x"})] == [
        ("parts", 0, "sise"), ("titel",), ("title",), ("number",),
    ]  # fmt: skip
    assert [fault.sentence for fault in faults([])] == ["it is empty; it must hold keys such as title and parts."]


def test_a_validator_s_own_faults_stand_after_the_key_a_line_each() -> None:
    assert [fault.sentence for fault in faults({"title": "t", "pair": "one two?"})] == ["pair one.", "pair two?"]


def test_what_may_be_secret_is_not_quoted() -> None:
    class Secret(BaseModel):
        model_config = ConfigDict(extra="forbid")

        key: int

    with pytest.raises(ValidationError) as caught:
        Secret.model_validate({"key": "hunter2"})
    assert [fault.sentence for fault in faults_of(caught.value, Secret.model_json_schema(), quote=False)] == [
        "key must be a whole number."
    ]
