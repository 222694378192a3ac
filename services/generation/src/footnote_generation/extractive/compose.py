"""Making an answer of chosen sentences: which, in what order, how much of each sentence or row, with markers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from footnote.types.v1.answer_pb2 import Source
from footnote_text.intents import Intent
from footnote_text.sentences import begins_anaphorically
from footnote_text.tables import Cell, Row

from footnote_generation.extractive import cells, meaning, pairs
from footnote_generation.extractive.cells import asked_cells
from footnote_generation.extractive.confidence import confidence, signs
from footnote_generation.extractive.meaning import Comparison
from footnote_generation.extractive.missing_names import fitting
from footnote_generation.extractive.passages import Unit, units
from footnote_generation.extractive.question import Kind, Question, read
from footnote_generation.extractive.ranking import Ranked, adds_to, rank
from footnote_generation.extractive.whole_passages import Shown, show
from footnote_generation.language import lexicon
from footnote_generation.language.cldr import date_begin
from footnote_generation.language.quantities import find
from footnote_generation.language.words import analyse

# How many sentences read well beside one another. Of what chose these and the shares 0.85 and 0.6 below nothing is
# kept; they order and cut the answer, and decide nothing about its being one.
_MORE = {Kind.LIST: 3, Kind.REASON: 2, Kind.MANNER: 3, Kind.DEFINITION: 2, Kind.THING: 2}
_LEAD = re.compile(rf"^(?:{lexicon.LEADS}),\s+", re.IGNORECASE)
# Only square brackets: round ones hold negative amounts, "(136)", and belong to what is quoted.
_FOOTNOTES = re.compile(r"\s?\[\s?\d{1,3}(?:\s?[,–-]\s?\d{1,3})*\s?\](?!\w)")


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer in pieces, each a sentence with the number it cites; `support` says how sure it is, 0 to 1.

    `wish` is what was asked for beyond a passage. `groups`, where there are any, are the sentences as passages: a
    paragraph, a row, an item each; `more` is how many further lines a long passage has. `first` is the best sentence
    where there are none.
    """

    sentences: tuple[tuple[str, int], ...]
    support: float
    wish: Intent | None = None
    groups: tuple[tuple[tuple[str, int], ...], ...] = ()
    more: int = 0
    first: Unit | None = None


class Search:
    """One question put to its sources; `part` means that it is one of several that another was cut into."""

    def __init__(self, question_text: str, sources: Sequence[Source], part: bool = False) -> None:
        question = read(question_text)
        # Nothing is compared in a part.
        self.question = replace(question, wish=None) if part and question.wish is Intent.COMPARISON else question
        self.sources = sources
        self._by_number = {source.number: source for source in sources}
        self._rows = cells.Rows(self._by_number)
        found = units(sources, question.language)
        ranked = rank(self.question, found, [source.score for source in sources])
        self._support = support(self.question, ranked, found) if ranked else 0.0
        # A heading is no answer itself, and a sentence that only repeats the question is none either.
        ranked = [item for item in ranked if not item.unit.is_heading and adds_to(self.question, item.unit)]
        self._ranked = fitting(self.question, ranked, found, self._by_number, self._rows)
        self._comparison = Comparison(self.question, self._ranked, found, self._by_number, self._rows)
        compares = self.question.wish is Intent.COMPARISON
        self._pair = pairs.find(self.question, self._ranked, found, self._by_number, self._rows) if compares else None

    @property
    def texts(self) -> Sequence[str]:
        """Return the sentences to compare with the question in meaning."""
        return self._comparison.texts

    def draft(self, likeness: Sequence[float] = ()) -> Draft:
        """Return the best answer that the sentences give, however poor: `support` tells; `likeness` is of `texts`."""
        question = self.question
        if not self._ranked:
            return Draft((), 0.0)
        if self._pair is not None:
            both = tuple((_plain(unit.text), unit.source) for unit in self._pair)
            return Draft(both, 1.0, question.wish, tuple((one,) for one in both))
        ranked = self._comparison.ranked(likeness) if likeness else self._ranked
        passages = show(question, ranked, self._by_number)
        if passages is not None:
            groups = tuple(tuple((_plain(text), number) for text, number in group) for group in passages.groups)
            sure = meaning.support(question, _within(ranked, passages)) if likeness else self._support
            return Draft(tuple(one for group in groups for one in group), sure, question.wish, groups, passages.more)
        if likeness:
            chosen = _choose(question, ranked, 2, meaning.share(ranked[0].score))
        else:
            chosen = _choose(question, ranked, _MORE.get(question.kind, 2), 0.85)
        sure = meaning.support(question, chosen) if likeness else self._support
        sentences = tuple((self._tidy(item.unit, item is chosen[0]), item.unit.source) for item in chosen)
        if cells.is_part(question, self._rows.of(chosen[0].unit)):
            return Draft(sentences, sure, Intent.TOTAL, tuple((one,) for one in sentences))
        wish = None if question.wish in {Intent.TOTAL, Intent.STEPS} else question.wish
        return Draft(sentences, sure, wish, first=chosen[0].unit)

    def _tidy(self, unit: Unit, first: bool) -> str:
        source = self._by_number[unit.source].text if first else ""
        return tidy(unit, self.question, self._rows.of(unit), source)


def draft(question_text: str, sources: Sequence[Source]) -> Draft:
    """Return the best answer by words alone."""
    return Search(question_text, sources).draft()


def _within(ranked: Sequence[Ranked], passages: Shown) -> list[Ranked]:
    """Return the sentences and rows that passages hold."""
    texts: dict[int, str] = {}
    for group in passages.groups:
        for text, number in group:
            texts[number] = f"{texts.get(number, '')}\n{text}"
    return [item for item in ranked if item.unit.text.strip() in texts.get(item.unit.source, "")]


def support(question: Question, ranked: Sequence[Ranked], found: Sequence[Unit]) -> float:
    """How sure it is that the sources answer the question at all, 0 to 1: the best of the first few sentences."""
    return max(confidence(signs(question, item, found, item.source_covered)) for item in ranked[:3])


def _choose(question: Question, ranked: Sequence[Ranked], limit: int, share: float) -> list[Ranked]:
    """Return the best sentence, and others that add to it, with this share of its score: as many as the limit."""
    best = ranked[0]
    chosen = [best]
    for item in ranked[1:12]:
        if len(chosen) >= limit:
            break
        if item.score < best.score * share:
            break
        if item.unit.is_row and question.kind is not Kind.LIST and not _names_more(question, item, chosen):
            continue
        if all(_adds(item, other) for other in chosen) and _keeps_to(question, item, best):
            chosen.append(item)
    first = chosen[0].unit
    # Reading order inside the source of the best sentence, which still comes first if others precede it elsewhere.
    same = sorted((item for item in chosen[1:] if item.unit.source == first.source), key=lambda item: item.unit.place)
    other = [item for item in chosen[1:] if item.unit.source != first.source]
    return [chosen[0], *same, *other]


def _names_more(question: Question, item: Ranked, chosen: Sequence[Ranked]) -> bool:
    """Whether a row speaks of something asked for that the chosen ones do not: the second of two products compared."""
    known = frozenset(stem for other in chosen for stem in other.unit.analysed.stems)
    return any(set(word.stems) & item.unit.analysed.stems - known for word in question.about)


def _keeps_to(question: Question, item: Ranked, best: Ranked) -> bool:
    """Whether a sentence speaks of all that the best one does, of a question that leans on a subject."""
    if not question.subject and not question.before:
        return True
    stems = {stem for word in (*question.about, *question.subject, *question.before) for stem in word.stems}
    return stems & _spoken_of(best.unit) <= _spoken_of(item.unit)


def _spoken_of(unit: Unit) -> frozenset[str]:
    """Return the stems of a sentence, of its headings, and of the one before where it begins with a pronoun."""
    before = unit.before if begins_anaphorically(unit.text, unit.language) else frozenset[str]()
    return unit.analysed.stems | unit.context | before


def _adds(item: Ranked, other: Ranked) -> bool:
    """Whether a sentence says something that another does not."""
    mine, theirs = item.unit.analysed.stems, other.unit.analysed.stems
    return len(mine & theirs) < 0.6 * max(1, min(len(mine), len(theirs)))


_MARK = re.compile(r"\A(?:[-*•–|]++|#{1,6}|(?P<number>\d{1,2})[.)])\s++")


def _plain(text: str) -> str:
    """Return a text on one line without the mark of a list item before it and without footnote marks."""
    text = " ".join(text.split())
    if mark := _MARK.match(text):
        text = text[mark.end() if (date := date_begin(text)) < 0 else date :]
    return _without_footnotes(text)


def _without_footnotes(text: str) -> str:
    return _FOOTNOTES.sub("", " ".join(text.split())).strip(" |")


_DASHED = re.compile(r"\A\s*+[-–]\s")


def _says_more(mark: re.Match[str], unit: Unit, question: Question, source: str) -> bool:
    """Return whether the mark before a sentence belongs to it: a number asked for, a dash that may be a minus."""
    if number := mark["number"]:
        return number in re.findall(r"\d+", question.text)
    if not (_DASHED.match(unit.text) and unit.text[mark.end() : mark.end() + 1].isdigit()):
        return False
    above, below = source[: unit.start].rstrip().rpartition("\n")[2], source[unit.end :]
    return not (_DASHED.match(above) or _DASHED.match(below))


def tidy(unit: Unit, question: Question, row: Row | None = None, source: str = "") -> str:
    """Return a sentence fit to stand alone: whole, on one line, without footnote marks and leading links.

    `row` is the row that it is: then only its name and the cells asked for, if the question names them. At the start
    of a line, `source` is the text that it is of: the mark of an item stays if it says something.
    """
    if short := row is not None and shorten(row, question):
        text = _plain(short)
    elif (mark := _MARK.match(unit.text)) and source and _says_more(mark, unit, question, source):
        text = _without_footnotes(unit.text)
    else:
        text = _plain(unit.text)
    lead = _LEAD.match(text)
    if lead:
        text = text[lead.end() :]
        text = text[:1].upper() + text[1:]
    return text


_SEPARATOR = " › "


def shorten(row: Row, question: Question) -> str:
    """Return "name — Header: value" with the cells asked for, "" if the question does not name row and column.

    Beside the names of the row stand its other cells that the question names: "Bus 14, Harbour — Repairs: 3".
    """
    asked = [cell for cell in asked_cells(question, row) if cell.header]
    if not asked:
        return ""
    wanted = frozenset(stem for word in (*question.about, *question.subject) for stem in word.stems) | question.sought
    own = row.names
    named = [cell for cell in row.cells if cell not in asked and _is_named(cell.text, wanted, question)]
    if not named:
        return ""
    names = dict.fromkeys(cell.text.strip() for cell in (*own, *(cell for cell in named if cell not in own)))
    values = "; ".join(f"{_SEPARATOR.join(cell.headers)}: {cell.text}" for cell in asked)
    if row.table.note not in values and any(_is_counted(cell, row, question.language) for cell in asked):
        values = f"{values} {row.table.note}"
    return f"{', '.join(filter(None, names))} — {values}"


def _is_counted(cell: Cell, row: Row, language: str) -> bool:
    """Return whether a cell is a number that its table's note may be about: no day, no share, in no magnitude else."""
    is_number = cell.number is not None or not any(map(str.isalpha, cell.text))
    is_number = is_number and any(one.dimension not in ("year", "date") for one in find(cell.text, language))
    measure, is_share = cell.measure, any("%" in name.text for name in row.names)
    is_scaled = not cell.message.measure.scale and measure.scale in (0, row.table.note_scale)
    return is_number and is_scaled and not is_share and not cell.message.date and not measure.unit


def _is_named(text: str, wanted: frozenset[str], question: Question) -> bool:
    words = analyse(text, question.language)
    return bool(words.stems & wanted) and not words.quantities
