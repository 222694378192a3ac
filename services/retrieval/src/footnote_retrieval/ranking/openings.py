"""Reads named files that are asked about as a whole: the beginning, then the passages that open the sections."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, zip_longest

from footnote.stages.v1.passage_pb2 import Chunk
from footnote.types.v1.chunk_pb2 import CHUNK_LEVEL_PARENT
from footnote.types.v1.reasons_pb2 import SCORE_ADJUSTMENT_KIND_FILE_NAMED
from footnote_kit.text_work import off_loop
from footnote_store.filters import conjunction
from footnote_store.rows import Hit

from footnote_retrieval.channels.plan import filter_of
from footnote_retrieval.model import Candidate, Group, SearchRequest
from footnote_retrieval.ports import ChunkStore
from footnote_retrieval.query.files import NamedFile

MOST = 1000
"""Passages of a file that are read; a page further in is found by what it says."""
_DECODING = 20  # cost of decoding a row, in characters of a question


async def openings(
    store: ChunkStore, groups: Sequence[Group], request: SearchRequest, named: Sequence[NamedFile], now: float,
    timeout: float,
) -> list[Candidate]:  # fmt: skip
    """Return the passages of named files, those that a reader would leaf through first; several files take turns.

    Each has score 1: it is what was asked for. Raises Unavailable when the store does not answer.
    """
    documents: list[list[Candidate]] = []
    for file in named:
        hits: dict[str, list[Candidate]] = {}
        for group in groups:
            own = [group.scope(now).rows(), filter_of(request, [file]), f"level != {int(CHUNK_LEVEL_PARENT)}"]
            for hit in await store.read(group.space, conjunction(own), MOST, 0, timeout):
                if group.allows(hit, now):
                    hits.setdefault(hit.document_id, []).append(_given(hit, group))
        for passages in hits.values():
            documents.append(await off_loop(_DECODING * len(passages), leafed, passages))
    return [one for one in chain.from_iterable(zip_longest(*documents)) if one is not None]


def _given(hit: Hit, group: Group) -> Candidate:
    candidate = Candidate(hit, group)
    candidate.adjust(SCORE_ADJUSTMENT_KIND_FILE_NAMED, 1.0)
    return candidate


def leafed(passages: Sequence[Candidate]) -> list[Candidate]:
    """Return passages in reading order as the beginning, those that open a section, and the rest."""
    opening = set(_opening([candidate.hit.chunk for candidate in passages]))
    return sorted(passages, key=lambda candidate: candidate.hit.id not in opening)


def _opening(chunks: Sequence[Chunk]) -> Iterator[str]:
    """Yield the ids of the first chunk, and of each that begins a section of the highest level that has several."""
    paths = [_path(chunk) for chunk in chunks]
    depths = range(1, max(map(len, paths), default=0) + 1)
    depth = next((depth for depth in depths if len({path[:depth] for path in paths if path[:depth]}) > 1), 0)
    seen: dict[tuple[str, ...], str] = {}
    for chunk, path in zip(chunks, paths, strict=True):
        if path[:depth] or not seen:
            seen.setdefault(path[:depth], chunk.id)
    yield from seen.values()


def _path(chunk: Chunk) -> tuple[str, ...]:
    """Return where a chunk stands in its file's outline: sheet and headings."""
    sheet = chunk.locator.sheet.sheet
    return (*([sheet] if sheet else []), *chunk.locator.heading_path)
