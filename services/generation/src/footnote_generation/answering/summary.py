"""Summarises an answer: how it ended, how reliable it is, what was left out, and which passage a refusal offers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from footnote.types.v1.answer_pb2 import (
    BASIS_CELLS,
    BASIS_COMPUTED,
    BASIS_QUOTED,
    BASIS_READ,
    FINISH_REASON_ANSWERED,
    FINISH_REASON_ANSWERED_WITHOUT_SOURCES,
    FINISH_REASON_MAX_TOKENS,
    FINISH_REASON_NO_RELEVANT_CONTENT,
    FINISH_REASON_REFUSED,
    PIPELINE_STAGE_GENERATION,
    VERDICT_NOT_A_CLAIM,
    VERDICT_SUPPORTED,
    Answer,
    Citation,
    Claim,
    Degradation,
    FinishReason,
    Reliability,
    Source,
)
from footnote.types.v1.locator_pb2 import TextSpan
from footnote.types.v1.reasons_pb2 import CLAIM_REASON_NOT_READ
from footnote_kit.degradations import degradation

from footnote_generation.extractive.foreign_passages import LEAST
from footnote_generation.extractive.passages import units
from footnote_generation.extractive.question import read
from footnote_generation.extractive.ranking import rank
from footnote_generation.language import phrases
from footnote_generation.ports import Finished, ModelRequest, Stop
from footnote_generation.verification.citing import quotation
from footnote_generation.verification.claims import segment, states_something


def wordless(answer: Answer) -> None:
    """Mark the model's answer as empty: the text is ours, and no statement."""
    if answer.finish_reason != FINISH_REASON_MAX_TOKENS:
        answer.finish_reason = FINISH_REASON_REFUSED
    answer.ClearField("claims")
    answer.reliability.CopyFrom(Reliability(claims_supported=1.0))


def empty(finished: Finished) -> Degradation:
    """Return the degradation of an answer without a word."""
    why = "its thoughts took all the room" if finished.stop is Stop.LENGTH else "it ended without a word"
    effect = "The model gave no answer."
    return degradation(PIPELINE_STAGE_GENERATION, "EMPTY_ANSWER", effect, why)


def by_words() -> Degradation:
    """Return the degradation of an answer by words that an embedding model should have compared with the question."""
    effect = (
        "Not every sentence was compared in meaning, which took too long or failed: words alone chose among the others."
    )
    return degradation(PIPELINE_STAGE_GENERATION, "LIKENESS_UNAVAILABLE", effect)


def left_out(finished: Finished) -> list[str]:
    """Return a warning for each setting that the model does not take."""
    return [f"The model takes no {name}; it was left out." for name in finished.left_out]


def reliability(
    sources: Sequence[Source], citations: Sequence[Citation], claims: Sequence[Claim], invalid: int, withheld: int
) -> Reliability:
    """Return the shares of used sources and supported claims, and the claims counted by basis."""
    counted = [claim for claim in claims if claim.support != VERDICT_NOT_A_CLAIM]
    supported = sum(1 for claim in counted if claim.support == VERDICT_SUPPORTED)
    by_basis = Counter(claim.basis for claim in counted)
    return Reliability(
        sources_used=len({citation.number for citation in citations}) / len(sources) if sources else 0.0,
        claims_supported=supported / len(counted) if counted else 1.0,
        claims=len(counted),
        invalid_citations=invalid,
        withheld_claims=withheld,
        claims_quoted=by_basis[BASIS_QUOTED],
        claims_from_cells=by_basis[BASIS_CELLS],
        claims_computed=by_basis[BASIS_COMPUTED],
        claims_read=by_basis[BASIS_READ],
        claims_unread=sum(claim.reason == CLAIM_REASON_NOT_READ for claim in counted),
    )


def finish_reason(
    request: ModelRequest, text: str, finished: Finished, citations: Sequence[Citation], claims: Sequence[Claim]
) -> FinishReason.ValueType:
    """Return how the answer ended: answered, refused, cut off, or nothing found."""
    if finished.stop is Stop.FILTERED or finished.refusal:
        return FINISH_REASON_REFUSED
    if finished.stop is Stop.LENGTH:
        return FINISH_REASON_MAX_TOKENS
    if request.without_sources:
        return FINISH_REASON_ANSWERED_WITHOUT_SOURCES
    stated = [claim for claim in claims if claim.support != VERDICT_NOT_A_CLAIM]
    if not citations and (not stated or phrases.is_not_found(text)):
        return FINISH_REASON_NO_RELEVANT_CONTENT
    if not citations and phrases.is_refusal(text):
        return FINISH_REASON_REFUSED
    return FINISH_REASON_ANSWERED if request.sources else FINISH_REASON_ANSWERED_WITHOUT_SOURCES


def nearest(question_text: str, sources: Sequence[Source], locale: str) -> Citation | None:
    """Return the sentence or row that is nearest to a question, with its place; None where none is near.

    One is near if it or its surroundings share a word with the question, or if the search says so of its passage.
    """
    question = read(question_text)
    found = units(sources, question.language)
    by_number = {source.number: source for source in sources}
    for item in rank(question, found, [source.score for source in sources]):
        source = by_number[item.unit.source]
        if not item.unit.is_heading and (item.covered > 0 or source.score >= LEAST):
            start, end = item.unit.start, item.unit.end
            return quotation(source, start, end, TextSpan(start=start, end=end), locale)
    return None


def not_found_part(text: str, question: str) -> str:
    """Return as much of a text without sources as says that nothing was found, or that it declines; "" for none."""
    if not phrases.gives_up(text):
        return ""
    given = phrases.not_found_sentences()
    end = 0
    for one in segment(text, ()):
        if phrases.is_refusal(one.text):
            more = phrases.says_more(one.text, question, strictly=True)
        else:
            more = one.heading or states_something(one, given, question, strictly=True)
        if more:
            return text[:end].strip() if phrases.gives_up(text[:end]) else ""
        end = one.end
    return text
