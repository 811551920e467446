"""Use pyarrow without pandas, to save memory.

If pandas is installed, pyarrow imports it for the first array it makes, to recognise data frames. That takes 40 MB and
half a second.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from typing import Any


class _PandasBlocker(MetaPathFinder):
    def find_spec(self, name: str, *_: Any) -> None:
        """Raise ModuleNotFoundError for pandas; leave everything else to the next finder."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is left out here", name=name)


@contextmanager
def without_pandas() -> Iterator[None]:
    """Block the import of pandas. If pyarrow does not find it in this block, it does not look again in this process."""
    finder = _PandasBlocker()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
