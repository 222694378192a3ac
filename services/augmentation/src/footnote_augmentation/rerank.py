"""Re-scores candidates before selection; a reranker that fails or times out is skipped and reported."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from footnote.stages.v1.passage_pb2 import ScoredChunk
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_AUGMENTATION, Degradation
from footnote.types.v1.chunk_pb2 import ScoreAdjustment
from footnote.types.v1.reasons_pb2 import SCORE_ADJUSTMENT_KIND_RERANK
from footnote_kit.degradations import degradation
from footnote_kit.errors import FootnoteError, InvalidArgument

from footnote_augmentation.registry import Rerankers


class RerankStep:
    """Applies the requested reranker, within a time limit."""

    def __init__(self, rerankers: Rerankers, timeout: float) -> None:
        self._rerankers = rerankers
        self._timeout = timeout

    async def apply(
        self, provider: str, model: str, settings: Mapping[str, Any], question: str, candidates: Sequence[ScoredChunk]
    ) -> tuple[list[ScoredChunk], Degradation | None]:
        """Return the candidates with the reranker's scores, best first; on failure unchanged, with the reason.

        Raises InvalidArgument for an unknown reranker or wrong settings: that is the request's fault.
        """
        passages = [candidate.chunk.text for candidate in candidates]
        before = [candidate.score for candidate in candidates]
        async with self._rerankers.lease(provider, model, settings) as reranker:
            try:
                async with asyncio.timeout(self._timeout):
                    scores = await reranker.rerank(question, passages, before)
            except InvalidArgument:
                raise
            except TimeoutError:
                return list(candidates), _failed(f"no scores within {self._timeout:g} s")
            except FootnoteError as error:
                return list(candidates), _failed(error.message)
        rescored: list[ScoredChunk] = []
        for candidate, score in zip(candidates, scores, strict=True):
            copy = ScoredChunk()
            copy.CopyFrom(candidate)
            copy.score = score
            copy.adjustments.append(
                ScoreAdjustment(kind=SCORE_ADJUSTMENT_KIND_RERANK, delta=score - candidate.score, provider=provider)
            )
            rescored.append(copy)
        return sorted(rescored, key=lambda item: -item.score), None


def _failed(detail: str) -> Degradation:
    return degradation(PIPELINE_STAGE_AUGMENTATION, "RERANKER_FAILED", "Sources are in retrieval's order.", detail)
