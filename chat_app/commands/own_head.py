"""Heard's own scorer and its reader of danger, as the options --head and --encoder name them."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heard.chat_app.safety.assessment import Assessor
    from heard.scorer.score import Scorer


def rater_name(head: str) -> str:
    """The option --head, or without it the setting scorer_head."""
    from heard.chat_app.common.settings import load_settings

    return head or load_settings().scorer_head


def open_scorer(head: str, encoder: str) -> "Scorer":
    """Load the scorer of the options --head and --encoder; by default that of the settings. Raises ScorerError."""
    from heard.scorer.hub import encoder_of
    from heard.scorer.score import Scorer, head_folder

    folder = head_folder(rater_name(head))
    return Scorer.load(folder, encoder_folder(encoder) if encoder else encoder_of(folder, encoder_folder))


def encoder_folder(name: str = "") -> Path:
    """Return the folder of the encoder called `name`; by default the embedded one, downloaded now if it is missing."""
    if name:
        from heard.scorer import hub

        return hub.encoder_folder(name)
    from heard.chat_app.common.settings import load_settings
    from heard.chat_app.models.downloads import ENCODER, fetch_bundles

    cache_dir = load_settings().cache_dir
    fetch_bundles([ENCODER], cache_dir)
    return ENCODER.folder_in(cache_dir)


def danger_reader() -> "Assessor":
    """Return the rules of the crisis check with the trained reader, whose encoder is opened, and fetched if it is
    missing, at the first message that needs it. Raises ScorerError."""
    from heard.chat_app.safety.assessment import Assessor
    from heard.scorer.encoder import Encoder

    return Assessor.load(lambda file: Encoder.load(encoder_folder(), file.layers, sha256=file.encoder_sha256))
