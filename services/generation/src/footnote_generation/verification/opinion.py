"""What a second opinion may change: raise a paraphrase that the rules could not follow, lower what it contradicts."""

from __future__ import annotations

from collections.abc import Sequence

from footnote.types.v1.answer_pb2 import VERDICT_SUPPORTED, VERDICT_UNSUPPORTED
from footnote.types.v1.reasons_pb2 import CLAIM_REASON_SECOND_OPINION

from footnote_generation.language.words import Analysed, analyse
from footnote_generation.ports import Opinion
from footnote_generation.verification import contradictions
from footnote_generation.verification.doubts import Doubt
from footnote_generation.verification.support import MAX_STATEMENT, Evidence, Judgement, find_windows

# Of what chose it nothing is kept. From here on a model's contradiction counts; models that only know likeness never
# reach it.
CONTRADICTED_AT = 0.8


def stretches(statement: str, evidence: Evidence, most: int) -> list[tuple[int, int]]:
    """Return the places in a source to ask about: those that the rules find best, then its other sentences."""
    claim = analyse(statement[:MAX_STATEMENT], evidence.language)
    best = [(item.start, item.end) for item in find_windows(claim, evidence)]
    return list(dict.fromkeys([*best[:most], *evidence.spans]))[:most]


def reconsider(
    statement: str,
    evidence: Evidence,
    verdict: Judgement,
    places: Sequence[tuple[int, int]],
    opinions: Sequence[Opinion],
    enough: float,
) -> Judgement:
    """Return the verdict after a second opinion on the places.

    It raises WEAK and UNSUPPORTED to SUPPORTED only at a place whose numbers, units, negations and names agree with the
    statement's, and lowers a SUPPORTED one where the best place is contradicted.
    """
    if len(statement) > MAX_STATEMENT:
        return verdict  # the rest of it was checked by nobody
    ranked = sorted(zip(places, opinions, strict=True), key=lambda item: -item[1].supports)
    if verdict.support == VERDICT_SUPPORTED:
        against = max(opinions, key=lambda item: item.contradicts)
        if against.contradicts >= CONTRADICTED_AT and ranked[0][1].supports < enough:
            reason = Doubt(CLAIM_REASON_SECOND_OPINION)
            return Judgement(VERDICT_UNSUPPORTED, 1 - against.contradicts, verdict.start, verdict.end, reason)
        return verdict
    claim = analyse(statement, evidence.language)
    for (start, end), opinion in ranked:
        if opinion.supports < enough:
            break
        if opinion.contradicts < CONTRADICTED_AT and _agrees(claim, evidence, start, end):
            return Judgement(VERDICT_SUPPORTED, opinion.supports, start, end)
    return verdict


def _agrees(claim: Analysed, evidence: Evidence, start: int, end: int) -> bool:
    """Whether numbers, units, negations and names of a statement are those of a stretch, headings included."""
    given = analyse(evidence.text[start:end], evidence.language)
    if any(contradictions.quantity_match(quantity, given) is None for quantity in claim.quantities):
        return False
    if contradictions.find_conflict(claim, given, evidence.context):
        return False
    known = given.stems | evidence.context
    return all(set(word.stems) & known for word in claim.content if word.name)
