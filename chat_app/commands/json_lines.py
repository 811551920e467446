"""A filter over JSON lines: one answer for each line of standard input, in order, written at once."""

import json
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO, TextIO

Identity = str | int | float | None

MOST_LISTED = 20
"""Most faulty lines whose numbers are listed."""

WINDOW = 64
"""Most lines that are read ahead of the answer that is written next."""
LONGEST_LINE = 4_000_000
"""Most bytes of a line, so that memory is constant whatever the input."""


class LineError(Exception):
    """A line cannot be answered; `str()` says why and never quotes the line."""

    def __init__(self, reason: str, identity: Identity = None) -> None:
        super().__init__(reason)
        self.identity = identity
        """The line's own "id", if it was found."""


def read_lines(source: BinaryIO) -> Iterator[tuple[int, dict[str, Any] | LineError]]:
    """Yield each line of `source` with its number from 1: its JSON object, or a LineError. Empty lines are skipped."""
    number = 0
    while line := source.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            _skip_rest(line, source)
            yield number, LineError(f"The line is longer than {LONGEST_LINE} bytes.")
        elif not line.isspace():
            try:
                row: dict[str, Any] | LineError = _object(line)
            except LineError as error:
                row = error
            yield number, row


def answer_lines(
    source: BinaryIO,
    out: TextIO,
    answer: Callable[[dict[str, Any]], dict[str, Any]],
    fault: Callable[[LineError], dict[str, Any]],
    workers: int = 1,
) -> list[int]:
    """Write `answer` of every object in `source`, or `fault` if a line has none or `answer` raises LineError.

    `workers` threads answer, at most WINDOW lines ahead of the one that is written next; the order is that of the
    lines. Empty lines are skipped. Returns the numbers of the faulty lines, or none as soon as the reader of `out` is
    gone.
    """
    faults = list[int]()
    writes = deque[Future[None]]()

    def answered(number: int, row: dict[str, Any] | LineError) -> dict[str, Any]:
        try:
            if isinstance(row, LineError):
                raise row
            return answer(row)
        except LineError as error:
            faults.append(number)
            return fault(error)

    def write(ready: Future[dict[str, Any]]) -> None:
        out.write(json.dumps(ready.result()) + "\n")
        out.flush()

    try:
        with ThreadPoolExecutor(workers) as pool, ThreadPoolExecutor(1) as writer:  # one writer keeps the order
            for number, row in read_lines(source):
                while len(writes) >= WINDOW or (writes and writes[0].done()):
                    writes.popleft().result()
                writes.append(writer.submit(write, pool.submit(answered, number, row)))
            for written in writes:
                written.result()
    except BrokenPipeError:
        # The reader has gone (`| head`): point standard output away, so that the flush at exit stays quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return []
    return sorted(faults)


def listed(numbers: Sequence[int]) -> str:
    """Return the numbers of faulty lines as text; only the first of them, if there are many."""
    shown = ", ".join(map(str, numbers[:MOST_LISTED]))
    return shown + (" ..." if len(numbers) > MOST_LISTED else "")


def identity_of(row: dict[str, Any]) -> Identity:
    """Return the "id" of a line, or None. Raises LineError for an id that is neither a string nor a number."""
    identity = row.get("id")
    if not isinstance(identity, Identity):
        raise LineError('"id" must be text or a number.')
    return identity


def _skip_rest(line: bytes, source: BinaryIO) -> None:
    while line and not line.endswith(b"\n"):
        line = source.readline(LONGEST_LINE)


def _object(line: bytes) -> dict[str, Any]:
    try:
        row = json.loads(line.decode("utf-8-sig"), parse_constant=_refuse_constant)
    except UnicodeDecodeError:
        raise LineError("The line is not UTF-8.") from None
    except json.JSONDecodeError as error:
        raise LineError(f"The line is not JSON: {error.msg} (character {error.pos}).") from None
    except (RecursionError, ValueError):
        raise LineError("The line is not JSON that can be read: nested too deep, or a number too long.") from None
    if not isinstance(row, dict):
        raise LineError("A line must be one JSON object.")
    return row


def _refuse_constant(name: str) -> None:
    raise json.JSONDecodeError(f"{name} is no number", name, 0)
