"""The tables found on a page: rows of cells with their boxes, column headers, and the lines of text used."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from footnote_text.scripts import joins_without_space

from footnote_ingestion.parsers.clean import inline
from footnote_ingestion.parsers.pdf.bidi import has_letters, logical
from footnote_ingestion.parsers.pdf.lines import Line, Word
from footnote_ingestion.parsers.pdf.superscripts import with_raised

FIGURE = re.compile(  # of a whole word: a search within one would restart at each character
    r"\A(?:[*†‡§]{0,3}[-–—−+]?[($€£¥≥≤<>~±-]*\d[\d.,:'’]*(?<![,:])(?: \d{3}(?!\d))*"
    r"(?:[%)*†‡]|bn|[MBKkxX])*(?:(?:[/±–-]| [-–—−] )[($-]?\d[\d.,]*[%)*†‡]*|/-)?(?:\^[-−–]?\d{1,3})?"
    r"(?: \(\d[\d.,/]*%?\))?|[-–—−]{1,4}|[nN][./]?[aAmM]\.?|-/-|[-–—−][%)]+)"
)
CURRENCIES = frozenset("$€£¥")
_SIGN = re.compile(r"([$€£¥]) (?=[\d(.—–-])")
CLOSING = (")", "%", ")%", "%)")
_LONGEST_KEPT = 32
_SPACE, _LETTER, _SAME = 0.45, 1.3, 0.005
YEAR = re.compile(r"(?:FY)?(?:19|20)\d\d(?: ?[-–/] ?(?:19|20)?\d\d)?(?:[*)EFep]| \(\d\))?")
_THOUSANDS, _THREE_DIGITS = re.compile(r"[-–−+(]?\d{1,3}(?: \d{3})*"), re.compile(r"\d{3}(?:[.,]\d{1,3})?\)?")
_NO_FIGURE = re.compile(
    r"\.{2,5}|[*†‡§:…]{1,5}|\([A-Z]\)|[(<>~-]?\d[\d.,]{0,7}[a-zµ]{1,4}\)?"
    r"|\d{1,4}[/.-]\d{1,2}[/.-]\d{2,4}"
)
_LONGEST_APART = 12
_IN_BRACKETS = re.compile(r"\(\d[\d.,/]*%?\)")
_MARK = re.compile(r"\(\w\)|[-–]")
_DASHES = frozenset("-–—−")


@dataclass(slots=True)
class Cell:
    """The text of one cell with its box; empty for an empty cell."""

    text: str = ""
    left: float = 0.0
    bottom: float = 0.0
    right: float = 0.0
    top: float = 0.0


@dataclass(slots=True)
class Row:
    """The cells of a row, its name first; `indent` is where its name begins, `lines` are the ids of its lines.

    `sums`: a line is drawn above its values, as above a sum. `section`: it names the rows below it, indented or not.
    `apart`: an empty line is above it. `block`: it names the rows below it as far as the next row that is apart.
    `group`: it has values, and the indented rows below it are its parts.
    """

    cells: list[Cell]
    indent: float
    lines: set[int]
    sums: bool = False
    section: bool = False
    apart: bool = False
    block: bool = False
    group: bool = False


@dataclass(slots=True)
class Grid:
    """A table on one page. `headers` has a name for each column, the one of names first; "" where there is none.

    `columns` are the places of the columns of values, from the left; `lead` are lines that belong above the table.
    """

    page: int
    headers: list[str]
    rows: list[Row]
    columns: list[tuple[float, float]]
    lines: set[int] = field(default_factory=set)
    lead: list[str] = field(default_factory=list)
    header_lines: set[int] = field(default_factory=set)


def is_figure(text: str) -> bool:
    """Return whether a word is a value: a number, or a dash or "n/a" for none."""
    return _is_known_figure(text) if len(text) <= _LONGEST_KEPT else FIGURE.fullmatch(text) is not None


@lru_cache(maxsize=4096)
def _is_known_figure(text: str) -> bool:
    if FIGURE.fullmatch(text) is not None:
        return True
    return len(text) > 1 and text[-1] in CURRENCIES and FIGURE.fullmatch(text[:-1].rstrip()) is not None


def cell_of(words: Sequence[Word]) -> Cell:
    """Return the cell that holds some words in their order."""
    if not words:
        return Cell()
    places = words
    if words[0].mirrored:
        words = [word for row in _lines_of(words) for word in reversed(row)]
    text = inline(_as_written(words))
    if has_letters(text):
        text = inline(" ".join(_read_from_the_right(words)))
    text = _SIGN.sub(r"\1", text)
    text = text.replace(" )", ")").replace("( ", "(").replace(" %", "%")
    return Cell(
        text,
        min(word.left for word in places),
        min(word.bottom for word in places),
        max(word.right for word in places),
        max(word.top for word in places),
    )


def _lines_of(words: Sequence[Word]) -> list[list[Word]]:
    """Return the words of a cell, grouped by line."""
    rows: list[list[Word]] = []
    for at, word in enumerate(words):
        if at and word.top >= (words[at - 1].top + words[at - 1].bottom) / 2:
            rows[-1].append(word)
        else:
            rows.append([word])
    return rows


def _as_written(words: Sequence[Word]) -> str:
    """Return the words joined by spaces, except at a line's end in a script without spaces or after a hyphen."""
    parts: list[str] = []
    last: Word | None = None
    for word in words:
        if last is None:
            parts = [word.text]
        elif last.line is word.line or not last.line.text.endswith(last.text):
            parts += [" ", word.text]
        elif last.line.hyphen:
            parts += ["-", word.text]
        else:
            parts += ["" if joins_without_space(last.text[-1], word.text[0]) else " ", word.text]
        last = word
    return "".join(parts)


def _read_from_the_right(words: Sequence[Word]) -> Iterator[str]:
    """Yield the rows of a cell in reading order; its words are given from the left."""
    for row in _lines_of(words):
        spaced = [text for word in row for text in (" ", word.text)][1:]
        yield logical(spaced, row[0].line.backwards)[0]


def visual_rows(words: Iterable[Word]) -> list[list[Word]]:
    """Group words that are side by side into rows, from the top; each row from the left."""
    rows: list[list[Word]] = []
    edges: list[tuple[float, float]] = []
    for word in sorted(words, key=lambda word: -(word.top + word.bottom)):
        if rows:
            top, bottom = edges[-1]
            shared = min(top, word.top) - max(bottom, word.bottom)
            if shared > 0.5 * min(top - bottom, word.top - word.bottom):
                rows[-1].append(word)
                continue
        rows.append([word])
        edges.append((word.top, word.bottom))
    for row in rows:
        row.sort(key=lambda word: word.left)
    return [with_raised(row) for row in rows]


def segments(row: Sequence[Word], gap: float = 0.75) -> list[list[Word]]:
    """Split the words of a row into stretches at gaps wider than `gap` times their height.

    In monospaced type, a space is as wide as a letter.
    """
    letters = [(word.right - word.left) / max(len(word.text), 1) for word in row]
    same = len(letters) > 1 and max(letters) - min(letters) < _SAME * max(letters)
    least = _LETTER * max(letters) if same else 0.0
    found: list[list[Word]] = []
    for word in row:
        if found and word.left - found[-1][-1].right <= max(gap * max(word.top - word.bottom, 1.0), least):
            found[-1].append(word)
        else:
            found.append([word])
    return found


def values_of(row: Sequence[Word]) -> list[Word]:
    """Return the figures at a row's end that are set apart from its words, without currency signs."""
    found: list[Word] = []
    piece: list[Word] = []
    for at in range(len(row) - 1, -1, -1):
        word = row[at]
        if word.text not in CURRENCIES and word.text not in CLOSING:
            if not is_figure(word.text) and not _stands_for_value(row, at):
                break
            piece.append(word)
        if not at or _are_apart(row[at - 1], word):
            found += piece
            piece = []
    return found[::-1]


def _stands_for_value(row: Sequence[Word], at: int) -> bool:
    """Return whether a word with gaps on both sides is a value with its unit, or a sign for none: "1ppt", "(X)"."""
    if len(row[at].text) > _LONGEST_APART or _NO_FIGURE.fullmatch(row[at].text) is None:
        return False
    # With gaps narrower than those between columns, it is the mark of a note.
    before = not at or row[at].left - row[at - 1].right > row[at].line.size
    return before and (at == len(row) - 1 or _are_apart(row[at], row[at + 1]))


def names_years(row: Sequence[Word]) -> bool:
    """Return whether a row's figures are years, as in headers; marks of notes and ranges of years are allowed."""
    values = values_of(row)
    years = [word for word in values if YEAR.fullmatch(word.text)]
    if len(years) > 1:
        values = [word for word in values if _MARK.fullmatch(word.text) is None]
    return len(years) >= 1 and len(years) >= len(values) - 1 and (len(values) == len(years) or values[0] not in years)


def pieces_of(row: Sequence[Word]) -> list[list[Word]]:
    """Split the words of a row into stretches at gaps wider than those between words of a sentence."""
    pieces: list[list[Word]] = []
    for word in row:
        if pieces and not _are_apart(pieces[-1][-1], word):
            pieces[-1].append(word)
        else:
            pieces.append([word])
    return pieces


def _are_apart(left: Word, right: Word) -> bool:
    """Return whether the gap between two consecutive words is wider than between words of a sentence."""
    one, other = left.line.size, right.line.size
    return not right.left - left.right <= _SPACE * (one if one > other else other)


def joined_figures(row: Sequence[Word]) -> list[Word]:
    """Return a row in which "70.0 / 24.0" is one word, and so are "83.2 (86.5)", "15 455" and "2024 - 2044".

    All but the first only with narrow gaps. A currency sign behind each figure belongs to it: "1,234 $".
    """
    row = _with_signs_behind(row)
    made: list[Word] = []
    joins = ranges = False
    for at, word in enumerate(row):
        slash = word.text == "/" and made and is_figure(made[-1].text)
        dash = bool(made) and word.text in _DASHES and _is_range(made[-1], word, row[at + 1 : at + 2])
        beside = made and (
            (_IN_BRACKETS.fullmatch(word.text) is not None and _stands_beside(made[-1], word))
            or _are_thousands(made[-1], word)
            or dash
            or ranges
        )
        ranges = dash
        if made and (slash or beside or (joins and is_figure(word.text))):
            last = made[-1]
            made[-1] = _one(f"{last.text} {word.text}" if beside else f"{last.text}{word.text}", last, word)
        else:
            made.append(word)
        joins = bool(slash) or (word.text[-1] == "/" and is_figure(word.text[:-1]))
    return made


def _with_signs_behind(row: Sequence[Word]) -> Sequence[Word]:
    """Return a row with each currency sign joined to the figure before it, if its signs stand behind their figures.

    A sign before a figure never ends a row, and the first one has no figure before it.
    """
    if not row or row[-1].text not in CURRENCIES:
        return row
    made: list[Word] = []
    for word in row:
        if word.text not in CURRENCIES:
            made.append(word)
        elif made and made[-1].text[-1] not in CURRENCIES and _stands_behind(made[-1], word):
            made[-1] = _one(f"{made[-1].text} {word.text}", made[-1], word)
        else:
            return row
    return made


def _stands_behind(figure: Word, sign: Word) -> bool:
    """Return whether a sign is right of a figure, at its height."""
    shared = min(figure.top, sign.top) - max(figure.bottom, sign.bottom)
    return sign.left >= figure.right and 2 * shared > sign.top - sign.bottom and is_figure(figure.text)


def _one(text: str, left: Word, right: Word) -> Word:
    """Return two words as one."""
    return Word(
        text, left.left, right.right, max(left.top, right.top), min(left.bottom, right.bottom),
        left.line, (*left.more, right.line, *right.more), left.mirrored,
    )  # fmt: skip


def _is_range(figure: Word, dash: Word, after: Sequence[Word]) -> bool:
    """Return whether a dash with narrow gaps separates two figures: "2024 - 2044"; a dash for none is set apart."""
    return (
        bool(after)
        and figure.text[0].isdigit()
        and after[0].text[0].isdigit()
        and is_figure(figure.text)
        and is_figure(after[0].text)
        and not _are_apart(figure, dash)
        and not _are_apart(dash, after[0])
    )


def _stands_beside(figure: Word, word: Word) -> bool:
    text = figure.text
    return text[0].isdigit() and text[-1] not in ")*" and is_figure(text) and not _are_apart(figure, word)


def _are_thousands(figure: Word, word: Word) -> bool:
    """Return whether two words are one number with digits in groups of three separated by a space."""
    return (
        word.text[0].isdigit()
        and _THREE_DIGITS.fullmatch(word.text) is not None
        and len(figure.text) <= _LONGEST_KEPT
        and _THOUSANDS.fullmatch(figure.text) is not None
        and not _are_apart(figure, word)
    )


def ids(words: Iterable[Word]) -> set[int]:
    """Return the ids of the words' lines."""
    return {id(line) for word in words for line in (word.line, *word.more)}


def bounds(lines: Sequence[Line]) -> tuple[float, float, float, float]:
    """Return left, bottom, right and top of some lines."""
    return (
        min(line.left for line in lines),
        min(line.bottom for line in lines),
        max(line.right for line in lines),
        max(line.top for line in lines),
    )
