"""What makes a statement contradict a stretch of text that shares its words."""

from __future__ import annotations

from collections.abc import Sequence

from footnote.types.v1.reasons_pb2 import (
    CLAIM_REASON_NOT_IN_SOURCE,
    CLAIM_REASON_OTHER_NAME,
    CLAIM_REASON_OTHER_NUMBER,
    CLAIM_REASON_OTHER_VALUE,
    CLAIM_REASON_ROLES_SWAPPED,
    CLAIM_REASON_VALUE_OF_ANOTHER,
)
from footnote_text import sentences
from footnote_text.wordlists import word_set

from footnote_generation.language import lexicon
from footnote_generation.language.quantities import Quantity, same_dimension, same_value
from footnote_generation.language.words import Analysed, Word
from footnote_generation.verification import polarity
from footnote_generation.verification.doubts import NONE, Doubt


def quantity_match(claimed: Quantity, given: Analysed) -> Quantity | None:
    """Return the quantity of a stretch that a claimed one may rest on: same value, no contrary unit."""
    for other in given.quantities:
        if same_value(claimed, other) and same_dimension(claimed, other):
            return other
    return None


def find_conflict(claim: Analysed, given: Analysed, context: frozenset[str]) -> Doubt:
    """Return what of a statement a stretch contradicts; NONE when nothing."""
    return (
        _numbers(claim, given)
        or _binding(claim, given)
        or _subject(claim, given)
        or _slots(claim, given)
        or polarity.conflict(claim, given)
        or _exclusive(claim, given)
        or _roles(claim, given)
    )


def _numbers(claim: Analysed, given: Analysed) -> Doubt:
    for quantity in claim.quantities:
        if quantity_match(quantity, given) is not None:
            continue
        for other in given.quantities:
            if same_value(quantity, other):
                return Doubt(CLAIM_REASON_OTHER_VALUE, stated=quantity.text, found=other.text)
        return Doubt(CLAIM_REASON_NOT_IN_SOURCE, stated=quantity.text)
    return NONE


def _binding(claim: Analysed, given: Analysed) -> Doubt:
    """Say that a number was taken from beside another subject: the claim's words stand nearer to another one."""
    for quantity in claim.quantities:
        matches = [item for item in given.quantities if same_value(quantity, item) and same_dimension(quantity, item)]
        if not matches:
            continue
        rivals = [
            item
            for item in given.quantities
            if not same_value(quantity, item)
            and item.dimension == matches[0].dimension
            and not same_value(item, quantity)
            # A number that the claim also states is no rival but company.
            and not any(same_value(other, item) for other in claim.quantities if other is not quantity)
        ]
        if not rivals:
            continue
        near = max(_nearness(claim, quantity, given, item) for item in matches)
        # What the statement begins with is what it is about: if that stands beside its number, all is well.
        if any(_begins_beside(claim, given, item) for item in matches):
            continue
        for rival in rivals:
            if _nearness(claim, quantity, given, rival) > near + 0.34:
                return Doubt(CLAIM_REASON_VALUE_OF_ANOTHER, stated=quantity.text, found=rival.text)
    return NONE


def _begins_beside(claim: Analysed, given: Analysed, quantity: Quantity) -> bool:
    first = next((word for word in claim.content if not set(word.stems) & lexicon.light_stems()), None)
    rivals = [item for item in given.quantities if item.dimension == quantity.dimension]
    for word in given.words:
        if first is not None and set(word.stems) & set(first.stems):
            return min(rivals, key=lambda item: _distance(word, item, given)) is quantity
    return False


def _nearness(claim: Analysed, claimed: Quantity, given: Analysed, quantity: Quantity) -> float:
    """How much of what sets numbers of a stretch apart stands beside one of them: words that the claim shares.

    A word counts for the number that it is nearest to, fully in the same clause and by half in another.
    """
    wanted = {stem for word in claim.content for stem in word.stems}
    groups = {group for stem in wanted for group in lexicon.groups(stem)}
    clause = next(
        (word.clause for word in given.words if word.start >= quantity.start),
        given.words[-1].clause if given.words else 0,
    )
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
    for other in given.quantities:
        # Another figure of the statement in the same clause ("4% in 2023") speaks for this one too.
        if other is not quantity and any(
            item is not claimed and same_value(item, other) and same_dimension(item, other) for item in claim.quantities
        ):
            place = next((word.clause for word in given.words if word.start >= other.start), -1)
            total += 1.0 if place == clause else 0.0
    return total


def _sentence_of(position: int, given: Analysed) -> tuple[int, int]:
    for start, end in sentences.split(given.text):
        if start <= position < end:
            return start, end
    return 0, len(given.text)


def _subject(claim: Analysed, given: Analysed) -> Doubt:
    """Say that a number is another subject's: its own sentence has a different one of that kind."""
    subject = next((word for word in claim.content if not set(word.stems) & lexicon.light_stems()), None)
    if subject is None:
        return NONE
    places = [word.start for word in given.words if set(word.stems) & set(subject.stems)]
    if not places:
        return NONE
    stretches = {_sentence_of(place, given) for place in places}
    for quantity in claim.quantities:
        here = [item for item in given.quantities if any(a <= item.start < b for a, b in stretches) and item.dimension]
        if any(same_value(quantity, item) for item in here) or _by_pronoun(quantity, given):
            continue
        rival = next((item for item in here if item.dimension == quantity.dimension), None)
        if rival is not None:
            return Doubt(CLAIM_REASON_VALUE_OF_ANOTHER, quantity.text, rival.text, subject.text)
    return NONE


_PRONOUNS = word_set(
    "it he she they this these its his her their il elle ils elles celui celle ce cela son sa ses leur leurs"
)


def _by_pronoun(quantity: Quantity, given: Analysed) -> bool:
    """Whether the sentence that holds a quantity takes its subject from the one before: "It weighs 38 kg."."""
    for item in given.quantities:
        if same_value(quantity, item):
            start, end = _sentence_of(item.start, given)
            opening = [word.text.lower() for word in given.words if start <= word.start < end][:2]
            if start > 0 and _PRONOUNS & set(opening):
                return True
    return False


_PREPOSITIONS = word_set("in at on by from to for à en au aux de du par chez pour dans")


def _slots(claim: Analysed, given: Analysed) -> Doubt:
    """Return a name or date that follows a word in the statement, where the source has another one after that word.

    "born in Paris" against "born in Warsaw and moved to Paris": the same preposition after the same word, with another
    name, and the claimed one later.
    """
    for head, preposition, filler in _filled(claim):
        fillers = [
            item
            for stem in head.stems
            for item in _fillers_after(given, stem, preposition, isinstance(filler, Quantity))
        ]
        if not fillers:
            continue
        if isinstance(filler, Quantity):
            if not any(same_value(filler, item) for item in fillers if isinstance(item, Quantity)):
                return Doubt(CLAIM_REASON_OTHER_NUMBER, subject=head.text)
        elif not any(set(filler.stems) & set(item.stems) for item in fillers if isinstance(item, Word)):
            return Doubt(CLAIM_REASON_OTHER_NAME, subject=head.text)
    return NONE


def _filled(text: Analysed) -> list[tuple[Word, str, Word | Quantity]]:
    """Each word of meaning followed by a preposition and a name or a date."""
    found: list[tuple[Word, str, Word | Quantity]] = []
    for index, word in enumerate(text.words[:-2]):
        preposition = text.words[index + 1]
        following = text.words[index + 2]
        if not word.stems or preposition.text.lower() not in _PREPOSITIONS:
            continue
        quantity = next((item for item in text.quantities if item.start <= following.start < item.end), None)
        if quantity is not None and quantity.dimension in {"year", "date"}:
            found.append((word, preposition.text.lower(), quantity))
        elif following.name and quantity is None:
            found.append((word, preposition.text.lower(), following))
    return found


def _fillers_after(given: Analysed, stem: str, preposition: str, number: bool) -> list[Word | Quantity]:
    """Return what fills the same slot in a stretch: after each occurrence of a stem with that preposition."""
    found: list[Word | Quantity] = []
    for head, other, filler in _filled(given):
        if stem in head.stems and other == preposition and isinstance(filler, Quantity) == number:
            found.append(filler)
    return found


def _distance(word: Word, quantity: Quantity, given: Analysed) -> float:
    left, right = (word.end, quantity.start) if word.end <= quantity.start else (quantity.end, word.start)
    between = given.text[left:right]
    # Punctuation parts more than words do.
    return (
        max(0, right - left)
        + 25 * sum(between.count(mark) for mark in ",;:()\n|.")
        + 20 * (" et " in between or " and " in between)
    )


def _exclusive(claim: Analysed, given: Analysed) -> Doubt:
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
                return Doubt(CLAIM_REASON_OTHER_VALUE, stated=word.text, found=next(iter(held.values())))
    return NONE


def _roles(claim: Analysed, given: Analysed) -> Doubt:
    """Two names that changed places around the same verb: "A bought B" for "B bought A"."""
    names = [word for word in claim.content if word.name or word.start == 0]
    order = [word.stems[0] for word in names]
    if len(order) < 2 or len(set(order)) != len(order):
        return NONE
    places = _positions(order, given)
    if len(places) != len(order):
        return NONE
    first, second = order[0], order[-1]
    if places[first] < places[second]:
        return NONE
    fits = _passive(claim) != _passive(given) or _symmetric(claim, names)
    return NONE if fits else Doubt(CLAIM_REASON_ROLES_SWAPPED)


def _positions(stems: Sequence[str], given: Analysed) -> dict[str, int]:
    found: dict[str, int] = {}
    for word in given.words:
        for stem in word.stems:
            if stem in stems and word.text[0].isupper():
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
