"""heard: an empathetic chat whose every reply is scored live for empathy and judged blind by people.

    from heard import EmpathyRunnable, Scorer, open_scorer

The parts are `heard.chat_app`, `heard.scorer`, `heard.prompts` and `heard.db`; in a checkout they are the folders of
these names. What this package offers directly is imported when it is first asked for, so `import heard` costs nothing
and takes none of the chat along.
"""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heard.chat_app.integrations.langchain_runnable import EmpathyRunnable
    from heard.chat_app.integrations.open_scorer import open_scorer
    from heard.scorer.score import Scorer

__all__ = ["EmpathyRunnable", "Scorer", "open_scorer"]

_PLACES = {
    "EmpathyRunnable": "heard.chat_app.integrations.langchain_runnable",
    "Scorer": "heard.scorer.score",
    "open_scorer": "heard.chat_app.integrations.open_scorer",
}

if not os.path.isdir(os.path.join(os.path.dirname(__file__), "scorer")):
    raise ImportError(
        "heard was installed from a checkout whose symbolic links in src/heard are plain files. On Windows, turn on "
        "developer mode, run `git config core.symlinks true` and `git checkout -- src chat_app`, and install again."
    )


def __getattr__(name: str) -> Any:
    """Import what `__all__` names at its first use (PEP 562)."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    try:
        return getattr(importlib.import_module(_PLACES[name]), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "langchain_core":
            raise
        raise ImportError(f'{name} needs langchain-core: pip install "heard[langchain]".') from error
