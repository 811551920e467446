"""A TOML file that a person has written, as its values."""

import tomllib
from pathlib import Path
from typing import Any

from heard.errors import UserError


class TomlFault(UserError):
    """A file that cannot be read, or is no TOML; `str()` names it, the fault and the next step."""


def read_values(path: Path) -> dict[str, Any]:
    """Return the values of a file, with or without the mark that editors put before UTF-8. Raises TomlFault."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise TomlFault(f"{path} cannot be read ({error.strerror}). Make it readable, or move it away.") from error
    except UnicodeDecodeError as error:
        raise TomlFault(f"{path} is not valid TOML: it is not UTF-8. Save it in that encoding.") from error
    except tomllib.TOMLDecodeError as error:
        why = str(error)
    except RecursionError:
        why = "its brackets are nested too deep"
    except ValueError:  # Python's own limit
        why = "a number has too many digits"
    raise TomlFault(f"{path} is not valid TOML: {why}. Mend that line, or move the file away.")
