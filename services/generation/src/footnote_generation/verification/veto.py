"""What the rules know against a statement at the places that somebody else's opinion rests on.

A veto is knowledge, not want of it: another value of that kind for the same thing, a denial of the same fact, another
holder. That the rules find no word, no number or no denial there (it may be paraphrased, a sum, or told in a heading)
is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import pairwise

from footnote.types.v1.reasons_pb2 import (
    CLAIM_REASON_DENIED,
    CLAIM_REASON_NOT_DENIED,
    CLAIM_REASON_NOT_IN_SOURCE,
    CLAIM_REASON_OPPOSITE,
    CLAIM_REASON_OTHER_NAME,
    CLAIM_REASON_OTHER_VALUE,
    CLAIM_REASON_PARTLY_IN_SOURCE,
    CLAIM_REASON_ROLES_SWAPPED,
    CLAIM_REASON_VALUE_OF_ANOTHER,
)

from footnote_generation.language.grammar import Grammar
from footnote_generation.language.quantities import Quantity, same_value
from footnote_generation.language.reading import Item, Reading
from footnote_generation.verification import derived
from footnote_generation.verification.binding import choose, numbers, roles
from footnote_generation.verification.doubts import NONE, Doubt
from footnote_generation.verification.facts import Alignment, align
from footnote_generation.verification.places import Place
from footnote_generation.verification.records import other_column
from footnote_generation.verification.senses import bounds, modal, of_modes, polarity, relations

_MISPLACED = frozenset({CLAIM_REASON_VALUE_OF_ANOTHER, CLAIM_REASON_ROLES_SWAPPED})
_OPEN_YET = frozenset({"uncertain", "future", "condition", "permission", "former", "negation"})
"""What says of a statement that it does not tell a fact that holds, as a plan does not."""
_KNOWN = frozenset({CLAIM_REASON_DENIED, CLAIM_REASON_NOT_DENIED, CLAIM_REASON_OPPOSITE})
_MOST_OF_IT = 0.6
"""Share of a statement that a place must have for what it lacks, or joins otherwise, to speak against it."""
_TURNING = frozenset({"negation", "absence", "exception", "only", "prohibition", "exemption", "condition", "former"})
_DENYING = frozenset({"negation", "absence"})
_IN_PART = frozenset({"only", "condition", "exception", "until"})
"""What says that something is allowed, forbidden or demanded in part."""
_FEWEST_SHARED = 2
"""Words that a place must share with a statement to be about the same."""
_NOUNS_CAPITALISED = frozenset({"de"})
"""Languages where every noun is written like a name, so that no name is told from a word."""
_LARGEST_COUNT = 20
"""A bare whole number up to here may count what a source lists; nobody need write it down."""


def against(
    claim: Reading, quoted: Sequence[Place], others: Sequence[Place], context: Reading, grammar: Grammar
) -> Doubt:
    """Return what is known against a statement at the places quoted, of all those of its source; NONE for nothing."""
    found = [(align(claim, place, grammar), place) for place in quoted]
    if not found:
        return NONE
    found.sort(key=lambda item: -item[0].score)
    return (
        _numbers(claim, quoted, others, context)
        or _exclusive(found, grammar)
        or _people(claim, found, quoted, others, grammar)
        or _sense(claim, found, grammar)
        or _belonging(claim, found, grammar)
    )


def _numbers(claim: Reading, quoted: Sequence[Place], others: Sequence[Place], context: Reading) -> Doubt:
    given = [*context.quantities, *(quantity for place in quoted for quantity in _told(place))]
    anywhere = [*context.quantities, *(quantity for place in others for quantity in _told(place))]
    doubt = other_numbers(claim.quantities, given, anywhere)
    if doubt:
        return doubt
    for quantity in claim.quantities:
        if quantity.dimension or any(_fits(quantity, other) for other in given) or derived.follows(quantity, given):
            continue
        for place in quoted:
            for other in place.reading.quantities:
                if _counts_alike(quantity, claim, other, place.reading) and not _is_stated(other, claim.quantities):
                    return Doubt(CLAIM_REASON_OTHER_VALUE, stated=quantity.text, found=other.text)
    return NONE


def other_numbers(stated: Sequence[Quantity], given: Sequence[Quantity], anywhere: Sequence[Quantity]) -> Doubt:
    """Return which number of a statement is another one of its kind where it is quoted, or is nowhere in the source."""
    derivable: dict[str, list[float]] = {}
    for quantity in stated:
        if any(_fits(quantity, other) for other in given) or derived.follows(quantity, given):
            continue
        kind = quantity.dimension
        if kind not in derivable:
            derivable[kind] = derived.from_one_quoted(kind, given, anywhere)
        if derived.is_among(quantity, derivable[kind]):
            continue
        rival = next((one for one in given if _contrary(quantity, one) and not _is_stated(one, stated)), None)
        if rival is not None:
            return Doubt(CLAIM_REASON_OTHER_VALUE, stated=quantity.text, found=rival.text)
        if not _countable(quantity) and not any(
            _fits(quantity, other) or derived.numeral(quantity) == derived.numeral(other) for other in anywhere
        ):
            return Doubt(CLAIM_REASON_NOT_IN_SOURCE, stated=quantity.text)
    return NONE


def _is_stated(other: Quantity, stated: Sequence[Quantity]) -> bool:
    return any(_fits(quantity, other) for quantity in stated)


def _told(place: Place) -> Iterator[Quantity]:
    yield from place.reading.quantities
    if place.before is not None:
        yield from place.before.quantities


def _fits(quantity: Quantity, other: Quantity) -> bool:
    """Whether a number may be the one that a place has: of its kind, or one of the two leaves its kind unsaid."""
    if {quantity.dimension, other.dimension} == {"clock", "time"}:
        hours = [next(iter(one.values)) / (60 if one.dimension == "clock" else 3600) for one in (quantity, other)]
        return (int(hours[0]) - int(hours[1])) % 12 == 0  # "two in the afternoon", "half past eight"
    if quantity.dimension == other.dimension == "time":
        return same_value(quantity, other) or _hours_of_day(quantity, other)
    if {quantity.dimension, other.dimension} == {"months", "time"}:
        return _alike_spans(quantity, other)
    loose = {"", "year", "date", "ordinal"}
    if quantity.dimension != other.dimension and not loose & {quantity.dimension, other.dimension}:
        return False
    if same_value(quantity, other):
        return True
    return "" in {quantity.dimension, other.dimension} and derived.numeral(quantity) == derived.numeral(other)


def _hours_of_day(left: Quantity, right: Quantity) -> bool:
    """Whether two times in whole hours may be one hour of the day: "2 heures de l'après-midi" for "14 h"."""
    morning, later = sorted(max(one.values) / 3600 for one in (left, right))
    return 1 <= morning <= 12 < later == morning + 12


def _alike_spans(left: Quantity, right: Quantity) -> bool:
    """Whether a number of months is that of days, as people count: "one month" for 30 days, "a year" for 365."""
    months, seconds = (left, right) if left.dimension == "months" else (right, left)
    days = max(seconds.values) / 86_400
    return any(abs(30.44 * value - days) <= 0.05 * 30.44 * value for value in months.values)


def _contrary(quantity: Quantity, other: Quantity) -> bool:
    """Whether a number is of the kind that a statement gives, and another."""
    kinds = {quantity.dimension, other.dimension}
    if kinds & {"", "ordinal"}:
        return False
    if kinds == {"months", "time"}:
        return not _alike_spans(quantity, other)
    return (len(kinds) == 1 or kinds <= {"date", "year"}) and not same_value(quantity, other)


def _counts_alike(quantity: Quantity, claim: Reading, other: Quantity, given: Reading) -> bool:
    """Whether two bare numbers count the same thing and differ: "two tablets" for "three tablets"."""
    if other.dimension:
        return False
    mine, theirs = _counted(quantity, claim), _counted(other, given)
    return bool(mine) and mine == theirs and not same_value(quantity, other)


def _counted(quantity: Quantity, reading: Reading) -> str:
    """Return the stem of the word that a bare number counts, "" where that is not plain."""
    return next((item.stem for item in reading.items if item.start >= quantity.end and item.content), "")


def _countable(quantity: Quantity) -> bool:
    if quantity.dimension == "percent":
        return quantity.values <= {0.0, 100.0}  # none and all of it
    return not quantity.dimension and all(
        value == int(value) and 0 <= value <= _LARGEST_COUNT for value in quantity.values
    )


def _exclusive(found: Sequence[tuple[Alignment, Place]], grammar: Grammar) -> Doubt:
    """Say that the place that has the rest of a statement has another weekday, colour or period, and not its own."""
    alignment, place = found[0]
    missing = set.intersection(*({item.stem for item in one.missing} for one, _ in found))
    stated = {link.item.stem for one, _ in found for link in one.links}
    if alignment.score < _MOST_OF_IT:
        return NONE
    for item in alignment.missing:
        member = grammar.exclusive.get(item.stem)
        if item.stem not in missing or member is None:
            continue
        denied = {sign.segment for sign in place.reading.signs if sign.sort in _DENYING}
        for other in place.items():
            rival = grammar.exclusive.get(other.stem) if other.segment not in denied else None
            if rival is not None and rival[0] == member[0] and rival != member and other.stem not in stated:
                return Doubt(CLAIM_REASON_OTHER_VALUE, stated=item.text, found=other.text)
    return NONE


def _people(
    claim: Reading,
    found: Sequence[tuple[Alignment, Place]],
    quoted: Sequence[Place],
    others: Sequence[Place],
    grammar: Grammar,
) -> Doubt:
    if grammar.code in _NOUNS_CAPITALISED:
        return NONE
    known = {stem for place in others for stem in _named(place.items())} | _named(claim.items)
    return _names(claim, found, quoted, others, known) or _holder(claim, found, known)


def _names(
    claim: Reading,
    found: Sequence[tuple[Alignment, Place]],
    quoted: Sequence[Place],
    others: Sequence[Place],
    known: Set[str],
) -> Doubt:
    """Say that the places speak of somebody else, or that the source knows no such name."""
    missing = set.intersection(*({item.stem for item in alignment.missing} for alignment, _ in found))
    everywhere = {stem for place in others for stem in place.stems}
    before = {item.stem for left, right in pairwise(others) if right in quoted for item in left.items()}
    stated = {item.stem for item in claim.items}
    for item in found[0][0].missing:
        if item.stem not in missing or item.stem in before or not _names_one(item, known):
            continue
        if item.stem not in everywhere:
            return Doubt(CLAIM_REASON_OTHER_NAME, stated=item.text)
        for place in quoted:
            for other in place.items():
                if _is_name(other) and other.content and other.stem not in stated:
                    return Doubt(CLAIM_REASON_OTHER_NAME, stated=item.text, found=other.text)
    return NONE


def _holder(claim: Reading, found: Sequence[tuple[Alignment, Place]], known: Set[str]) -> Doubt:
    """Say that the place with the rest of a statement names another: "Ana leads sales" where Ben does."""
    stated = {item.stem for item in claim.items}
    for alignment, place in found:
        if place.before is not None or alignment.absent or len(alignment.links) < _FEWEST_SHARED:
            continue
        missing = [item for item in alignment.missing if _names_one(item, known)]
        if alignment.score < _MOST_OF_IT and len(missing) < len(alignment.missing):
            continue
        rivals = [
            item for item in place.items() if _names_one(item, known) and item.content and item.stem not in stated
        ]
        if missing and rivals:
            return Doubt(CLAIM_REASON_OTHER_NAME, stated=missing[0].text, found=rivals[0].text)
    return NONE


def _named(items: Sequence[Item]) -> set[str]:
    """Return the names among words: those with a capital inside a sentence, and what begins one right before such."""
    found = {item.stem for item in items if _is_name(item)}
    return found | {
        left.stem
        for left, right in pairwise(items)
        if left.content and left.text[0].isupper() and _is_name(right) and right.start == left.end + 1
    }


def _names_one(item: Item, known: Set[str]) -> bool:
    """Whether a word is a name, also at the beginning of a sentence, where every word has a capital."""
    return _is_name(item) or (item.stem in known and item.text[0].isupper())


def _is_name(item: Item) -> bool:
    return item.name and item.quantity < 0 and item.text[0].isupper()


def _sense(claim: Reading, found: Sequence[tuple[Alignment, Place]], grammar: Grammar) -> Doubt:
    """Say that the place denies the statement or says its opposite, where no other word may carry the denial."""
    alignment, place = found[0]
    chosen = choose(alignment, place)
    used = {place.items()[index].segment for index in chosen.values()}
    if place.row is not None:
        used = _columns(place, chosen, claim)
    doubt = polarity(alignment, used, claim, place, grammar)
    if doubt.reason == CLAIM_REASON_NOT_DENIED and any(
        _may_deny(one.reading, claim, grammar) for shared, one in found if shared.links or one is place
    ):
        return NONE
    if doubt.reason == CLAIM_REASON_DENIED and _may_deny(claim, place.reading, grammar):
        return NONE
    restricts = _restricts(claim, place)
    if doubt.reason in _KNOWN and not (restricts and of_modes(doubt, claim, place)):
        return doubt
    here = {sign.sort for sign in place.reading.signs if sign.segment in used}
    mine = {sign.sort for sign in claim.signs}
    if "uncertain" in here and not mine & _OPEN_YET:
        return Doubt(
            CLAIM_REASON_PARTLY_IN_SOURCE,
            found=next(sign.text for sign in place.reading.signs if sign.sort == "uncertain" and sign.segment in used),
        )
    allowed = NONE if restricts else modal(used, claim, place)
    bound = NONE if _complement(claim, place) else bounds(alignment, chosen, place)
    for doubt in (allowed, bound, relations(used, claim, place, grammar)):
        if doubt.reason in {CLAIM_REASON_OPPOSITE, CLAIM_REASON_OTHER_VALUE}:
            return doubt
    return NONE


def _restricts(claim: Reading, place: Place) -> bool:
    """Whether one of the two allows in part: "only after approval" is "not before approval" in other words."""
    if any(sign.sort in _IN_PART for sign in (*claim.signs, *place.reading.signs)):
        return True
    return bool({*claim.bounds.values(), *place.reading.bounds.values()} - {"about"})


def _complement(claim: Reading, place: Place) -> bool:
    """Whether one denies past a bound what the other says up to it: "before 2025 it was" for "not since 2025"."""
    sides = [{*reading.bounds.values()} - {"about"} for reading in (claim, place.reading)]
    both = sides[0] | sides[1]
    apart = both in ({"less", "at_least"}, {"more", "at_most"}) and not sides[0] & sides[1]
    denying = {*_TURNING, "exemption"}
    return apart and any(sign.sort in denying for sign in (*claim.signs, *place.reading.signs))


def _columns(place: Place, chosen: Mapping[int, int], claim: Reading) -> set[int]:
    """Return the clauses of a row whose columns or values the statement speaks of."""
    stated = {item.stem for item in claim.items}
    items = place.items()
    fields = place.row.fields if place.row is not None else ()
    return {
        item.segment
        for field in fields
        for index, item in enumerate(items)
        if field.start <= item.start < field.end and (field.header & stated or index in chosen.values())
    }


def _may_deny(affirming: Reading, denying: Reading, grammar: Grammar) -> bool:
    """Whether a text without a plain denial has a word of its own that may stand for the other's."""
    if any(sign.sort in _TURNING for sign in affirming.signs):
        return True
    if {"at_most", "less"} & set(affirming.bounds.values()):
        return True
    shared = {item.stem for item in denying.items}
    return any(item.stem in grammar.polar and item.stem not in shared for item in affirming.items)


def _belonging(claim: Reading, found: Sequence[tuple[Alignment, Place]], grammar: Grammar) -> Doubt:
    """Say that a place has the words of the statement, but not together: another's value, or roles swapped."""
    for alignment, place in found:
        if alignment.absent or alignment.score < _MOST_OF_IT:
            continue
        if place.row is not None:
            doubt = other_column(alignment, claim, place, grammar)
        else:
            chosen = choose(alignment, place)
            doubt = numbers(alignment, chosen, claim, place, grammar)
            if not doubt and not alignment.missing:
                doubt = roles(alignment, chosen, claim, place, grammar)
        if doubt.reason in _MISPLACED:
            return doubt
        break
    return NONE
