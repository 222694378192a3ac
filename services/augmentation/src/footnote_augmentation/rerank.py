"""Re-scores candidates before selection; a reranker that fails or times out is skipped and reported."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from typing import Any

from footnote.stages.v1.passage_pb2 import ScoredChunk
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_AUGMENTATION, Degradation
from footnote.types.v1.chunk_pb2 import ScoreAdjustment
from footnote.types.v1.reasons_pb2 import SCORE_ADJUSTMENT_KIND_RERANK
from footnote_kit.degradations import degradation
from footnote_kit.errors import FootnoteError, InvalidArgument
from footnote_kit.logs import get_logger

from footnote_augmentation.registry import Rerankers

_log = get_logger(__name__)


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
                    scores = [float(score) for score in await reranker.rerank(question, passages, before)]
            except InvalidArgument:
                raise
            except TimeoutError:
                return list(candidates), _failed(f"no scores within {self._timeout:g} s")
            except FootnoteError as error:
                return list(candidates), _failed(error.message)
            except Exception as error:  # a reranker may be of another package
                _log.warning("reranker_broken", provider=provider, error=type(error).__name__)
                return list(candidates), _failed(f"it ended with {type(error).__name__}")
        if len(scores) != len(candidates) or not all(map(math.isfinite, scores)):
            return list(candidates), _failed("its scores cannot be used")
        rescored: list[ScoredChunk] = []
        # In the order of the scores as they are: cut to the scale, those beyond its ends would be equal.
        for given, candidate in sorted(zip(scores, candidates, strict=True), key=lambda pair: -pair[0]):
            score = min(1.0, max(0.0, given))
            copy = ScoredChunk()
            copy.CopyFrom(candidate)
            copy.score = score
            copy.adjustments.append(
                ScoreAdjustment(kind=SCORE_ADJUSTMENT_KIND_RERANK, delta=score - candidate.score, provider=provider)
            )
            rescored.append(copy)
        return rescored, None


def _failed(detail: str) -> Degradation:
    return degradation(PIPELINE_STAGE_AUGMENTATION, "RERANKER_FAILED", "Sources are in retrieval's order.", detail)
