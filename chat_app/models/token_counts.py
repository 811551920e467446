"""Count the tokens of a text for a model.

The embedded engine counts with its own tokenizer. For servers the count is an estimate that errs high: their tokenizers
are not at hand (OpenAI's would have to be fetched from its host at run time, and nothing here calls out unasked).
"""

import hashlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable

import httpx2

from heard.chat_app.common.text import clean_unicode
from heard.chat_app.models.llama_engine import Engine
from heard.chat_app.models.local_chat import without_special_tokens
from heard.chat_app.models.providers import PROVIDERS
from heard.chat_app.models.records import ModelFailure, ModelSpec
from heard.prompts.history import estimate_tokens

CACHE_SIZE = 8192
"""Texts whose count is cached, by digest and without their words: about 1 MB."""
COUNT_SECONDS = 5.0
"""Time limit of one count; 100,000 characters take a tenth of a second."""

log = logging.getLogger(__name__)


class TokenCounts:
    """Counts tokens and caches the counts of embedded models. Thread-safe. Close it in the end."""

    def __init__(self, engine_of: Callable[[ModelSpec], Engine | None]) -> None:
        """`engine_of` returns the engine of an embedded model, or None while it has none."""
        self._engine_of = engine_of
        self._cache: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None

    def count_tokens(self, spec: ModelSpec, text: str) -> int:
        """Return the tokens of `text` as one message of a prompt, without the template's own.

        Blocks for about a millisecond on a new text for the embedded model, and until the engine has started.
        """
        engine = self._engine(spec)
        if engine is not None:
            text = without_special_tokens(clean_unicode(text), engine.special_tokens)
            key = f"{engine.model}\n{text}".encode()
            digest = hashlib.blake2b(key, digest_size=16).digest()
            with self._lock:
                if digest in self._cache:
                    self._cache.move_to_end(digest)
                    return self._cache[digest]
            try:
                number = self._count(engine, text)
            except (httpx2.HTTPError, ModelFailure, KeyError, ValueError) as error:
                # The call itself will tell what is wrong with the engine.
                log.warning("tokens could not be counted: %s", type(error).__name__)
                return estimate_tokens(text)
            with self._lock:
                self._cache[digest] = number
                while len(self._cache) > CACHE_SIZE:
                    self._cache.popitem(last=False)
            return number
        return estimate_tokens(text)

    def is_exact(self, spec: ModelSpec) -> bool:
        """Return whether counts for this model are exact, so that a prompt that does not fit by them does not fit."""
        return self._engine(spec) is not None

    def _engine(self, spec: ModelSpec) -> Engine | None:
        return self._engine_of(spec) if PROVIDERS[spec.provider].local == "engine" else None

    def close(self) -> None:
        """Close the connection to the engine, if there is one."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _count(self, engine: Engine, text: str) -> int:
        engine.start_sync()
        with self._lock:
            # No proxy of the environment stands between us and our own engine.
            self._client = client = self._client or httpx2.Client(timeout=COUNT_SECONDS, trust_env=False)
        response = client.post(
            engine.base_url.removesuffix("/v1") + "/tokenize",
            json={"content": text, "parse_special": False},
            headers={"Authorization": f"Bearer {engine.api_key}"},
        )
        response.raise_for_status()
        return len(response.json()["tokens"])
