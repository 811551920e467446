"""pyarrow without pandas, for a process that needs little memory.

Where pandas is installed, pyarrow imports it for the first array it makes, to know a data frame when it is given one.
That takes 40 MB and half a second.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from typing import Any


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, *_: Any) -> None:
        """There is no pandas; everything else is for the next finder."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is left out here", name=name)


@contextmanager
def no_pandas() -> Iterator[None]:
    """Nothing in this block imports pandas. What pyarrow has not found it does not look for again in this process."""
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
