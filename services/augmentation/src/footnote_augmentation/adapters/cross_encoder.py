"""A cross-encoder on this machine: an ONNX sequence-classification model and its tokenizer, in one folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from footnote_kit.errors import InvalidArgument
from footnote_providers.pair_classifier import PairClassifier


class CrossEncoderReranker:
    """Reads question and passage together; the logit through a sigmoid is the score."""

    def __init__(self, folder: Path, max_length: int, threads: int) -> None:
        self._model = PairClassifier(folder, "cross-encoder", cut="only_second", max_tokens=max_length, threads=threads)

    async def rerank(self, question: str, passages: Sequence[str], scores: Sequence[float]) -> list[float]:
        """Return the model's scores, 0 to 1."""
        if not passages:
            return []
        logits = await self._model.logits([(question, passage) for passage in passages])
        # One logit is relevance; of two, the second is the class "relevant".
        relevance = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
        shares: list[float] = (1 / (1 + np.exp(-np.clip(relevance, -60, 60)))).tolist()
        return shares

    async def close(self) -> None:
        """Let go of nothing: the session ends with the object."""


def create(model: str, settings: Mapping[str, Any]) -> CrossEncoderReranker:
    """Load one from the folder that `model` names; raises InvalidArgument when it holds none."""
    if not model:
        raise InvalidArgument(
            "The onnx reranker needs a model: the folder of a cross-encoder.", reason="PROVIDER_INVALID"
        )
    return CrossEncoderReranker(
        Path(model).expanduser(), int(settings.get("max_length", 512)), int(settings.get("threads", 0))
    )
