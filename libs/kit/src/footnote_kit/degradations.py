"""Builds degradations: what failed during a request, described by all stages in the same words."""

from typing import Literal

from footnote.types.v1.answer_pb2 import Degradation, DegradationReason, PipelineStage

from footnote_kit.printable import enum_word

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
    "LIKENESS_UNAVAILABLE",
]
"""The names of footnote.types.v1.DegradationReason without their prefix."""


def degradation(stage: PipelineStage.ValueType, reason: Reason, effect: str, detail: str = "") -> Degradation:
    """Return a degradation: the reason in a stage and its effect on the response."""
    return Degradation(stage=stage, reason=DegradationReason.Value(_PREFIX + reason), effect=effect, detail=detail)


def word(one: Degradation) -> str:
    """Return the reason's name, such as "STORE_UNAVAILABLE"; digits when this version does not know the number."""
    return enum_word(DegradationReason.DESCRIPTOR, one.reason)
