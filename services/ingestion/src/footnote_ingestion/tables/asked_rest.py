"""Decides which words of a question that nothing explains may be left out of a computation; the answer says them.

Names, numbers and words that turn the meaning never are, nor a word beside that of a form: a total of one thing is none
of another, and "outside" of what follows it none of that. A noun that only says what the rows are may be.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from footnote_text import intents, locales
from footnote_text.lexical import fold, is_unspaced

from footnote_ingestion.tables.asked_words import AskedWords, written
from footnote_ingestion.tables.forms import COUNT, places_of_words, tokens, units
from footnote_ingestion.tables.mentions import TURNING, counted_at
from footnote_ingestion.tables.periods import DAY, MONTH, YEAR, nouns_of, of_name

_LINKING = frozenset({"que", "ou", "o", "che", "or", "oder", "als", "u", "e"})
"""Words that turn a question's meaning only beside words that are unknown, or are other words without accents."""
_MOST_LEFT_OUT = 2
"""Words that are left out besides nouns of rows."""
_LONGEST_NOUN = 4
"""The most characters of a noun in a script without spaces."""


class AskedRest(AskedWords):
    """What remains of a question's words; `counts_unknown` says that the noun which is counted was left out."""

    counts_unknown = False
    _numbered_at: frozenset[int] = frozenset()
    """Where a column's name begins that stands beside its number: "class 3"."""

    def _said(self, said: Mapping[str, int]) -> None:
        """Take the words that add nothing to a question's meaning: of what is counted, those for rows alone."""
        self._counted = counted = counted_at(self._asked, said.get(COUNT), self._stop)
        for phrase in sorted((*self._words.said, *self._words.rows), key=len, reverse=True):
            for start, end in self._places(units(phrase), exact=True, over=("header", "period")):
                if not start <= counted < end or phrase in self._words.rows:
                    self._take(range(start, end), "said")

    def _rest_says_nothing(self, said: Mapping[str, int]) -> bool:
        """Return whether no word is left that may mean something; those that may be left out then are."""
        turning = {fold(one) for one in TURNING.get(self._language, "").split()} - _LINKING
        unknown = [
            place for place in self._free() if self._asked[place] not in self._stop or self._asked[place] in turning
        ]
        never = {*turning, *(fold(one) for one in (*self._words.numbers, *self._words.ordinals))}
        never.update(*(nouns_of(unit, self._language) for unit in (DAY, MONTH, YEAR)))  # what is asked for, or by
        counted = self._noun_counted(unknown, said)
        others = [place for place in unknown if place not in counted]
        if self._leaves_out and len({self._asked[place] for place in others}) <= _MOST_LEFT_OUT and all(
            self._asked[place] not in never and self._asked[place].isalpha()
            and (place in counted or self._may_be_left_out(place, unknown))
            for place in unknown
        ):  # fmt: skip
            self.left_out = self._as_written(unknown)
            self.counts_unknown = bool(counted)
            return True
        self.unknown += dict.fromkeys(self._asked[place] for place in unknown)
        return not self.unknown

    def _noun_counted(self, unknown: Collection[int], said: Mapping[str, int]) -> set[int]:
        """Return the places of the unknown noun that is counted, which says what rows are, or what a number counts.

        In scripts without spaces it stands before the words for counting, behind a word that is known.
        """
        if self._counted in unknown or COUNT not in said:  # "how many new orders" counts orders
            is_noun = self._taken.get(self._counted + 1) not in ("header", "value", "about")
            return {self._counted} & set(unknown) if is_noun else set()
        at = said[COUNT] - 1
        while at in self._of_measures or self._taken.get(at) == "said":
            at -= 1
        end = at
        while at in unknown and is_unspaced(self._asked[at][0]):
            at -= 1
        return set(range(at + 1, end + 1)) if end - at <= _LONGEST_NOUN and at in self._taken else set()

    def _may_be_left_out(self, place: int, unknown: Collection[int]) -> bool:
        if is_unspaced(self._asked[place][0]):  # one that makes a noun of a form's word, as in "平均分"
            makes_noun = place - 1 in self._of_measures and place + 1 not in unknown
            return makes_noun or (self._is_in_noun_asked_for(place, unknown) and not self._names_rows(spaced=False))
        if self._taken.get(place + 1) in ("value", "period") or place + 1 in self._numbered_at:
            return False  # where a preposition stands
        asking = locales.choose(self._language).signals.asking
        content = (
            at for at, word in enumerate(self._asked) if word not in self._stop and not intents.is_one(word, asking)
        )
        first = next(content, place)
        if place <= first and self._names_rows(spaced=True):
            return False  # "who is the captain of the boat with the most fuel"
        is_name = place in self._capitals and not self._follows_question_word(place)
        return not (is_name or self._is_asked_for(place))

    def _names_rows(self, *, spaced: bool) -> bool:
        """Return whether the column that names rows says what they are, in a script of this kind."""
        header = self._subject.headers.get(self._subject.naming, "")
        is_word = header != f"Column {self._subject.naming}" and of_name(header, self._language) is None
        return is_word and any(char.isalpha() and is_unspaced(char) is not spaced for char in header)

    def _is_in_noun_asked_for(self, place: int, unknown: Collection[int]) -> bool:
        """Return whether a character is of the unknown noun that follows a question word, as in "哪个国家"."""
        start = place
        while start - 1 in unknown:
            start -= 1
        end = start
        while end in unknown:
            end += 1
        asking = (units(one) for one in locales.choose(self._language).signals.asking)
        return end - start <= _LONGEST_NOUN and any(
            self._asked[max(0, start - len(one)) : start] == one for one in asking
        )

    def _follows_question_word(self, place: int) -> bool:
        """Return whether a word says what is asked for, as in "Welches Land": it is no name, even with a capital."""
        asking = locales.choose(self._language).signals.asking
        return place > 0 and intents.is_one(self._asked[place - 1], asking)

    def _is_asked_for(self, place: int) -> bool:
        """Return whether a word stands beside one of a form, but for empty ones: "total weight", "how many pieces".

        Not where a column's name stands directly on the form's other side, "pieces in total now", between two forms,
        "average daily number", or beside one that is itself the name of a column.
        """
        if {place - 1, place + 1} <= self._of_measures:
            return False
        for step in (-1, 1):
            at = place + step
            while 0 <= at < len(self._asked) and (
                self._taken.get(at) == "said" or (at not in self._taken and self._asked[at] in self._stop)
            ):
                at += step
            while at in self._of_measures and at + step in self._of_measures:
                at += step
            if at in self._of_measures and self._taken.get(at + step) != "header" and not self._is_column(at):
                return True
        return False

    def _is_column(self, place: int) -> bool:
        """Return whether a word is the whole name of a column of numbers."""
        return any(tokens(self._subject.headers[one]) == (self._asked[place],) for one in self._subject.numeric)

    def _as_written(self, places: Sequence[int]) -> list[str]:
        """Return words as the question has them, each once; those without spaces between them together."""
        spans = list(places_of_words(self._text))
        every = [self._text[start:end] for start, end in spans] if len(spans) == len(self._asked) else self._asked
        runs: list[list[str]] = []
        for at, place in enumerate(places):
            if at and places[at - 1] == place - 1 and is_unspaced(self._asked[place][0]):
                runs[-1].append(every[place])
            else:
                runs.append([every[place]])
        return list(dict.fromkeys(map(written, runs)))
