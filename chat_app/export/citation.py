"""What a published data set needs beside its tables: CITATION.cff, LICENSE and their checks.

CITATION.cff is of the Citation File Format 1.2.0 (Druskat et al. 2021, doi:10.5281/zenodo.5171937).
"""

import json
import re
from dataclasses import dataclass
from datetime import date

from heard.chat_app.export.folder import ExportError

LICENCES = {
    "CC-BY-4.0": ("Creative Commons Attribution 4.0 International", "https://creativecommons.org/licenses/by/4.0/legalcode"),
    "CC-BY-SA-4.0": (
        "Creative Commons Attribution-ShareAlike 4.0 International",
        "https://creativecommons.org/licenses/by-sa/4.0/legalcode",
    ),
    "CC-BY-NC-4.0": (
        "Creative Commons Attribution-NonCommercial 4.0 International",
        "https://creativecommons.org/licenses/by-nc/4.0/legalcode",
    ),
    "CC0-1.0": ("Creative Commons Zero 1.0 Universal", "https://creativecommons.org/publicdomain/zero/1.0/legalcode"),
    "ODbL-1.0": ("Open Data Commons Open Database License 1.0", "https://opendatacommons.org/licenses/odbl/1-0/"),
    "PDDL-1.0": (
        "Open Data Commons Public Domain Dedication & License 1.0", "https://opendatacommons.org/licenses/pddl/1-0/",
    ),
}  # fmt: skip
"""SPDX id -> name and address of the legal text."""
ORCID = re.compile(r"\d{4}-\d{4}-\d{4}-\d{3}[\dX]")


@dataclass(frozen=True, slots=True)
class Author:
    """A person, or an organisation with `family` alone."""

    family: str
    given: str = ""
    orcid: str = ""
    """0000-0002-1825-0097, or "" for none."""

    @property
    def name(self) -> str:
        """As it is written in a sentence."""
        return f"{self.given} {self.family}".strip()


def author_of(text: str) -> Author:
    """Read "Family, Given", "Family, Given, ORCID" or an organisation's name. Raises ExportError."""
    parts = [" ".join(part.split()) for part in text.split(",")]
    example = 'Write --author "Lee, Robin", "Lee, Robin, 0000-0002-1825-0097" or an organisation without a comma.'
    if not all(parts) or len(parts) > 3:
        raise ExportError(f'"{text}" is no author. {example}')
    orcid = parts[2].removeprefix("https://orcid.org/") if len(parts) == 3 else ""
    if orcid and not (ORCID.fullmatch(orcid) and _checked(orcid)):
        raise ExportError(f'"{parts[2]}" is no ORCID: it has 16 digits, and the last one checks the others. {example}')
    return Author(parts[0], parts[1] if len(parts) > 1 else "", orcid)


def licence_of(text: str) -> str:
    """Return the SPDX id of a licence, however it is cased. Raises ExportError."""
    for name in LICENCES:
        if name.lower() == text.strip().lower():
            return name
    raise ExportError(f'"{text}" is no licence that heard knows for data. Take one of {", ".join(LICENCES)}.')


def citation_cff(title: str, authors: list[Author], licence: str, released: date, abstract: str) -> str:
    """Return CITATION.cff. A JSON text is a double-quoted YAML scalar too."""
    lines = [
        "cff-version: 1.2.0",
        "type: dataset",
        f"message: {_quoted('If you use these data, please cite them as below.')}",
        f"title: {_quoted(title)}",
        f"abstract: {_quoted(abstract)}",
        "authors:",
    ]
    for one in authors:
        if not one.given:
            lines.append(f"  - name: {_quoted(one.family)}")
            continue
        lines += [f"  - family-names: {_quoted(one.family)}", f"    given-names: {_quoted(one.given)}"]
        if one.orcid:
            lines.append(f"    orcid: {_quoted(f'https://orcid.org/{one.orcid}')}")
    lines += [f"license: {_quoted(licence)}", f"date-released: {_quoted(released.isoformat())}"]
    return "\n".join(lines) + "\n"


def licence_text(title: str, authors: list[Author], licence: str, released: date) -> str:
    """Return LICENSE: the notice with the address of the legal text."""
    name, address = LICENCES[licence]
    who = ", ".join(one.name for one in authors)
    return (
        f"{title}\n{released.year}, {who}\n\nThese data are made available under {name} ({licence}).\n"
        f"The legal text: {address}\n"
    )


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _checked(orcid: str) -> bool:
    """Return whether the last character is that of ISO 7064 MOD 11-2."""
    total = 0
    for digit in orcid.replace("-", "")[:-1]:
        total = (total + int(digit)) * 2
    last = (12 - total % 11) % 11
    return orcid[-1] == ("X" if last == 10 else str(last))
