"""How far a download is: a bar on a terminal, a few plain lines elsewhere."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

MB = 1_000_000
STEP_PERCENT = 25
"""Between two plain lines of a small download; a large one has more of them."""
LARGE = 500 * MB


class DownloadProgress:
    """Draws one download on a console. A context manager; call `at` with the bytes that are there."""

    def __init__(self, label: str, total: int, console: Console) -> None:
        self.title = f"Fetching the {label}"
        self.total = max(1, total)
        self._console = console
        self._step = STEP_PERCENT if total < LARGE else 10
        self._told: int | None = None
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
            self._bar = Progress(*columns, console=self._console, transient=True)
            self._bar.start()
            self._task = self._bar.add_task(self.title, total=self.total)
        else:
            self._console.print(f"{self.title} ({self.total // MB} MB) ...", soft_wrap=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def at(self, done: int) -> None:
        """Show that `done` bytes of the total are there."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=min(done, self.total))
            return
        percent = min(99, 100 * done // self.total)
        if self._told is None:  # what an earlier process has fetched is no step
            self._told = percent if percent >= self._step else 0
        if percent >= self._told + self._step:
            self._told = percent - percent % self._step
            self._console.print(f"{self.title}: {self._told}%", soft_wrap=True)
