"""A text read for its facts: words of meaning, quantities, clauses, and the closed classes that turn their sense."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate

from footnote_kit.memoise import kept
from footnote_text.lexical import fold

from footnote_generation.language import amounts, unspaced
from footnote_generation.language.grammar import MODAL, NEGATED, Grammar, Phrase, load, stem
from footnote_generation.language.quantities import QUANTITY_BYTES, Quantity

_TOKEN = re.compile(r"n['’]t\b|[^\W_]+?(?=n['’]t\b)|[^\W_]++(?:\.(?=[^\W\d_])[^\W\d_]++)*+")
_BREAK = re.compile(r"[,;:()|/\[\]–—!?。，、；：（）！？…\"“”«»]|(?<=\s)-(?=\s)|\n")
_NEAR = 6  # words between a denial and the modal word that it turns
_ITEM_BYTES = 240  # of an item, or of a sign
_REACH = 4  # words that "*" in a phrase may stand for
_WIDE = ("max", "min", "hoch", "cap", "plaf", "limit", "lang", "tope", "tett")


@dataclass(frozen=True, slots=True)
class Item:
    """A word: `content` says that it carries meaning, `name` that it is capitalised inside a sentence or has digits."""

    start: int
    end: int
    text: str
    plain: str
    stem: str
    content: bool
    name: bool
    segment: int
    quantity: int
    """Index of the quantity that it is part of, -1 for none."""


@dataclass(frozen=True, slots=True)
class Sign:
    """A word or phrase of a closed class ("negation", "condition", "permission"…) and the clause it stands in."""

    sort: str
    start: int
    end: int
    text: str
    segment: int
    item: int
    """Index of its last item."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A text taken apart; `bounds` holds by the index of a quantity what limits it ("at_least", "about"…)."""

    text: str
    language: str
    items: tuple[Item, ...]
    quantities: tuple[Quantity, ...]
    bounds: dict[int, str]
    signs: tuple[Sign, ...]
    segments: int

    def content(self) -> list[Item]:
        """Return the words of meaning outside quantities."""
        return [item for item in self.items if item.content]

    def segment_at(self, position: int) -> int:
        """Return the clause of a position of the text."""
        found = 0
        for item in self.items:
            if item.start > position:
                break
            found = item.segment
        return found


def bytes_of(found: Reading) -> int:
    """Return about how much memory a reading takes."""
    return _ITEM_BYTES * (len(found.items) + len(found.signs)) + QUANTITY_BYTES * len(found.quantities)


@kept(2 * 2**20, bytes_of)
def read(text: str, language: str) -> Reading:
    """Read a text of a language that has a grammar; linear in the text."""
    grammar = load(language)
    if grammar is None:
        raise LookupError(f"no grammar of {language!r}")
    found = amounts.find(text, language)
    spaced = not grammar.unspaced
    spans = [match.span() for match in _TOKEN.finditer(text)] if spaced else unspaced.cut(text, grammar, found)
    plains = [_plain(text[start:end]) for start, end in spans]
    numbered = _owners(spans, found)
    apart = _clitics(text, spans, plains, grammar) | _months(text, spans, plains, found, numbered, grammar)
    phrases = list(_phrases(plains, grammar, apart))
    taken = {index for phrase, places in phrases if not phrase.compare for index in places}
    # A bound without a number is a word like any other, and so is one that is nowhere near.
    heads = {places[0] for phrase, places in phrases if phrase.sort in {"condition", "exception"}}
    segments = _segments(text, spans, plains, heads, grammar, found)
    bounds, bounding = _bounds(phrases, numbered, segments, grammar)
    phrases = [item for item in phrases if item[0].sort != "until" or _past(item[1], numbered, found, bounding)]
    phrases = _spent(phrases, bounds, bounding, numbered, segments, grammar)
    items = tuple(
        _item(text, spans[at], plains[at], segments[at], numbered[at], at in taken or at in bounding, grammar)
        for at in range(len(spans))
    )
    signs = tuple(
        Sign(
            "former" if phrase.sort == "until" else phrase.sort,
            spans[places[0]][0],
            spans[places[-1]][1],
            _words(text, spans, places),
            segments[places[0]],
            places[-1],
        )
        for phrase, places in phrases
        if not phrase.compare and phrase.sort != "harmless"
    )
    signs = _composed(signs, numbered)
    return Reading(text, language, items, found, bounds, signs, segments[-1] + 1 if segments else 0)


@lru_cache(maxsize=10_000)
def _plain(token: str) -> str:
    return fold(token).replace("’", "'")


def _words(text: str, spans: Sequence[tuple[int, int]], places: Sequence[int]) -> str:
    return text[spans[places[0]][0] : spans[places[-1]][1]]


@lru_cache(maxsize=10_000)
def _sense(token: str, plain: str, language: str) -> tuple[str, bool]:
    """Return the stem of a word and whether it carries meaning."""
    grammar = load(language)
    if grammar is None:
        return plain, True
    if plain in grammar.function and not (token.isupper() and (len(token) > 1 or token not in "AI")):
        return plain, False
    return stem(plain, language), len(plain) > 1 or plain.isdigit() or token.isupper() or not plain.isascii()


def _item(
    text: str, span: tuple[int, int], plain: str, segment: int, quantity: int, sign: bool, grammar: Grammar
) -> Item:
    token = text[span[0] : span[1]]
    base, content = _sense(token, plain, grammar.code)
    if len(token) == 1 and token.isalpha() and token.isupper() and token != "I":
        # "sample A": a name; at the beginning of a sentence the letter is a word.
        content = text[max(0, span[0] - 2) : span[0]].rstrip()[-1:].isalnum()
    before = text[max(0, span[0] - 3) : span[0]]
    first = not any(char.isalnum() for char in before) and before.strip()[-1:] in {"", ".", ":", "•", "-", "|"}
    name = (token[0].isupper() and not first) or any(char.isdigit() for char in token)
    return Item(span[0], span[1], token, plain, base, content and not sign and quantity < 0, name, segment, quantity)


def _clitics(text: str, spans: Sequence[tuple[int, int]], plains: Sequence[str], grammar: Grammar) -> set[int]:
    """Return the pronouns tied to a verb by a hyphen: the "se" of "realizam-se" is no "if"."""
    return {
        at
        for at, (start, _) in enumerate(spans)
        if start > 1 and text[start - 1] == "-" and text[start - 2].isalpha() and plains[at] in grammar.pronouns
    }


def _months(
    text: str,
    spans: Sequence[tuple[int, int]],
    plains: Sequence[str],
    found: Sequence[Quantity],
    numbered: Sequence[int],
    grammar: Grammar,
) -> set[int]:
    """Return the names of months that are written like another word: the "May" of "in May" allows nothing."""
    return {
        at
        for at, (start, _) in enumerate(spans)
        if plains[at] in grammar.exclusive
        and plains[at] in grammar.phrases
        and text[start].isupper()
        and ((numbered[at] >= 0 and found[numbered[at]].dimension == "date") or (at > 0 and text[start - 2].isalnum()))
    }


def _phrases(plains: Sequence[str], grammar: Grammar, apart: set[int]) -> Iterator[tuple[Phrase, tuple[int, ...]]]:
    """Return the phrases of closed classes, longest first; those of operators and of bounds may overlap."""
    for compare in (False, True):
        until: set[int] = set(apart)
        for at, plain in enumerate(plains):
            if at in until:
                continue
            for phrase in grammar.phrases.get(plain, ()):
                if phrase.compare is compare:
                    places = _match(phrase.words, plains, at)
                    if places and not until.intersection(places):
                        until.update(places)
                        yield phrase, places
                        break


def _match(words: Sequence[str], plains: Sequence[str], at: int) -> tuple[int, ...]:
    places = [at]
    loose = False
    for word in words[1:]:
        if word == "*":
            loose = True
            continue
        here = places[-1] + 1
        reach = range(here, min(here + (_REACH + 1 if loose else 1), len(plains)))
        found = next((index for index in reach if plains[index] == word), -1)
        if found < 0:
            return ()
        places.append(found)
        loose = False
    return tuple(places)


def _segments(
    text: str,
    spans: Sequence[tuple[int, int]],
    plains: Sequence[str],
    heads: set[int],
    grammar: Grammar,
    found: Sequence[Quantity],
) -> list[int]:
    """Return the clause of each word: cut at punctuation, at what joins clauses, and before a condition."""
    segments: list[int] = []
    current = 0
    quantity = 0
    for at, (start, _) in enumerate(spans):
        while quantity < len(found) and found[quantity].end <= start:
            quantity += 1
        inside = quantity < len(found) and found[quantity].start < start
        cut = (
            at > 0
            and not inside
            and (
                _BREAK.search(text, spans[at - 1][1], start) is not None
                or (plains[at] in grammar.coordinators and not _joins(at, spans, found))
                or (plains[at] in grammar.relatives and (at == 0 or plains[at - 1] not in grammar.prepositions))
                or at in heads
            )
        )
        current += bool(cut)
        segments.append(current)
    return segments


def _joins(at: int, spans: Sequence[tuple[int, int]], found: Sequence[Quantity]) -> bool:
    """Whether a word stands between two quantities of one kind: "between 9 and 17", "from 5 to 8 euros"."""
    if at + 1 >= len(spans):
        return False
    after = bisect_left(found, spans[at + 1][0], key=lambda item: item.start)
    if not 0 < after < len(found) or found[after].start != spans[at + 1][0]:
        return False
    left, right = found[after - 1], found[after]
    return left.end == spans[at - 1][1] and (left.dimension == right.dimension or not left.dimension)


def _owners(spans: Sequence[tuple[int, int]], found: Sequence[Quantity]) -> list[int]:
    owners: list[int] = []
    at = 0
    for start, end in spans:
        while at < len(found) and found[at].end <= start:
            at += 1
        owners.append(at if at < len(found) and found[at].start < end else -1)
    return owners


def _bounds(
    phrases: Sequence[tuple[Phrase, tuple[int, ...]]],
    numbered: Sequence[int],
    segments: Sequence[int],
    grammar: Grammar,
) -> tuple[dict[int, str], set[int]]:
    """Return what bounds each quantity, and the words that say so."""
    bounds: dict[int, str] = {}
    used: set[int] = set()
    for phrase, places in phrases:
        if not phrase.compare or (numbered[places[0]] >= 0 and numbered[places[-1]] >= 0 and not grammar.unspaced):
            continue
        first, last = places[0], places[-1]
        wide = phrase.words[0].startswith(_WIDE) or phrase.words[-1].startswith(_WIDE)
        # "9 to 17" in languages whose "to" is also "up to" is a range.
        ranged = (
            first > 0 and numbered[first - 1] >= 0 and len(phrase.words) == 1 and segments[first - 1] == segments[first]
        )
        after = next(
            (
                numbered[at]
                for at in range(last + 1, min(last + (7 if wide else 3), len(numbered)))
                if numbered[at] >= 0
            ),
            -1,
        )
        trailing = phrase.words[0] in {"or", "ou", "oder", "o", "of", "and", "et", "und", "y", "e", "en", "at", "not"}
        before = next(
            (numbered[at] for at in range(first - 1, max(-1, first - (7 if wide else 3)), -1) if numbered[at] >= 0), -1
        )
        target = -1
        if grammar.unspaced:
            target = after if after >= 0 and phrase.words[0] not in _AFTER else before
        elif trailing and before >= 0 and not (phrase.words[0] == "at" and numbered[last + 1 : last + 2] == [after]):
            target = before  # "18 or older"; "(5) At least 14" bounds what follows
        elif after >= 0 and not (ranged and not wide):
            target = after
        elif wide:
            target = before
        if target >= 0 and target not in bounds:
            bounds[target] = phrase.sort
            used.update(places)
    return bounds, used


def _spent(
    phrases: Sequence[tuple[Phrase, tuple[int, ...]]],
    bounds: dict[int, str],
    bounding: set[int],
    numbered: Sequence[int],
    segments: Sequence[int],
    grammar: Grammar,
) -> list[tuple[Phrase, tuple[int, ...]]]:
    """Leave out denials that only make a bound: those in its words ("not more than 3"), and of "more" just before it.

    "Must not be given more than 3 times" says what "at most 3 times" says, and `bounds` is changed to that.
    """
    kept: list[tuple[Phrase, tuple[int, ...]]] = []
    denials: list[tuple[Phrase, tuple[int, ...]]] = []
    for phrase, places in phrases:
        if phrase.compare or phrase.sort not in _DENIALS:
            kept.append((phrase, places))
        else:
            denials.append((phrase, places))
    begun: dict[int, list[int]] = {}
    for at, (_, places) in enumerate(denials):
        begun.setdefault(places[0], []).append(at)
    longest = max((places[-1] - places[0] for _, places in denials), default=0)
    left = set(range(len(denials)))
    bound: set[int] = set()
    for phrase, places in phrases:
        target = _target(phrase, places, bounds, bounding, numbered, grammar)
        if target < 0:
            continue
        bound.update(places)
        before = range(max(places[0] - _NEAR - longest, 0), places[0])
        near = [at for first in before for at in begun.get(first, ()) if at in left]
        near = [at for at in near if segments[denials[at][1][0]] == segments[places[0]]]
        near = [at for at in near if places[0] <= denials[at][1][-1] + _NEAR]
        if len(near) == 1:
            bounds[target] = "at_most"
            left.remove(near[0])
    # "Não use por mais de 14 dias": what reads as "no longer" ends in the words for "more than".
    kept = [one for one in kept if one[0].sort != "former" or not bound.intersection(one[1][1:])]
    return [*kept, *(denials[at] for at in sorted(left) if not bounding.intersection(denials[at][1]))]


_DENIALS = frozenset({"negation", "prohibition"})


def _target(
    phrase: Phrase,
    places: tuple[int, ...],
    bounds: dict[int, str],
    bounding: set[int],
    numbered: Sequence[int],
    grammar: Grammar,
) -> int:
    """Return the quantity that a word for "more than" bounds from below, -1 for another word or none."""
    # "Above" and "after" tell a place or a time too: what is denied there is not the amount.
    if not phrase.compare or phrase.sort != "more" or phrase.words[0] in grammar.relations:
        return -1
    if not bounding.issuperset(places):
        return -1
    after = (numbered[at] for at in range(places[-1] + 1, min(places[-1] + 3, len(numbered))))
    return next((number for number in after if number >= 0 and bounds.get(number) == "more"), -1)


def _past(places: Sequence[int], numbered: Sequence[int], found: Sequence[Quantity], bounding: set[int]) -> bool:
    """Whether "until" and its like speak of what was: not where they end a range or bound a number ("9 until 17")."""
    if bounding.issuperset(places) or (places[0] > 0 and numbered[places[0] - 1] >= 0):
        return False
    after = next(
        (numbered[at] for at in range(places[-1] + 1, min(places[-1] + 4, len(numbered))) if numbered[at] >= 0), -1
    )
    return after >= 0 and found[after].dimension in {"date", "year"}


_AFTER = frozenset(["以上", "以内", "之内", "内", "以下", "左右", "上下", "以后", "之后", "起", "前"])


def _composed(signs: tuple[Sign, ...], numbered: Sequence[int]) -> tuple[Sign, ...]:
    """Join a denial and a modal word of its clause into what they say together: "not allowed" forbids."""
    result: list[Sign] = []
    used: set[int] = set()
    # Numbers between the two are no distance: "may between 23.00 and 7.00 not".
    place = list(accumulate(int(number < 0) for number in numbered))
    denials = [(place[sign.item], index) for index, sign in enumerate(signs) if sign.sort == "negation"]
    for index, sign in enumerate(signs):
        if sign.sort not in NEGATED:
            continue
        first = bisect_left(denials, (place[sign.item] - _NEAR, -1))
        last = bisect_left(denials, (place[sign.item] + _NEAR + 1, -1))
        near = [at for _, at in denials[first:last] if at not in used and signs[at].segment == sign.segment]
        if near:
            used.update({near[0], index})
            result.append(replace(sign, sort=NEGATED[sign.sort]))
    kept = [sign for index, sign in enumerate(signs) if index not in used]
    return tuple(sorted([*kept, *result], key=lambda item: item.start))


def modes(signs: Sequence[Sign]) -> frozenset[str]:
    """Return the classes of modal words among signs; an obligation by either sort of word is one."""
    return frozenset("obligation" if sign.sort == "requirement" else sign.sort for sign in signs if sign.sort in MODAL)
