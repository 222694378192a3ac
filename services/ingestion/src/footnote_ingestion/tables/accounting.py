"""Compares a query that a model wrote with the question: what one of them says and the other does not.

If each says all that the other says, the query counts as what was asked. Every difference is a doubt, which the answer
reports.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from footnote.types.v1.table_pb2 import Measure
from footnote_text.lexical import fold
from footnote_text.locales import Locale
from footnote_text.stopwords import STOP_WORDS
from sqlglot import exp

from footnote_ingestion.tables import forms
from footnote_ingestion.tables.accounted_days import bounds_of, is_day
from footnote_ingestion.tables.asked_numbers import number_of, numbers_of
from footnote_ingestion.tables.asked_periods import AskedPeriods
from footnote_ingestion.tables.formatting import is_total
from footnote_ingestion.tables.forms import Subject

_MOST_NAMED, _SHORT = 12, 4
_PLAIN: tuple[type[exp.Expr], ...] = (
    exp.Select, exp.From, exp.Where, exp.Group, exp.Order, exp.Ordered, exp.Limit, exp.Table, exp.TableAlias, exp.Alias,
    exp.Column, exp.Identifier, exp.Star, exp.Literal, exp.Paren, exp.And, exp.EQ, exp.GT, exp.GTE, exp.LT, exp.LTE,
    exp.Between, exp.In, exp.Sum, exp.Avg, exp.Count, exp.Min, exp.Max, exp.Cast, exp.DataType, exp.Neg, exp.Round,
    exp.Join, exp.Sub, exp.Coalesce, exp.Boolean,
)  # fmt: skip
_DOES: dict[str, tuple[type[exp.Expr], ...]] = {
    "total": (exp.Sum, exp.Count), "average": (exp.Avg,), "count": (exp.Count, exp.Sum), "above": (exp.GT, exp.GTE),
    "below": (exp.LT, exp.LTE), "per": (exp.Group,), "comparison": (exp.Sub,),
}  # fmt: skip
_NEEDS: tuple[tuple[type[exp.Expr], tuple[str, ...]], ...] = (
    (exp.Avg, ("average",)), (exp.Count, ("count", "total")), (exp.Max, ("highest",)), (exp.Min, ("lowest",)),
    (exp.Sub, ("comparison",)), (exp.Join, ("comparison",)), (exp.Group, ("per",)),
)  # fmt: skip
"""What stands in a statement only where the question has a word for it."""
_COMPARED: dict[type[exp.Expr], set[str]] = {
    exp.GT: {"above"}, exp.GTE: {"above"}, exp.LT: {"below"}, exp.LTE: {"below"}, exp.EQ: set(), exp.Between: set(),
}  # fmt: skip
"""Comparisons with the words for them."""
_LEAST_DIGITS = 2
"""Digits behind the point; rounded to fewer, a share is another number."""


@dataclass(slots=True)
class Discrepancies:
    """Words of the question that the statement leaves out, and parts of it that the question does not name."""

    left_out: list[str] = field(default_factory=list)
    not_asked: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.left_out) + len(self.not_asked)

    def said(self, words: Locale) -> list[str]:
        """Return them as sentences."""
        tables = words.tables
        return [
            sentence.format(words=", ".join(dict.fromkeys(found[:_MOST_NAMED])))
            for sentence, found in ((tables.left_out, self.left_out), (tables.not_asked, self.not_asked))
            if found
        ]


def discrepancies(
    question: str, tree: exp.Expr, subjects: Sequence[Subject], others: Sequence[Subject], words: Locale
) -> Discrepancies:
    """Return what remains over of a question and a checked statement.

    `subjects` are the tables that the statement reads, `others` those that it could have read.
    """
    return _Accounting(question, tree, subjects, others, words).discrepancies()


class _Accounting:
    def __init__(
        self,
        question: str,
        tree: exp.Expr,
        subjects: Sequence[Subject],
        others: Sequence[Subject],
        words: Locale,
    ) -> None:
        self._asked, self._tree, self._subjects, self._words = forms.tokens(question), tree, subjects, words
        self._written = numbers_of(question, words.code)
        self._others = others
        self._stop = {fold(word) for word in STOP_WORDS.get(words.code, ())}
        self._taken: set[int] = set()
        self._are_days_meant = False
        self._found = Discrepancies()

    def discrepancies(self) -> Discrepancies:
        self._files()
        said = self._forms()
        self._days()
        self._texts()
        self._numbers(said)
        self._headers()
        self._parts(said)
        self._rest()
        return self._found

    def _files(self) -> None:
        for subject in self._subjects:
            self._take(forms.tokens(subject.filename), exact=True)

    def _forms(self) -> set[str]:
        """Return which forms the question has words of; those that the statement does not compute are left out."""
        said: set[str] = set()
        names = (*_DOES, "highest", "lowest")
        phrases = [(phrase, form) for form in names for phrase in getattr(self._words.tables, form)]
        for phrase, form in sorted(phrases, key=lambda one: -len(one[0])):
            if not self._take(forms.units(phrase), exact=True):
                continue
            said.add(form)
            if not self._does(form):
                self._found.left_out.append(phrase.rstrip("*"))
        return said

    def _does(self, form: str) -> bool:
        if form in ("highest", "lowest"):
            first = form == "highest"
            return self._has(exp.Max if first else exp.Min) or any(
                bool(one.args.get("desc")) == first for one in self._tree.find_all(exp.Ordered)
            )
        return any(self._has(kind) for kind in _DOES[form])

    def _days(self) -> None:
        """Take the words of days and periods if the statement's days are those that they mean."""
        for subject in self._subjects:
            asked = AskedPeriods(self._asked, subject, self._words.tables, self._words.code, self._taken)
            by_header = {one: self._hits(subject.headers[one], set()) for one in subject.dates}
            filters = asked.placed(by_header, compares=False).filters
            meant = {(one.column, one.op): one.value for one in filters}
            if meant and meant == bounds_of(self._tree, subject):
                self._taken |= asked.places
                self._are_days_meant = True

    def _texts(self) -> None:
        """Take the texts that the statement looks for; one that the question does not name is a doubt."""
        for node in self._tree.find_all(exp.Literal):
            if not node.is_string or _leaves_out(node):
                continue
            text = node.name.strip("%")
            if is_day(node.parent):
                if not self._are_days_meant:
                    self._found.not_asked.append(text)
            elif not self._take(forms.tokens(text), exact=False):
                self._found.not_asked.append(text)

    def _numbers(self, said: set[str]) -> None:
        for node in self._tree.find_all(exp.Literal):
            if node.is_string or isinstance(node.parent, exp.Group | exp.Ordered | exp.Round):
                continue
            value = -float(node.name) if isinstance(node.parent, exp.Neg) else float(node.name)
            counted = self._measure(node)
            there = (at for at, one in self._free() if one[0].isdecimal() and self._writes(at, value, counted))
            place = next(there, -1)
            if place < 0 and isinstance(node.parent, exp.Limit):
                numbers = self._words.tables.numbers
                place = next((at for at, one in self._free() if forms.place_of(one, numbers) == value), -1)
                if value == 1 and place < 0 and said & {"highest", "lowest"}:
                    continue
            if place >= 0:
                self._taken.update(self._written[place].places if place in self._written else [place])
            else:
                self._found.not_asked.append(node.name)

    def _measure(self, node: exp.Literal) -> Measure | None:
        """Return what the column counts that a number is compared with."""
        compared = node.find_ancestor(exp.Predicate)
        column = compared.find(exp.Column) if compared is not None else None
        named = "" if column is None else column.name.casefold()
        every = ((subject.headers[at], one) for subject in self._subjects for at, one in subject.measures.items())
        return next((one for header, one in every if header.casefold() == named), Measure())

    def _writes(self, place: int, value: float, column: Measure | None) -> bool:
        """Return whether a number of the question is one of the statement; without its sign where that is unclear."""
        if place in self._written:
            return self._written[place].among(column) == value
        return number_of(self._asked[place], self._words.code) == abs(value)

    def _headers(self) -> None:
        """Take the headers of the columns used; a column of numbers that the question names as well is a doubt."""
        used = {column.name.casefold() for column in self._tree.find_all(exp.Column)}
        before = set(self._taken)
        named = [
            (self._score(header, subject), header, self._is_used(header, subject, used))
            for subject in (*self._subjects, *self._others)
            for column, header in subject.headers.items() if column in subject.numeric
        ]  # fmt: skip
        if here := [score for score, _, is_used in named if is_used]:
            self._found.left_out += [
                header for score, header, is_used in named if score[0] and score >= max(here) and not is_used
            ]
        for subject in self._subjects:
            measured = [one for one in subject.numeric if subject.headers[one].casefold() in used]
            if len(subject.numeric) > 1:
                self._found.not_asked += [
                    subject.headers[one] for one in measured if not self._hits(subject.headers[one], before)
                ]
            for column, header in subject.headers.items():
                if header.casefold() in used or column == subject.naming:
                    self._taken |= self._hits(header, before)
            self._taken |= self._hits(subject.about, before)

    def _is_used(self, header: str, subject: Subject, used: set[str]) -> bool:
        return subject in self._subjects and header.casefold() in used

    def _score(self, header: str, subject: Subject) -> tuple[int, int]:
        """Return how many words of the question a column has, its table's among them, and how many it has alone."""
        own = self._hits(header, set())
        return len(own | self._hits(subject.about, set())), len(own)

    def _hits(self, text: str, taken: set[int]) -> set[int]:
        parts = forms.tokens(text)
        return {
            at for at, word in enumerate(self._asked)
            if at not in taken and word not in self._stop and any(_alike(word, part) for part in parts)
        }  # fmt: skip

    def _parts(self, said: set[str]) -> None:
        for node in self._tree.walk():
            if type(node) not in _PLAIN and not _leaves_out(node):
                self._found.not_asked.append(node.key.upper())
            elif isinstance(node, exp.Select) and node.args.get("distinct"):
                self._found.not_asked.append("DISTINCT")
            elif _changes_numbers(node) or (type(node) in _COMPARED and _compares_more(node, said)):
                self._found.not_asked.append(node.sql("duckdb"))
        for kind, needed in _NEEDS:
            if self._has(kind) and not said & set(needed):
                self._found.not_asked.append(kind.__name__.upper())
        if self._has(exp.Limit):
            self._ordered()
            if not said & {"highest", "lowest"}:
                self._found.not_asked.append("LIMIT")

    def _ordered(self) -> None:
        """Find columns that rows are ordered by and that the question does not name, or without numbers or days."""
        for one in self._tree.find_all(exp.Ordered):
            select = one.find_ancestor(exp.Select)
            for column in _ordering(one, select).find_all(exp.Column):
                ranks = any(
                    header.casefold() == column.name.casefold() and at in subject.numeric | subject.dates
                    for subject in self._subjects for at, header in subject.headers.items()
                )  # fmt: skip
                if not (ranks and self._hits(column.name, set())):
                    self._found.not_asked.append(column.name)

    def _rest(self) -> None:
        """Whatever is neither taken nor a word that says nothing was left out."""
        for phrase in self._words.tables.said:
            while self._take(forms.units(phrase), exact=True):
                pass
        self._found.left_out += [word for _, word in self._free() if word not in self._stop]

    def _has(self, kind: type[exp.Expr]) -> bool:
        return self._tree.find(kind) is not None

    def _free(self) -> Iterator[tuple[int, str]]:
        return iter([(at, word) for at, word in enumerate(self._asked) if at not in self._taken])

    def _take(self, parts: Sequence[str], *, exact: bool) -> bool:
        """Take the first place where words occur consecutively; False where they do not."""
        size = len(parts)
        for start in range(len(self._asked) - size + 1 if size else 0):
            there = range(start, start + size)
            if self._taken.isdisjoint(there) and all(
                forms.same_word(self._asked[at], part, exact) for at, part in zip(there, parts, strict=True)
            ):
                self._taken.update(there)
                return True
        return False


def _leaves_out(node: exp.Expr) -> bool:
    """Return whether a part only leaves out rows of totals, or rows without a value."""
    if isinstance(node, exp.Null | exp.Is):
        return True
    if isinstance(node, exp.Not):
        inside = node.this.unnest()
        return isinstance(inside, exp.Is) or (isinstance(inside, exp.In) and all(map(_is_total, inside.expressions)))
    if isinstance(node, exp.NEQ):
        return _is_total(node.expression)
    if isinstance(node, exp.Literal) and node.is_string and _is_total(node):
        return isinstance(node.parent, exp.NEQ | exp.In)
    return False


def _is_total(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_string and is_total(node.name)


def _alike(word: str, part: str) -> bool:
    """Return whether two words are one with a short ending; short ones must not differ before it."""
    return forms.alike(word, part) and (
        min(len(word), len(part)) > _SHORT or word.startswith(part) or part.startswith(word)
    )


def _changes_numbers(node: exp.Expr) -> bool:
    """Return whether a part makes other numbers of those in cells: another sign, fewer digits, or texts of them."""
    if isinstance(node, exp.Neg):
        return not isinstance(node.this, exp.Literal)
    if isinstance(node, exp.Cast):
        return not is_day(node) and not node.is_type("double")
    if isinstance(node, exp.Round):
        digits = node.args.get("decimals")
        return not isinstance(digits, exp.Literal) or int(digits.name) < _LEAST_DIGITS
    return False


def _compares_more(node: exp.Expr, said: set[str]) -> bool:
    """Return whether a comparison is none that words of the question ask for, nor one with a day.

    That of a column with a text or number needs no word; nor does that of columns by which tables are joined. What is
    compared with a query of its own has that as its doubt.
    """
    sides = list(node.iter_expressions())
    if any(map(is_day, sides)) or node.find(exp.Subquery) is not None or said & _COMPARED[type(node)]:
        return False
    if not isinstance(node, exp.EQ):
        return True
    return sum(side.find(exp.Column) is not None for side in sides) > 1 and node.find_ancestor(exp.Join) is None


def _ordering(node: exp.Ordered, select: exp.Select | None) -> exp.Expr:
    """Return what rows are ordered by; for the place or the name of a selected column, that column."""
    by: exp.Expr = node.this
    selected: list[exp.Expr] = select.expressions if select is not None else []
    if isinstance(by, exp.Literal) and by.is_int and 0 < int(by.name) <= len(selected):
        return selected[int(by.name) - 1]
    return next((one for one in selected if isinstance(one, exp.Alias) and one.alias == by.name), by)


def least(found: Iterable[Discrepancies]) -> Discrepancies:
    """Return the fewest discrepancies, of the readings in several languages."""
    return min(found, key=len)
