"""Files of replies, one JSON line each: those that a run writes, and {"id", "reply"} of replies written elsewhere."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, StrictStr, TypeAdapter, ValidationError, with_config
from pydantic.dataclasses import dataclass

from heard.chat_app.common.text import clean_unicode
from heard.chat_app.comparing.journal_file import HEAD, JournalError, JournalFile
from heard.chat_app.conversation.drafts import draft_from_json, draft_to_json
from heard.chat_app.voice.messages import Conversation
from heard.chat_app.voice.records import Shown, VoiceError, VoiceReply, VoiceRun
from heard.hints import nearest_name
from heard.validation import faults_of

LONGEST_REPLY = 20_000
"""Characters."""
LONGEST_LINE = 4_000_000
"""Bytes."""


@with_config(extra="ignore")
@dataclass(frozen=True)
class _Line:
    """What of a line must be right; the drafts are our own writing."""

    id: StrictStr
    reply: Annotated[StrictStr, Field(max_length=LONGEST_REPLY)]
    shown: Shown = Shown.REPLY
    first_word_seconds: float | None = None
    seconds: float | None = None
    drafts: tuple[dict[str, Any], ...] = ()


_LINE = TypeAdapter(_Line)
_SCHEMA = _LINE.json_schema()


class VoiceJournal:
    """The file of one run, open for one process. A context manager; entering raises JournalError."""

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        """`identity` is that of the run; a file with another one is refused."""
        self.replies: dict[str, VoiceReply] = {}
        """What is there already, by the name of the message."""
        self._path, self._identity = path, identity
        self._file = JournalFile(
            path,
            identity,
            line_key="id",
            lock=Path(f"{path}.lock"),
            place=path,
            holds="evaluation",
            other="another file",
        )

    def __enter__(self) -> "VoiceJournal":
        if self._path.is_dir():
            raise JournalError(f"{self._path} is a folder. Give a file with --out.")
        self._file.__enter__()
        try:
            for number, values in enumerate(self._file.lines(), 2):
                reply = _reply(self._path, number, values)
                self.replies[reply.name] = reply
        except BaseException:
            self._file.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *raised: Any) -> None:
        self._file.__exit__(*raised)

    def write(self, replies: Iterable[VoiceReply]) -> None:
        """Append replies; when this returns, they are on the disk. Raises JournalError."""
        for reply in replies:
            values = asdict(reply) | {"drafts": [draft_to_json(draft) for draft in reply.drafts]}
            self._file.append({"id": values.pop("name"), "reply": values.pop("text"), **values})
            self.replies[reply.name] = reply

    def run(self) -> VoiceRun:
        """Return all that is in the file."""
        return VoiceRun(self._path.stem, self._identity, dict(self.replies))


def read_run(path: Path, conversations: tuple[Conversation, ...]) -> VoiceRun:
    """Read a file of replies to these conversations. Of several to one message the last counts.

    Raises VoiceError for a file that cannot be read, a line that is no reply, a message that is not in the set, or a
    file without any.
    """
    known = [name for one in conversations for name in one.names]
    head: Mapping[str, Any] | None = None
    replies: dict[str, VoiceReply] = {}
    for number, values in _lines(path):
        if number == 1 and isinstance(values.get(HEAD), dict):
            head = values[HEAD]
            continue
        reply = _reply(path, number, values)
        if reply.name not in known:
            hint = nearest_name(reply.name, known) if len(known) < 20 else "`heard evaluate-voice messages` lists them."
            raise VoiceError(f"{path}, line {number}: the set has no message of that id. {hint}")
        replies[reply.name] = reply
    if not replies:
        raise VoiceError(f'{path} holds no reply. Write one JSON line for each: {{"id": "...", "reply": "..."}}.')
    return VoiceRun(path.stem, head, replies)


def _lines(path: Path) -> Iterable[tuple[int, Mapping[str, Any]]]:
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(LONGEST_LINE + 1):
                number += 1
                if len(line) > LONGEST_LINE:
                    raise VoiceError(f"{path}, line {number}: it is longer than {LONGEST_LINE:,} bytes. Remove it.")
                if not line.strip():
                    continue
                try:
                    values = json.loads(line.decode("utf-8-sig"))
                except (ValueError, RecursionError):
                    raise VoiceError(f"{path}, line {number}: no JSON in UTF-8. Mend or remove the line.") from None
                if not isinstance(values, dict):
                    raise VoiceError(f'{path}, line {number}: it must be {{"id": "...", "reply": "..."}}.')
                yield number, values
    except OSError as error:
        raise VoiceError(f"{path} cannot be read ({error.strerror}). Check the path.") from None


def _reply(path: Path, number: int, values: Mapping[str, Any]) -> VoiceReply:
    try:
        line = _LINE.validate_python(values)
        drafts = tuple(draft_from_json(draft) for draft in line.drafts)
    except ValidationError as error:
        fault = faults_of(error, _SCHEMA, quote=False)[0].sentence
        raise VoiceError(f"{path}, line {number}: {fault}") from None
    except (KeyError, TypeError, ValueError):
        raise VoiceError(f"{path}, line {number}: its drafts are not as a run writes them. Remove the line.") from None
    text = clean_unicode(line.reply).strip()
    return VoiceReply(line.id, text, line.shown, drafts, line.first_word_seconds, line.seconds)
