"""Whether the words that a place has for a statement belong together there as they do in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from footnote.types.v1.reasons_pb2 import (
    CLAIM_REASON_PARTLY_IN_SOURCE,
    CLAIM_REASON_ROLES_SWAPPED,
    CLAIM_REASON_VALUE_OF_ANOTHER,
)

from footnote_generation.language.grammar import MODAL, Grammar
from footnote_generation.language.quantities import same_value
from footnote_generation.language.reading import Item, Reading
from footnote_generation.verification import voice
from footnote_generation.verification.doubts import NONE, Doubt
from footnote_generation.verification.facts import ABOVE, Alignment, Match
from footnote_generation.verification.places import Place

_SUBJECT_FIRST = frozenset({"en", "fr", "zh"})
"""Languages whose statements have the subject before the verb."""
_WHEN = frozenset({"date", "year", "clock"})
"""Kinds of quantities that tell when: what else their clause holds need not be told with them."""
_MOST = 40
"""Words of a statement whose order is compared; more than that are no one statement."""


def misplaced(alignment: Alignment, claim: Reading, place: Place, grammar: Grammar) -> Doubt:
    """Return why words and numbers that a place has do not belong together there; NONE when they do."""
    if place.row is not None:
        return NONE
    chosen = choose(alignment, place)
    return (
        _clauses(alignment, chosen, claim, place, grammar)
        or _numbers(alignment, chosen, claim, place, grammar)
        or roles(alignment, chosen, claim, place, grammar)
    )


def choose(alignment: Alignment, place: Place) -> dict[int, int]:
    """Return by the start of each linked word of a statement the word of the place it rests on, clauses kept few."""
    items = place.items()
    votes: dict[int, int] = {}
    starts = {
        index: next((i for i, item in enumerate(items) if item.quantity == index), -1)
        for match in alignment.matches
        for index in match.at
    }
    spots: list[tuple[int, tuple[int, ...]]] = [(link.item.start, link.at) for link in alignment.links if link.at]
    spots += [
        (match.quantity.start, tuple(starts[index] for index in match.at)) for match in alignment.matches if match.at
    ]
    for _, at in spots:
        for segment in {items[index].segment for index in at if index >= 0}:
            votes[segment] = votes.get(segment, 0) + 1
    ranked = sorted(votes, key=lambda segment: (-votes[segment], segment))
    best = ranked[0] if ranked else 0
    chosen: dict[int, int] = {}
    for start, at in spots:
        known = [index for index in at if index >= 0]
        if known:
            chosen[start] = min(
                known, key=lambda index: (abs(items[index].segment - best), ranked.index(items[index].segment))
            )
    return chosen


def _clauses(alignment: Alignment, chosen: dict[int, int], claim: Reading, place: Place, grammar: Grammar) -> Doubt:
    """Say that a later clause used has a subject of its own, or that the first one's subject is another."""
    items = place.items()
    used = sorted({items[index].segment for index in chosen.values()})
    hit = set(chosen.values()) | {index for link in alignment.links for index in link.at}
    if not used:
        return NONE
    crossed = place.reading.text[items[min(chosen.values())].end : items[max(chosen.values())].start]
    if ";" in crossed or "；" in crossed:
        return Doubt(CLAIM_REASON_PARTLY_IN_SOURCE, stated=_stated(alignment, claim))
    aside = _asides(claim)
    opening = next(
        (
            at
            for item, at in _order(alignment, chosen)
            if item.segment not in aside and not _after_preposition(item, claim, grammar)
        ),
        None,
    )
    if (
        opening is not None
        and items[opening].segment != used[0]
        and not _shares_subject(items[opening].segment, used[0], place, hit, grammar)
        and _passive(claim, None, grammar) == _passive(place.reading, set(used), grammar)
    ):
        first = next(index for index in sorted(chosen.values()))
        return Doubt(CLAIM_REASON_VALUE_OF_ANOTHER, stated=items[opening].text, found=items[first].text)
    kinds = {match.quantity.dimension.partition(":")[0] for match in alignment.matches}
    naming = frozenset(stem for kind in kinds for stem in grammar.named.get(kind, ()))
    for segment in used:
        inside = [index for index, item in enumerate(items) if item.segment == segment]
        content = [index for index in inside if items[index].content or items[index].quantity >= 0]
        leading = next((index for index in content if items[index].stem not in grammar.light | naming), None)
        if leading is not None and items[leading].quantity >= 0 and leading not in hit:
            # "Those of 65 or older enter free": the number belongs to whom the clause is about.
            leading = next((index for index in content if index > leading and items[index].content), leading)
        if leading is None or leading in hit or items[leading].quantity >= 0:
            continue
        if grammar.code in _SUBJECT_FIRST and any(index < leading and index in hit for index in inside):
            continue  # what follows the verb is no subject: "contains neither alcohol nor gluten"
        if segment != used[0] or len(used) > 1 or any(link.where == ABOVE for link in alignment.links):
            if (_stands_free(leading, items, grammar) and segment == used[0]) or _names(leading, items, hit):
                continue
            return Doubt(
                CLAIM_REASON_VALUE_OF_ANOTHER,
                stated=_stated(alignment, claim),
                found=items[leading].text,
                subject=items[leading].text,
            )
        if not (
            _stands_free(leading, items, grammar)
            or _names(leading, items, hit)
            or _object_first(alignment, chosen, claim, items, grammar)
        ):
            return Doubt(
                CLAIM_REASON_PARTLY_IN_SOURCE,
                stated=_stated(alignment, claim),
                found=items[leading].text,
                subject=items[leading].text,
            )
    return NONE


def _shares_subject(segment: int, first: int, place: Place, hit: set[int], grammar: Grammar) -> bool:
    """Whether a clause goes on about the subject of the one before: "tours last an hour and must be booked"."""
    items = place.items()
    inside = [index for index, item in enumerate(items) if item.segment == segment]
    verb = next((index for index in inside if items[index].plain not in grammar.coordinators), -1)
    modal = any(sign.start == items[verb].start and sign.sort in MODAL for sign in place.reading.signs)
    relative = verb >= 0 and items[verb].plain in grammar.relatives  # "the hall, whose roof cost 900 euros"
    if segment != first + 1 or verb < 0 or not (modal or relative or items[verb].plain in grammar.copulas):
        return False
    before = [index for index, item in enumerate(items) if item.segment == first and item.content]
    return hit.issuperset(before[: sum(1 for index in before if index in hit)])


def _asides(claim: Reading) -> set[int]:
    """Return the clauses of conditions, which may come before or after the rest."""
    return {sign.segment for sign in claim.signs if sign.sort == "condition"}


def _names(index: int, items: Sequence[Item], hit: set[int]) -> bool:
    """Whether a word and the one after it name one thing: "Model T3", "the Delta ferry"."""
    after = index + 1
    return (
        after < len(items)
        and after in hit
        and items[after].segment == items[index].segment
        and (items[after].name or items[index].name)
    )


def _object_first(
    alignment: Alignment, chosen: dict[int, int], claim: Reading, items: Sequence[Item], grammar: Grammar
) -> bool:
    """Whether a statement turns what is done to something into its subject: "books are lent" for "lends the books"."""
    places = [at for _, at in _order(alignment, chosen)]
    copula = any(item.plain in grammar.copulas for item in claim.items)
    return (
        copula
        and len(places) > 1
        and places[1] < places[0]
        and not any(item.content or item.plain in grammar.prepositions for item in items[places[1] + 1 : places[0]])
    )


def _stands_free(index: int, items: Sequence[Item], grammar: Grammar) -> bool:
    """Whether a word follows a preposition, so that it is no subject: "In summer the pool opens"."""
    return bool(voice.governing(index, items, grammar, 2))


def _stated(alignment: Alignment, claim: Reading) -> str:
    if alignment.matches:
        return alignment.matches[-1].quantity.text
    content = claim.content()
    return content[-1].text if content else claim.text


def _numbers(alignment: Alignment, chosen: dict[int, int], claim: Reading, place: Place, grammar: Grammar) -> Doubt:
    """Say that a number counts something else there, or stands beside what the statement does not name."""
    items = place.items()
    hit = set(chosen.values()) | {index for link in alignment.links for index in link.at}
    started = _start_alone(alignment, chosen, place, grammar)
    if started:
        return started
    for match, at, rivals in _rivals(alignment, chosen, place, grammar):
        naming = grammar.named.get(match.quantity.dimension.partition(":")[0], frozenset())
        beside = [index for index, item in enumerate(items) if item.quantity in rivals]
        if match.quantity.dimension in _WHEN and not any(items[index].segment == items[at].segment for index in beside):
            continue
        loose = [
            item
            for index, item in enumerate(items)
            if item.content
            and item.segment == items[at].segment
            and index not in hit
            and item.stem not in grammar.light | naming
        ]
        if loose:
            found = place.reading.quantities[rivals[0]].text
            return Doubt(CLAIM_REASON_VALUE_OF_ANOTHER, stated=match.quantity.text, found=found, subject=loose[0].text)
    return numbers(alignment, chosen, claim, place, grammar)


def numbers(alignment: Alignment, chosen: dict[int, int], claim: Reading, place: Place, grammar: Grammar) -> Doubt:
    """Say that what the statement names goes with another number of that kind there, or counts another thing."""
    items, given = place.items(), place.reading
    for match, at, rivals in _rivals(alignment, chosen, place, grammar):
        for rival in rivals:
            if _beside(rival, items[at].quantity, chosen, place, grammar):
                return Doubt(
                    CLAIM_REASON_VALUE_OF_ANOTHER, stated=match.quantity.text, found=given.quantities[rival].text
                )
    return _counted(alignment, chosen, claim, place, grammar)


def _rivals(
    alignment: Alignment, chosen: dict[int, int], place: Place, grammar: Grammar
) -> Iterator[tuple[Match, int, list[int]]]:
    """Yield the numbers of a statement that a place has, where it rests, and the others of that kind there."""
    items, given = place.items(), place.reading
    taken = {
        items[chosen[match.quantity.start]].quantity for match in alignment.matches if match.quantity.start in chosen
    }
    for match in alignment.matches:
        at = chosen.get(match.quantity.start)
        if at is None:
            continue
        mine = items[at].quantity
        rivals = [
            index
            for index, other in enumerate(given.quantities)
            if index != mine
            and index not in taken
            and other.dimension == given.quantities[mine].dimension
            and not same_value(other, given.quantities[mine])
            and not _one_range(given, mine, index)
            and not _compares(index, items, grammar)
        ]
        if rivals:
            yield match, at, rivals


def _start_alone(alignment: Alignment, chosen: dict[int, int], place: Place, grammar: Grammar) -> Doubt:
    """Say that a number is where something began that the place tells to be another: the 3 of "rose from 3 to 6"."""
    items, given = place.items(), place.reading
    starts = [match.quantity.start for match in alignment.matches]
    taken = {items[chosen[start]].quantity for start in starts if start in chosen}
    for match in alignment.matches:
        at = chosen.get(match.quantity.start, 0)
        after = items[at].quantity + 1
        if not 0 < after < len(given.quantities) or after in taken or not items[at - 1 : at]:
            continue
        kind = given.quantities[after].dimension
        if kind in _WHEN or kind != match.quantity.dimension or not _one_range(given, after - 1, after):
            continue
        between = given.text[given.quantities[after - 1].end : given.quantities[after].start]
        if items[at - 1].plain in grammar.prepositions and not set(between) & set("，；"):
            found = given.quantities[after].text
            return Doubt(CLAIM_REASON_VALUE_OF_ANOTHER, stated=match.quantity.text, found=found)
    return NONE


def _compares(quantity: int, items: Sequence[Item], grammar: Grammar) -> bool:
    """Whether a number says by how much another one is more or less: "14 boxes, three more than in 2021"."""
    last = next((index for index in range(len(items) - 1, -1, -1) if items[index].quantity == quantity), len(items))
    if last + 2 >= len(items):
        return False
    words = (items[last + 1].plain, items[last + 2].plain)
    return any(
        phrase.sort in {"more", "less"} and phrase.words == words for phrase in grammar.phrases.get(words[0], ())
    )


def _one_range(given: Reading, left: int, right: int) -> bool:
    """Whether two quantities are the ends of one range: "from 10 to 80 percent"."""
    first, last = sorted((left, right))
    between = given.text[given.quantities[first].end : given.quantities[last].start]
    return last - first == 1 and len(between.split()) <= 1 and len(between) <= 8 and not set(between) & set(",;")


def _beside(rival: int, mine: int, chosen: dict[int, int], place: Place, grammar: Grammar) -> bool:
    """Whether a word that the statement uses follows another number of that kind and goes with it, not with this."""
    items = place.items()
    there = [index for index, item in enumerate(items) if item.quantity == rival]
    here = [index for index, item in enumerate(items) if item.quantity == mine]
    if not there or not here:
        return False
    for index in chosen.values():
        item = items[index]
        if item.quantity >= 0 or item.stem in grammar.light:
            continue
        if there[-1] < index < here[0] and item.segment == items[there[0]].segment != items[here[0]].segment:
            return True
        if here[-1] < index < there[0] and item.segment == items[there[0]].segment != items[here[0]].segment:
            return True
        # All in one clause: what stands between two numbers goes with the nearer one.
        if item.segment == items[there[0]].segment == items[here[0]].segment:
            if here[-1] < there[0] and index > there[-1]:
                return True
            if there[-1] < here[0] and there[-1] < index < here[0] and index - there[-1] < here[0] - index:
                return True
    return False


def _counted(alignment: Alignment, chosen: dict[int, int], claim: Reading, place: Place, grammar: Grammar) -> Doubt:
    """Say that a bare number counts another thing: "three tablets" for "two tablets three times"."""
    items = place.items()
    for match in alignment.matches:
        at = chosen.get(match.quantity.start)
        if at is None or match.quantity.dimension not in {""}:
            continue
        noun = next((item for item in claim.items if item.start >= match.quantity.end and item.quantity < 0), None)
        if noun is None or not noun.content or noun.segment != claim.segment_at(match.quantity.start):
            continue
        spots = [index for link in alignment.links if link.item is noun for index in link.at]
        if not spots or len([1 for other in place.reading.quantities if not other.dimension]) < 2:
            continue
        mine = items[at].quantity
        if not any(_nearest(index, items) == mine for index in spots):
            return Doubt(CLAIM_REASON_VALUE_OF_ANOTHER, stated=match.quantity.text, found=noun.text, subject=noun.text)
    return NONE


def _nearest(index: int, items: Sequence[Item]) -> int:
    """Return the quantity that counts a word: the nearest before it in its clause, else the nearest at all."""
    before = [item.quantity for item in items[:index] if item.quantity >= 0 and item.segment == items[index].segment]
    if before:
        return before[-1]
    after = [item.quantity for item in items[index:] if item.quantity >= 0]
    return after[0] if after else -1


def roles(alignment: Alignment, chosen: dict[int, int], claim: Reading, place: Place, grammar: Grammar) -> Doubt:
    """Say that two participants changed places around the same word: "A sued B" for "B sued A"."""
    items = place.items()
    used = {items[index].segment for index in chosen.values()}
    doubt = voice.swapped(claim.items, chosen, items, used, grammar)
    if doubt or _passive(claim, None, grammar) != _passive(place.reading, used, grammar):
        return doubt
    order = [
        (link.item, chosen[link.item.start])
        for link in alignment.links
        if link.item.start in chosen and not link.flipped
    ]
    order = order[:_MOST]
    aside = _asides(claim)
    bare = [(item, at) for item, at in order if not _after_preposition(item, claim, grammar)]
    hung = [(item, at) for item, at in order if item.text[0].isupper() and (item, at) not in bare]
    for a, at_a in bare:
        for b, at_b in hung:
            # "X takes the teams of Y" for "Y takes the teams of X"
            if a.text[0].isupper() and _hangs(at_a, items, grammar) and not _hangs(at_b, items, grammar):
                return Doubt(CLAIM_REASON_ROLES_SWAPPED, stated=a.text, found=b.text)
    for left in range(len(bare)):
        for right in range(left + 2, len(bare)):
            (a, at_a), (b, at_b) = bare[left], bare[right]
            if at_b >= at_a or _stands_free(at_b, items, grammar) or _stands_free(at_a, items, grammar):
                continue
            if a.segment != b.segment and {a.segment, b.segment} & aside:
                continue
            if items[at_a].segment != items[at_b].segment and items[at_a].name != items[at_b].name:
                continue
            if any(at_b < at < at_a for _, at in bare[left + 1 : right]):
                return Doubt(CLAIM_REASON_ROLES_SWAPPED, stated=a.text, found=b.text)
    return NONE


def _hangs(index: int, items: Sequence[Item], grammar: Grammar) -> bool:
    """Whether a word stands in the phrase of a preposition."""
    return bool(voice.governing(index, items, grammar, 3))


def _order(alignment: Alignment, chosen: dict[int, int]) -> list[tuple[Item, int]]:
    """Return the words of a statement that rest on words of the place, in its order, with where they rest."""
    return [
        (link.item, chosen[link.item.start])
        for link in alignment.links
        if link.item.start in chosen and not link.flipped
    ]


def _passive(reading: Reading, used: set[int] | None, grammar: Grammar) -> bool:
    return any(item.plain in grammar.passive for item in reading.items if used is None or item.segment in used)


def _after_preposition(item: Item, claim: Reading, grammar: Grammar) -> bool:
    index = next((at for at, other in enumerate(claim.items) if other.start == item.start), 0)
    return _stands_free(index, claim.items, grammar)
