"""Open the scorer inside another program: no server, no database, no chat model."""

from pathlib import Path

from heard.chat_app.common.settings import load_settings
from heard.chat_app.models.bundles import ENCODER
from heard.chat_app.models.downloads import fetch_bundles
from heard.chat_app.safety.assessment import Assessor, use_head
from heard.scorer.danger_head import DangerHeadFile
from heard.scorer.encoder import Encoder
from heard.scorer.hub import encoder_of
from heard.scorer.score import Scorer, head_folder


def open_scorer(head: str = "", *, threads: int = 1) -> Scorer:
    """The scorer with a head by its name or its folder's path (default: HEARD_SCORER_HEAD, else "both").

    Blocking: about a second, and the first time of all it fetches the encoder into heard's cache folder
    (HEARD_CACHE_DIR). No settings.toml is read, since the working folder is the other program's. threads: of one
    rating. numpy's BLAS is held to one thread, in the whole process.

    Raises SettingsError, WeightsError or ScorerError, each with a plain sentence.
    """
    settings = load_settings(file=False)
    folder = head_folder(head or settings.scorer_head)
    scorer = Scorer.load(folder, encoder_of(folder, lambda: _embedded(settings.cache_dir)), threads=threads)
    use_head(Assessor.load(lambda file: _encoder(file, scorer, settings.cache_dir)))
    return scorer


def _encoder(file: DangerHeadFile, scorer: Scorer, cache_dir: Path) -> Encoder:
    return scorer.encoder_for(_embedded(cache_dir), file.encoder_sha256, file.layers)


def _embedded(cache_dir: Path) -> Path:
    fetch_bundles([ENCODER], cache_dir)
    return ENCODER.folder_in(cache_dir)
