"""A local cross-encoder: an ONNX sequence-classification model and its tokenizer, in one folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from footnote_kit.errors import FootnoteError
from footnote_kit.registration import Wanted, unconfigured
from footnote_providers.egress.egress import Egress
from footnote_providers.onnx_files import find_folder, invalid
from footnote_providers.pair_classifier import PairClassifier
from footnote_providers.settings import OnnxSettings
from pydantic import BaseModel, ConfigDict, Field

from footnote_augmentation.ports import Reranker


class Settings(BaseModel):
    """The settings that a collection may set."""

    model_config = ConfigDict(extra="forbid")

    max_length: int = Field(
        default=512, ge=16, le=8192, description="Longer pairs are cut to this many tokens, in the passage."
    )
    threads: int = Field(default=0, ge=0, le=256, description="0 means every core.")


class CrossEncoderReranker:
    """Reads question and passage together; the score is the sigmoid of the logit."""

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
        """Do nothing: the session is freed with the object."""


def creator(own: str) -> Callable[[Wanted[Settings]], Reranker]:
    """Return a factory; the model is the deployment's `own`, or a folder inside its folder of models."""

    def create(wanted: Wanted[Settings]) -> Reranker:
        model = wanted.model
        if not model:
            raise unconfigured(
                "reranker",
                "onnx",
                "FOOTNOTE_AUGMENTATION_RERANK_MODEL",
                "The onnx reranker needs a model: the folder of a cross-encoder.",
            )
        deployment = OnnxSettings()
        checksum = "" if deployment.pinned(model) else Egress.load().checksum(model)
        folder = find_folder(model, deployment, own=model == own, checksum=checksum)
        try:
            return CrossEncoderReranker(folder, wanted.settings.max_length, wanted.settings.threads)
        except FootnoteError:
            raise
        except Exception as error:  # for a file that is no model the libraries raise bare exceptions
            raise invalid(f"onnx model {model!r} cannot be loaded: {type(error).__name__}") from error

    return create
