"""What tests of several rooms share."""

import pytest

from chat_app.settings import Settings
from chat_app.weights import Weights, ensure_weights


@pytest.fixture(scope="session")
def weights() -> Weights:
    """The real model and encoder, fetched into the ordinary cache if they are not there yet."""
    return ensure_weights(Settings().cache_dir, progress=False)
