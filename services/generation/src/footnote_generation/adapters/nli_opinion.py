"""A second opinion by natural language inference: an ONNX sequence classifier and its tokenizer, in one folder."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime
from footnote_kit.errors import InvalidArgument
from tokenizers import Tokenizer

from footnote_generation.ports import Opinion

ENOUGH = 0.9
_MOST_TOKENS = 512


class NliOpinion:
    """Reads passage and statement together; the classes' names come from the folder's config.json."""

    most_passages = 6
    sees_contradictions = True

    def __init__(self, folder: Path, enough: float, timeout: float) -> None:
        model = next((path for path in (folder / "model.onnx", folder / "onnx" / "model.onnx") if path.is_file()), None)
        tokenizer, config = folder / "tokenizer.json", folder / "config.json"
        if model is None or not tokenizer.is_file() or not config.is_file():
            raise InvalidArgument(
                f"The folder {folder.name!r} holds no NLI model: it needs model.onnx, tokenizer.json and config.json.",
                reason="PROVIDER_INVALID",
            )
        self._entails, self._contradicts = _classes(config)
        self._session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
        self._inputs = {item.name for item in self._session.get_inputs()}
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.enable_truncation(max_length=_MOST_TOKENS, strategy="only_first")
        self._tokenizer.enable_padding()
        self.enough = enough or ENOUGH
        self.timeout = timeout
        # One model's run uses all its threads; two at once would only slow each other.
        self._lock = asyncio.Lock()

    async def ask(self, statement: str, passages: Sequence[str]) -> list[Opinion]:
        """Return the probabilities of entailment and contradiction."""
        async with self._lock:
            return await asyncio.to_thread(self._probabilities, statement, passages)

    async def close(self) -> None:
        """Let go of nothing: the session ends with the object."""

    def _probabilities(self, statement: str, passages: Sequence[str]) -> list[Opinion]:
        encoded = self._tokenizer.encode_batch([(passage, statement) for passage in passages])
        feeds = {
            "input_ids": np.array([item.ids for item in encoded], dtype=np.int64),
            "attention_mask": np.array([item.attention_mask for item in encoded], dtype=np.int64),
            "token_type_ids": np.array([item.type_ids for item in encoded], dtype=np.int64),
        }
        output = self._session.run(None, {name: value for name, value in feeds.items() if name in self._inputs})[0]
        logits = np.asarray(output, dtype=np.float64)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = powers / powers.sum(axis=1, keepdims=True)
        against = shares[:, self._contradicts] if self._contradicts is not None else np.zeros(len(shares))
        return [Opinion(float(a), float(b)) for a, b in zip(shares[:, self._entails], against, strict=True)]


def _classes(config: Path) -> tuple[int, int | None]:
    """Return the places of "entailment" and "contradiction" among the classes; of two classes none is the latter."""
    labels = json.loads(config.read_text(encoding="utf-8")).get("id2label", {})
    places = {str(label).lower(): int(place) for place, label in labels.items()}
    entails = next((place for label, place in places.items() if label.startswith("entail")), None)
    if entails is None:
        raise InvalidArgument("The model's config.json names no class 'entailment'.", reason="PROVIDER_INVALID")
    return entails, next((place for label, place in places.items() if label.startswith("contra")), None)
