"""Copy the files that Chainlit reads into the data folder: settings, translations, `public/` and the readme page.

Chainlit looks for all of them in one folder, serves whatever is in its `public/`, and writes defaults for missing ones,
which would be a configuration with uploads and message editing on. So the folder is filled and compared at each start,
and the installation, which may be read-only or shared, is only read.
"""

import os
import tempfile
from importlib.util import find_spec
from pathlib import Path

from heard.errors import UserError

SOURCE = Path(__file__).parent
"""Holds the originals; `.chainlit` and `chainlit.md` are links to the top level in a checkout."""
PUBLIC = SOURCE / "public"
FOLDER = "chainlit"
"""Name of the folder, below the data folder."""
NEEDED = (".chainlit/config.toml", ".chainlit/translations/en-US.json", "chainlit.md", "public/elements/ScoreCard.jsx")
"""One file of each part. If any is missing, the installation is broken."""


class ChainlitFilesError(UserError):
    """A file that Chainlit needs is missing or cannot be written; `str()` names it and the next step."""


def lay_out(data_dir: Path) -> Path:
    """Update `data_dir/chainlit` to this installation and return its absolute path.

    Equal files are left alone, so a second start writes nothing and several processes may start at once. Other files
    are removed from `public/`, and beside `chainlit.md`, where Chainlit would prefer them.

    Raises ChainlitFilesError.
    """
    folder, ours = (data_dir / FOLDER).resolve(), originals()
    try:
        for name, original in ours.items():
            _copy(original, folder, name)
        (folder / ".files").mkdir(exist_ok=True)  # Chainlit makes it while it is imported
        for stray in [*(folder / "public").rglob("*"), *folder.glob("chainlit*.md")]:
            if stray.relative_to(folder) not in ours and not stray.is_dir():
                stray.unlink(missing_ok=True)
    except OSError as error:
        place = error.filename2 or error.filename or folder
        raise ChainlitFilesError(
            f"Cannot read or write {place} ({error.strerror}), which the page needs. "
            "Give this user the right to write there, or set HEARD_DATA_DIR to another folder."
        ) from error
    return folder


def originals() -> dict[Path, Path]:
    """Return the original of each file by its path in the folder. Raises ChainlitFilesError if one is missing."""
    parts = (SOURCE / "chainlit.md", *(SOURCE / ".chainlit").rglob("*"), *(SOURCE / "public").rglob("*"))
    ours = {path.relative_to(SOURCE): path for path in parts if path.is_file()}
    missing = [name for name in NEEDED if Path(name) not in ours]
    if missing:
        raise ChainlitFilesError(f"This installation of heard lacks {', '.join(missing)}. Install heard again.")
    # Chainlit's own translations too: it would write those that are not there.
    spec = find_spec("chainlit")
    for place in (spec and spec.submodule_search_locations) or ():
        for path in Path(place, "translations").glob("*.json"):
            ours.setdefault(Path(".chainlit/translations", path.name), path)
    return ours


def _copy(original: Path, folder: Path, name: Path) -> None:
    """Copy `original` to the file `name` in `folder` atomically, unless they are equal."""
    content, copy = original.read_bytes(), folder / name
    if _content(copy) == content:
        return
    copy.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=folder)  # not in public/, where another process would take it for a stray
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(draft, 0o644)
        os.replace(draft, copy)
    finally:
        Path(draft).unlink(missing_ok=True)
    if _content(copy) != content:
        raise OSError(None, "it does not keep what is written", str(copy))


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
