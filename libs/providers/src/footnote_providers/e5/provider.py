"""The provider `e5`: multilingual-e5-small in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from footnote_kit.errors import FootnoteError
from pydantic import BaseModel, ConfigDict

from footnote_providers.base import Cosines, Health, Vectors
from footnote_providers.e5.process import EmbeddingProcess
from footnote_providers.e5.worker import PASSAGES, QUERIES, SENTENCES

MODEL = "multilingual-e5-small"
DIMENSIONS = 384
# With BM25 in retrieval's ranking, cosines as shares of their range, at fixed weights of 0.6, 0.7, 0.8: SQuAD-13
# 0.9155, 0.9142, 0.9087, PIAF-fr 0.8703, 0.8671, 0.8643 (300 questions each).
DENSE_WEIGHT = 0.7
# Means over SQuAD-13 and PIAF-fr: questions to passages of the other set, and to the passages that answer them. The
# floor: over unseen documents the best passage scored 0.45 or more where it was on topic, and 0.31 or less off it.
# Of Cranfield, which had no say, over 104 abstracts: 39 of 40 of its questions found something by default, and 3 of 60
# of SQuAD-13 and PIAF-fr (through Retrieve, 27 November 2026).
COSINES = Cosines(unrelated=0.72, related=0.86, floor=0.38)
_TOGETHER = 16
"""Texts per request: a dying process loses only these, and they are enough for every thread of the process."""


class Settings(BaseModel):
    """The model has no settings: it fixes the prefixes and the length."""

    model_config = ConfigDict(extra="forbid")


class E5Embeddings:
    """Embeds meaning in about a hundred languages; texts beyond 512 tokens are read in windows."""

    id = "e5"
    model = MODEL
    dimensions = DIMENSIONS
    recommended_dense_weight = DENSE_WEIGHT
    cosines = COSINES
    max_batch = 64
    max_in_flight = 2

    def __init__(self, cache: Path | None, threads: int = 0) -> None:
        self._process = EmbeddingProcess(cache, threads)

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed passages: shape (n, 384), in the order given."""
        return await self._embed(PASSAGES, texts)

    async def embed_sentences(self, texts: Sequence[str]) -> Vectors:
        """Embed what an answer waits for, before passages: the same vectors."""
        return await self._embed(SENTENCES, texts)

    async def _embed(self, kind: int, texts: Sequence[str]) -> Vectors:
        # similar lengths together need little padding
        order = sorted(range(len(texts)), key=lambda at: -len(texts[at]))
        vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
        for start in range(0, len(order), _TOGETHER):
            rows = order[start : start + _TOGETHER]
            vectors[rows] = await self._process.embed(kind, [texts[row] for row in rows], DIMENSIONS)
        return vectors

    async def embed_query(self, text: str) -> Vectors:
        """Embed a question: shape (384,)."""
        row: Vectors = (await self._process.embed(QUERIES, [text], DIMENSIONS))[0]
        return row

    async def health(self) -> Health:
        """Embed one word and report the result."""
        details = {"model": self.model, "dimensions": self.dimensions, "starts": self._process.starts}
        try:
            await self.embed_query("health")
        except FootnoteError as error:
            return Health(False, error.message, details)
        return Health(True, details=details)

    async def close(self) -> None:
        """End the process."""
        await self._process.close()
