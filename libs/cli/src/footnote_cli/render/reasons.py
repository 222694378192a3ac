"""Texts for the enums of footnote.types.v1.reasons: the one place that explains decisions to people."""

from collections.abc import Mapping

from footnote.types.v1 import reasons_pb2 as pb
from footnote.types.v1.answer_pb2 import Claim
from footnote.types.v1.chunk_pb2 import ScoreAdjustment
from footnote_kit.printable import printable_line

STRATEGY: Mapping[int, str] = {
    pb.SEARCH_STRATEGY_REASON_CONFIGURED: "asked for",
    pb.SEARCH_STRATEGY_REASON_QUOTED_TERMS: "quoted terms",
    pb.SEARCH_STRATEGY_REASON_KEYWORDS: "a short keyword query",
    pb.SEARCH_STRATEGY_REASON_LONG_QUESTION: "a long natural question of {query_words} words",
    pb.SEARCH_STRATEGY_REASON_NOTHING_SPECIAL: "neither quoted, short nor long",
    pb.SEARCH_STRATEGY_REASON_VECTOR_ONLY: "a vector without words",
    pb.SEARCH_STRATEGY_REASON_VECTOR_AND_WORDS: "a vector with words",
    pb.SEARCH_STRATEGY_REASON_NO_COLLECTION: "no collection to search",
    pb.SEARCH_STRATEGY_REASON_NO_QUERY_VECTOR: "collections with vectors of their own, and no query vector",
    pb.SEARCH_STRATEGY_REASON_WHOLE_FILE: "a file asked about as a whole: its beginning and its sections",
}
FALLBACK: Mapping[int, str] = {
    pb.SEARCH_FALLBACK_QUOTED_TERMS_NOT_FOUND: "but no passage holds them as they are",
    pb.SEARCH_FALLBACK_WORDS_NOT_FOUND: "but no passage holds the words",
    pb.SEARCH_FALLBACK_SOME_WITHOUT_VECTOR: "some collections by words only",
}
ADJUSTMENT: Mapping[int, str] = {
    pb.SCORE_ADJUSTMENT_KIND_PROXIMITY: "proximity: words of the query together: {share:.0%}",
    pb.SCORE_ADJUSTMENT_KIND_RECENCY: "recency: {days:.1f} days old",
    pb.SCORE_ADJUSTMENT_KIND_NEAR_DUPLICATE: "near duplicate: stands also for {chunk_id}",
    pb.SCORE_ADJUSTMENT_KIND_FILE_NAMED: "file named: the question names its file",
    pb.SCORE_ADJUSTMENT_KIND_FILE_SPOKEN_OF: "file spoken of: {share:.0%} of its name is in the question",
    pb.SCORE_ADJUSTMENT_KIND_PARENT: "parent: found by {chunk_id}",
    pb.SCORE_ADJUSTMENT_KIND_LEVEL: "level: the best is {share:.0%} of a full match",
    pb.SCORE_ADJUSTMENT_KIND_RERANK: "rerank: {provider}",
}
CLAIM: Mapping[int, str] = {
    pb.CLAIM_REASON_NO_SOURCE_CITED: "cites no source",
    pb.CLAIM_REASON_NOT_IN_SOURCE: "{stated} is not in the source",
    pb.CLAIM_REASON_OTHER_VALUE: "the source says {found}, not {stated}",
    pb.CLAIM_REASON_SECOND_OPINION: "a second opinion reads the source to the contrary",
    pb.CLAIM_REASON_TOO_LONG: "the sentence is too long to be checked whole",
    pb.CLAIM_REASON_NOTHING_TO_CHECK: "says nothing that can be checked",
    pb.CLAIM_REASON_SOURCE_EMPTY: "the source is empty",
    pb.CLAIM_REASON_PARTLY_IN_SOURCE: "only partly in the source",
    pb.CLAIM_REASON_NOT_SAID: "the source does not say it",
    pb.CLAIM_REASON_OTHER_PLACE: "{subject} says {found}",
    pb.CLAIM_REASON_NOT_READ: "no quotation, and no model has read it",
    pb.CLAIM_REASON_READER_UNSURE: "a model has read it and is not sure",
}
# The source's own words, if available, say more than the bare reason.
_QUOTED: Mapping[int, str] = {
    pb.CLAIM_REASON_PARTLY_IN_SOURCE: "only partly in the source, which says: {found}",
}
_UNKNOWN = "for a reason that this version does not know"


def strategy_choice(choice: pb.SearchStrategyChoice) -> str:
    """Return why a search used its strategy, "" if that is not given."""
    if not choice.reason:
        return ""
    words = STRATEGY.get(choice.reason, _UNKNOWN).format(query_words=choice.query_words)
    if choice.fallback:
        words += f", {FALLBACK.get(choice.fallback, _UNKNOWN)}"
    if choice.named_filenames:
        words += f"; limited to {', '.join(choice.named_filenames)}"
    return printable_line(words)


def adjustment(one: ScoreAdjustment) -> str:
    """Return what changed a score."""
    return ADJUSTMENT.get(one.kind, _UNKNOWN).format(
        share=one.share, days=one.age.ToSeconds() / 86_400, chunk_id=one.chunk_id, provider=one.provider
    )


def claim(one: Claim) -> str:
    """Return why a sentence is not supported, in the service's words if it gives any."""
    if one.explanation:
        return one.explanation
    words = CLAIM.get(one.reason, _UNKNOWN)
    if one.found:
        words = _QUOTED.get(one.reason, words)
    return words.format(stated=one.stated, found=one.found, subject=one.subject or "this")
