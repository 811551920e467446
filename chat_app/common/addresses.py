"""Settings that are addresses: the public host, the path below it, and who may show the page in a frame.

Each is refused at start with the form that would be right: a wrong one looks like a broken page much later.
"""

import re
from urllib.parse import urlsplit

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_ROOT = re.compile(r"(?:/[A-Za-z0-9._~-]+)*")
_ORIGIN = re.compile(rf"(https?)://((?:\*\.)?{_LABEL}(?:\.{_LABEL})*)(:[0-9]{{1,5}})?")
_LOCAL = ("localhost", "127.0.0.1")


def checked_host(value: str) -> str:
    """Return a public host in lower case; "" stays. Raises ValueError, with the right form where there is one."""
    host = value.strip().lower()
    if not host or _HOST.fullmatch(host):
        return host
    parts = urlsplit(host if "//" in host else f"//{host}")
    name = (_hostname(parts.netloc) or "").rstrip(".")
    try:
        name = name.encode("idna").decode("ascii")
    except UnicodeError:
        name = ""
    if not _HOST.fullmatch(name):
        raise ValueError('is a name alone, such as "chat.example.org"')
    path = parts.path.rstrip("/")
    below = f', and root_path = "{path}"' if path and _ROOT.fullmatch(path) else ""
    raise ValueError(f'is a name alone, without scheme, port and path: write public_host = "{name}"{below}')


def checked_root(value: str) -> str:
    """Return a path below the public host, "" for none. Raises ValueError, with the right form where there is one."""
    root = value.strip()
    if root == "/" or not root:
        return ""
    if _ROOT.fullmatch(root) and not {".", ".."} & set(root.split("/")):
        return root
    path = "/" + (urlsplit(root).path if "://" in root else root).strip("/")
    path = re.sub("/+", "/", path)
    if _ROOT.fullmatch(path) and not {".", ".."} & set(path.split("/")):
        raise ValueError(f'begins with a slash and ends without one: write root_path = "{path}"')
    raise ValueError('is a path of letters, digits, hyphens and full stops, such as "/heard"')


def checked_ancestors(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return origins that may show the page in a frame. Raises ValueError, with the right form where there is one.

    They are of https, because browsers keep a cookie in another site's frame over TLS alone; of http on this machine.
    """
    for value in values:
        found = _ORIGIN.fullmatch(value)
        if found and (found[1] == "https" or found[2] in _LOCAL):
            continue
        name = _hostname(urlsplit(value if "//" in value else f"//{value}").netloc) or ""
        hint = (
            f': write "https://{name}"'
            if _ORIGIN.fullmatch(f"https://{name}")
            else ', such as "https://lab.example.org"'
        )
        raise ValueError(f'"{value[:100]}" is not an origin of https without a path{hint}')
    return values


def _hostname(netloc: str) -> str | None:
    return re.sub(r":[^:\]]*$", "", netloc.rpartition("@")[2]).lower() or None
