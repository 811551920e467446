"""A progress bar for commands that take a while."""

from collections.abc import Callable


class Progress:
    """A progress bar on standard error, one line for each task; nothing unless it is a terminal."""

    def __enter__(self) -> Callable[[str, int, int], None]:
        """Return a callback that takes (task, number done, total number)."""
        from rich.console import Console
        from rich.progress import Progress as Bars
        from rich.progress import TaskID

        console = Console(stderr=True)
        self._bars = Bars(console=console, disable=not console.is_terminal)
        self._bars.start()
        tasks: dict[str, TaskID] = {}

        def on_progress(what: str, done: int, of: int) -> None:
            if what not in tasks:
                tasks[what] = self._bars.add_task(what, total=of)
            self._bars.update(tasks[what], completed=done)

        return on_progress

    def __exit__(self, *_: object) -> None:
        self._bars.stop()
