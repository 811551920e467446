"""The card of a head that was trained on a team's own labels."""

from pathlib import Path

from heard.scorer.evaluation.fold_errors import component_rows
from heard.scorer.tables import markdown
from heard.scorer.training.labels import Labels, disagreement
from heard.scorer.training.train_head import Trained


def write_labels_card(folder: Path, trained: Trained, labels: Labels) -> None:
    """Write the card of a head from a team's own labels into its folder: what it was trained on, and its error against
    predicting the mean."""
    file = trained.file
    tables = markdown(component_rows(trained.table, trained.held_out))
    apart = disagreement(labels)
    raters = "" if apart is None else f"\nTwo raters of one reply differ by {apart:.2f} on average (scale 1 to 3).\n"
    text = f"""# {file.title}

Encoder: {file.encoder} (sha256 {file.encoder_sha256}), layers {file.layers}.
Trained on {"; ".join(file.trained_on)}, by `{file.command}`.
{len(labels.faults)} row(s) of the file could not be used.
{raters}
Error on replies that the head had not seen: five folds, grouped by the message answered, a seed each.

{tables}

To be written by you: who rated the replies, on which rubric, how far two raters agree, and what the head must not be
used for.
"""
    (folder / "CARD.md").write_text(text, encoding="utf-8")
