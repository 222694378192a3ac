"""Chunks made by hand for tests of the store and of retrieval."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from footnote.stages.v1.passage_pb2 import Chunk
from footnote.types.v1.chunk_pb2 import ChunkLevel
from footnote_store.ids import chunk_id
from footnote_store.rows import Hit, Row, encode_chunk
from footnote_text.lexical import lexical_text

DIMENSIONS = 8


def vector_of(text: str, dimensions: int = DIMENSIONS) -> list[float]:
    """A deterministic unit vector that says nothing about the text's meaning."""
    seed = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
    vector = np.random.default_rng(seed).normal(size=dimensions)
    return list(map(float, vector / np.linalg.norm(vector)))


def make_chunk(
    text: str,
    *,
    document_id: str = "d1",
    revision: int = 1,
    ordinal: int = 0,
    tenant_id: str = "t",
    owner_id: str = "u",
    collection_id: str = "c1",
    filename: str = "notes.md",
    language: str = "en",
    level: ChunkLevel.ValueType = ChunkLevel.CHUNK_LEVEL_STANDARD,
    created: int = 1_700_000_000,
    expires: float | None = None,
    tags: Sequence[str] = (),
    metadata: Mapping[str, Any] | None = None,
    **more: Any,
) -> Chunk:
    """A chunk with every field that rows need; times are Unix seconds."""
    chunk = Chunk(
        id=chunk_id(document_id, revision, ordinal),
        tenant_id=tenant_id, owner_id=owner_id, collection_id=collection_id, document_id=document_id,
        revision=revision, ordinal=ordinal, text=text, filename=filename, language=language, level=level,
        document_type=filename.rsplit(".", 1)[-1], source_type="upload",
        chunking_strategy="CHUNKING_STRATEGY_PARAGRAPH", tags=list(tags), **more,
    )  # fmt: skip
    chunk.create_time.FromSeconds(created)
    if expires is not None:
        chunk.expire_time.FromMilliseconds(int(expires * 1000))
    if metadata:
        chunk.metadata.update(dict(metadata))
    return chunk


def make_row(chunk: Chunk, *, key: str = "", vector: Sequence[float] | None = None) -> Row:
    """The row of a chunk, its vector and search terms made from its text."""
    parent = chunk.level == ChunkLevel.CHUNK_LEVEL_PARENT
    return Row(
        chunk=chunk,
        collection_key=key or f"{chunk.collection_id}:1",
        vector=None if parent else (vector if vector is not None else vector_of(chunk.text)),
        lexical_text=lexical_text(chunk.text, chunk.language),
    )


def make_hit(chunk: Chunk, score: float = 0.0, *, key: str = "") -> Hit:
    """The hit that a search would bring of a chunk."""
    row = make_row(chunk, key=key)
    stored = encode_chunk(row, DIMENSIONS)
    return Hit(
        id=chunk.id, text=chunk.text, extra=stored["extra"], tenant_id=chunk.tenant_id,
        collection_key=row.collection_key, revision_key=stored["revision_key"], created_at=stored["created_at"],
        expires_at=stored["expires_at"], lexical_text=row.lexical_text, score=score,
    )  # fmt: skip
