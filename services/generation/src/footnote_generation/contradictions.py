"""What makes a statement contradict a stretch of text that shares its words."""

from __future__ import annotations

from collections.abc import Sequence

from footnote_generation import lexicon
from footnote_generation.quantities import Quantity, same_dimension, same_value
from footnote_generation.words import Analysed, Word


def quantity_match(claimed: Quantity, given: Analysed) -> Quantity | None:
    """The quantity of a stretch that a claimed one may rest on: same value, no contrary unit."""
    for other in given.quantities:
        if same_value(claimed, other) and same_dimension(claimed, other):
            return other
    return None


def find_conflict(claim: Analysed, given: Analysed, context: frozenset[str]) -> str:
    """Say in words what of a statement a stretch contradicts; "" when nothing."""
    return (
        _numbers(claim, given)
        or _binding(claim, given)
        or _polarity(claim, given)
        or _exclusive(claim, given)
        or _roles(claim, given)
    )


def _numbers(claim: Analysed, given: Analysed) -> str:
    for quantity in claim.quantities:
        if quantity_match(quantity, given) is not None:
            continue
        for other in given.quantities:
            if same_value(quantity, other):
                return f"the source says {other.text}, not {quantity.text}"
        return f"{quantity.text} is not in the source"
    return ""


def _binding(claim: Analysed, given: Analysed) -> str:
    """A number taken from beside another subject: the claim's words stand nearer to a different number of that kind."""
    for quantity in claim.quantities:
        matches = [item for item in given.quantities if same_value(quantity, item) and same_dimension(quantity, item)]
        if not matches:
            continue
        rivals = [
            item
            for item in given.quantities
            if not same_value(quantity, item) and item.dimension == matches[0].dimension and not same_value(item, quantity)
            # A number that the claim also states is no rival but company.
            and not any(same_value(other, item) for other in claim.quantities if other is not quantity)
        ]
        if not rivals:
            continue
        near = max(_nearness(claim, given, item) for item in matches)
        for rival in rivals:
            if _nearness(claim, given, rival) > near + 0.34:
                return f"the source gives {rival.text} for this, not {quantity.text}"
    return ""


def _nearness(claim: Analysed, given: Analysed, quantity: Quantity) -> float:
    """How much of what sets numbers of a stretch apart stands beside one of them: words that the claim shares.

    A word counts for the number that it is nearest to, fully in the same clause and by half in another.
    """
    wanted = {stem for word in claim.content for stem in word.stems}
    groups = {group for stem in wanted for group in lexicon.groups(stem)}
    clause = next((word.clause for word in given.words if word.start >= quantity.start), given.words[-1].clause if given.words else 0)
    total = 0.0
    seen: set[str] = set()
    for word in given.content:
        shared = any(stem in wanted or lexicon.groups(stem) & groups for stem in word.stems)
        if not shared or word.stems[0] in seen:
            continue
        nearest = min(
            (item for item in given.quantities if item.dimension == quantity.dimension),
            key=lambda item: _distance(word, item, given),
        )
        if nearest is quantity:
            seen.add(word.stems[0])
            total += 1.0 if word.clause == clause else 0.5
    return total


def _distance(word: Word, quantity: Quantity, given: Analysed) -> float:
    left, right = (word.end, quantity.start) if word.end <= quantity.start else (quantity.end, word.start)
    between = given.text[left:right]
    # Punctuation parts more than words do.
    return max(0, right - left) + 25 * sum(between.count(mark) for mark in ",;:()\n|") + 60 * between.count(". ")


def _signs(text: Analysed, shared: frozenset[str]) -> tuple[int, dict[int, int]]:
    """The negations in the clauses that speak of the shared words, and the sign of each pair of opposites there."""
    score: dict[int, int] = {}
    for word in text.words:
        if any(stem in shared for stem in word.stems):
            score[word.clause] = score.get(word.clause, 0) + 1
    if not score:
        return 0, {}
    best = max(score.values())
    clauses = {clause for clause, count in score.items() if count * 2 >= best}
    negations = 0
    last_end = -20
    pairs: dict[int, set[int]] = {}
    for word in text.words:
        if word.clause not in clauses:
            continue
        # "ne … pas", "not … any" and "neither … nor" count once.
        if word.negation and word.start - last_end > 12:
            negations += 1
            last_end = word.end
        for stem in word.stems:
            for pair, sign in lexicon.polarity(stem):
                pairs.setdefault(pair, set()).add(sign)
    return negations, {pair: min(signs) for pair, signs in pairs.items() if len(signs) == 1}


def _polarity(claim: Analysed, given: Analysed) -> str:
    shared = frozenset(stem for word in claim.words for stem in word.stems if stem in given.stems)
    claim_negations, claim_signs = _signs(claim, shared)
    given_negations, given_signs = _signs(given, shared)
    sign = -1 if (claim_negations + given_negations) % 2 else 1
    opposed = [pair for pair in claim_signs.keys() & given_signs.keys() if claim_signs[pair] != given_signs[pair]]
    agreeing = [pair for pair in claim_signs.keys() & given_signs.keys() if claim_signs[pair] == given_signs[pair]]
    if opposed and not agreeing:
        sign = -sign
    if sign > 0:
        return ""
    if opposed:
        return "the source says the opposite"
    return "the source denies it" if given_negations > claim_negations else "the source does not deny it"


def _exclusive(claim: Analysed, given: Analysed) -> str:
    for word in claim.content:
        for stem in word.stems:
            member = lexicon.exclusive(stem)
            if member is None or stem in given.stems:
                continue
            held = {
                found: other.text
                for other in given.content
                for other_stem in other.stems
                if (found := lexicon.exclusive(other_stem)) is not None and found[0] == member[0]
            }
            if held and member not in held:
                return f"the source says {next(iter(held.values()))}, not {word.text}"
    return ""


def _roles(claim: Analysed, given: Analysed) -> str:
    """Two names that changed places around the same verb: "A bought B" for "B bought A"."""
    names = [word for word in claim.content if word.name or word.start == 0]
    order = [word.stems[0] for word in names]
    if len(order) < 2 or len(set(order)) != len(order):
        return ""
    places = _positions(order, given)
    if len(places) != len(order):
        return ""
    first, second = order[0], order[-1]
    if places[first] < places[second]:
        return ""
    return "" if _passive(claim) != _passive(given) or _symmetric(claim, names) else "the source has it the other way round"


def _positions(stems: Sequence[str], given: Analysed) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in given.words:
        for stem in word.stems:
            if stem in stems:
                found.setdefault(stem, word.start)
    return found


def _passive(text: Analysed) -> bool:
    plain = {word.text.lower() for word in text.words}
    return bool(plain & {"by", "par"})


def _symmetric(claim: Analysed, names: Sequence[Word]) -> bool:
    """Whether the names merely stand side by side ("Paris and Lyon", "in Paris, France"): their order says nothing."""
    between = [word for word in claim.words if names[0].end <= word.start < names[-1].start]
    verbs = [word for word in between if word.stems and not word.name]
    return not verbs or len(names) > 2
