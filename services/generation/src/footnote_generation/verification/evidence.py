"""A source prepared for checking: its quotable parts, cells, numbers and names, each computed on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from footnote.types.v1.answer_pb2 import Source
from footnote_text import tables

from footnote_generation.language import text_language
from footnote_generation.language.cldr import writing
from footnote_generation.language.quantities import Quantity, find
from footnote_generation.verification import lead_ins, parts, wording
from footnote_generation.verification.cells import Cells
from footnote_generation.verification.normalised import folded, tokens
from footnote_generation.verification.quoted import Index

_LOOKED_AT = 2000
ROOT = 5
"""Leading letters by which forms of a word count as equal when similarity is measured."""


@dataclass(eq=False)
class Evidence:
    """One source, with what checks need of it."""

    source: Source

    @cached_property
    def text(self) -> str:
        """The passage."""
        return str(self.source.text)

    @cached_property
    def language(self) -> str:
        """Its language as ISO 639-1 code, "" when unsure."""
        return text_language.of(self.text[:_LOOKED_AT])

    @cached_property
    def decimal(self) -> str:
        """The decimal sign of its language."""
        return writing(self.language).decimal

    @cached_property
    def index(self) -> Index:
        """Its quotable parts."""
        return Index.of(parts.cut(self.text, self.decimal, self._headings))

    @cached_property
    def _headings(self) -> frozenset[str]:
        """The headings that its places name; in its text they are lines without a marker."""
        places = (self.source.locator, *(anchor.locator for anchor in self.source.anchors))
        return frozenset(heading.strip() for place in places for heading in place.heading_path)

    @cached_property
    def rows(self) -> Sequence[tables.Row]:
        """The rows of its tables."""
        return tables.rows(self.source)

    @cached_property
    def cells(self) -> Cells:
        """The cells of its tables."""
        return Cells.of(self.source, self.language, self.decimal)

    @cached_property
    def names(self) -> frozenset[str]:
        """The words of its title, file name and headings."""
        return lead_ins.names_of(self.source.title, self.source.filename, *self.source.locator.heading_path)

    @cached_property
    def above(self) -> tuple[Quantity, ...]:
        """The quantities of its title, label and headings."""
        said = " . ".join(
            [self.source.label, self.source.title, self.source.filename, *self.source.locator.heading_path]
        )
        return find(said, self.language)

    @cached_property
    def scaled(self) -> tuple[Quantity, ...]:
        """The numbers of its cells, multiplied as their columns say ("in millions"), in any unit."""
        found: list[Quantity] = []
        for value in self.cells.values:
            number = value.cell.number
            if number is None and (number := wording.bare_number(value.cell.text, self.language)) is None:
                continue
            number *= 10.0 ** (value.noted_scale or value.cell.measure.scale)
            counted = find(f"{number!r} {value.unit}", "en") + find(f"1 {value.unit}", self.language)
            kinds = {one.dimension: one for one in counted if one.dimension and value.unit}
            values = {number, *(number * next(iter(one.values)) for one in counted[-1:] if one.dimension in kinds)}
            for dimension in {"", *kinds}:
                found.append(Quantity(frozenset(values), dimension, value.cell.start, value.cell.end, value.cell.text))
        return tuple(found)

    @cached_property
    def quantities(self) -> tuple[Quantity, ...]:
        """All of its quantities."""
        return (*find(self.text, self.language), *self.above, *self.scaled)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Its numerals, normalised for comparison."""
        return frozenset(token.text for token in tokens(self.text, self.decimal) if token.text[0].isdigit())

    @cached_property
    def words(self) -> frozenset[str]:
        """The beginnings of all its words, including title and headings."""
        return roots(" ".join([self.text, self.source.title, self.source.filename, *self.source.locator.heading_path]))

    @cached_property
    def _roots(self) -> tuple[frozenset[str], ...]:
        return tuple(frozenset(token.text.casefold()[:ROOT] for token in part.tokens) for part in self.index.parts)

    def nearest(self, statement: str, most: int = 1) -> list[tuple[float, int, int]]:
        """Return the parts that share most words with a statement: the share, start and end; best first."""
        wanted = roots(statement)
        if not wanted:
            return []
        ranked = sorted(
            ((len(wanted & found) / len(wanted), -number) for number, found in enumerate(self._roots)), reverse=True
        )
        return [(share, self.index.parts[-at].start, self.index.parts[-at].end) for share, at in ranked[:most]]

    def around(self, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the parts that overlap stretches, with introductions: text left out of a quote may deny the rest."""
        found = [
            (min(part.start, part.tokens[0].start), part.end)
            for part in self.index.parts
            if any(part.start < end and start < part.end for start, end in spans)
        ]
        return found or spans


def roots(text: str) -> frozenset[str]:
    """Return the beginnings of a text's words and its numbers, in lower case."""
    return frozenset(word[:ROOT] for word in folded(tokens(text)))
