"""Cells of CSV files that are safe to open in a spreadsheet."""

FORMULA_STARTS = "=+-@\uff1d\uff0b\uff0d\uff20"
"""First characters of a text that a spreadsheet takes for a formula, also in full width."""


def csv_cell(value: str | float | None) -> str:
    """Return a value as a CSV cell; a float has four places. A text that a spreadsheet could run gets a "'" before it.

    So does a text that begins with "'": without one leading "'" every text is as it was written.
    """
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4f}"
    begins = value.lstrip()[:1]
    dangerous = begins and (begins in FORMULA_STARTS or value[0] in "\t\r\n'")
    return f"'{value}" if dangerous else value
