"""Finds what each word of a question is to a table: a form's, a header's, a cell's, a number, a name, or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from footnote_text.lexical import fold, is_unspaced
from footnote_text.locales import TableWords
from footnote_text.stopwords import STOP_WORDS

from footnote_ingestion.tables import literals, periods
from footnote_ingestion.tables.forms import (
    AVERAGE,
    BRACKETS,
    BROKEN,
    COUNT,
    DISTINCT,
    FORMS,
    HIGHER,
    HIGHEST,
    HUMP,
    LIMITS,
    LOWER,
    LOWEST,
    RANKS,
    SHARE,
    TOTAL,
    Filter,
    Subject,
    abbreviates,
    alike,
    capitals,
    parts_of,
    runs,
    same_word,
    tokens,
    units,
)
from footnote_ingestion.tables.mentions import SHORTEST_RUN, longest_run
from footnote_ingestion.tables.periods import DAY, YEAR, nouns_of
from footnote_ingestion.tables.territories import named, territory_of

_MEASURING = frozenset({TOTAL, AVERAGE, COUNT, HIGHEST, LOWEST, DISTINCT, SHARE})
"""Forms beside whose words stands what is added up, counted or compared."""
_LONG, _SHORTEST = 5, 4
_SHORTEST_BEGINNING = 4


class AskedWords:
    """The words of one question over one table, each taken once; `unknown` are those that nothing explains.

    With `leaves_out`, some unknown words may be left out; those that are stand in `left_out`. Words in `likened` mean a
    column that has other words; those that were taken so stand in `read_as`.
    """

    def __init__(
        self, question: str, subject: Subject, words: TableWords, language: str, *, leaves_out: bool = False,
        likened: Mapping[tuple[str, ...], int] | None = None,
    ) -> None:  # fmt: skip
        self._asked, self._subject, self._words, self._language = tokens(question), subject, words, language
        self._text = question
        self._own_name = subject.about.removeprefix(subject.filename).strip()
        self._taken: dict[int, str] = {}
        self._stop = {fold(word) for word in STOP_WORDS.get(language, ())}
        between = ("either", words.either), ("both", words.both), ("than", words.than)
        self._between = {fold(one): kind for kind, phrases in between for one in phrases}
        self._capitals = capitals(question)
        self._leaves_out = leaves_out
        self._likened = likened or {}
        self._of_measures: set[int] = set()
        self._times: set[int] = set()
        self._words_of_forms: set[str] = set()
        self._starts: dict[Filter, int] = {}
        self._counted = -1
        self.left_out: list[str] = []
        self.read_as: dict[str, str] = {}
        self.several: list[str] = []
        self.unknown: list[str] = []

    def _values_of_periods(self) -> set[int]:
        """Return the places of texts of cells of several words, which may have a month within."""
        there = set(self._asked)
        every = {tokens(value) for values in self._subject.values.values() for value in values}
        longer = [parts for parts in every if len(parts) > 1 and there.issuperset(parts)]
        return {at for parts in longer for start, end in self._places(parts, exact=True) for at in range(start, end)}

    def _file(self) -> None:
        """Take the name of the table's file, which is no header even where it has the same words."""
        for start, end in self._places(tokens(self._subject.filename), exact=True):
            self._take(range(start, end), "file")

    def _is_period_of_table(self, said: str) -> bool:
        """Return whether a period is that of all rows of a table.

        Its name says it, as of a sheet for January; or the column that names rows, if all its words are asked for.
        """
        above = self._subject.headers.get(self._subject.naming, "")
        own, of_rows, asked = (periods.of_name(one, self._language) for one in (self._own_name, above, said))
        if own is not None and asked is not None and own.unit == asked.unit:  # "Jan2025" is no 2025
            return own.order == asked.order or set(tokens(said)) <= set(tokens(self._own_name))
        if of_rows is None or asked is None or (of_rows.unit, of_rows.order) != (asked.unit, asked.order):
            return False
        name = tokens(above)
        return {*name[: of_rows.start], *name[of_rows.end :]} <= set(self._asked)

    def _forms(self) -> dict[str, int]:
        """Return the forms whose words stand in the question, by the place after them; longest words first."""
        found: dict[str, int] = {}
        phrases = [(phrase, form) for form in FORMS for phrase in getattr(self._words, form)]
        headers = {part for header in self._subject.headers.values() for part in tokens(header)}
        chooses = any(word in self._between for word in self._asked)
        said: list[tuple[int, int, str]] = []
        for phrase, form in sorted(phrases, key=lambda one: -len(one[0])):
            if form in (HIGHER, LOWER) and not chooses:
                continue
            if form in (SHARE, DISTINCT) and any(same_word(part, phrase, exact=True) for part in headers):
                continue  # a column of shares
            for start, end in self._places(units(phrase), exact=True):
                if form == "per" and self._is_within_header(start, end):
                    continue
                self._take(range(start, end), "form")
                said.append((start, end, form))
        measuring = [one for one in said if one[2] in _MEASURING]
        inside = [one for one in measuring if self._is_of_header(*one[:2])]
        if len(inside) == 1 < len(measuring):  # "average max temp": of a column "temp_max"
            said.remove(inside[0])
            self._taken.pop(inside[0][0])
        for start, end, form in said:
            self._of_measures.update(range(start, end) if form in _MEASURING else ())
            found.setdefault(form, end)
        # "Number of calls" says what "how many calls" asks for.
        same = (phrase for form in _MEASURING.intersection(found) for phrase in getattr(self._words, form))
        self._words_of_forms.update(part for phrase in same for part in units(phrase))
        return found

    def _is_within_header(self, start: int, end: int) -> bool:
        """Return whether the words around "per" stand so in a column's name: "price per litre"."""
        around = tuple(self._asked[max(0, start - 1) : end + 1])
        return len(around) == end - start + 2 and any(
            around == name[at : at + len(around)]
            for name in map(tokens, self._subject.headers.values()) for at in range(len(name))
        )  # fmt: skip

    def _is_of_header(self, start: int, end: int) -> bool:
        """Return whether a word of a form and one beside it are of the same column's name."""
        beside = [self._asked[at] for at in (start - 1, end) if 0 <= at < len(self._asked) and at not in self._taken]
        return end - start == 1 and any(
            self._asked[start] in parts and any(
                one != self._asked[start] and (alike(word, one) or abbreviates(one, word, header))
                for word in beside if word not in self._stop for one in parts
            )
            for header in self._subject.headers.values() if (parts := parts_of(header))
        )  # fmt: skip

    def _values(self) -> list[Filter] | None:
        """Return which texts of columns the question names, in its order; None where several columns may be meant.

        Of several columns that have a text, the one that the question names is meant: "to Madrid" is not "from Madrid".
        """
        found: list[tuple[int, Filter]] = []
        there = set(self._asked)
        every: dict[tuple[str, ...], dict[int, list[str]]] = {}
        for column, values in self._subject.values.items():
            for value in values:
                for words in {tokens(one) for one in literals.ways(value)}:
                    every.setdefault(words, {}).setdefault(column, []).append(value)
        for parts in sorted(every, key=len, reverse=True):
            if (
                not parts
                or not there.issuperset(parts)
                or (len(parts) == 1 and (len(parts[0]) < 2 or parts[0].isdecimal()))
            ):
                continue
            for start, end in self._places(parts, exact=True):
                named = every[parts]
                if len(named) > 1:
                    named = {column: texts for column, texts in named.items() if self._names(column)}
                if len(named) != 1:
                    return None
                ((column, values),) = named.items()
                if (one := literals.meant(values, self._text)) is None:
                    return None
                self._take(range(start, end), "value")
                found.append((start, Filter(column, "=", one)))
        found += self._distinguished()
        found.sort(key=lambda one: one[0])
        self._starts = {one: start for start, one in reversed(found)}
        return [one for _, one in found]

    def _distinguished(self) -> list[tuple[int, Filter]]:
        """Return which texts the question names by the words that distinguish them: "Adams" of counties."""
        there = set(self._asked)
        every: dict[tuple[str, ...], dict[int, list[str]]] = {}
        for column, values in self._subject.values.items():
            for value in values:
                parts = literals.distinguishing(value, self._subject.common.get(column, ()))
                if parts and there.issuperset(parts) and not self._stop.issuperset(parts):
                    every.setdefault(parts, {}).setdefault(column, []).append(value)
        found: list[tuple[int, Filter]] = []
        for parts in sorted(every, key=len, reverse=True):
            named = every[parts]
            if len(named) > 1:
                named = {column: texts for column, texts in named.items() if self._names(column)}
            if len(named) != 1 or len(texts := next(iter(named.values()))) != 1:
                continue
            for start, end in self._places(parts, exact=True, over=()):
                if _is_name(texts[0]) and not any(at in self._capitals for at in range(start, end)):
                    continue  # "new counties" name no New County
                self._take(range(start, end), "value")
                found.append((start, Filter(next(iter(named)), "=", texts[0])))
                common = set(tokens(texts[0])) - set(parts)
                self._take([at for at in self._free() if self._asked[at] in common], "value")
        return found

    def _inflected_values(self) -> list[Filter]:
        """Return which texts the question names in another form: "unpaid invoices" by a word that is no name.

        Names are written with a capital, and two that differ by an ending are different.
        """
        found: list[Filter] = []
        single = {(column, value): tokens(value) for column, values in self._subject.values.items() for value in values}
        for place in self._free():
            word = self._asked[place]
            if (
                len(word) < (_SHORTEST if self._leaves_out else _LONG)
                or place in self._capitals
                or word in self._stop
                or is_unspaced(word[0])
            ):
                continue
            near = [key for key, parts in single.items() if len(parts) == 1 and alike(word, parts[0])]
            if len(near) == 1:
                self._take([place], "value")
                if len(word) < _LONG:
                    self.read_as[word] = near[0][1]
                found.append(Filter(near[0][0], "=", near[0][1]))
        return found

    def _names(self, column: int) -> bool:
        """Return whether the question has a word of a column's headers."""
        header = tokens(BRACKETS.sub(" ", self._subject.headers[column]))
        return any(alike(word, part) for word in self._asked for part in header)

    def _headers(self) -> dict[int, set[int]]:
        """Return which words of the question, by their places, each column's headers hold."""
        hits: dict[int, set[int]] = {}
        for column, header in self._subject.headers.items():
            name = BRACKETS.sub(" ", header)
            ways = dict.fromkeys((name, HUMP.sub(" ", name), BROKEN.sub("", name)))
            for unit in (unit for way in ways for unit in runs(way)):
                there = list(self._places(unit, exact=False))
                if not there and is_unspaced(unit[0][0]):
                    start, size = longest_run(self._asked, unit)
                    there = [(start, start + size)] if size >= SHORTEST_RUN else []
                for start, end in there:
                    hits.setdefault(column, set()).update(range(start, end))
        self._shortened(hits)
        self._years(hits)
        for parts, column in self._likened.items():
            for start, end in self._places(parts, exact=True, over=()):
                hits.setdefault(column, set()).update(range(start, end))
                self.read_as[written(self._asked[start:end])] = self._subject.headers[column]
        # "En blanco" is not named by a question's "en".
        empty = [column for column, places in hits.items() if all(self._asked[at] in self._stop for at in places)]
        for column in empty:
            if not set(tokens(self._subject.headers[column])) <= self._stop:
                del hits[column]
        for places in hits.values():
            self._take(places, "header")
        return hits

    def _years(self, hits: dict[int, set[int]]) -> None:
        """Add the words for a year, which mean the one column whose numbers are years; it is not measured."""
        nouns = nouns_of(YEAR, self._language)
        years = self._subject.years
        if len(years) > 1:
            years = frozenset(one for one in years if not nouns.isdisjoint(tokens(self._subject.headers[one])))
        for place in range(len(self._asked)) if len(years) == 1 else ():
            (column,) = years
            is_free = place not in self._taken or place in hits.get(column, ())
            if is_free and any(alike(self._asked[place], one) for one in nouns):
                hits.setdefault(column, set()).add(place)
                self._times.add(column)

    def _shortened(self, hits: dict[int, set[int]]) -> None:
        """Add the words that a column's name shortens, or that one of several columns of days begins with.

        Of one column of days alone only less strictly, beside a period.
        """
        named = {at for places in hits.values() for at in places}
        is_one = len(self._subject.dates) == 1
        is_meant = not is_one or (self._leaves_out and "period" in self._taken.values())
        days = self._subject.dates if is_meant else frozenset[int]()
        for place in self._free():
            word = self._asked[place]
            if place in named or word in self._stop or is_unspaced(word[0]) or not word.isalpha():
                continue
            for column, header in self._subject.headers.items():
                parts = parts_of(header)
                is_short = any(abbreviates(one, word, header) for one in parts)
                if is_short or (column in days and any(_begin_alike(word, one) for one in parts)):
                    hits.setdefault(column, set()).add(place)
                    if is_one and not is_short:
                        self.read_as[word] = header

    def _territories(self) -> list[Filter]:
        """Return the countries that the question names in another language than the table does."""
        found: list[Filter] = []
        for place in self._free():
            code, end = named(self._asked, place, self._language)
            if not code or any(at in self._taken for at in range(place, end)):
                continue
            there = [
                Filter(column, "=", value)
                for column, values in self._subject.values.items() for value in values if territory_of(value) == code
            ]  # fmt: skip
            if len(there) == 1:
                self._take(range(place, end), "value")
                self._starts.setdefault(there[0], place)
                found += there
        return found

    def _days(self, said: Mapping[str, int]) -> None:
        """Take "days" in "how many days" where each row is another day."""
        place = said.get(COUNT, len(self._asked))
        if self._subject.daily and place in self._free():
            nouns = nouns_of(DAY, self._language)
            self._take([place] if self._asked[place] in nouns else [], "said")

    def _choices(self, said: Mapping[str, int]) -> list[int]:
        """Take the words that stand between what is compared, "or", "than", and return their places.

        "The highest in A and B" is one number, "which is higher, A and B" are two; "A and B than C" are unclear.
        """
        ranks = [one for one in said if one in RANKS]
        if not ranks:
            # "How much higher is A than B": the difference is of two sides, whichever word stands between.
            than = [at for at in self._free() if self._between.get(self._asked[at]) == "than"]
            self._take(than if "comparison" in said else (), "form")
            return []
        compares = any(one not in (HIGHEST, LOWEST) for one in ranks)
        named = ("value", "header", "period")
        free = set(self._free())
        found = []
        for place in sorted(
            {
                *(at for at in free if compares or self._between.get(self._asked[at]) == "either"),
                *(said[one] - 1 for one in LIMITS if one in said),
            }
        ):
            if place in free and self._asked[place] not in self._between:
                continue
            after = place + 1
            while after in free and self._asked[after] in self._stop:
                after += 1
            if self._taken.get(after) in named and any(self._taken.get(at) in named for at in range(place)):
                found.append(place)
        self._take(found, "form")
        return found

    def _free(self) -> list[int]:
        return [place for place in range(len(self._asked)) if place not in self._taken]

    def _take(self, places: Iterable[int], kind: str) -> None:
        for place in places:
            self._taken.setdefault(place, kind)

    def _places(
        self, parts: Sequence[str], *, exact: bool, over: Sequence[str] = ("header",)
    ) -> Iterator[tuple[int, int]]:
        """Yield where words occur consecutively among those not taken yet, or taken as one of `over`."""
        if exact and parts and not parts[0].endswith("*") and parts[0] not in self._asked:
            return  # nearly always, and much the quickest to see
        for start in range(len(self._asked) - len(parts) + 1):
            there = range(start, start + len(parts))
            if any(place in self._taken and self._taken[place] not in over for place in there):
                continue
            if all(same_word(self._asked[place], part, exact) for place, part in zip(there, parts, strict=True)):
                yield start, start + len(parts)


def written(words: Sequence[str]) -> str:
    """Return words as they are written beside each other, with spaces but in scripts without."""
    return "".join(words) if any(is_unspaced(one[0]) for one in words) else " ".join(words)


def _begin_alike(word: str, part: str) -> bool:
    """Return whether two words begin alike, as "bestellt" and "Bestelldatum" do, by half of the shorter at least."""
    common = next((at for at, (a, b) in enumerate(zip(word, part, strict=False)) if a != b), min(len(word), len(part)))
    return common >= max(_SHORTEST_BEGINNING, -(-min(len(word), len(part)) // 2))


def _is_name(text: str) -> bool:
    """Return whether a text is written as a name, each word with a capital; "Low risk" is none."""
    with_case = [at for at, word in enumerate(tokens(text)) if word.upper() != word.lower()]
    return bool(with_case) and capitals(text).issuperset(with_case)
