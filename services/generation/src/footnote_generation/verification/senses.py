"""Whether a place says in the same sense what a statement says: denied or not, allowed or not, and until when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from footnote.types.v1.reasons_pb2 import (
    CLAIM_REASON_DENIED,
    CLAIM_REASON_NOT_DENIED,
    CLAIM_REASON_OPPOSITE,
    CLAIM_REASON_OTHER_VALUE,
    CLAIM_REASON_PARTLY_IN_SOURCE,
)

from footnote_generation.language.grammar import NEGATED, Grammar
from footnote_generation.language.reading import Item, Reading, Sign, modes
from footnote_generation.verification import orders
from footnote_generation.verification.doubts import NONE, Doubt
from footnote_generation.verification.facts import Alignment
from footnote_generation.verification.places import Place
from footnote_generation.verification.voice import measures

_CONTRARY = {
    ("permission", "prohibition"),
    ("obligation", "exemption"),
    ("obligation", "prohibition"),
}
_DENYING = frozenset({"negation", "absence", "exception"})
_ASIDE = 12
"""Words that an aside may have after "former"."""


def turned(alignment: Alignment, chosen: Mapping[int, int], claim: Reading, place: Place, grammar: Grammar) -> Doubt:
    """Return how a place turns the sense of a statement whose words it holds; NONE when it does not."""
    items = place.items()
    used = {items[index].segment for index in chosen.values()}
    if place.row is not None:
        used = set(range(place.reading.segments))
    return (
        polarity(alignment, used, claim, place, grammar)
        or _modal(alignment, chosen, used, claim, place, grammar)
        or bounds(alignment, chosen, place)
        or relations(used, claim, place, grammar)
        or _restrictions(alignment, chosen, used, claim, place, grammar)
        or _time(used, claim, place, grammar)
    )


def polarity(alignment: Alignment, used: set[int], claim: Reading, place: Place, grammar: Grammar) -> Doubt:
    """Say that one of the two denies what the other says, or says the opposite."""
    stated = {sign.segment for sign in claim.signs if sign.sort in _DENYING}
    given = {sign.segment for sign in place.reading.signs if sign.sort in _DENYING and used & _reach(sign, place)}
    if "prohibition" in modes(claim.signs):  # "do not use" and "not refundable" forbid
        given -= orders.ordered(alignment, claim, place, grammar) | orders.able(alignment, place, grammar)
    # The name of a column says what its values are about, not what they say.
    first = min((field.start for field in place.row.fields), default=0) if place.row is not None else 0
    flips = [link for link in alignment.links if link.flipped and place.items()[link.at[-1]].end > first]
    # "Excluded" is the opposite of "included" and denies by itself: once is enough.
    denials = [sign for sign in place.reading.signs if sign.segment in given and sign.sort in _DENYING]
    flips = [link for link in flips if not _within(place.items()[link.at[0]], denials)]
    if (len(stated) + len(given) + len(flips)) % 2 == 0:
        return NONE
    mine, theirs = modes(claim.signs), modes([sign for sign in place.reading.signs if sign.segment in used])
    if mine ^ theirs and (mine | theirs) & set(NEGATED):
        return _differ(mine, theirs, claim, place)  # the denial may be one half of "not allowed"
    if flips:
        other = place.items()[flips[0].at[0]]
        return Doubt(CLAIM_REASON_OPPOSITE, stated=flips[0].item.text, found=other.text)
    if given:
        sign = next(sign for sign in place.reading.signs if sign.segment in given and sign.sort in _DENYING)
        return Doubt(CLAIM_REASON_DENIED, found=sign.text)
    return Doubt(
        CLAIM_REASON_NOT_DENIED, stated=next(iter(sign.text for sign in claim.signs if sign.segment in stated))
    )


def _within(item: Item, signs: Sequence[Sign]) -> bool:
    return any(sign.start <= item.start < sign.end for sign in signs)


def _reach(sign: Sign, place: Place) -> set[int]:
    """Return the clauses that a denial holds for: its own, and those after it where nothing else stands in that."""
    if any(item.content for item in place.items() if item.segment == sign.segment):
        return {sign.segment}
    return {sign.segment, sign.segment + 1, sign.segment + 2}


def _modal(
    alignment: Alignment, chosen: Mapping[int, int], used: set[int], claim: Reading, place: Place, grammar: Grammar
) -> Doubt:
    """Say so, save where headings tell it ("Planned"), or one says "at most 2" and the other "may be at most 2"."""
    mine = modes(claim.signs)
    theirs = modes([sign for sign in place.reading.signs if sign.segment in used])
    if mine == theirs | _unsaid(alignment, used, mine - theirs, claim, place, grammar):
        return NONE
    if mine | _demanded(theirs - mine, claim, grammar) == theirs:
        return NONE
    if mine - theirs == {"advice"} and theirs - mine == {"obligation"}:
        return NONE  # what must be done is advised too
    if theirs - mine == {"permission"} and mine <= theirs and _entitles(used, place, grammar):
        return NONE
    differing = mine ^ theirs
    if differing and differing <= mine & place.warnings:
        return NONE
    if differing == {"permission"} and _most(alignment, chosen, place):
        return NONE
    return modal(used, claim, place)


def _unsaid(
    alignment: Alignment, used: set[int], wanted: frozenset[str], claim: Reading, place: Place, grammar: Grammar
) -> frozenset[str]:
    """Return which classes of modal words a place says by its build: an order, an ending like that of "refundable"."""
    if not wanted & {"obligation", "advice", "prohibition", "permission"}:
        return frozenset()
    found: set[str] = set()
    denied = {sign.segment for sign in place.reading.signs if sign.sort in _DENYING}
    ordered = orders.ordered(alignment, claim, place, grammar) & used
    if ordered:
        found |= {"prohibition"} if ordered <= denied and "advice" not in wanted else {"obligation", "advice"}
    able = orders.able(alignment, place, grammar) & used
    if able:
        found.add("prohibition" if able <= denied else "permission")
    return wanted & found


def _entitles(used: set[int], place: Place, grammar: Grammar) -> bool:
    """Whether what is allowed in some clauses is an amount that one has a right to: "direito a 22 dias"."""
    items = place.items()
    return all(
        items[sign.item].plain in grammar.prepositions
        and sign.item + 1 < len(items)
        and items[sign.item + 1].quantity >= 0
        for sign in place.reading.signs
        if sign.segment in used and sign.sort == "permission"
    )


def _demanded(missing: frozenset[str], claim: Reading, grammar: Grammar) -> frozenset[str]:
    """Return the obligation that a statement says by its build: "va pulito" for "deve essere pulito"."""
    said = "obligation" in missing and orders.told(reading=claim, grammar=grammar)
    return frozenset({"obligation"}) if said else frozenset()


def _most(alignment: Alignment, chosen: Mapping[int, int], place: Place) -> bool:
    """Whether both texts give the same number as the most there may be."""
    items = place.items()
    return any(
        match.bound == "at_most" == place.reading.bounds.get(items[chosen[match.quantity.start]].quantity)
        for match in alignment.matches
        if match.quantity.start in chosen
    )


def modal(used: set[int], claim: Reading, place: Place) -> Doubt:
    """Say that one of the two allows, forbids or demands and the other does not."""
    mine = modes(claim.signs)
    theirs = modes([sign for sign in place.reading.signs if sign.segment in used])
    return _differ(mine, theirs, claim, place) if mine != theirs else NONE


def _differ(mine: frozenset[str], theirs: frozenset[str], claim: Reading, place: Place) -> Doubt:
    stated = next((sign.text for sign in claim.signs if sign.sort in mine), "")
    found = next((sign.text for sign in place.reading.signs if sign.sort in theirs), "")
    for left, right in _CONTRARY:
        if {left, right} <= mine ^ theirs and (left in mine) != (right in mine):
            return Doubt(CLAIM_REASON_OPPOSITE, stated=stated, found=found)
    return Doubt(CLAIM_REASON_PARTLY_IN_SOURCE, stated=stated, found=found)


def of_modes(doubt: Doubt, claim: Reading, place: Place) -> bool:
    """Whether a doubt is one of what is allowed, forbidden or demanded."""
    told = {sign.text for sign in (*claim.signs, *place.reading.signs) if modes([sign])}
    return doubt.reason == CLAIM_REASON_OPPOSITE and doubt.stated in told and doubt.found in told


def bounds(alignment: Alignment, chosen: Mapping[int, int], place: Place) -> Doubt:
    """Say that a number is bound otherwise: "at least 3" for "at most 3", before one bound here alone."""
    items, limits = place.items(), place.reading.bounds
    partly = NONE
    for match in alignment.matches:
        at = chosen.get(match.quantity.start)
        if at is None:
            continue
        given = limits.get(items[at].quantity, "")
        other = place.reading.quantities[items[at].quantity]
        if match.bound == given or (match.bound == "about" and not given):
            continue
        if not given and match.bound and not match.quantity.values & other.values:
            continue  # found to lie within the bound
        if not given and match.bound == "at_most" and _may(place, items[at].segment):
            continue  # who "may borrow ten books" may borrow up to ten
        found = _around(place, other.start, other.end)
        if match.bound and given:
            return Doubt(CLAIM_REASON_OTHER_VALUE, stated=match.quantity.text, found=found)
        partly = partly or Doubt(CLAIM_REASON_PARTLY_IN_SOURCE, stated=match.quantity.text, found=found)
    return partly


def _may(place: Place, segment: int) -> bool:
    return any(sign.sort == "permission" and sign.segment == segment for sign in place.reading.signs)


def _around(place: Place, start: int, end: int) -> str:
    """Return a quantity with the words before it that bound it."""
    first = max(0, start - 24)
    piece = place.reading.text[first:end]
    return " ".join((piece.partition(" ")[2] if first else piece).split()[-4:])


def relations(used: set[int], claim: Reading, place: Place, grammar: Grammar) -> Doubt:
    """Say that "before", "above" and their like are missing there, or are the other one of their pair."""
    given = {item.plain: item for item in place.items() if item.segment in used and item.plain in grammar.relations}
    for item in claim.items:
        relation = grammar.relations.get(item.plain)
        if relation is None or item.plain in given or _bounds_number(item, claim):
            continue
        if not any(grammar.relations[word] == relation for word in given):
            return Doubt(CLAIM_REASON_PARTLY_IN_SOURCE, stated=item.text)
        for word, other in given.items():
            number, sign = grammar.relations[word]
            if number == relation[0] and sign != relation[1] and not any(each.plain == word for each in claim.items):
                return Doubt(CLAIM_REASON_OPPOSITE, stated=item.text, found=other.text)
    return NONE


def _bounds_number(item: Item, claim: Reading) -> bool:
    """Whether a word stands right before a number: what bounds it has been compared."""
    return any(item.end <= quantity.start <= item.end + 8 for quantity in claim.quantities)


def _restrictions(
    alignment: Alignment,
    chosen: Mapping[int, int],
    used: set[int],
    claim: Reading,
    place: Place,
    grammar: Grammar,
) -> Doubt:
    """Say that a condition, an exception, "some" or "only" is left out, or put in."""
    hit = set(chosen.values()) | {index for link in alignment.links for index in link.at}
    mine, theirs = _by_sort(claim, None), _by_sort(place.reading, used)
    everywhere = _by_sort(place.reading, None)
    for sort in ("condition", "grant", "exception"):
        answered = {"condition", "exception", sort} | (
            {"negation"} if sort == "exception" and sort in theirs else set()
        )
        if sort in everywhere and not answered & mine.keys():
            return _left_out(everywhere[sort][0], place)
        if sort in mine and not {"condition", "exception", sort} & everywhere.keys():
            return Doubt(CLAIM_REASON_PARTLY_IN_SOURCE, stated=mine[sort][0].text)
    bounding = [*everywhere.get("condition", ()), *everywhere.get("exception", ())]
    if "negation" in mine:  # "is excluded" denies, it excepts nothing from the rest of its clause
        bounding = [sign for sign in bounding if not grammar.polar.get(place.items()[sign.item].stem)]
    for sign in bounding:
        loose = [
            item
            for index, item in enumerate(place.items())
            if item.segment == sign.segment and item.content and index not in hit and item.stem not in grammar.light
        ]
        if loose:
            return _left_out(sign, place)
    for sign in theirs.get("only", ()):
        following = [
            index
            for index, item in enumerate(place.items())
            if index > sign.item and item.segment == sign.segment and (item.content or item.quantity >= 0)
        ]
        if "only" not in mine and following and following[0] not in hit:
            return _left_out(sign, place)
    only = [sign for sign in mine.get("only", ()) if not _before_number(sign, claim)]
    if only and "only" not in theirs:
        return Doubt(CLAIM_REASON_PARTLY_IN_SOURCE, stated=only[0].text)
    always = [sign for sign in mine.get("always", ()) if not _frequency(sign, claim, grammar)]
    if always and "always" not in theirs:
        return Doubt(CLAIM_REASON_PARTLY_IN_SOURCE, stated=always[0].text)
    if "some" in theirs and "some" not in mine:
        return _left_out(theirs["some"][0], place)
    if "some" in mine and "some" not in theirs:
        return Doubt(CLAIM_REASON_PARTLY_IN_SOURCE, stated=mine["some"][0].text)
    above = place.warnings - mine.keys() - modes(claim.signs)
    return Doubt(CLAIM_REASON_PARTLY_IN_SOURCE, subject=claim.text[:60]) if above else NONE


def _before_number(sign: Sign, claim: Reading) -> bool:
    """Whether "only" finds a number small, as "only one month" does, and leaves nothing else out."""
    after = claim.items[sign.item + 1 : sign.item + 3]
    return any(item.quantity >= 0 for item in after) and not any(item.content for item in after)


def _by_sort(reading: Reading, used: set[int] | None) -> dict[str, list[Sign]]:
    found: dict[str, list[Sign]] = {}
    for sign in reading.signs:
        if used is None or sign.segment in used:
            found.setdefault(sign.sort, []).append(sign)
    return found


def _left_out(sign: Sign, place: Place) -> Doubt:
    """Return the doubt that names what a statement leaves out: the words from its sign to the end of the clause."""
    rest = [item for item in place.items() if item.segment == sign.segment and item.start >= sign.start]
    end = rest[-1].end if rest else sign.end
    return Doubt(CLAIM_REASON_PARTLY_IN_SOURCE, found=" ".join(place.reading.text[sign.start : end].split()[:12]))


def _frequency(sign: Sign, claim: Reading, grammar: Grammar) -> bool:
    """Whether "every" and its like only tell how often: "every year", "each Monday"."""
    following: Sequence[Item] = claim.items[sign.item + 1 : sign.item + 3]
    return (
        any(measures(item, grammar) or item.quantity >= 0 or item.stem in grammar.exclusive for item in following)
        or len(sign.text) == 1
    )


def _time(used: set[int], claim: Reading, place: Place, grammar: Grammar) -> Doubt:
    """Say that what was is told as what is, or the other way round."""
    mine = [sign for sign in claim.signs if sign.sort == "former"]
    theirs = [
        sign for sign in place.reading.signs if sign.sort == "former" and not _of_aside(sign, used, place, grammar)
    ]
    if any(quantity.dimension in {"date", "year"} for quantity in claim.quantities):
        theirs = [sign for sign in theirs if used & _reach(sign, place)]  # what is dated is told as what was
    if theirs and not mine:
        return _left_out(theirs[0], place)
    if mine and not theirs:
        return Doubt(CLAIM_REASON_PARTLY_IN_SOURCE, stated=mine[0].text)
    coming = "future" in _by_sort(place.reading, used)
    if coming != ("future" in _by_sort(claim, None)) and (coming or _tense(place.reading, used, grammar) != "present"):
        return Doubt(CLAIM_REASON_PARTLY_IN_SOURCE, found=place.reading.text[:80])
    now, then = _tense(claim, None, grammar), _tense(place.reading, used, grammar)
    if now == "present" and then == "past":
        return Doubt(CLAIM_REASON_PARTLY_IN_SOURCE, found=place.reading.text[:80])
    return NONE


def _of_aside(sign: Sign, used: set[int], place: Place, grammar: Grammar) -> bool:
    """Whether "former" only tells what a thing was that an aside names: "the house, a former mill, was sold"."""
    items = place.items()
    if sign.segment in used or sign.item + 1 >= len(items):
        return False
    first = last = sign.item
    while first > 0 and items[first - 1].segment == sign.segment and sign.item - first < 2:
        first -= 1
    while last + 1 < len(items) and items[last + 1].segment == sign.segment and last - sign.item < _ASIDE:
        last += 1
    aside = items[first : last + 1]
    after = items[sign.item + 1]
    leads = first >= sign.item - 1 and after.segment == sign.segment and after.content
    return leads and last - sign.item < _ASIDE and not any(item.plain in grammar.copulas for item in aside)


def _tense(reading: Reading, used: set[int] | None, grammar: Grammar) -> str:
    words = {item.plain for item in reading.items if used is None or item.segment in used}
    if words & grammar.present:
        return "present"
    return "past" if words & grammar.past else ""
