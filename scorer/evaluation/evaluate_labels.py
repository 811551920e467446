"""Measure a finished head, or another rater, on a team's labels."""

import numpy as np

from heard.scorer.evaluation.metrics import mse, spearman
from heard.scorer.rater import Rater
from heard.scorer.records import COMPONENTS, HIGHEST, LOWEST
from heard.scorer.training.labels import Labels


def on_labels(rater: Rater, labels: Labels) -> str:
    """MSE and Spearman of each component on a team's rated replies, beside the labels' own mean, as Markdown.

    Only honest for replies that the head was not trained on.
    """
    examples = labels.examples
    scores = rater.score_many([(example.seeker, example.reply) for example in examples])
    lines = ["| | replies | MSE | MSE of the mean | skill | Spearman |", "|---|---|---|---|---|---|"]
    for name in COMPONENTS:
        pairs = [
            (float(getattr(score, name)), LOWEST + (HIGHEST - LOWEST) * example.labels[name])
            for score, example in zip(scores, examples, strict=True)
            if name in example.labels and score.empathy is not None
        ]
        if not pairs:
            lines.append(f"| {name} | 0 | | | | |")
            continue
        predicted, rated = np.array(pairs).T
        error, constant = mse(predicted, rated), float(rated.var())
        skill = f"{1 - error / constant:.2f}" if constant else ""
        lines.append(
            f"| {name} | {len(pairs)} | {error:.3f} | {constant:.3f} | {skill} | {spearman(predicted, rated):.2f} |"
        )
    if unscored := sum(score.empathy is None for score in scores):
        lines += ["", f"{unscored} of the replies got no score and are in no row of the table."]
    return "\n".join(lines)
