"""The engines of a process: the one that it was started with, and one for each other file that is asked for."""

import threading
from pathlib import Path

from heard.chat_app.models.embedded_models import MODELS, of_hub
from heard.chat_app.models.engine_plan import NotEnoughMemoryError, plan_engine
from heard.chat_app.models.gguf_header import GgufError, read_header
from heard.chat_app.models.llama_engine import Engine
from heard.chat_app.models.machine import cores, free_memory
from heard.chat_app.models.model_download import fetch_model, is_whole
from heard.chat_app.models.records import FailureKind, ModelFailure, ModelSpec
from heard.chat_app.models.weights_folder import WeightsError

NO_ENGINE = "There is no embedded engine in this process. Choose another model."


class Engines:
    """Finds or makes the engine of an embedded model. Thread-safe; close it in the end."""

    def __init__(self, own: Engine | None, cache_dir: Path | None) -> None:
        """`own` is left to its owner; `cache_dir` holds the files of other models, None if there are none."""
        self.own = own
        self._cache_dir = cache_dir
        self._others: dict[tuple[Path, str | None], Engine] = {}
        """By the file and the adapter on it."""
        self._making = threading.Lock()

    def ready(self, spec: ModelSpec) -> Engine | None:
        """Return the model's engine if there is one by now; makes none and asks nobody."""
        path = self._path(spec)
        if (own := self._own(spec, path)) is not None:
            return own
        return self._others.get((path, spec.adapter)) if path is not None else None

    def of(self, spec: ModelSpec) -> Engine:
        """Return the model's engine, not yet started if it is new. Blocks: a file of the Hub that is not in the cache
        is fetched, which can take minutes.

        Raises ModelFailure for a file that is missing, cannot be fetched, is no GGUF, or does not fit in the memory.
        """
        path = self._path(spec)
        if (own := self._own(spec, path)) is not None:
            return own
        if path is None:
            raise ModelFailure(FailureKind.UNREACHABLE, NO_ENGINE)
        with self._making:
            if (path, spec.adapter) not in self._others:
                self._others[path, spec.adapter] = self._make(spec, path)
            return self._others[path, spec.adapter]

    def has_file(self, spec: ModelSpec) -> bool:
        """Return whether the model's file is there, or would be fetched at its first use."""
        path = self._path(spec)
        return path is None or spec.repo is not None or path.is_file()

    def close(self) -> None:
        """Stop every engine but the own one. Blocks for one step of each."""
        with self._making:
            others, self._others = list(self._others.values()), {}
        for engine in others:
            engine.close()

    def _own(self, spec: ModelSpec, path: Path | None) -> Engine | None:
        """The engine of the start, if it is the model's."""
        if self.own is None or path is None:
            return self.own
        adapter = str(self.own.adapter) if self.own.adapter else None
        return self.own if (path, spec.adapter) == (self.own.model, adapter) else None

    def _path(self, spec: ModelSpec) -> Path | None:
        """Where the model's file is or will be; None for the engine's own model, whatever that is."""
        if spec.file is not None and spec.repo is None:
            return Path(spec.file)
        if self._cache_dir is None:
            return None
        if spec.file is not None and spec.repo is not None:
            return of_hub(spec.repo, spec.file).path_in(self._cache_dir)
        known = next((model for model in MODELS if model.model == spec.model), None)
        return known.path_in(self._cache_dir) if known else None

    def _make(self, spec: ModelSpec, path: Path) -> Engine:
        label = f'"{spec.label}"'
        try:
            if spec.repo is not None and spec.file is not None and self._cache_dir is not None:
                model = of_hub(spec.repo, spec.file)
                if not is_whole(model, self._cache_dir):
                    fetch_model(model, self._cache_dir, progress=False)
            header = read_header(path)
            plan = plan_engine(
                spec.label,
                path.stat().st_size,
                header.kv_bytes,
                context_tokens=spec.context_tokens,
                memory=free_memory(),
                cores=cores(),
                shorten=False,
            )
        except (GgufError, WeightsError) as error:
            raise ModelFailure(FailureKind.UNREACHABLE, f"{label} cannot be loaded. {error}") from None
        except NotEnoughMemoryError as error:
            raise ModelFailure(FailureKind.UNREACHABLE, str(error)) from None
        except OSError:
            raise ModelFailure(FailureKind.UNREACHABLE, f"{label} cannot be loaded. {_missing(spec, path)}") from None
        return Engine(path, adapter=Path(spec.adapter) if spec.adapter else None, plan=plan, label=label)


def _missing(spec: ModelSpec, path: Path) -> str:
    known = next((model for model in MODELS if model.model == spec.model and spec.file is None), None)
    if known is not None:
        return f"It is not on this machine. Run `heard models get {known.name}`."
    return f"There is no file {path.name} where models.toml says, or it cannot be read. Check file in models.toml."
