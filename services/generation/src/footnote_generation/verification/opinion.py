"""What a second opinion may change: raise a paraphrase that the rules could not follow, lower what it contradicts.

The rules keep a veto: where they know of another number, another holder or a denial at the sentences that an opinion
rests on (`veto`), no opinion raises a statement.
"""

from __future__ import annotations

from collections.abc import Sequence

from footnote.types.v1 import reasons_pb2 as reasons
from footnote.types.v1.answer_pb2 import VERDICT_NOT_CONFIRMED, VERDICT_SUPPORTED, VERDICT_UNSUPPORTED

from footnote_generation.language import amounts, tongues
from footnote_generation.language import grammar as grammars
from footnote_generation.language.reading import read
from footnote_generation.language.words import analyse
from footnote_generation.ports import Opinion
from footnote_generation.verification import support, veto
from footnote_generation.verification.doubts import Doubt
from footnote_generation.verification.facts import align
from footnote_generation.verification.support import (
    MAX_STATEMENT,
    Evidence,
    Judgement,
    coverage,
    find_windows,
    is_foreign,
    understood,
)

# Of what chose it nothing is kept. From here on a model's contradiction counts; models that only know likeness never
# reach it.
CONTRADICTED_AT = 0.8
PARTLY_AT = 0.5
"""From here on, short of enough, an opinion that tells a contrary from a likeness raises to WEAK."""
_SETTLED = frozenset(
    {
        reasons.CLAIM_REASON_TOO_LONG, reasons.CLAIM_REASON_NOTHING_TO_CHECK, reasons.CLAIM_REASON_SOURCE_EMPTY,
        reasons.CLAIM_REASON_OTHER_PLACE, reasons.CLAIM_REASON_SECOND_OPINION,
    }
)  # fmt: skip


def is_unsure(statement: str, evidence: Evidence, verdict: Judgement, *, sees_contradictions: bool) -> bool:
    """Whether the rules leave room for an opinion: not where it stands there, nor where it plainly stands otherwise.

    Who only knows likeness is not heard on anything that the rules find contrary.
    """
    reason = verdict.doubt.reason
    if verdict.support == VERDICT_SUPPORTED or reason in _SETTLED:
        return False
    if reason not in support.CONTRARY:
        return True
    return sees_contradictions and not _is_refuted(statement, evidence, verdict)


def _is_refuted(statement: str, evidence: Evidence, verdict: Judgement) -> bool:
    """Whether the place found by the rules has every word of a statement and yet speaks against it."""
    evidence = understood(statement, evidence)
    grammar = grammars.load(evidence.language)
    place = next((one for one in evidence.places if (one.start, one.end) == (verdict.start, verdict.end)), None)
    if grammar is None or place is None or align(read(statement, evidence.language), place, grammar).missing:
        return False
    return not _agrees(statement, evidence, [(verdict.start, verdict.end)])


def stretches(statement: str, evidence: Evidence, most: int) -> list[tuple[int, int]]:
    """Return the places in a source to ask about: those that the rules find best, then its other sentences.

    With `most` 0 the one place is the whole source.
    """
    if most == 0:
        return [(0, len(evidence.text))] if evidence.spans else []
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
    *,
    sees_contradictions: bool = True,
) -> Judgement:
    """Return the verdict after a second opinion on the places.

    It raises what the rules are not sure of, only at sentences whose numbers, denials and names are not known to speak
    against the statement: to SUPPORTED, or to WEAK where the opinion is only of a part, or of likeness. It lowers what
    the best place is said to contradict.
    """
    if len(statement) > MAX_STATEMENT:
        return verdict  # the rest of it was checked by nobody
    ranked = sorted(zip(places, opinions, strict=True), key=lambda item: -item[1].supports)
    if not ranked:
        return verdict
    against = max(opinions, key=lambda item: item.contradicts)
    if verdict.support in (VERDICT_SUPPORTED, VERDICT_NOT_CONFIRMED):
        if against.contradicts >= CONTRADICTED_AT and ranked[0][1].supports < enough:
            reason = Doubt(reasons.CLAIM_REASON_SECOND_OPINION)
            return Judgement(VERDICT_UNSUPPORTED, 1 - against.contradicts, verdict.start, verdict.end, reason)
        if verdict.support == VERDICT_SUPPORTED:
            return verdict
    if not is_unsure(statement, evidence, verdict, sees_contradictions=sees_contradictions):
        return verdict
    for place, opinion in ranked:
        if opinion.contradicts >= CONTRADICTED_AT or opinion.supports < (PARTLY_AT if sees_contradictions else enough):
            continue
        spans, (start, end) = _whole_sentences(evidence, place, opinion)
        if not _agrees(statement, evidence, spans):
            continue
        if sees_contradictions and opinion.supports >= enough:
            return Judgement(VERDICT_SUPPORTED, opinion.supports, start, end)
        if verdict.support == VERDICT_UNSUPPORTED:
            doubt = Doubt(reasons.CLAIM_REASON_PARTLY_IN_SOURCE)
            return Judgement(VERDICT_NOT_CONFIRMED, min(opinion.supports, enough), start, end, doubt)
        break
    return verdict


def _whole_sentences(
    evidence: Evidence, place: tuple[int, int], opinion: Opinion
) -> tuple[tuple[tuple[int, int], ...], tuple[int, int]]:
    """Return the sentences of a source that an opinion rests on, and the stretch to show for them.

    Whole ones, since what is left out of a quote may deny the rest. To show is the first with those next to it.
    """
    if not opinion.spans:
        return tuple(span for span in evidence.spans if span[0] < place[1] and place[0] < span[1]), place
    quotes = [(place[0] + start, place[0] + end) for start, end in opinion.spans]
    touched = [
        index
        for index, span in enumerate(evidence.spans)
        if any(span[0] < end and start < span[1] for start, end in quotes)
    ]
    if not touched:
        return tuple(quotes), quotes[0]
    first = last = next((at for at in touched if evidence.spans[at][1] > quotes[0][0]), touched[0])
    while last + 1 in touched:
        last += 1
    while first - 1 in touched:
        first -= 1
    return tuple(evidence.spans[at] for at in touched), (evidence.spans[first][0], evidence.spans[last][1])


def _agrees(statement: str, evidence: Evidence, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether the rules know nothing against a statement at some sentences, and these are on its subject at all."""
    evidence = understood(statement, evidence)
    foreign = is_foreign(statement, evidence)
    text = " ".join(evidence.text[start:end] for start, end in spans)
    grammar = grammars.load(evidence.language)
    quoted = [one for one in evidence.places if any(one.start < end and start < one.end for start, end in spans)]
    if grammar is None or foreign or not quoted:
        stated = amounts.find(statement, tongues.of(statement, evidence.language))
        given, anywhere = (amounts.find(part, evidence.language) for part in (text, evidence.text))
        return (foreign or _shares_words(statement, text, evidence)) and not veto.other_numbers(stated, given, anywhere)
    claim = read(statement, evidence.language)
    if not any(align(claim, place, grammar).score > 0 for place in quoted) and not _shares_words(
        statement, text, evidence
    ):
        return False  # a quote from anywhere bears nothing out
    context = read(evidence.context_text[:MAX_STATEMENT], evidence.language)
    return not veto.against(claim, quoted, evidence.places, context, grammar)


def _shares_words(statement: str, text: str, evidence: Evidence) -> bool:
    given = analyse(text, evidence.language)
    return coverage(analyse(statement, evidence.language), given, evidence.context)[0] > 0
