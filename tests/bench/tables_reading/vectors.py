"""Vectors of e5 for many texts, kept in a file between runs."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_providers import registry
from footnote_providers.base import Vectors
from footnote_providers.e5.provider import COSINES as COSINES

_BATCH = 32


class Cache:
    """The vectors of questions and of other texts, which e5 makes differently."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, Vectors] = {}
        if path.exists():
            kept = np.load(path, allow_pickle=False)
            self._known = dict(zip(map(str, kept["texts"]), kept["vectors"].astype(np.float32), strict=True))

    def of(self, texts: Sequence[str], *, questions: bool = False) -> Vectors:
        """Return one row a text; makes and keeps those that are not known."""
        marked = [("q:" if questions else "d:") + one for one in texts]
        wanted = sorted({one for one in marked if one not in self._known}, key=len)
        if wanted:
            asyncio.run(self._make(wanted))
            self._save()
        return np.stack([self._known[one] for one in marked]) if marked else np.zeros((0, 384), np.float32)

    async def _make(self, wanted: Sequence[str]) -> None:
        async with registry.lease(EmbeddingSettings(provider=registry.E5)) as provider:
            questions = [one for one in wanted if one.startswith("q:")]
            for at, one in enumerate(questions):
                self._known[one] = await provider.embed_query(one[2:])
                if at % 500 == 0:
                    print(f"  {at} of {len(questions)} questions", flush=True)
            others = [one for one in wanted if one.startswith("d:")]
            for start in range(0, len(others), _BATCH):
                batch = others[start : start + _BATCH]
                made = await provider.embed_documents([one[2:] for one in batch])
                self._known.update(zip(batch, made, strict=True))

    def _save(self) -> None:
        texts = np.array(list(self._known))
        np.savez(self._path, texts=texts, vectors=np.stack([*self._known.values()]).astype(np.float16))
