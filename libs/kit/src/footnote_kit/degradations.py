"""What did not work, said by the stages in the same words."""

from typing import Literal

from footnote.types.v1.answer_pb2 import Degradation, DegradationReason, PipelineStage

from footnote_kit.enum_words import enum_word

_PREFIX = "DEGRADATION_REASON_"

Reason = Literal[
    "EMBEDDING_UNAVAILABLE",
    "DENSE_UNAVAILABLE",
    "LEXICAL_UNAVAILABLE",
    "STORE_UNAVAILABLE",
    "RETRIEVAL_UNAVAILABLE",
    "PLAN_UNAVAILABLE",
    "AUGMENTATION_UNAVAILABLE",
    "RERANKER_FAILED",
    "VERIFIER_UNAVAILABLE",
    "SETTINGS_UNAVAILABLE",
    "MEMORY_UNAVAILABLE",
    "MEMORY_KEPT_HERE",
    "HISTORY_WITHHELD",
    "SOURCES_WITHHELD",
    "ANSWER_NOT_STORED",
    "OWN_VECTORS",
    "COLLECTION_GONE",
    "EMPTY_ANSWER",
    "ANSWER_CUT",
    "DOCUMENT_DELETED",
    "REWRITE_UNAVAILABLE",
    "DOCUMENTS_STALE",
    "NAMED_FILE_MISSING",
    "FILTER_FIELD_UNKNOWN",
]
"""The names of footnote.types.v1.DegradationReason without their prefix."""


def degradation(stage: PipelineStage.ValueType, reason: Reason, effect: str, detail: str = "") -> Degradation:
    """Return what did not work in a stage, and what that does to the response."""
    return Degradation(stage=stage, reason=DegradationReason.Value(_PREFIX + reason), effect=effect, detail=detail)


def word(one: Degradation) -> str:
    """Return the reason as a word, "STORE_UNAVAILABLE"; a number that this version does not know as it is."""
    return enum_word(DegradationReason.DESCRIPTOR, one.reason)
