"""One file of the Hugging Face Hub, over HTTP with Range: what an earlier try has fetched is gone on with.

The Hub's own library asks for the file's checksum, size and place; the bytes are read here, because its downloader
knows nothing of a part that another source began.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from heard.chat_app.models.embedded_models import HubFile
from heard.chat_app.models.weights_folder import WeightsError

if TYPE_CHECKING:
    import httpx2

ASK_SECONDS = 10.0
"""Time limit of connecting and of the question for the file's checksum."""
STALL_SECONDS = 30.0
"""Longest pause within the download."""
TRIES = 4
"""Connections in a row that may break off without having brought a byte."""
HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class HubAnswer:
    """What the Hub says of a file."""

    sha256: str | None
    """Of the content; None for a small file that is not in its large file storage."""
    bytes: int | None


def ask_hub(source: HubFile, label: str) -> HubAnswer:
    """Ask for a file's checksum and size. Raises WeightsError, whose sentence repeats nothing that the Hub said.

    HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE and the proxy variables are honoured.
    """
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import httpx2
    from huggingface_hub import get_hf_file_metadata
    from huggingface_hub.errors import (
        EntryNotFoundError,
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    place = f"{source.repository}/{source.file}"
    try:
        found = get_hf_file_metadata(_url(source), token=_token() or False, timeout=ASK_SECONDS)
    except HFValidationError:
        raise WeightsError(
            f'"{source.repository}" is not a name of the Hugging Face Hub. It is "owner/name".'
        ) from None
    except GatedRepoError:
        raise WeightsError(
            f"{place} is gated. Accept its terms on its page of the Hugging Face Hub, and set HF_TOKEN to your token."
        ) from None
    except (RepositoryNotFoundError, RevisionNotFoundError, EntryNotFoundError):
        raise WeightsError(
            f"The Hugging Face Hub has no {place} (revision {source.revision}), or hides it. "
            "If it wants a token, set HF_TOKEN."
        ) from None
    except OfflineModeIsEnabled:
        raise WeightsError(
            f"HF_HUB_OFFLINE is set, so the {label} is not fetched from the Hugging Face Hub. Unset it."
        ) from None
    except (HfHubHTTPError, httpx2.HTTPError, OSError):
        raise WeightsError(
            f"The Hugging Face Hub could not be reached for the {label}. Check the network or proxy (HTTPS_PROXY), or "
            "name a mirror by HF_ENDPOINT, and try again."
        ) from None
    etag = (found.etag or "").lower()
    return HubAnswer(etag if len(etag) == 64 and set(etag) <= HEX else None, found.size)


def fetch_from_hub(source: HubFile, label: str, total: int | None, part: Path, on_bytes: Callable[[int], None]) -> None:
    """Append to `part` what is missing of a file of `total` bytes. Raises WeightsError with what is fetched kept."""
    import httpx2

    timeout = httpx2.Timeout(STALL_SECONDS, connect=ASK_SECONDS)
    tries = 0
    with httpx2.Client(timeout=timeout, follow_redirects=True) as client:  # which sends the token to the Hub alone
        while True:
            there = part.stat().st_size if part.exists() else 0
            if total is not None and there >= total:
                return
            try:
                _append(client, source, there, part, on_bytes)
                reason = "ended early"
            except httpx2.HTTPStatusError as error:
                if error.response.status_code == 416:  # the part is longer than the file
                    part.unlink(missing_ok=True)
                reason = f"answered {error.response.status_code}"
            except httpx2.HTTPError:
                reason = "broke off"
            else:
                if total is None:
                    return
            now = part.stat().st_size if part.exists() else 0
            tries = 1 if now > there else tries + 1
            if tries >= TRIES:
                raise WeightsError(
                    f"The download of the {label} from the Hugging Face Hub {reason} {TRIES} times in a row. What has "
                    "arrived is kept: try again, and it goes on from there."
                )
            time.sleep(min(0.5 * tries, 2.0))


def _append(client: "httpx2.Client", source: HubFile, there: int, part: Path, on_bytes: Callable[[int], None]) -> None:
    headers = {"Accept-Encoding": "identity"}  # compressed, its lengths would not be those of the file
    if there:
        headers["Range"] = f"bytes={there}-"
    if token := _token():
        headers["Authorization"] = f"Bearer {token}"
    with client.stream("GET", _url(source), headers=headers) as response:
        response.raise_for_status()
        begin = there if response.status_code == 206 else 0  # a server without Range sends it from its beginning
        with part.open("ab") as sink:
            sink.truncate(begin)
            for chunk in response.iter_raw():  # as it arrives: a larger chunk would be lost if it is cut short
                sink.write(chunk)
                on_bytes(sink.tell())
            sink.flush()
            os.fsync(sink.fileno())


def _url(source: HubFile) -> str:
    from huggingface_hub import hf_hub_url

    endpoint = os.environ.get("HF_ENDPOINT")
    return str(hf_hub_url(source.repository, source.file, revision=source.revision, endpoint=endpoint or None))


def _token() -> str | None:
    return os.environ.get("HF_TOKEN", "").strip() or None
