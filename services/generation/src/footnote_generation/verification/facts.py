"""Which words of a place bear which words of a statement, and what of it has none."""

from __future__ import annotations

from dataclasses import dataclass

from footnote.types.v1.reasons_pb2 import (
    CLAIM_REASON_NOT_IN_SOURCE,
    CLAIM_REASON_OTHER_VALUE,
)

from footnote_generation.language import lexicon, verbs
from footnote_generation.language.grammar import Grammar
from footnote_generation.language.quantities import Quantity, readings, same_dimension, same_value
from footnote_generation.language.reading import Item, Reading
from footnote_generation.verification import derived
from footnote_generation.verification.doubts import NONE, Doubt
from footnote_generation.verification.places import Place

HERE, ABOVE, BEFORE, FREE = "here", "above", "before", "free"
"""Where a word of a statement was found: in the place, in the headings above, in the sentence before, not needed."""


@dataclass(frozen=True, slots=True)
class Link:
    """A word of a statement and the words of a place (their indices) that it may rest on."""

    item: Item
    where: str
    at: tuple[int, ...] = ()
    flipped: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """A quantity of a statement and those of a place (their indices) that it may rest on."""

    quantity: Quantity
    bound: str
    at: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Alignment:
    """All links of a statement to a place, the weighty words without one, and the quantities without a match."""

    links: tuple[Link, ...]
    matches: tuple[Match, ...]
    missing: tuple[Item, ...]
    absent: tuple[Quantity, ...]
    score: float


def align(claim: Reading, place: Place, grammar: Grammar) -> Alignment:
    """Find for each word and quantity of a statement what bears it in a place."""
    links: list[Link] = []
    missing: list[Item] = []
    matches: list[Match] = []
    absent: list[Quantity] = []
    total = found = 0.0
    dimensions = {item.dimension for item in claim.quantities}
    named = frozenset(stem for dimension in dimensions for stem in grammar.named.get(dimension.partition(":")[0], ()))
    if grammar.code in {"en", "fr"}:
        named |= frozenset(stem for dimension in dimensions for stem in lexicon.dimension_stems(dimension))
    stems = frozenset(item.stem for item in claim.items if item.content)
    parted = _verbs(claim, place)
    told = {index for item in claim.content() for index in place.stems.get(item.stem, ())}
    for item in claim.content():
        link = _link(item, place, grammar, stems)
        if (link is None or link.where != HERE) and item.start in parted:
            link = Link(item, HERE, parted[item.start])
        if link is not None and link.flipped and told.issuperset(link.at):
            link = None  # "receives the payments": the statement has that word too, so that it is no opposite
        light = item.stem in grammar.light or (
            item.stem in named and not item.name and _rival(item, place, grammar) is None
        )
        weight = 0.25 if light else 1.5 if item.name else 1.0
        if link is None and light:
            link = Link(item, FREE)
            total += weight
        else:
            total += weight
            found += weight * (0.0 if link is None else 1.0 if link.where == HERE else 0.9)
        if link is None:
            missing.append(item)
        else:
            links.append(link)
    for index, quantity in enumerate(claim.quantities):
        total += 1.5
        at = tuple(
            number
            for number, other in enumerate(place.reading.quantities)
            if same_value(quantity, other) and same_dimension(quantity, other)
        )
        bound = claim.bounds.get(index, "")
        at = at or _within(quantity, bound, place.reading) or _unit_unsaid(quantity, place)
        if at or _in_context(quantity, place):
            found += 1.5
            matches.append(Match(quantity, bound, at))
        else:
            absent.append(quantity)
    return Alignment(tuple(links), tuple(matches), tuple(missing), tuple(absent), found / total if total else 0.0)


def _verbs(claim: Reading, place: Place) -> dict[int, tuple[int, ...]]:
    """Return by the start of a word of a statement the forms of the same verb in a place, parted or not."""
    mine = verbs.forms(claim.text, claim.language)
    if not mine:
        return {}
    theirs = verbs.forms(place.reading.text, place.reading.language)
    known: dict[str, list[int]] = {}
    for index, item in enumerate(place.items()):
        for name in theirs[item.start][0] if item.start in theirs else ():
            known.setdefault(name, []).append(index)
    found: dict[int, tuple[int, ...]] = {}
    for start, (names, particle) in mine.items():
        at = tuple(sorted({index for name in names for index in known.get(name, ())}))
        if at:
            found[start] = at
            if particle >= 0:
                found[particle] = at
    return found


def _unit_unsaid(quantity: Quantity, place: Place) -> tuple[int, ...]:
    """Return the bare numbers that end a clause and mean the unit of another: "adults pay 8 euros, students 5"."""
    given = place.reading.quantities
    kind = [item for item in given if item.dimension == quantity.dimension]
    if place.row is not None or not quantity.dimension or not kind:
        return ()
    factors = {round(max(one.values) / value, 9) for one in kind for value in _numeral(one) if value}
    return tuple(
        index
        for index, other in enumerate(given)
        if not other.dimension
        and not other.noun
        and place.reading.text[other.end : other.end + 2].lstrip()[:1] in {"", ".", ",", ";", ")"}
        and any(
            abs(value * factor - wanted) <= 1e-9 * max(1.0, abs(wanted))
            for value in other.values
            for factor in factors
            for wanted in quantity.values
        )
    )


def _numeral(quantity: Quantity) -> frozenset[float]:
    written = derived.numeral(quantity)
    return readings(written) if written[:1].isdigit() else frozenset()


def _in_context(quantity: Quantity, place: Place) -> bool:
    """Whether a bare number or year of a statement is the heading's: "Report 2023"."""
    return quantity.dimension in {"", "year"} and quantity.text.lower() in place.context


def _within(quantity: Quantity, bound: str, given: Reading) -> tuple[int, ...]:
    """Return exact quantities of a place that lie within the bound a statement gives: "more than 300" for 320."""
    if bound not in {"more", "less"} or quantity.dimension in {"date", "year", "clock"}:
        return ()
    edge = max(quantity.values)
    found: list[int] = []
    for index, other in enumerate(given.quantities):
        if other.dimension != quantity.dimension or index in given.bounds:
            continue
        value = max(other.values)
        upwards = bound == "more"
        if (value > edge) if upwards else (value < edge):
            found.append(index)
    # Of several numbers none is told apart: only a lone one speaks for a bound.
    alone = sum(1 for other in given.quantities if other.dimension == quantity.dimension) == 1
    return tuple(found) if alone else ()


def _link(item: Item, place: Place, grammar: Grammar, claim: frozenset[str]) -> Link | None:
    """Return where a word stands: itself, a synonym, its opposite, a form of it, in the headings or just before."""
    at = place.stems.get(item.stem) or place.stems.get(item.plain)
    if at:
        return Link(item, HERE, tuple(at))
    digits = any(char.isdigit() for char in item.plain)
    if not digits:
        at = [index for group in sorted(grammar.groups(item.stem)) for index in place.groups.get(group, ())]
        if at:
            return Link(item, HERE, tuple(sorted(set(at))))
        for pair, sign in grammar.polar.get(item.stem, ()):
            same = [index for index, other in place.polar.get(pair, ()) if other == sign]
            if same:
                return Link(item, HERE, tuple(same))
            turned = [index for index, other in place.polar.get(pair, ()) if other != sign]
            if turned:
                return Link(item, HERE, tuple(turned), flipped=True)
        at = _forms(item, place) or _compound(item, place, grammar, claim) or _letters(item, place, grammar)
        if at:
            return Link(item, HERE, tuple(at))
    if item.stem in place.context or item.plain in place.context:
        return Link(item, ABOVE)
    if place.before is not None and item.stem in _subject(place.before):
        return Link(item, BEFORE)
    return None


def _subject(reading: Reading) -> frozenset[str]:
    """Return what a sentence is about, for a pronoun after it: the words of its first clause that say something."""
    first = next((item.segment for item in reading.items if item.content), 0)
    opening = [item for item in reading.items if item.content and item.segment <= first + 1][:6]
    return frozenset(item.stem for item in opening)


def _forms(item: Item, place: Place) -> list[int]:
    """Return words that share all but their endings with this one."""
    found: list[int] = []
    if len(item.stem) < 5:
        return found
    for index in place.heads.get(item.stem[:4], ()):
        other = place.items()[index].stem
        short, long = (item.stem, other) if len(item.stem) <= len(other) else (other, item.stem)
        if len(short) >= 5 and long.startswith(short[:-1]) and len(long) - len(short) <= 3:
            found.append(index)
    return found


def _compound(item: Item, place: Place, grammar: Grammar, claim: frozenset[str]) -> list[int]:
    """Return words that with this one make a compound or its parts: "Urlaubstage" for "Tage Urlaub" and back."""
    if grammar.code not in {"de", "nl"} or len(item.stem) < 4:
        return []
    found: list[int] = []
    for index, other in enumerate(place.items()):
        if not other.content or len(other.stem) < 4:
            continue
        if len(other.plain) >= len(item.stem) + 3 and (rest := _rest(other.plain, item.stem)):
            if any(rest.startswith(stem[:5]) for stem in claim if len(stem) >= 3 and stem != item.stem):
                found.append(index)
        elif len(item.plain) >= len(other.stem) + 3 and (rest := _rest(item.plain, other.stem)):
            quantities = " ".join(quantity.text.lower() for quantity in place.reading.quantities)
            others = [word.stem for word in place.items() if word.quantity < 0 and len(word.stem) >= 3]
            if any(rest.startswith(stem[:5]) for stem in others) or rest[:3] in quantities:
                found.append(index)
    return found


def _rest(compound: str, part: str) -> str:
    """Return what is left of a compound beside one of its parts, "" where it is no part."""
    if compound.startswith(part):
        rest = compound[len(part) :]
        return rest[1:] if rest[:1] in {"s", "n", "e"} and len(rest) > 4 else rest
    at = compound.find(part)
    return compound[:at] if at >= 3 and len(compound) - at - len(part) <= 2 else ""


def _letters(item: Item, place: Place, grammar: Grammar) -> list[int]:
    """Return the words that hold those letters, in a script that puts no spaces between words."""
    if not grammar.unspaced or len(item.text) < 2:
        return []
    text = place.reading.text
    rest = item.text
    at: list[int] = []
    while rest:
        size = next((size for size in range(len(rest), 1, -1) if rest[:size] in text), 0)
        if not size:
            if item.text != rest and rest in text and len(rest) == 1:
                break
            if rest[0] in grammar.particles and (at or len(rest) > 2):
                rest = rest[1:]
                continue
            return []
        start = text.index(rest[:size])
        at.extend(
            index for index, other in enumerate(place.items()) if other.start < start + size and other.end > start
        )
        rest = rest[size:]
    return at


def unfounded(alignment: Alignment, claim: Reading, place: Place, grammar: Grammar) -> Doubt:
    """Return what of a statement a place lacks: a quantity, or a word of weight; NONE when it has all."""
    for quantity in alignment.absent:
        return _other_number(quantity, place)
    for item in alignment.missing:
        rival = _rival(item, place, grammar)
        if rival is not None:
            return Doubt(CLAIM_REASON_OTHER_VALUE, stated=item.text, found=rival.text)
    for item in alignment.missing:
        return Doubt(CLAIM_REASON_NOT_IN_SOURCE, stated=whole_word(item, claim, grammar))
    return NONE


def whole_word(item: Item, claim: Reading, grammar: Grammar) -> str:
    """Return a word for people to read: without spaces between words, the stretch between particles it stands in."""
    return item.text.strip()


def _other_number(quantity: Quantity, place: Place) -> Doubt:
    given = place.reading.quantities
    for other in given:
        if same_value(quantity, other):
            return Doubt(CLAIM_REASON_OTHER_VALUE, stated=quantity.text, found=other.text)
    alike = [other for other in given if other.dimension == quantity.dimension and quantity.dimension]
    if len(alike) == 1:
        return Doubt(CLAIM_REASON_OTHER_VALUE, stated=quantity.text, found=alike[0].text)
    return Doubt(CLAIM_REASON_NOT_IN_SOURCE, stated=quantity.text)


def _rival(item: Item, place: Place, grammar: Grammar) -> Item | None:
    """Return a word of a place of which only one can hold together with a word of the statement: another weekday."""
    member = grammar.exclusive.get(item.stem)
    if member is None:
        return None
    for other in place.items():
        found = grammar.exclusive.get(other.stem)
        if found is not None and found[0] == member[0] and found != member:
            return other
    return None
