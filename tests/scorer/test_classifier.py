"""A tiny BERT that classifies, saved by transformers with random weights, in the place of the scorer's head."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from heard.scorer.classifier import Classifier
from heard.scorer.errors import ScorerError
from heard.scorer.rater import Rater
from heard.scorer.records import COMPONENTS, EmpathyScore, ScoreStatus
from tests.commands import heard

WORDS = (
    "i", "am", "so", "sorry", "that", "must", "be", "hard", "what", "happened", "thank", "you", "my", "dog", "died",
    ".",
)  # fmt: skip
SIGNS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
REPLY = "I am so sorry, that must be hard. What happened?"
CLASSES = 'title = "tiny"\nkind = "classes"\noutputs = { perceived = ["low", "middle", "high"] }\n'
NUMBERS = (
    'title = "tiny"\nkind = "regression"\nlowest = -0.5\nhighest = 0.5\n'
    '[outputs]\ncognitive = 0\nemotional = "warm"\nbehavioral = 2\n'
)


def save(folder: Path, names: list[str], rater: str | None, places: int = 32) -> Path:
    """A model with outputs of these names, and its rater.toml if one is given."""
    torch.manual_seed(7)
    vocabulary = {word: index for index, word in enumerate([*SIGNS, *WORDS])}
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16,
        max_position_embeddings=places, initializer_range=0.3, id2label=dict(enumerate(names)),
        label2id={name: index for index, name in enumerate(names)},
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    signs = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), SIGNS, strict=True))
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **signs).save_pretrained(folder)
    if rater is not None:
        (folder / "rater.toml").write_text(rater, encoding="utf-8")
    return folder


@pytest.fixture
def three(tmp_path: Path) -> Path:
    """Three classes."""
    return save(tmp_path / "tiny", ["low", "middle", "high"], CLASSES)


def outputs_of(folder: Path, *texts: str) -> Any:
    """All outputs of a text, or of a pair, by transformers itself."""
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    model = BertForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        return model(**tokenizer(*texts, return_tensors="pt")).logits[0].double().numpy()


def refusal(folder: Path) -> str:
    with pytest.raises(ScorerError) as caught:
        Classifier.load(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_classes_become_the_expected_level(three: Path) -> None:
    rater: Rater = Classifier.load(three)
    score = rater.score("", REPLY)
    row = outputs_of(three, REPLY)
    chances = np.exp(row) / np.exp(row).sum()
    assert score.perceived == pytest.approx(1 + 2 * (chances[1] / 2 + chances[2]), abs=1e-6)
    assert (score.status, score.empathy) == (ScoreStatus.PARTIAL, None)
    assert [getattr(score, name) for name in COMPONENTS] == [None, None, None]
    assert score.reason is not None
    assert score.reason.startswith("classifier:tiny gives no cognitive and no emotional and no behavioral empathy")
    assert (score.head_name, len(score.head_sha256), len(score.encoder_sha256)) == ("classifier:tiny", 64, 64)
    assert rater.score("", REPLY) == score
    assert Classifier.load(three).score_many([("", REPLY)]) == [score]


def test_numbers_are_brought_from_their_own_scale_and_cut(tmp_path: Path) -> None:
    folder = save(tmp_path / "numbers", ["deep", "warm", "deed"], NUMBERS)
    score, row = Classifier.load(folder).score("My dog died.", REPLY), outputs_of(folder, REPLY)
    assert score.status is ScoreStatus.SCORED
    for name, output in zip(COMPONENTS, row, strict=True):
        assert getattr(score, name) == pytest.approx(1 + 2 * np.clip(output + 0.5, 0, 1), abs=1e-6)
    assert score.empathy == pytest.approx(sum(getattr(score, name) for name in COMPONENTS) / 3)
    assert (score.perceived, score.reason) == (None, None)


def test_a_pair_has_the_message_first(tmp_path: Path) -> None:
    folder = save(tmp_path / "pair", ["deep", "warm", "deed"], NUMBERS.replace("[outputs]", "pair = true\n[outputs]"))
    score = Classifier.load(folder).score("My dog died.", REPLY)
    row = outputs_of(folder, "My dog died.", REPLY)
    assert score.emotional == pytest.approx(1 + 2 * np.clip(row[1] + 0.5, 0, 1), abs=1e-6)
    assert score != Classifier.load(folder).score("Thank you.", REPLY)


def test_a_text_that_cannot_be_rated_has_the_scorer_s_status_and_this_label(three: Path) -> None:
    rater = Classifier.load(three)
    found = {text: rater.score("", text) for text in ("", "😀", "no te preocupes, amigo", "I hear you. " * 3_000)}
    assert [score.status.value for score in found.values()] == ["empty", "emoji_only", "not_english", "too_long"]
    assert {(score.perceived, score.head_name) for score in found.values()} == {(None, "classifier:tiny")}


@pytest.mark.parametrize("name", ["max_position_embeddings", "model_max_length"])
def test_a_long_text_is_cut_at_the_model_s_own_limit(tmp_path: Path, name: str) -> None:
    folder = save(tmp_path / "short", ["low", "middle", "high"], CLASSES, places=12 if name.startswith("max") else 64)
    if name == "model_max_length":
        path = folder / "tokenizer_config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {name: 12}))
    rater = Classifier.load(folder)
    words = "I am so sorry that must be hard what happened"
    assert rater.score("", f"{words} thank you. " * 200).perceived == rater.score("", words).perceived


def broken(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-2000])


def endless(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    save_file(
        tensors | {"classifier.bias": torch.full((3,), torch.nan)}, folder / "model.safetensors", {"format": "pt"}
    )


def headless(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    tensors = load_file(folder / "model.safetensors")
    del tensors["classifier.weight"]
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})


def without(*names: str) -> Any:
    return lambda folder: [(folder / name).unlink() for name in names]


def edited(**values: Any) -> Any:
    def edit(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return edit


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (without("rater.toml"), 'no rater.toml that says what its outputs mean. Write one: a title, kind = "classes"'),
        (broken, "cannot be loaded (SafetensorError)"),
        (headless, "the weights are not all of this model's"),
        (endless, "the weights give no finite numbers"),
        (without("model.safetensors"), "has no weights as safetensors"),
        (without("tokenizer.json"), "has no tokenizer"),
        (edited(architectures=["BertModel"]), "of no model that classifies texts"),
        (edited(architectures=None), "of no model that classifies texts"),
        (edited(id2label={"1": "a"}), "id2label must name every output"),
        (edited(vocab_size=5), "cannot be loaded"),
    ],
)  # fmt: skip
def test_a_damaged_folder_is_refused_with_a_sentence(three: Path, damage: Any, said: str) -> None:
    damage(three)
    assert said in refusal(three)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CLASSES.replace("middle", "midle"), 'outputs.perceived: there is no output "midle". Did you mean middle?'),
        (CLASSES.replace('"high"', "3"), "outputs.perceived: there is no output 3; they are numbered from 0 to 2."),
        (CLASSES.replace('"high"', "1"), "the output middle is named twice."),
        (CLASSES.replace('"high"', "1.5"), "outputs.perceived must be an output's number or name, or a list of them."),
        (CLASSES.replace("perceived", "perceivd"), 'unknown key "outputs.perceivd". Did you mean perceived?'),
        (CLASSES.replace('["low", "middle", "high"]', '"low"'), "of classes each number needs a list of two outputs"),
        (CLASSES.replace("classes", "class"), 'kind must be regression or classes, not "class". Did you mean classes?'),
        (CLASSES + "lowest = 0\n", "lowest and highest are of a regression"),
        ('title = "x"\nkind = "classes"\noutputs = {}\n', "outputs names none of cognitive"),
        ('title = "x"\nkind = "regression"\noutputs = { perceived = 0 }\n', "a regression needs lowest and highest"),
        (NUMBERS.replace("highest = 0.5", "highest = -1"), "lowest must be below highest."),
        (NUMBERS.replace("cognitive = 0", "cognitive = [0, 2]"), "of a regression each number is one output."),
        ("title = tiny", "is not valid TOML"),
    ],
)
def test_a_faulty_rater_file_is_refused_with_a_sentence(three: Path, text: str, said: str) -> None:
    (three / "rater.toml").write_text(text, encoding="utf-8")
    assert said in refusal(three)


def test_without_torch_a_sentence_says_what_to_install(three: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert refusal(three) == 'A classifier needs torch and transformers: pip install "heard[train]".'


def test_the_command_labels_what_a_classifier_gives(three: Path, tmp_path: Path) -> None:
    done = heard("score", REPLY, "--head", three)
    assert done.status == 0, done.stderr
    assert "People " in done.stdout
    assert "Cognitive" not in done.stdout
    assert "Scored in part. classifier:tiny gives no cognitive" in done.stdout
    assert "Rated by classifier:tiny, and not by a head of heard's own." in done.stdout
    (tmp_path / "settings.toml").write_text(f'scorer_head = "{three}"\n', encoding="utf-8")
    lines = b'{"id": 1, "reply": "That must be hard."}\n{"id": 2, "reply": ""}\n'
    done = heard("score", "--jsonl", folder=tmp_path, stdin=lines)
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["status"], first["cognitive"], first["head_name"]) == ("partial", None, "classifier:tiny")
    assert set(first["levels"]) == {"perceived"}
    assert (second["status"], done.status) == ("empty", 0)


def test_commands_that_need_more_than_it_gives_refuse_it(three: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("reply,cognitive,emotional,behavioral\nThat must be hard.,2,2,1\n", encoding="utf-8")
    assert "this command needs all three components" in heard(
        "evaluate", "--data", labels, "--head", three
    ).stderr  # fmt: skip
    assert heard("perturb", REPLY, "--head", three).sentence.endswith("Name one as scorer_head or --head.")
    assert heard("score", REPLY, "--head", three, "--encoder", "x").sentence.startswith("--encoder belongs to a head")


def test_a_whole_classifier_is_measured_on_labels(tmp_path: Path) -> None:
    folder = save(tmp_path / "numbers", ["deep", "warm", "deed"], NUMBERS)
    labels = tmp_path / "labels.csv"
    rows = "".join(f"{REPLY} I am number {n}.,{1 + n % 3},2,{1 + n % 2}\n" for n in range(6))
    labels.write_text(f"reply,cognitive,emotional,behavioral\n{rows}".replace("sorry,", "sorry"), encoding="utf-8")
    done = heard("evaluate", "--data", labels, "--head", folder)
    assert done.status == 0, done.stderr
    assert done.stdout.startswith("Rated by classifier:numbers (sha256 ")
    assert "| cognitive | 6 |" in done.stdout


def test_a_comparison_is_rated_by_a_classifier(tmp_path: Path) -> None:
    whole = save(tmp_path / "numbers", ["deep", "warm", "deed"], NUMBERS)
    part = save(tmp_path / "part", ["low", "middle", "high"], CLASSES)
    (tmp_path / "questions.txt").write_text("What do I do about day one?\n", encoding="utf-8")
    given = ("--models", "echo", "--strategies", "plain", "--questions", "questions.txt", "--out", "out")
    done = heard("compare", *given, "--head", part, folder=tmp_path)
    assert done.sentence.startswith(
        "classifier:part gives no cognitive and no emotional and no behavioral empathy, and"
    )
    done = heard("compare", *given, "--head", whole, folder=tmp_path)
    assert done.status == 0, done.stderr
    assert "rated by classifier:numbers" in (tmp_path / "out" / "summary.md").read_text(encoding="utf-8")
    assert (tmp_path / "out" / "results.csv").read_text(encoding="utf-8").endswith('"no","classifier:numbers"\n')


def test_a_label_is_never_heard_s_own(three: Path) -> None:
    from heard.scorer.other_rater import is_other

    score: EmpathyScore = Classifier.load(three).score("", "")
    assert is_other(score.head_name)
    assert not is_other("default")
