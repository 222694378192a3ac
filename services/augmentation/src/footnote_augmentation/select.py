"""Choosing which candidates become sources: no empty ones, no near duplicates, one per document first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from footnote.types.v1.chunk_pb2 import ScoredChunk
from footnote.types.v1.reasons_pb2 import (
    TOKEN_REASON_EMPTY,
    TOKEN_REASON_GIVEN_TWICE,
    TOKEN_REASON_NEAR_DUPLICATE,
    TokenReason,
)
from footnote_text.lexical import terms

# Candidates whose score is at least this share of the best remaining one count as comparable.
COMPARABLE = 0.85
_SHINGLE = 3
_DUPLICATE = 0.9


@dataclass(frozen=True, slots=True)
class Why:
    """Why a candidate is left out: which chunk says the same, how many the reranker kept, by the reason."""

    reason: TokenReason.ValueType
    duplicate_of: str = ""
    rerank_top: int = 0


@dataclass(frozen=True, slots=True)
class Selection:
    """Candidates in the order in which they become sources, and the others with the reason why not."""

    chosen: list[ScoredChunk]
    dropped: list[tuple[ScoredChunk, Why]]


@dataclass(slots=True)
class _Shingled:
    candidate: ScoredChunk
    shingles: frozenset[tuple[str, ...]]
    duplicates: list[ScoredChunk] = field(default_factory=list)


def _shingles(text: str) -> frozenset[tuple[str, ...]]:
    words = terms(text)
    if len(words) < _SHINGLE:
        return frozenset([tuple(words)])
    return frozenset(tuple(words[i : i + _SHINGLE]) for i in range(len(words) - _SHINGLE + 1))


def near_duplicates(left: frozenset[tuple[str, ...]], right: frozenset[tuple[str, ...]]) -> bool:
    """Whether nine tenths of the smaller passage's three-word shingles stand in the other one."""
    smaller = min(len(left), len(right))
    # A very short passage inside a long one is a heading or a row of its own, not a repetition worth losing.
    if smaller * 4 < max(len(left), len(right)) and smaller < 8:
        return False
    return len(left & right) >= _DUPLICATE * smaller


def _spread(candidates: Sequence[ScoredChunk]) -> list[ScoredChunk]:
    """Order best first, but a new document before a seen one's next passage when their scores are comparable."""
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


def select(candidates: Sequence[ScoredChunk], named_document_ids: Sequence[str] = ()) -> Selection:
    """Orders and thins candidates. Documents the question names come first with their best passage each."""
    dropped: list[tuple[ScoredChunk, Why]] = []
    kept: list[_Shingled] = []
    ids: set[str] = set()
    for candidate in sorted(candidates, key=lambda item: -item.score):
        if not any(char.isalnum() for char in candidate.chunk.text):
            dropped.append((candidate, Why(TOKEN_REASON_EMPTY)))
            continue
        if candidate.chunk.id and candidate.chunk.id in ids:
            dropped.append((candidate, Why(TOKEN_REASON_GIVEN_TWICE)))
            continue
        ids.add(candidate.chunk.id)
        shingles = _shingles(candidate.chunk.text)
        # The same words in a document that the question names are no repetition: it asked for both files.
        twin = next(
            (
                other
                for other in kept
                if near_duplicates(shingles, other.shingles)
                and not (
                    candidate.chunk.document_id in named_document_ids
                    and other.candidate.chunk.document_id != candidate.chunk.document_id
                )
            ),
            None,
        )
        if twin is None:
            kept.append(_Shingled(candidate, shingles))
        else:
            dropped.append((candidate, Why(TOKEN_REASON_NEAR_DUPLICATE, duplicate_of=twin.candidate.chunk.id)))
    remaining = [item.candidate for item in kept]
    first: list[ScoredChunk] = []
    for document_id in dict.fromkeys(named_document_ids):
        named = next((item for item in remaining if item.chunk.document_id == document_id), None)
        if named is not None:
            first.append(named)
            remaining.remove(named)
    first.sort(key=lambda item: -item.score)
    return Selection([*first, *_spread(remaining)], dropped)
