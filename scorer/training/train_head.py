"""Make a head folder: the default head from the shared label sources, or a team's own from a CSV of ratings."""

import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as save_tensors

from heard.scorer.encoder import Encoder
from heard.scorer.encoder_files import file_sha256, read_config
from heard.scorer.everyday import harmless
from heard.scorer.head import Head
from heard.scorer.head_file import HeadFile
from heard.scorer.hub import encoder_name
from heard.scorer.records import COMPONENTS
from heard.scorer.relevance import FILE, Relevance
from heard.scorer.score import DEFAULT_HEAD, HEADS
from heard.scorer.toml_file import write_toml
from heard.scorer.training.data import FACETS, FOLDS, Table, shared_examples, tabulate
from heard.scorer.training.features import Features, OnProgress, compute
from heard.scorer.training.fit_perceived import fit_perceived
from heard.scorer.training.intervals import half_widths
from heard.scorer.training.labels import Labels, check_enough
from heard.scorer.training.mixing import fit_mixing
from heard.scorer.training.network import Floats, Prepared, Recipe, fit, folds, one_thread, predict, prepare, tensors
from heard.scorer.training.train_relevance import Judge

WEIGHTS = {"everyday": 1.5, "project": 10.0, "own everyday": 4.0, "marks": 5.0}
"""How much a row of the project's own sets counts beside a row of a public one: of those there are many more."""

TITLES = {
    "both": "The default head of heard, for counselling and everyday talk, for research",
    "everyday": "A head of heard for everyday talk, for research",
}
DEFAULT = HEADS / DEFAULT_HEAD


@dataclass(frozen=True, slots=True)
class Trained:
    """A head as it comes out of training, with what is needed to judge it."""

    file: HeadFile
    """As `write_head` was given it: without the sums of the files."""
    tensors: dict[str, Floats]
    table: Table
    held_out: Floats
    """Components of each reply, rows x 3 on 0..1, predicted by a head that had not seen its group."""


def default_layers(folder: Path) -> list[float]:
    """The layers to read of an encoder: a sixth, a half and two thirds up, of the last its attention alone.

    Chosen on EPITOME's folds and those of the own set's training part: of six layers 1, 3 and 3.5. With the
    feed-forward of the fourth, a sixth more work, they were no better; with 1, 2 and 3 worse, and with higher ones too.
    """
    depth = int(read_config(folder)["num_hidden_layers"])
    top = max(1, round(depth * 2 / 3)) - 0.5
    return sorted({*(max(1, round(depth * share)) for share in (1 / 6, 1 / 2)), top})


def cross_fit(
    data: Prepared, table: Table, recipe: Recipe, weights: Floats, on_progress: OnProgress, facets: Floats | None = None
) -> tuple[Floats, list[np.ndarray[Any, Any]]]:
    """Facets of every row from the fold that did not see it (fold k uses seed k), and the test rows of each fold.

    The test part is in no fold; its rows stay 0.
    """
    targets = table.targets if facets is None else facets
    parts = parts_of(table)
    result = np.zeros(targets.shape, np.float32)
    steps = FOLDS * recipe.epochs
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        on_progress("training on five folds", done, steps)

    for seed, test in enumerate(parts):
        rows = np.setdiff1d(table.trained, test)
        result[test] = predict(fit(data, targets, weights, rows, recipe, seed, step), data, test)
    return result, parts


def _default_marks(encoder_sha256: str) -> Relevance | None:
    """What the default head marks misses with: it knows nothing of the head, only of the encoder. None for another."""
    head = Head.load(DEFAULT)
    return head.relevance if head.file.encoder_sha256 == encoder_sha256 else None


def parts_of(table: Table) -> list[np.ndarray[Any, Any]]:
    """Rows of each fold, of those that may be trained on."""
    return [table.trained[fold] for fold in folds(list(table.groups[table.trained]), FOLDS)]


def row_weights(table: Table) -> Floats:
    """Weight of each label cell in the loss, rows x facets."""
    weights = np.ones(table.targets.shape, np.float32)
    for source, weight in WEIGHTS.items():
        weights[table.sources == source] = weight
    return weights * np.array([example.weight for example in table.examples], np.float32)[:, None]


def features_of(
    table: Table, encoder_folder: Path, layers: list[float], cache: Path | None, on_progress: OnProgress
) -> tuple[Features, str]:
    """Token states of the table's texts (all cores), and the encoder's sha256."""
    encoder = Encoder.load(encoder_folder, layers, threads=os.cpu_count() or 1)
    return compute(
        encoder, table.texts, layers, cache, lambda done, of: on_progress("reading the replies", done, of)
    ), encoder.sha256


@one_thread()
def train_default_head(
    shared: Path,
    encoder_folder: Path,
    out: Path,
    cache: Path | None,
    on_progress: OnProgress,
    command: str,
    kind: str = "both",
) -> Trained:
    """Train a head on everything below `shared` and the project's sets, and write it to `out`.

    `kind` is "both", the default head, or "everyday", which differs in the mixing alone.
    """
    table = tabulate(shared_examples(shared))
    layers, recipe = default_layers(encoder_folder), Recipe()
    features, sha256 = features_of(table, encoder_folder, layers, cache, on_progress)
    data, weights = prepare(features, recipe), row_weights(table)
    facets, _ = cross_fit(data, table, recipe, weights, on_progress)
    mixing, offset = fit_mixing(facets, table, table.trained, kind)
    network = fit(data, table.targets, weights, table.trained, recipe, seed=0)
    found = {**tensors(network, data.basis), "mixing": mixing, "mixing_bias": offset}
    names = table.sources[table.trained].tolist()
    sources = [f"{name}: {names.count(name)} replies" for name in dict.fromkeys(names)]
    judge = Judge.train(encoder_folder, layers, on_progress)
    held_out = product_of(table, facets, facets @ mixing.T + offset, judge)
    everyday = fit_perceived(facets, np.clip(facets @ mixing.T + offset, 0, 1), table)
    own = np.intersect1d(table.trained, np.where(table.sources == "project")[0])
    file = HeadFile(
        TITLES[kind],
        encoder_name(encoder_folder, sha256),
        sha256,
        "",
        layers,
        list(FACETS),
        sources,
        command,
        half_widths=half_widths(1 + 2 * held_out[own], 1 + 2 * component_labels(table)[own]),
        **asdict(everyday),
    )
    write_head(out, file, found, judge.model)
    return Trained(file, found, table, held_out)


@one_thread()
def train_on_labels(
    labels: Labels, encoder_folder: Path, out: Path, cache: Path | None, on_progress: OnProgress, command: str
) -> Trained:
    """Train a head on a team's own ratings alone and write it to `out`. Raises ScorerError for too few of them."""
    check_enough(labels)
    name = Path(labels.name).name
    table = tabulate(labels.examples, COMPONENTS)
    layers = default_layers(encoder_folder)
    recipe = recipe_for(len(table.texts))
    features, sha256 = features_of(table, encoder_folder, layers, cache, on_progress)
    data, weights = prepare(features, recipe), np.ones(table.targets.shape, np.float32)
    held_out, _ = cross_fit(data, table, recipe, weights, on_progress)
    network = fit(data, table.targets, weights, np.arange(len(table.texts)), recipe, seed=0)
    found = {
        **tensors(network, data.basis),
        "mixing": np.eye(len(COMPONENTS), dtype=np.float32),
        "mixing_bias": np.zeros(len(COMPONENTS), np.float32),
    }
    file = HeadFile(
        f"A head trained on {name}",
        encoder_name(encoder_folder, sha256),
        sha256,
        "",
        layers,
        list(COMPONENTS),
        [f"{name}: {len(table.texts)} replies"],
        command,
        half_widths=half_widths(1 + 2 * np.clip(held_out, 0, 1), 1 + 2 * table.targets),
    )
    write_head(out, file, found, _default_marks(sha256))
    return Trained(file, found, table, held_out)


def product_of(table: Table, facets: Floats, mixed: Floats, judge: Judge) -> Floats:
    """Components on 0..1 as the product gives them from the facets and their mix: clipped, and lowered by harm
    (`scorer/head.py`) and where a reply of the own set does not answer its message (`scorer/parrot.py`,
    `scorer/relevance.py`). The public sources' seekers are whole posts or half conversations, so there that is left
    out."""
    factor = harmless(facets[:, [FACETS.index("harm")]])
    for row in np.where(table.sources == "project")[0]:
        factor[row] *= judge.kept(table.examples[row].seeker, table.examples[row].reply)
    result: Floats = np.clip(mixed, 0, 1) * factor
    return result


def component_labels(table: Table) -> Floats:
    """Ratings of the three components, rows x 3 on 0..1, NaN where there is none."""
    names = FACETS if table.targets.shape[1] == len(FACETS) else COMPONENTS
    result: Floats = table.targets[:, [names.index(name) for name in COMPONENTS]]
    return result


def recipe_for(rows: int) -> Recipe:
    """The recipe for this many rows: 300 steps or eight rounds, and fewer directions. On 160 and on 600 replies of the
    own set twice as many steps took twice as long and were no better."""
    steps = 300
    batch = 16
    return Recipe(basis=min(384, max(32, rows)), epochs=max(8, min(60, steps * batch // max(1, rows))), batch=batch)


def write_head(out: Path, file: HeadFile, found: dict[str, Floats], relevance: Relevance | None = None) -> None:
    """Write weights and head.toml to `out` (made if need be); the sha256 of what is written is filled in."""
    out.mkdir(parents=True, exist_ok=True)
    path = out / "weights.safetensors"
    path.write_bytes(save_tensors({name: np.ascontiguousarray(value, np.float32) for name, value in found.items()}))
    marks = "" if relevance is None else relevance.save(out / FILE)
    write_toml(out / "head.toml", asdict(replace(file, weights_sha256=file_sha256(path), answering_sha256=marks)))
