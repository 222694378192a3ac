"""What the words of a question mention of a table: texts of its cells, names of its columns, numbers, its own name."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from footnote_text.lexical import fold, is_unspaced
from footnote_text.locales import TableWords
from footnote_text.stopwords import STOP_WORDS
from footnote_text.turning import LIMITING, ORDERING

from footnote_ingestion.tables import forms, literals
from footnote_ingestion.tables.asked_numbers import Number, numbers_of
from footnote_ingestion.tables.formatting import is_total
from footnote_ingestion.tables.forms import Subject

OPERATIONS = (forms.TOTAL, forms.AVERAGE, forms.COUNT, forms.HIGHEST, forms.LOWEST)
_LIMITS = ("above", "below")
SHORTEST_RUN, _SHORTEST_PART = 2, 5
_COMPOUND = 0.7
"""What a word counts that is a part of one of the question's."""
TURNING = {code: f"{words} {ORDERING.get(code, '')}" for code, words in LIMITING.items()}
"""Words of the closed classes by which a sentence leaves out, restricts, orders in time or compares."""

_MONTHS = {
    "en": "january february march april may june july august september october november december",
    "fr": "janvier fevrier mars avril mai juin juillet aout septembre octobre novembre decembre",
    "de": "januar februar marz april mai juni juli august september oktober november dezember",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "pt": "janeiro fevereiro marco abril maio junho julho agosto setembro outubro novembro dezembro",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
}


@dataclass(frozen=True, slots=True)
class Span:
    """Consecutive words of a question that are a text of cells, by column; no text where it is unclear which."""

    start: int
    end: int
    values: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's words, folded; which of them are capitalised; which turn its meaning; which say nothing."""

    tokens: tuple[str, ...]
    capitals: frozenset[int]
    turning: frozenset[int]
    empty: frozenset[int]
    said: Mapping[str, tuple[int, int]]
    """Where the words of each form stand, as of `TableWords`: the first and the place after the last."""
    spoken: frozenset[int]
    """The places of words of forms."""
    numbers: tuple[str, ...] = ()
    number_words: frozenset[int] = frozenset()
    """The places of numbers in words, and of months: like numbers, they say which rows count."""
    text: str = ""
    """The whole question, as it was written."""
    counted: int = -1
    """The place of the noun that is counted, -1 for none."""
    written: Mapping[int, Number] = field(default_factory=dict)
    """The numbers, by the places of their first words, as `numbers_of` has them."""

    @staticmethod
    def of(question: str, words: TableWords, language: str) -> Asked:
        """Read the words of a question in a language."""
        tokens = forms.tokens(question)
        # German writes every noun with a capital.
        capitals = forms.capitals(question) - {0} if language != "de" else frozenset[int]()
        said, spoken = _said(tokens, words)
        turning = {fold(one) for one in TURNING.get(language, "").split()}
        turns = frozenset(at for at, one in enumerate(tokens) if one in turning and at not in spoken)
        stop = {fold(one) for one in STOP_WORDS.get(language, ())}
        empty = {at for at, one in enumerate(tokens) if one in stop and at not in turns}
        counted = counted_at(tokens, said.get(forms.COUNT, (0, None))[1], stop)
        for phrase in (*words.said, *words.rows):
            for start, end in _places(tokens, forms.units(phrase)):
                if not start <= counted < end or phrase in words.rows:
                    empty.update(at for at in range(start, end) if at not in turns)
        named = {fold(one) for one in (*words.numbers, *_MONTHS.get(language, "").split())}
        counts = frozenset(at for at, one in enumerate(tokens) if one in named and at not in spoken)
        nothing = frozenset(empty - spoken - counts)
        return Asked(
            tokens, capitals, turns, nothing, said, spoken, tuple(words.numbers), counts, question, counted,
            numbers_of(question, language),
        )  # fmt: skip


@dataclass(slots=True)
class Mentions:
    """What a question mentions of one table, by the places of its words."""

    subject: Subject
    file: frozenset[int] = frozenset()
    about: frozenset[int] = frozenset()
    spans: list[Span] = field(default_factory=list)
    headers: dict[int, frozenset[int]] = field(default_factory=dict)
    shares: dict[int, float] = field(default_factory=dict)
    """How much of a column's name the question says, from 0 to 1."""

    @staticmethod
    def of(asked: Asked, subject: Subject) -> Mentions:
        """Find what is mentioned of a table."""
        tokens = asked.tokens
        found = Mentions(subject)
        file = forms.tokens(subject.filename)
        found.file = frozenset(at for start, end in _places(tokens, file) for at in range(start, end))
        about = [one for one in forms.tokens(subject.about) if not one.isdecimal() or len(one) == 4]
        named = (at for at, one in enumerate(tokens) if any(forms.alike(one, part) for part in about))
        found.about = frozenset(named) - found.file
        found.spans = _spans(asked, subject, found.file)
        for column, header in subject.headers.items():
            places, share = _header(tokens, header, found.file)
            if places:
                found.headers[column], found.shares[column] = places, share
        return found


def counted_at(tokens: Sequence[str], place: int | None, stop: Collection[str]) -> int:
    """Return where the noun stands that is counted, behind the words for counting at `place` and empty ones; else -1.

    "How many people" asks for no rows, though "people" says nothing elsewhere.
    """
    while place is not None and place < len(tokens) and tokens[place] in stop:
        place += 1
    return -1 if place is None or place >= len(tokens) or is_unspaced(tokens[place][0]) else place


def _said(tokens: Sequence[str], words: TableWords) -> tuple[dict[str, tuple[int, int]], frozenset[int]]:
    taken: set[int] = set()
    found: dict[str, tuple[int, int]] = {}
    named = (*OPERATIONS, *_LIMITS, "per", "comparison")
    phrases = [(phrase, form) for form in named for phrase in getattr(words, form)]
    for phrase, form in sorted(phrases, key=lambda one: -len(one[0])):
        for start, end in _places(tokens, forms.units(phrase)):
            if taken.isdisjoint(range(start, end)):
                taken.update(range(start, end))
                found.setdefault(form, (start, end))
    return found, frozenset(taken)


def _places(tokens: Sequence[str], parts: Sequence[str]) -> list[tuple[int, int]]:
    size = len(parts)
    if not size or not (parts[0].endswith("*") or parts[0] in tokens):  # nearly always, and much the quickest to see
        return []
    return [
        (start, start + size)
        for start in range(len(tokens) - size + 1)
        if all(forms.same_word(tokens[start + at], part, exact=True) for at, part in enumerate(parts))
    ]


def _spans(asked: Asked, subject: Subject, file: frozenset[int]) -> list[Span]:
    """Return which texts of cells the question says, the longest first, each word once."""
    there = set(asked.tokens)
    every: dict[tuple[str, ...], dict[int, list[str]]] = {}
    for column, values in subject.values.items():
        for value in values:
            parts = forms.tokens(value)
            if not parts or not there.issuperset(parts) or is_total(value):
                continue
            if len(parts) > 1 or not (len(parts[0]) < 2 or parts[0].isdecimal()):
                every.setdefault(parts, {}).setdefault(column, []).append(value)
    found: list[Span] = []
    taken = set(file)
    for parts in sorted(every, key=len, reverse=True):
        for start, end in _places(asked.tokens, parts):
            if taken.isdisjoint(range(start, end)):
                taken.update(range(start, end))
                said = {column: literals.meant(texts, asked.text) for column, texts in every[parts].items()}
                clear = {column: text for column, text in said.items() if text is not None}
                found.append(Span(start, end, clear if len(clear) == len(said) else {}))
    return sorted(found, key=lambda one: one.start)


def _header(tokens: Sequence[str], header: str, file: frozenset[int]) -> tuple[frozenset[int], float]:
    """Return the places of a question's words that a column's name has, and the share of the name that they say."""
    places: set[int] = set()
    said = size = 0.0
    inside = set(forms.tokens(" ".join(forms.BRACKETS.findall(header))))
    for unit in forms.runs(forms.BRACKETS.sub(" ", header)):
        size += len(unit)
        if is_unspaced(unit[0][0]):
            start, length = longest_run(tokens, unit)
            if length >= min(SHORTEST_RUN, len(unit)):
                places.update(range(start, start + length))
                said += length
            continue
        here = [at for at, one in enumerate(tokens) if at not in file and forms.alike(one, unit[0])]
        compounds = [] if here else [at for at, one in enumerate(tokens) if at not in file and _is_part(unit[0], one)]
        places.update(here or compounds)
        said += 1.0 if here else _COMPOUND if compounds else 0.0
    places.update(at for at, one in enumerate(tokens) if one in inside and not one.isdecimal())
    worded = any(not tokens[at][0].isdecimal() for at in places - file)  # a year alone does not name a column
    return frozenset(places - file), said / size if size and worded else 0.0


def _is_part(part: str, word: str) -> bool:
    """Return whether a word of a name begins or ends a compound: "Kalium" in "Kaliumwert"."""
    return len(part) >= _SHORTEST_PART and part.isalpha() and (word.startswith(part) or word.endswith(part))


def longest_run(tokens: Sequence[str], unit: Sequence[str]) -> tuple[int, int]:
    """Return where the longest run of characters stands that a question shares with a name, and its length."""
    best = (0, 0)
    before = [0] * (len(unit) + 1)
    for at, token in enumerate(tokens):
        row = [0] * (len(unit) + 1)
        for place, part in enumerate(unit, 1):
            if token == part:
                row[place] = before[place - 1] + 1
                if row[place] > best[1]:
                    best = (at - row[place] + 1, row[place])
        before = row
    return best
