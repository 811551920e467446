"""`heard ...` within this process: one of its own takes seconds to start, and is there where it is what is tested."""

import gc
import io
import logging
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from heard.chat_app.cli import main


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended, and what it wrote."""

    status: int
    stdout: str
    stderr: str

    @property
    def sentence(self) -> str:
        """The only line on standard error of a command that refused, without the `heard: ` before it."""
        assert self.status == 2, self.stderr
        assert self.stderr.endswith("\n"), self.stderr
        assert self.stderr.count("\n") == 1, self.stderr
        return self.stderr.rstrip("\n").removeprefix("heard: ")


def heard(*arguments: str | Path, stdin: bytes = b"", folder: Path | None = None, **environment: str) -> Done:
    """Run `heard` as its entry point does, in `folder`, with these variables beside those there are.

    What a command sets for the whole of its process is put back: our logger's level, the excepthook, the collector.
    An unknown fault comes out as the exception it is.
    """
    given = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    error = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace", newline="")
    assert isinstance(out.buffer, io.BytesIO)
    assert isinstance(error.buffer, io.BytesIO)
    level, collecting = logging.getLogger("heard").level, gc.isenabled()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["heard", *map(str, arguments)])
        patch.setattr(sys, "stdin", given)
        patch.setattr(sys, "stdout", out)
        patch.setattr(sys, "stderr", error)
        patch.setattr(sys, "excepthook", sys.excepthook)
        patch.setenv("COLUMNS", "200")
        for name, value in environment.items():
            patch.setenv(name, value)
        if folder is not None:
            patch.chdir(folder)
        root, shown = logging.getLogger(), logging.lastResort
        assert shown is not None
        root.addHandler(shown)  # as in a process where nobody has set up logging: warnings go to standard error
        status = 0
        try:
            main()
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else int(end.code is not None)
        finally:
            root.removeHandler(shown)
            logging.getLogger("heard").setLevel(level)
            if collecting:
                gc.enable()
    out.flush()
    error.flush()
    return Done(status, out.buffer.getvalue().decode(), error.buffer.getvalue().decode())
