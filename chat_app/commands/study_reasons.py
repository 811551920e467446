"""`heard study reasons` and `coded`: the reasons of a study as a sheet for raters, and what their codes say."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heard.chat_app.commands.study_common import StudyError, check_known, on_studies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from heard.chat_app.comparing.tables import ReportTable
    from heard.chat_app.results.coded_reasons import CodedReasons, Coding
    from heard.db.reason_reads import Reason
    from heard.db.study_store import StudyStore

SEED = 0
"""Of the order of a sheet, which says nothing about who wrote what when."""
LONGEST_QUOTE = 300
"""Most characters of a quote; of shorter reasons there are enough."""
Study = Annotated[str, typer.Argument(metavar="STUDY", help="The id of a stored study.")]


def reasons(
    study_id: Study,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The sheet, a CSV; it must not exist yet.")],
    suggest: Annotated[
        bool,
        typer.Option("--suggest", help="Add a machine's suggestion: reasons that lie near each other, by their words."),
    ] = False,
) -> None:
    """Write the reasons that people gave with their votes as a sheet for raters.

    \b
    heard study reasons warm --out ann.csv              then a copy for the second rater
    heard study reasons warm --out ann.csv --suggest

    A rater writes codes into the column codes, parted by ";", or "-" where
    none fits; empty is not read yet. The rows are in random order, and no
    source and no person is in the sheet. Both raters read the same rows, each
    alone. A suggestion is by the words and by no understanding: look at it
    after your own codes, and say in the paper that you did. Then: `heard
    study coded`.
    """
    import csv
    import io
    import random

    from heard.chat_app.common.csv_cell import csv_cell
    from heard.chat_app.studies.code_sheets import BALLOT, CODES, REASON, SUGGESTION

    found = _reasons(study_id)
    if not found:
        raise StudyError(f'No reason of "{study_id}" counts yet, so there is nothing to code.')
    if out.exists():
        raise StudyError(f"{out} is there already, and may hold codes. Give another file with --out.")
    random.Random(SEED).shuffle(found)
    columns = [BALLOT, REASON, CODES]
    rows = [[one.ballot, csv_cell(one.text), ""] for one in found]
    if suggest:
        columns.append(SUGGESTION)
        rows = [[*row, csv_cell(name)] for row, name in zip(rows, _suggested(found), strict=True)]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    _write(out, text.getvalue())
    typer.echo(
        f"{len(found)} reasons in {out}. Give each rater a copy; then `heard study coded {study_id} A.csv B.csv`."
    )


def coded(
    study_id: Study,
    sheets: Annotated[
        list[Path], typer.Argument(metavar="SHEET...", help="The raters' sheets, one each; or one that all agreed on.")
    ],
    codebook: Annotated[
        Path | None,
        typer.Option(
            "--codebook", metavar="FILE", help="A table with the columns code and definition: only these count."
        ),
    ] = None,
    quotes: Annotated[
        int, typer.Option("--quotes", min=0, max=50, help="Quotes of each code, screened for names.")
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Write the codebook with its figures, and what raters differ on, there."
        ),
    ] = None,
) -> None:
    """Show how far raters agree on each code, and how often it is given, by source.

    \b
    heard study coded warm ann.csv ben.csv --codebook codes.csv --out coded
    heard study coded warm agreed.csv --codebook codes.csv --quotes 3

    A reason carries a code if every rater who coded it gave that code. What
    they differ on is in differences.csv: talk it over, write one sheet that
    both agree on, and give that. Alpha is Krippendorff's, of each code's yes
    and no. Shares are of the reasons for one source, the one marked as most
    empathetic; intervals of 95% are for other people and other items.

    Quotes are of people whose newest answer allows research. Names, numbers
    and addresses are replaced where a pattern finds them: read them yourself
    before you publish any, and ask whom you promised to ask.
    """
    from heard.chat_app.commands.report_tables import show_table
    from heard.chat_app.results.coded_reasons import coded_reasons
    from heard.chat_app.studies.code_sheets import read_code_sheet, read_codebook

    if len({path.resolve() for path in sheets}) < len(sheets):
        raise StudyError("A sheet is named twice. Give each rater's once.")
    definitions = read_codebook(codebook) if codebook else None
    found = _reasons(study_id)
    ballots = {one.ballot for one in found}
    read = [read_code_sheet(path, ballots, list(definitions) if definitions else None) for path in sheets]
    codes = list(definitions or sorted({code for one in read for given in one.codes.values() for code in given}))
    if not codes:
        raise StudyError("Nobody gave a code to any reason, so there is nothing to count.")
    figures = coded_reasons(found, [one.codes for one in read], codes)
    typer.echo(f"{figures.coded} of {figures.of} reasons coded; raters differ on {len(figures.differences)}.")
    for one in read:
        if one.strangers:
            typer.echo(f"{one.name}: {one.strangers} rows passed over, of ballots that do not count now.", err=True)
    names = [path.name for path in sheets]
    for table in _tables(figures, names):
        show_table(table)
    if quotes:
        _show_quotes(study_id, found, [one.codes for one in read], codes, quotes)
    if out is not None:
        _write_out(out, figures, names, definitions or {})


def _reasons(study_id: str) -> "list[Reason]":
    from heard.chat_app.common.settings import load_settings
    from heard.db.preregistration import preregistration
    from heard.db.reason_reads import read_reasons

    async def read(studies: "StudyStore") -> "list[Reason]":
        await check_known(studies, study_id)
        registered = await preregistration(studies.engine, study_id)
        if registered is not None and registered.closed:
            raise StudyError(registered.sentence)
        return await read_reasons(studies.engine, study_id)

    return on_studies(load_settings(), read)


def _suggested(found: "Sequence[Reason]") -> list[str]:
    from heard.chat_app.commands.own_head import encoder_folder
    from heard.chat_app.results.reason_clusters import FEWEST, suggested
    from heard.scorer.text_index import embedded_vectors

    if len(found) < FEWEST:
        raise StudyError(
            f"{len(found)} reasons are too few for a suggestion: {FEWEST} are the least. Leave --suggest out."
        )
    texts = [one.text for one in found]
    return suggested(embedded_vectors(encoder_folder()).of_many(texts), texts)


def _tables(figures: "CodedReasons", names: "Sequence[str]") -> "list[ReportTable]":
    from heard.chat_app.comparing.tables import ReportTable
    from heard.chat_app.results.display import beside, percent
    from heard.scorer.tables import Line

    agreement, by_source = [], []
    for one in figures.codes:
        alpha = one.agreement.alpha
        cells = {name: str(number) for name, number in zip(names, one.by_rater, strict=True)}
        if len(names) > 1:
            cells |= {"all": str(one.settled), "alpha": "-" if alpha is None else f"{alpha:.2f}"}
            cells["of"] = str(one.agreement.items)
        agreement.append(Line(one.code, cells))
        shares = {
            share.source: f"{share.count} of {share.of}, {percent(share.count / share.of)} ({beside(share.interval)})"
            for share in one.shares
        }
        by_source.append(Line(one.code, shares))
    tables = [ReportTable("Reasons with each code, and agreement", tuple(agreement))]
    if by_source[0].cells:
        tables.append(ReportTable("By the source that was marked as most empathetic", tuple(by_source)))
    return tables


def _show_quotes(
    study_id: str, found: "Sequence[Reason]", raters: "Sequence[Coding]", codes: "Sequence[str]", number: int
) -> None:
    """Print the first of the shuffled reasons with each code, screened."""
    import random

    from heard.chat_app.export.screening import screen

    shuffled = [one for one in found if len(one.text) <= LONGEST_QUOTE]
    random.Random(SEED).shuffle(shuffled)
    sources = {one.source for one in found if one.source}
    for code in codes:
        typer.echo(f"\n{code}")
        with_code = [
            one
            for one in shuffled
            if (given := [rater[one.ballot] for rater in raters if one.ballot in rater])
            and all(code in of for of in given)
        ]
        for one in with_code[:number]:
            quote = screen(one.text, known=sources, ids={study_id, one.participant}).text
            typer.echo(f"  “{' '.join(quote.split())}” (for {one.source or 'none'})")


def _write_out(out: Path, figures: "CodedReasons", names: "Sequence[str]", definitions: "dict[str, str]") -> None:
    import csv
    import io

    from heard.chat_app.common.csv_cell import csv_cell
    from heard.chat_app.studies.code_sheets import BALLOT, NO_CODE, REASON

    book, differ = io.StringIO(), io.StringIO()
    rows = csv.writer(book, lineterminator="\n")
    rows.writerow(["code", "definition", *names, "all", "alpha", "alpha_of"])
    for one in figures.codes:
        alpha = "" if one.agreement.alpha is None else csv_cell(one.agreement.alpha)
        figures_of = [*map(str, one.by_rater), str(one.settled), alpha, str(one.agreement.items)]
        rows.writerow([csv_cell(one.code), csv_cell(definitions.get(one.code, "")), *figures_of])
    rows = csv.writer(differ, lineterminator="\n")
    rows.writerow([BALLOT, REASON, *names])
    for difference in figures.differences:
        given = [
            "" if codes is None else csv_cell("; ".join(sorted(codes)) or NO_CODE) for codes in difference.by_rater
        ]
        rows.writerow([difference.reason.ballot, csv_cell(difference.reason.text), *given])
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StudyError(f"Cannot write to {out} ({error.strerror}). Choose another folder with --out.") from error
    _write(out / "codebook.csv", book.getvalue())
    _write(out / "differences.csv", differ.getvalue())
    typer.echo(f"Written: {out / 'codebook.csv'}, {out / 'differences.csv'}")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "no such name"
        raise StudyError(f"Cannot write {path} ({why}). Choose another place with --out.") from error
