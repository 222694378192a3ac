"""Whether a row of a table is the one asked for, by what the parser kept of names of rows and headers of columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from footnote.types.v1.answer_pb2 import Source
from footnote_text import intents, locales, tables
from footnote_text.tables import Cell, Row

from footnote_generation.extractive.passages import Unit, marks
from footnote_generation.extractive.question import Kind, Question
from footnote_generation.language import lexicon
from footnote_generation.language.words import Word, analyse


def is_another(question: Question, row: Row | None, under: frozenset[str]) -> bool:
    """Whether a question names a column in which a row has no value, or a column and nothing of the row.

    `under` are the stems of the titles, headings and headers that the row stands under.
    """
    if row is None:
        return False
    if question.kind is Kind.COUNT and _is_counted(question, row):
        return True
    columns = _columns_asked_of(question, row)
    if columns is None:
        return _lacks_sought(question, row, under)
    words = [word for word in (*question.about, *question.subject) if not set(word.stems) <= lexicon.light_stems()]
    if not any(cell.column in columns and cell.text.strip() for cell in row.cells):
        return True
    headed = _stems(" . ".join(column for cell in row.cells for column in cell.headers), question.language)
    stems = _stems(" . ".join([*row.headers, *(cell.text for cell in row.cells)]), question.language) | under - headed
    return not any(_says(stems, word) for word in words)


def _is_counted(question: Question, row: Row) -> bool:
    """Whether a question counts what the rows are, as the column says that names them: one row is no number of them."""
    sought = question.sought - lexicon.light_stems()
    heads = [cell.headers for cell in row.cells if cell.number is None and cell.names_row]
    numbers = [cell.headers for cell in row.cells if cell.number is not None]
    of_rows, of_numbers = (
        _stems(" . ".join(header for path in paths for header in path), question.language) for paths in (heads, numbers)
    )
    return not sought.isdisjoint(of_rows) and sought.isdisjoint(of_numbers)


def is_part(question: Question, row: Row | None) -> bool:
    """Whether a question asks for a total or mean of which a row with its numbers is a part: it is named as neither."""
    locale = locales.known(question.language)
    if row is None or locale is None or all(cell.number is None for cell in row.cells):
        return False
    but_last, *_ = question.text.rstrip("?？!. ").rsplit(None, 1) or [""]  # "what does it mean"
    if not (intents.has(question.text, locale.tables.total) or intents.has(but_last, locale.tables.average)):
        return False
    named = " . ".join([*row.headers, *(text for cell in row.cells for text in (cell.text, *cell.headers))])
    every = (one.tables for one in map(locales.known, locales.codes()) if one is not None)
    return not any(intents.has(named, one.total) or intents.has(named, one.average) for one in every)


def _lacks_sought(question: Question, row: Row, under: frozenset[str]) -> bool:
    """Whether a question asks for a noun that neither a row of several values nor anything above it says.

    "How many passengers …?" has no answer in a row of departures and fares; a single value may be meant by any word.
    """
    sought = question.sought - lexicon.light_stems()
    if not sought or len(_values(row)) < 2:
        return False
    headed = (header for column in row.table.columns for header in column.headers)
    stems = _stems(" . ".join([*(cell.text for cell in row.cells), *headed]), question.language) | under
    return sought.isdisjoint(stems) and _groups(sought).isdisjoint(_groups(stems))


def _groups(stems: frozenset[str]) -> frozenset[int]:
    return frozenset(group for stem in stems for group in lexicon.groups(stem))


def _says(stems: frozenset[str], word: Word) -> bool:
    groups = _groups(stems)
    return bool(stems.intersection(word.stems)) or any(lexicon.groups(stem) & groups for stem in word.stems)


def asked(question: Question, row: Row | None) -> bool | None:
    """Return whether a row has a value in a column that the question names; None where it names none."""
    columns = None if row is None else _columns_asked_of(question, row)
    if row is None or columns is None:
        return None
    return any(cell.column in columns and cell.text.strip() for cell in row.cells)


def asked_cells(question: Question, row: Row) -> tuple[Cell, ...]:
    """Return the values of a row in the columns that a question names, none where it names none."""
    columns = _columns_asked_of(question, row)
    if columns is None:  # "Which city …?" and "What is the level …?": words that elsewhere say little may be a header
        said = question.analysed.stems
        heads = {cell.column: _stems(cell.header, question.language) for cell in row.cells}
        columns = {at for at, head in heads.items() if head & question.sought or (head and head <= said)}
    return tuple(cell for cell in _values(row) if cell.column in columns)


def asked_cell(question: Question, row: Row) -> Cell | None:
    """Return the one value of a row that a question asks for: in the column that it names, or the only one there is."""
    found = asked_cells(question, row) or _values(row)
    return found[0] if len(found) == 1 else None


def _values(row: Row) -> tuple[Cell, ...]:
    names = row.names
    return tuple(cell for cell in row.cells if cell not in names and cell.text.strip())


def _columns_asked_of(question: Question, row: Row) -> set[int] | None:
    """Return the columns that a question names by words that do not name the row, None where it names none."""
    name = _stems(" . ".join(row.headers), question.language)
    words = [word for word in (*question.about, *question.subject) if not set(word.stems) <= lexicon.light_stems()]
    return _asked_columns([word for word in words if not name.intersection(word.stems)], question, row)


def name_of(row: Row | None, language: str) -> frozenset[str]:
    """Return the stems of the cells that name a row; of one that none does, of its first."""
    if row is None:
        return frozenset()
    return _stems(" . ".join(row.headers or [cell.text for cell in row.cells[:1]]), language)


def key_of(question: Question, row: Row) -> str:
    """Return the name of a row of one value where a question says all of it, "" where it does not.

    In "Output current | 4 A" the name is the asked attribute, as a header is elsewhere; the subject stands above.
    """
    if len(row.cells) != 2 or len(_values(row)) != 1:
        return ""
    key = " . ".join(cell.text for cell in row.names)
    stems = _stems(key, question.language) - lexicon.light_stems()
    said, groups = question.analysed.stems, _groups(question.analysed.stems)
    return key if stems and all(stem in said or lexicon.groups(stem) & groups for stem in stems) else ""


class Rows:
    """The rows of sources' tables by the units that they are; a source is read once."""

    def __init__(self, sources: Mapping[int, Source]) -> None:
        self._sources = sources
        self._read: dict[int, Sequence[Row]] = {}

    def of(self, unit: Unit) -> Row | None:
        """Return the row that a unit is, None for a sentence or a row without known cells."""
        if not unit.is_row:
            return None
        if (rows := self._read.get(unit.source)) is None:
            rows = self._read[unit.source] = tables.rows(self._sources[unit.source])
        return next((row for row in rows if unit.start <= row.start < unit.end), None)


def _asked_columns(words: Sequence[Word], question: Question, row: Row) -> set[int] | None:
    """Return the columns that a question names, whether the row has a value there or not; None where it names none.

    Of headers over one another each level that the question names must fit; of columns that fit alike, those count that
    no other fits better.
    """
    wanted = marks(question.text)
    levels = max((len(column.headers) for column in row.table.columns), default=0)
    found: set[int] | None = None
    for level in range(levels):
        fits: dict[int, frozenset[str]] = {}
        for number, column in enumerate(row.table.columns, 1):
            if level < len(column.headers) and not column.names_rows:
                fits[number] = _fit(words, wanted, column.headers[level], question.language)
        best = {at for at, fit in fits.items() if fit and not any(fit < other for other in fits.values())}
        if best:
            found = best if found is None else found & best
    return found


def _fit(words: Sequence[Word], wanted: frozenset[str], header: str, language: str) -> frozenset[str]:
    """Return which words and marks of a question stand in a header, synonyms included."""
    stems = _stems(header, language)
    groups = _groups(stems)
    fit = {
        word.stems[0]
        for word in words
        if stems.intersection(word.stems) or any(lexicon.groups(stem) & groups for stem in word.stems)
    }
    return frozenset(fit) | (wanted & marks(header))


def _stems(text: str, language: str) -> frozenset[str]:
    return analyse(text, language).stems
