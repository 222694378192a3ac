"""Spreadsheets and delimited text: every row as "Header: value; …" with the cell of every value."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from functools import partial
from itertools import islice
from pathlib import Path

import python_calamine as calamine
from footnote.types.v1.locator_pb2 import SheetLocator
from footnote_text.a1 import cell_name

from footnote_ingestion.parsers.base import NOTE, BlockWriter, Limits, Properties
from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.failures import (
    CONTENT_LEFT_OUT,
    CORRUPT,
    DAMAGED,
    MOST_PLACES,
    OTHER,
    PARTS_UNREADABLE,
    PASSWORD_PROTECTED,
    STRUCK_LEFT_OUT,
    TOO_LARGE,
    UNSUPPORTED,
    ParseError,
)
from footnote_ingestion.parsers.inside import write_picture
from footnote_ingestion.parsers.numbers import Numbers, of_value
from footnote_ingestion.parsers.office.package import check_package, core_properties, packed_file
from footnote_ingestion.parsers.rows import Typed
from footnote_ingestion.parsers.sheets.escaped_quotes import with_doubled_quotes
from footnote_ingestion.parsers.sheets.merges import Merges
from footnote_ingestion.parsers.sheets.opendocument import CONTENT, OdsCells
from footnote_ingestion.parsers.sheets.regions import SheetWriter
from footnote_ingestion.parsers.sheets.sheet_extras import SheetExtras, Shown, WorkbookExtras
from footnote_ingestion.parsers.sheets.xls import XlsCells
from footnote_ingestion.parsers.sheets.xlsx import XlsxCells
from footnote_ingestion.parsers.texts.encoding import decode

_MAX_CELL = 32_767
_DECLARED_SEPARATOR = re.compile(r"sep=([^\n\"]?)[^\n]{0,2}\n")


class WorkbookParser:
    """Reads xlsx, xlsm, xlsb, xls and ods workbooks with their last computed values."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Open the workbook."""
        _check(path, limits)
        _open(path).close()

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write each sheet's rows; with several sheets, each name becomes a heading."""
        _check(path, limits)  # an attached workbook was not inspected
        properties = core_properties(path) if zipfile.is_zipfile(path) else Properties()
        cells = beside_cells(path)
        with _open(path) as book:
            _warn_of_hidden(book, out)
            names = [sheet.name for sheet in book.sheets_metadata if sheet.typ == calamine.SheetTypeEnum.WorkSheet]
            properties.page_count = len(names)
            for position, name in enumerate(names, 1):
                out.pages(position - 1, len(names))
                sheet = _sheet(book, name)
                beside = cells.of_sheet(name)
                _warn_of(beside, name, out)
                out.reset_headings()
                if sheet.start is None and not beside.texts:
                    _write_pictures(path, beside, name, out)
                    continue
                if len(names) > 1:
                    out.heading(inline(name), 1, SheetLocator(sheet=name))
                left = sheet.start[1] if sheet.start else 0
                grid = SheetWriter(out, name, left, beside.declarations)
                merges = Merges([*(sheet.merged_cell_ranges or beside.merged), *beside.across], left)
                for number, row in _filled_rows(sheet, name, limits.rows, beside.errors | beside.rich):
                    styles = [beside.numbers.get((number, at)) for at in range(left, left + len(row))]
                    values = [*map(_formatted, row, styles)]
                    grid.row(number, values, merges.fill(number, values), _typed(row, styles, values, out.numbers))
                grid.close()
                for cell, text in beside.texts:
                    out.add(NOTE, text, SheetLocator(sheet=name, range=cell))
                for cell, text in beside.comments:
                    place = SheetLocator(sheet=name, range=cell)
                    out.add(NOTE, f"Comment on {cell}: {text}" if text else "", place)
                _write_pictures(path, beside, name, out)
        out.structure.heading_count = 0  # sheet names are not sections of running text
        return properties


def _check(path: Path, limits: Limits) -> None:
    if zipfile.is_zipfile(path):
        check_package(path, limits)


def beside_cells(path: Path) -> WorkbookExtras:
    """Return the reader of a workbook's further data, by its format."""
    if not zipfile.is_zipfile(path):
        return XlsCells(path)
    with zipfile.ZipFile(path) as package:
        return OdsCells(path) if CONTENT in package.namelist() else XlsxCells(path)


def _warn_of_hidden(book: calamine.CalamineWorkbook, out: BlockWriter) -> None:
    """Warn of hidden sheets, and of those without cells."""
    hidden = [one.name for one in book.sheets_metadata if one.visible != calamine.SheetVisibleEnum.Visible]
    if hidden:
        places = [SheetLocator(sheet=name) for name in hidden]
        out.warn(OTHER, "{count} hidden sheets are read like the others", len(hidden), places)
    charts = sum(one.typ != calamine.SheetTypeEnum.WorkSheet for one in book.sheets_metadata)
    if charts:
        out.warn(CONTENT_LEFT_OUT, "{count} sheets without cells, such as charts, are not read", charts)


def _write_pictures(path: Path, found: SheetExtras, name: str, out: BlockWriter) -> None:
    for cell, part in found.pictures:
        write_picture(partial(packed_file, path, part), out, SheetLocator(sheet=name, range=cell))


def _warn_of(found: SheetExtras, name: str, out: BlockWriter) -> None:
    if found.errors:
        words = "{count} cells show errors, such as #N/A, in the place of values"
        places = [SheetLocator(sheet=name, range=cell_name(*at)) for at in islice(found.errors, MOST_PLACES)]
        out.warn(OTHER, words, len(found.errors), places)
    if found.formulas:
        words = "{count} formulas have no computed value: open the file in a spreadsheet program and save it again"
        places = [SheetLocator(sheet=name, range=cell) for cell in found.formulas[:MOST_PLACES]]
        out.warn(CONTENT_LEFT_OUT, words, len(found.formulas), places)
    if found.drawn:
        words = "{count} charts and embedded objects on sheets are not read"
        out.warn(CONTENT_LEFT_OUT, words, found.drawn, [SheetLocator(sheet=name)])
    if found.unreadable:
        words = "{count} parts with comments, charts or forms of numbers are missing or could not be read"
        out.warn(PARTS_UNREADABLE, words, found.unreadable, [SheetLocator(sheet=name)])
    if found.unseen:
        words = (
            "{count} sheets of a binary workbook: forms of numbers, comments, charts and what is hidden are not read"
        )
        out.warn(CONTENT_LEFT_OUT, words, 1, [SheetLocator(sheet=name)])
    if found.struck:
        out.warn(CONTENT_LEFT_OUT, STRUCK_LEFT_OUT, found.struck, [SheetLocator(sheet=name)])
    if found.hidden:
        words = "{count} hidden rows and columns are read like the others"
        out.warn(OTHER, words, found.hidden, [SheetLocator(sheet=name)])


class CsvParser:
    """Reads comma-, semicolon-, tab- and bar-separated text."""

    def inspect(self, path: Path, limits: Limits) -> None:
        """Accept any text as one column."""

    def parse(self, path: Path, out: BlockWriter, limits: Limits) -> Properties:
        """Write each record; its number is the row of its cells, as a spreadsheet program shows it."""
        text = decode(path.read_bytes(), out).replace("\r\n", "\n").replace("\r", "\n")
        declared = _DECLARED_SEPARATOR.match(text)
        text = text[declared.end() :] if declared else text
        separator = (declared[1] if declared else "") or delimiter(text)
        out.numbers = Numbers(commas_delimit=separator == "," and separator in text)
        csv.field_size_limit(max(len(text), csv.field_size_limit()))  # the process's own: never lowered
        try:
            text = with_doubled_quotes(text, separator, _first_records(text, separator, quoted=True))
            write_grid(_limited(_records(text, separator, out), limits.rows), out)
        except csv.Error as error:
            raise ParseError(CORRUPT, f"The table cannot be read: {error}.") from error
        return Properties()


def _records(text: str, separator: str, out: BlockWriter) -> Iterator[list[str]]:
    """Yield the records; a quote that is never closed is text, and swallows no records below it."""
    lines = io.StringIO(text, newline="")
    quoted = '"' in text
    again = len(text)  # how many characters may be read twice
    taken: list[str] = []
    records = _reader(_noted(lines, taken), separator, quoted=quoted)
    while (record := next(records, None)) is not None:
        ended = not quoted or (len(taken) == 1 and lines.tell() < len(text))
        if not ended and not _closed(taken, separator):
            out.warn(DAMAGED, "{count} quotes are opened and never closed: they are read as text")
            size = sum(map(len, taken))
            lines.seek(lines.tell() - size)
            [record] = _reader([lines.readline()], separator, quoted=False)
            again -= size
            quoted = again > 0
            records = _reader(_noted(lines, taken), separator, quoted=quoted)
        taken.clear()
        yield record


def _reader(lines: Iterable[str], separator: str, *, quoted: bool) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=separator, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)


def _noted(lines: Iterable[str], taken: list[str]) -> Iterator[str]:
    for line in lines:
        taken.append(line)
        yield line


_PADDED = {one: re.compile(rf'"[ \t]++(?=[{re.escape(one)}\r\n]|$)') for one in ",;|"} | {
    "\t": re.compile(r'" ++(?=[\t\r\n]|$)')
}
"""A quote with blanks before the end of its cell, by the separator of cells."""


def _closed(lines: Sequence[str], separator: str) -> bool:
    """Return whether quotes end at the end of their cells in a record of several lines, or at all in one line.

    Blanks may stand between a quote and the end of its cell.
    """
    padded = _PADDED.get(separator, _PADDED["\t"])
    try:
        list(csv.reader((padded.sub('"', line) for line in lines), delimiter=separator, strict=True))
    except csv.Error as error:
        return len(lines) == 1 and "end of data" not in str(error)
    return True


def delimiter(text: str) -> str:
    """Return the separator that splits the first records most evenly; a comma if none does.

    Commas within numbers and before spaces do not count where another separator is in all of these records.
    """
    for quoted in (True, False):  # a quote at the start that is never closed leaves one record without separators
        split = {candidate: _first_records(text, candidate, quoted) for candidate in ",;\t|"}
        elsewhere = any(map(_in_all, list(split.values())[1:]))
        best, best_score = "", 0.0
        for candidate, records in split.items():
            tight = candidate == "," and elsewhere
            counts = [_tight_commas(record) if tight else len(record) - 1 for record in records]
            if not counts or max(counts) == 0:
                continue
            usual = max(set(counts), key=counts.count)
            score = counts.count(usual) / len(counts) * (1 if usual else 0) + min(usual, 20) / 100
            if score > best_score:
                best, best_score = candidate, score
        if best:
            return best
    return ","


def _first_records(text: str, separator: str, quoted: bool) -> list[list[str]]:
    """Return the first records, at most 50, without the last one, which may be incomplete."""
    lines = io.StringIO(text[:20_000], newline="")
    records = [one for one in _reader(lines, separator, quoted=quoted) if any(map(str.strip, one))][:50]
    return records[: max(len(records) - 1, 1)]


def _in_all(records: Sequence[Sequence[str]]) -> bool:
    """Return whether all records are split, except those without any separator, such as titles.

    A separator that only ends lines, as in SQL, splits none.
    """
    split = [len(one) > 1 for one in records if len(one) > 1 or not set(",;\t|").isdisjoint(one[0])]
    return all(split) and any(any(map(str.strip, one[1:])) for one in records)


_AS_SEMICOLON = str.maketrans("\t|", ";;")


def _tight_commas(record: Sequence[str]) -> int:
    """Return how many of the commas at which a record is split are neither within a number nor before a space.

    Of the cells that the other separators make, a number has one comma, or one before each group of three digits.
    """
    line = ",".join(one.replace(",", " ") for one in record)
    count = 0
    for cell in line.translate(_AS_SEMICOLON).split(";"):
        before, *after = cell.split(",")
        if not _is_number(before, after):
            count += sum(not one[:1].isspace() for one in after)
    return count


def _is_number(before: str, after: Sequence[str]) -> bool:
    """Return whether the commas between some pieces of a cell are within one number."""
    if not before[-1:].isdigit() or not all(one[:1].isdigit() for one in after):
        return False
    grouped = not before[-4:-3].isdigit() and all(one.isdigit() for one in after[:-1])
    return len(after) < 2 or (grouped and all(one[:3].isdigit() and not one[3:4].isdigit() for one in after))


def _limited(records: Iterable[list[str]], most: int) -> Iterator[list[str]]:
    for number, record in enumerate(records):
        if number >= most:
            raise ParseError(TOO_LARGE, f"The table has more than the {most} rows allowed.")
        yield [inline(value) for value in record]


def _open(path: Path) -> calamine.CalamineWorkbook:
    try:
        book = calamine.CalamineWorkbook.from_path(str(path))
    except calamine.PasswordError as error:
        raise ParseError(PASSWORD_PROTECTED, "The workbook opens only with a password.") from error
    except calamine.CalamineError as error:
        if "password" in str(error).lower():
            raise ParseError(PASSWORD_PROTECTED, "The workbook opens only with a password.") from error
        raise ParseError(CORRUPT, "The workbook is damaged and cannot be opened.") from error
    except BaseException as error:
        raise _of_panic(error, "The workbook") from error
    if not book.sheets_metadata:
        raise ParseError(CORRUPT, "The workbook is damaged: it has no sheets.")
    return book


def _sheet(book: calamine.CalamineWorkbook, name: str) -> calamine.CalamineSheet:
    try:
        return book.get_sheet_by_name(name)
    except calamine.CalamineError as error:
        raise ParseError(CORRUPT, f"The sheet '{name}' is damaged and cannot be read.") from error
    except BaseException as error:
        raise _of_panic(error, f"The sheet '{name}'") from error


def _of_panic(error: BaseException, what: str) -> BaseException:
    """Return the error for a panic of the library, whose class is no `Exception` and has no name to import."""
    if type(error).__name__ != "PanicException":
        return error
    return ParseError(
        UNSUPPORTED,
        f"{what} cannot be read: the library for workbooks stopped at something that it does not know.",
        "Save the workbook as xlsx and upload that.",
    )


def _filled_rows(
    sheet: calamine.CalamineSheet, name: str, most: int, texts: Mapping[tuple[int, int], str]
) -> Iterator[tuple[int, Sequence[object]]]:
    """Yield non-empty rows, with `texts` for values, and one empty row for each gap; a stray cell may be far below."""
    filled = 0
    empty = False
    top, left = sheet.start or (0, 0)
    for number, values in enumerate(sheet.to_python(skip_empty_area=True), top):
        row = [texts.get((number, at), value) for at, value in enumerate(values, left)] if texts else values
        if any(value != "" for value in row):
            filled += 1
            if filled > most:
                raise ParseError(TOO_LARGE, f"Sheet '{name}' has more than the {most} rows allowed.")
            empty = False
            yield number, row
        elif not empty and not any(value != "" for value in values):  # a row that is struck is no gap
            empty = True
            yield number, row


def _typed(row: Sequence[object], styles: Sequence[Shown | None], values: Sequence[str], numbers: Numbers) -> Typed:
    """Return the values of a row's cells: the file's own, or parsed from unambiguous texts."""
    read = numbers.cell
    return [
        read(text) if type(own) is str else of_value(own) if style is None else style.typed(own)
        for own, style, text in zip(row, styles, values, strict=True)
    ]


def _formatted(value: object, style: Shown | None) -> str:
    """Return a cell's value as the sheet shows it, if its format says how."""
    if style is not None and value != "" and not isinstance(value, bool):
        return style.show(value) or _shown(value)
    return _shown(value)


def _shown(value: object) -> str:
    """Return a cell's value as text: whole numbers without a point, dates in ISO form, at most 15 digits."""
    match value:
        case str():
            return inline(value[:_MAX_CELL])
        case bool():
            return "TRUE" if value else "FALSE"
        case float():
            return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
        case datetime():
            return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ", timespec="seconds")
        case date() | time():
            return value.isoformat()
        case timedelta():
            total = round(value.total_seconds())
            minutes, seconds = divmod(abs(total), 60)
            return f"{'-' if total < 0 else ''}{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"
        case _:
            return str(value)


def write_grid(rows: Iterable[Sequence[str]], out: BlockWriter) -> None:
    """Write a grid of cells of a file without sheets."""
    grid = SheetWriter(out, "", 0)
    for number, row in enumerate(rows):
        grid.row(number, row)
    grid.close()
