"""A cross-encoder on this machine: an ONNX sequence-classification model and its tokenizer, in one folder."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from footnote_kit.errors import InvalidArgument
from tokenizers import Tokenizer

_BATCH = 16


class CrossEncoderReranker:
    """Reads question and passage together; the logit through a sigmoid is the score."""

    def __init__(self, folder: Path, max_length: int, threads: int) -> None:
        model = next((path for path in (folder / "model.onnx", folder / "onnx" / "model.onnx") if path.is_file()), None)
        tokenizer = folder / "tokenizer.json"
        if model is None or not tokenizer.is_file():
            raise InvalidArgument(
                f"The folder {folder.name!r} holds no cross-encoder: it needs model.onnx and tokenizer.json.",
                reason="PROVIDER_INVALID",
            )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._inputs = {item.name for item in self._session.get_inputs()}
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.enable_truncation(max_length=max_length, strategy="only_second")
        self._tokenizer.enable_padding()
        # One model's run uses all its threads; two at once would only slow each other.
        self._lock = asyncio.Lock()

    async def rerank(self, question: str, passages: Sequence[str], scores: Sequence[float]) -> list[float]:
        """Return the model's scores, 0 to 1."""
        async with self._lock:
            return await asyncio.to_thread(self._scores, question, passages)

    async def close(self) -> None:
        """Let go of nothing: the session ends with the object."""

    def _scores(self, question: str, passages: Sequence[str]) -> list[float]:
        order = sorted(range(len(passages)), key=lambda index: len(passages[index]))
        result = [0.0] * len(passages)
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            encoded = self._tokenizer.encode_batch([(question, passages[index]) for index in batch])
            feeds = {
                "input_ids": np.array([item.ids for item in encoded], dtype=np.int64),
                "attention_mask": np.array([item.attention_mask for item in encoded], dtype=np.int64),
                "token_type_ids": np.array([item.type_ids for item in encoded], dtype=np.int64),
            }
            output = self._session.run(None, {name: value for name, value in feeds.items() if name in self._inputs})[0]
            logits = np.asarray(output, dtype=np.float64)
            # One logit is relevance; of two, the second is the class "relevant".
            relevance = logits[:, 0] if logits.shape[1] == 1 else logits[:, 1] - logits[:, 0]
            for index, value in zip(batch, 1 / (1 + np.exp(-np.clip(relevance, -60, 60))), strict=True):
                result[index] = float(value)
        return result


def create(model: str, settings: Mapping[str, Any]) -> CrossEncoderReranker:
    """Load one from the folder that `model` names; raises InvalidArgument when it holds none."""
    if not model:
        raise InvalidArgument(
            "The onnx reranker needs a model: the folder of a cross-encoder.", reason="PROVIDER_INVALID"
        )
    return CrossEncoderReranker(
        Path(model).expanduser(), int(settings.get("max_length", 512)), int(settings.get("threads", 0))
    )
