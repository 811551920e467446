"""A filter over JSON lines: one answer for each line of standard input, in order, written at once."""

import json
import os
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, TextIO

Identity = str | int | float | None

LONGEST_LINE = 4_000_000
"""Bytes of a line that are read at most, so that memory stays constant whatever comes in."""


class LineError(Exception):
    """A line that cannot be answered; `str()` says why, and holds nothing of the line."""

    def __init__(self, reason: str, identity: Identity = None) -> None:
        super().__init__(reason)
        self.identity = identity
        """The line's own "id", if it was found."""


def answer_lines(
    source: BinaryIO,
    out: TextIO,
    answer: Callable[[dict[str, Any]], dict[str, Any]],
    fault: Callable[[LineError], dict[str, Any]],
) -> int:
    """Write `answer` of every object in `source`, or `fault` where a line is none or `answer` raises LineError.

    Empty lines are passed over. Returns the number of faults, or 0 as soon as the reader of `out` has gone.
    """
    faults = 0
    try:
        while line := source.readline(LONGEST_LINE + 1):
            too_long = len(line) > LONGEST_LINE
            if too_long:
                _pass_over(line, source)
            elif line.isspace():
                continue
            try:
                if too_long:
                    raise LineError(f"The line is longer than {LONGEST_LINE} bytes.")
                answered = answer(_object(line))
            except LineError as error:
                faults += 1
                answered = fault(error)
            out.write(json.dumps(answered) + "\n")
            out.flush()
    except BrokenPipeError:
        # The reader has gone (`| head`): point standard output away, so that the flush at exit stays quiet.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return faults


def identity_of(row: dict[str, Any]) -> Identity:
    """The "id" of a line; None if it has none. Raises LineError for an id that is neither text nor a number."""
    identity = row.get("id")
    if not isinstance(identity, Identity):
        raise LineError('"id" must be text or a number.')
    return identity


def _pass_over(line: bytes, source: BinaryIO) -> None:
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
