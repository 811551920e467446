"""How many tokens a text has for a model.

The embedded engine counts by its own tokenizer. For servers it is an estimate that is rather too high: their tokenizers
are theirs (OpenAI's would have to be fetched from its host at run time, and nothing here calls out unasked).
"""

import hashlib
import logging
import threading
from collections import OrderedDict

import httpx2

from heard.chat_app.common.text import readable
from heard.chat_app.models.llama_engine import Engine
from heard.chat_app.models.local_chat import without_marks
from heard.chat_app.models.providers import PROVIDERS
from heard.chat_app.models.records import ModelFailure, ModelSpec
from heard.prompts.history import estimate_tokens

REMEMBERED = 8192
"""Texts whose count is kept, by their digest and without their words: about 1 MB."""
COUNT_SECONDS = 5.0
"""Longest that one count may take; 100,000 characters take a tenth of a second."""

log = logging.getLogger(__name__)


class TokenCounts:
    """Counts tokens, and remembers the counts of the embedded model. Threads may share one. Close it in the end."""

    def __init__(self, engine: Engine | None) -> None:
        self._engine = engine
        self._known: OrderedDict[bytes, int] = OrderedDict()
        self._lock = threading.Lock()
        self._client: httpx2.Client | None = None

    def count_tokens(self, spec: ModelSpec, text: str) -> int:
        """Tokens of `text` as one message of a prompt, without the template's own. Blocks: about a millisecond for a
        new text of the embedded model, and until the engine has started.
        """
        if self.exact(spec):
            assert self._engine is not None
            text = without_marks(readable(text), self._engine.marks)
            digest = hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()
            with self._lock:
                if digest in self._known:
                    self._known.move_to_end(digest)
                    return self._known[digest]
            try:
                number = self._counted(text)
            except (httpx2.HTTPError, ModelFailure, KeyError, ValueError) as error:
                # The call itself will tell what is wrong with the engine.
                log.warning("tokens could not be counted: %s", type(error).__name__)
                return estimate_tokens(text)
            with self._lock:
                self._known[digest] = number
                while len(self._known) > REMEMBERED:
                    self._known.popitem(last=False)
            return number
        return estimate_tokens(text)

    def exact(self, spec: ModelSpec) -> bool:
        """Whether the counts of this model are its own, so that what does not fit by them does not fit."""
        return PROVIDERS[spec.provider].local == "engine" and self._engine is not None

    def close(self) -> None:
        """Close the connection to the engine, if there is one."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _counted(self, text: str) -> int:
        assert self._engine is not None
        self._engine.start_now()
        with self._lock:
            # No proxy of the environment stands between us and our own engine.
            self._client = client = self._client or httpx2.Client(timeout=COUNT_SECONDS, trust_env=False)
        answer = client.post(
            self._engine.base_url.removesuffix("/v1") + "/tokenize",
            json={"content": text, "parse_special": False},
            headers={"Authorization": f"Bearer {self._engine.api_key}"},
        )
        answer.raise_for_status()
        return len(answer.json()["tokens"])
