"""Chooses which candidates become sources: no empty ones, no near duplicates, one per document first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from footnote.stages.v1.passage_pb2 import ScoredChunk
from footnote.types.v1.reasons_pb2 import (
    TOKEN_REASON_EMPTY,
    TOKEN_REASON_GIVEN_TWICE,
    TOKEN_REASON_NEAR_DUPLICATE,
    TokenReason,
)
from footnote_text.lexical import terms
from footnote_text.near_duplicates import Originals, contained

# Candidates count as comparable when their score is at least this share of the best remaining one.
COMPARABLE = 0.85
# The share of word runs of the smaller passage that also occur in the other.
DUPLICATE = 0.9


@dataclass(frozen=True, slots=True)
class DropReason:
    """The reason for leaving out a candidate, with the duplicate chunk or the reranker's limit."""

    reason: TokenReason.ValueType
    duplicate_of: str = ""
    rerank_top: int = 0


@dataclass(frozen=True, slots=True)
class Selection:
    """Candidates in the order of the sources, and the others with the reasons for leaving them out."""

    chosen: list[ScoredChunk]
    dropped: list[tuple[ScoredChunk, DropReason]]


def _spread(candidates: Sequence[ScoredChunk]) -> list[ScoredChunk]:
    """Order best first, but a new document before a seen one's next passage if their scores are comparable."""
    rest = list(candidates)
    ordered: list[ScoredChunk] = []
    seen: set[str] = set()
    while rest:
        best = rest[0]
        pick = best
        if best.chunk.document_id in seen:
            for other in rest[1:]:
                if other.score < best.score * COMPARABLE:
                    break
                if other.chunk.document_id not in seen:
                    pick = other
                    break
        rest.remove(pick)
        seen.add(pick.chunk.document_id)
        ordered.append(pick)
    return ordered


def _counts_for(candidate: ScoredChunk, named_document_ids: Sequence[str]) -> Callable[[ScoredChunk], bool]:
    """Return the candidates that this one may repeat.

    The same words in another document that the question names are no repetition: it asked for both files.
    """
    document_id = candidate.chunk.document_id
    return lambda other: document_id not in named_document_ids or other.chunk.document_id == document_id


def select(candidates: Sequence[ScoredChunk], named_document_ids: Sequence[str] = ()) -> Selection:
    """Order and thin out candidates. Documents that the question names come first, each with its best passage."""
    dropped: list[tuple[ScoredChunk, DropReason]] = []
    originals: Originals[ScoredChunk] = Originals(contained(DUPLICATE))
    ids: set[str] = set()
    for candidate in sorted(candidates, key=lambda item: -item.score):
        if not any(char.isalnum() for char in candidate.chunk.text):
            dropped.append((candidate, DropReason(TOKEN_REASON_EMPTY)))
            continue
        if candidate.chunk.id and candidate.chunk.id in ids:
            dropped.append((candidate, DropReason(TOKEN_REASON_GIVEN_TWICE)))
            continue
        ids.add(candidate.chunk.id)
        twin = originals.of(candidate, terms(candidate.chunk.text), _counts_for(candidate, named_document_ids))
        if twin is not None:
            dropped.append((candidate, DropReason(TOKEN_REASON_NEAR_DUPLICATE, duplicate_of=twin.chunk.id)))
    remaining = originals.kept
    first: list[ScoredChunk] = []
    for document_id in dict.fromkeys(named_document_ids):
        named = next((item for item in remaining if item.chunk.document_id == document_id), None)
        if named is not None:
            first.append(named)
            remaining.remove(named)
    first.sort(key=lambda item: -item.score)
    return Selection([*first, *_spread(remaining)], dropped)
