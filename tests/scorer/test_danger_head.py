"""The reader of danger: its files, its encoder, what of a text it reads, and what its log-odds mean."""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from heard.chat_app.models.downloads import Weights
from heard.scorer.danger_head import (
    DEFAULT,
    STRETCH,
    STRETCH_COST,
    DangerHead,
    DangerHeadFile,
    inputs,
    log_odds,
    stretches,
)
from heard.scorer.danger_lines import LABELS
from heard.scorer.encoder import Encoder
from heard.scorer.encoder_files import file_sha256
from heard.scorer.errors import ScorerError

CALM = (
    "On Saturday we painted the fence, and the neighbours came over for lunch. My brother brought plums and we made "
    "jam. The radio said it will rain on Tuesday, so I hung the washing out early. At work they moved us to the third "
    "floor, which has better coffee. I still have to book the train for the wedding in June. "
)
"""A harmless paragraph, longer than STRETCH."""
FILES = ("danger.toml", "weights.safetensors")


def opened(weights: Weights, file: DangerHeadFile) -> Encoder:
    return Encoder.load(weights.encoder, file.layers, sha256=file.encoder_sha256)


@pytest.fixture(scope="module")
def head(weights: Weights) -> DangerHead:
    file = DangerHeadFile.load()
    return DangerHead(file, lambda: opened(weights, file))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A head like the one that comes with heard, to be damaged."""
    for name in FILES:
        (tmp_path / name).write_bytes((DEFAULT / name).read_bytes())
    return tmp_path


@pytest.mark.parametrize("text", ["", " ", "\n\0", "😀", "a" * 100_000, "word " * 20_000, "\ud800", "low \udc00 again"])
def test_any_text_is_read_also_as_what_was_said_before(head: DangerHead, text: str) -> None:
    for before in ((), (text,), (text, text)):
        for found in head.log_odds(text, before):
            assert tuple(found) == LABELS
            assert np.isfinite(list(found.values())).all()


def test_a_lone_surrogate_is_read_as_the_mark_that_stands_for_it(head: DangerHead) -> None:
    assert head.log_odds("low \ud800 again", ["\udc00"]) == head.log_odds("low \ufffd again", ["\ufffd"])
    assert head.log_odds("so happy \ud83d\ude00") == head.log_odds("so happy 😀"), "a pair is its character"


def test_of_a_long_message_the_beginning_and_the_end_are_read(weights: Weights) -> None:
    encoder = opened(weights, DangerHeadFile.load())
    said, padding = "I have decided to end my life tonight. ", CALM * 60
    calm = inputs(encoder, padding, [])
    assert not np.array_equal(inputs(encoder, said + padding, []), calm)
    assert not np.array_equal(inputs(encoder, padding + said, []), calm)
    assert np.array_equal(inputs(encoder, padding + said + padding, []), calm)


def test_a_message_is_as_grave_as_its_likeliest_stretch(head: DangerHead, weights: Weights) -> None:
    rows = inputs(opened(weights, head.file), CALM * 2, [])
    assert len(rows) > 2
    each = [head.file.log_odds(row[None])[0] - (STRETCH_COST if place else 0) for place, row in enumerate(rows)]
    assert list(head.log_odds(CALM * 2)[0].values()) == pytest.approx(np.max(each, axis=0).tolist(), abs=1e-3)


@pytest.mark.parametrize("count", [0, 1, STRETCH, STRETCH * 3 // 2])
def test_a_short_text_has_no_stretches(count: int) -> None:
    assert stretches(count) == []


@pytest.mark.parametrize("count", [STRETCH * 3 // 2 + 1, 100, 254])
def test_stretches_overlap_and_leave_nothing_out(count: int) -> None:
    parts = stretches(count)
    assert (parts[0].start, parts[-1].stop) == (0, count)
    for one, next_ in itertools.pairwise(parts):
        assert one.start < next_.start < one.stop < next_.stop
    assert all(STRETCH / 2 < part.stop - part.start < 2 * STRETCH for part in parts)


def test_a_row_for_the_whole_and_one_for_each_stretch(weights: Weights) -> None:
    encoder = opened(weights, DangerHeadFile.load())
    text = "one two three four five " * 20
    alone, told = inputs(encoder, text, []), inputs(encoder, text, ["the day before"])
    assert alone.shape == told.shape == (1 + len(stretches(len(encoder.ids(text)))), 2 * encoder.width)
    assert not alone[:, encoder.width :].any()
    assert (told[:, encoder.width :] == told[0, encoder.width :]).all()
    assert (alone[:, : encoder.width] == told[:, : encoder.width]).all()


@pytest.mark.parametrize(
    ("text", "grave", "harmless"),
    [
        (
            "gn. for real this time",
            ["deleted my acc. deleted my pics. passcode's my bday so mum can get in"],
            ["stream's been going 14 hrs", "ok ok last round"],
        ),
        ("see you on the other side", ["I gave the dog to my sister and wrote the letters"], ["boarding now, gate 14"]),
        (
            "it ends on friday",
            ["i cant keep living like this", "i wrote a note for mum"],
            ["my contract at the bakery"],
        ),
    ],
)
def test_the_same_words_mean_more_after_a_grave_message(
    head: DangerHead, text: str, grave: list[str], harmless: list[str]
) -> None:
    assert head.log_odds(text, grave)[1]["crisis"] > head.log_odds(text, harmless)[1]["crisis"]


def test_the_graver_of_two_messages_has_the_higher_log_odds(head: DangerHead) -> None:
    def crisis(text: str) -> float:
        return head.log_odds(text)[0]["crisis"]

    assert crisis("I want to end my life.") > crisis("I feel low today.") > crisis("We had pasta for lunch.")
    proud, _ = head.log_odds("I used to be suicidal and therapy helped")
    assert proud["recovery"] > proud["crisis"]
    assert (
        head.log_odds("my kid beat me at chess")[0]["child_abuse"]
        < head.log_odds("my dad beat me again")[0]["child_abuse"]
    )


def test_what_is_torn_between_two_dangers_is_no_less_of_a_danger() -> None:
    logits = np.full((1, len(LABELS)), -9.0)
    one, two = logits.copy(), logits.copy()
    one[0, LABELS.index("threat")] = two[0, LABELS.index("threat")] = two[0, LABELS.index("crisis")] = 2.0
    at = LABELS.index("threat")
    assert log_odds(two)[0, at] == pytest.approx(log_odds(one)[0, at])
    assert np.isfinite(log_odds(np.array([[2000.0, *[-2000.0] * (len(LABELS) - 1)]]))).all()


def test_a_damaged_head_is_refused(folder: Path) -> None:
    DangerHeadFile.load(folder)
    with pytest.raises(ScorerError, match=r"There is no danger\.toml in .* `heard train-danger`"):
        DangerHeadFile.load(folder / "none")
    text = (folder / "danger.toml").read_text()
    (folder / "danger.toml").write_text(text.replace('"threat"', '"threats"'))
    with pytest.raises(ScorerError, match=re.escape(f"labels must be {', '.join(LABELS)}, in this order")):
        DangerHeadFile.load(folder)
    (folder / "danger.toml").write_text(text.split("[thresholds]")[0])
    with pytest.raises(ScorerError, match="thresholds"):
        DangerHeadFile.load(folder)
    (folder / "danger.toml").write_text(text.replace("crisis_before", "crisis_after"))  # as in a head of older days
    with pytest.raises(ScorerError, match="thresholds must be check_in, check_in_before, child_abuse"):
        DangerHeadFile.load(folder)
    (folder / "danger.toml").write_text(text)
    (folder / "weights.safetensors").write_bytes(b"x")
    with pytest.raises(ScorerError, match=r"does not belong to the danger\.toml beside it"):
        DangerHeadFile.load(folder)
    (folder / "weights.safetensors").unlink()
    with pytest.raises(ScorerError):
        DangerHeadFile.load(folder)


def _sealed(folder: Path) -> None:
    """Let the toml name the weights that are there now: only their content is wrong."""
    path, found = folder / "danger.toml", file_sha256(folder / "weights.safetensors")
    path.write_text(re.sub(r'weights_sha256 = "\w+"', f'weights_sha256 = "{found}"', path.read_text()))


def test_weights_of_another_shape_are_refused(folder: Path) -> None:
    weights = folder / "weights.safetensors"
    weights.write_bytes(b"x")
    _sealed(folder)
    with pytest.raises(ScorerError, match="cannot be read"):
        DangerHeadFile.load(folder)
    tensors = load_file(DEFAULT / "weights.safetensors")
    for changed in (
        {"outer": tensors["outer"][..., :-1], "outer_bias": tensors["outer_bias"][..., :-1]},
        {"inner": tensors["inner"][0]},
        {"inner_bias": tensors["inner_bias"][:, :-1]},
    ):
        save_file({name: np.ascontiguousarray(value) for name, value in (tensors | changed).items()}, weights)
        _sealed(folder)
        with pytest.raises(ScorerError, match="another shape"):
            DangerHeadFile.load(folder)
    save_file({name: value for name, value in tensors.items() if name != "outer"}, weights)
    _sealed(folder)
    with pytest.raises(ScorerError, match="cannot be read"):
        DangerHeadFile.load(folder)


def test_an_encoder_with_other_layers_is_refused(weights: Weights) -> None:
    other = DangerHead(DangerHeadFile.load(), lambda: Encoder.load(weights.encoder, [1]))
    with pytest.raises(ScorerError, match="heard train-danger"):
        other.log_odds("hello")
