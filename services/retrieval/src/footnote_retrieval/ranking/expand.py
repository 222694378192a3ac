"""Adds context to the hits: neighbouring chunks in reading order, and parents in place of their children."""

from __future__ import annotations

from collections.abc import Sequence

from footnote.stages.v1.passage_pb2 import ScoredChunk
from footnote.types.v1.answer_pb2 import Degradation
from footnote.types.v1.chunk_pb2 import ScoreAdjustment
from footnote.types.v1.reasons_pb2 import SCORE_ADJUSTMENT_KIND_PARENT
from footnote_kit.errors import FootnoteError
from footnote_store.filters import conjunction, quote
from footnote_store.rows import Hit, revision_key

from footnote_retrieval.model import Candidate, Effective, Group, degradation
from footnote_retrieval.ports import ChunkStore

_ROWS = 2000


async def _read(store: ChunkStore, group: Group, expr: str, now: float, timeout: float) -> list[Hit]:
    hits = await store.read(group.space, conjunction([group.scope(now).rows(), expr]), _ROWS, 0, timeout)
    return [hit for hit in hits if group.allows(hit, now)]


async def add_neighbors(
    store: ChunkStore, group: Group, chunks: Sequence[ScoredChunk], reach: int, now: float, timeout: float
) -> None:
    """Add to each chunk up to `reach` chunks before and after it in its document and level."""
    if reach <= 0 or not chunks:
        return
    ranges = [
        f"(revision_key == {quote(revision_key(c.document_id, c.revision))} and level == {int(c.level)}"
        f" and ordinal >= {c.ordinal - reach} and ordinal <= {c.ordinal + reach})"
        for c in (scored.chunk for scored in chunks)
    ]
    found = [hit.chunk for hit in await _read(store, group, " or ".join(ranges), now, timeout)]
    for scored in chunks:
        own = scored.chunk
        near = [
            chunk
            for chunk in found
            if chunk.document_id == own.document_id
            and chunk.revision == own.revision
            and chunk.level == own.level
            and chunk.id != own.id
            and abs(chunk.ordinal - own.ordinal) <= reach
        ]
        for chunk in sorted(near, key=lambda chunk: chunk.ordinal):
            chunk.collection = own.collection
            scored.neighbors.append(chunk)


async def with_parents(
    store: ChunkStore, group: Group, chunks: Sequence[ScoredChunk], now: float, timeout: float
) -> list[ScoredChunk]:
    """Replace children by their parents; several children of one parent become one hit with the best score."""
    wanted = sorted({scored.chunk.parent_id for scored in chunks if scored.chunk.parent_id})
    if not wanted:
        return list(chunks)
    found = {
        hit.chunk.id: hit.chunk
        for hit in await _read(store, group, f"id in [{', '.join(map(quote, wanted))}]", now, timeout)
    }
    result: list[ScoredChunk] = []
    by_parent: dict[str, ScoredChunk] = {}
    for scored in chunks:
        parent = found.get(scored.chunk.parent_id)
        if parent is None:
            result.append(scored)
            continue
        child_id = scored.chunk.id
        note = ScoreAdjustment(kind=SCORE_ADJUSTMENT_KIND_PARENT, chunk_id=child_id)
        if parent.id in by_parent:
            by_parent[parent.id].adjustments.append(note)
            continue
        parent.collection = scored.chunk.collection
        scored.chunk.CopyFrom(parent)
        scored.adjustments.append(note)
        by_parent[parent.id] = scored
        result.append(scored)
    return result


async def expanded(
    store: ChunkStore, chunks: list[ScoredChunk], chosen: Sequence[Candidate], settings: Effective, now: float,
    timeout: float, degradations: list[Degradation],
) -> list[ScoredChunk]:  # fmt: skip
    """Add parents and neighbours if wanted; on failure the hits remain, with a degradation."""
    try:
        groups = {id(candidate.group): candidate.group for candidate in chosen}
        group_of = {id(chunk): candidate.group for chunk, candidate in zip(chunks, chosen, strict=True)}
        if settings.resolve_parents:
            kept: set[int] = set()
            for group in groups.values():
                mine = [chunk for chunk in chunks if group_of[id(chunk)] is group]
                kept.update(map(id, await with_parents(store, group, mine, now, timeout)))
            chunks = [chunk for chunk in chunks if id(chunk) in kept]
        for group in groups.values():
            mine = [chunk for chunk in chunks if group_of[id(chunk)] is group]
            await add_neighbors(store, group, mine, settings.neighbors, now, timeout)
    except FootnoteError as error:
        effect = "Passages come without their surroundings."
        degradations.append(degradation("STORE_UNAVAILABLE", effect, error.message))
    return chunks
