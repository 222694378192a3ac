"""Classifies pairs of texts with an ONNX model and its tokenizer from one folder, as for rerankers and NLI models."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from footnote_kit.errors import InvalidArgument, Unavailable
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tokenizers import Encoding

_BATCH = 16


class PairClassifier:
    """Reads two texts together; in a pair that is too long, the text that `cut` names is shortened.

    When the other text alone is too long, the longer one is shortened. Raises InvalidArgument(PROVIDER_INVALID) when
    the folder lacks one of the files; `what` names the kind of model in that message.
    """

    def __init__(
        self, folder: Path, what: str, *, cut: Literal["only_first", "only_second"], max_tokens: int = 512,
        threads: int = 0, also: Sequence[str] = (),
    ) -> None:  # fmt: skip
        model = next((path for path in (folder / "model.onnx", folder / "onnx" / "model.onnx") if path.is_file()), None)
        needed = ["tokenizer.json", *also]
        if model is None or not all((folder / name).is_file() for name in needed):
            raise InvalidArgument(
                f"The folder {folder.name!r} holds no {what}: it needs {', '.join(['model.onnx', *needed])}.",
                reason="PROVIDER_INVALID",
            )
        # Imported with the first model: 20 MB and a quarter of a second that most deployments do not need.
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        self._inputs = {item.name for item in self._session.get_inputs()}
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._what, self._cut, self._max_tokens = what, cut, max_tokens
        self._tokenizer.enable_padding()
        # One run uses all of the model's threads; two runs at once would only slow each other.
        self._lock = asyncio.Lock()

    async def logits(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        """Return the classes' logits, shape (pairs, classes); the computation runs on a thread.

        Raises Unavailable(PROVIDER_FAILED) when the model fails.
        """
        try:
            async with self._lock:
                return await asyncio.to_thread(self._logits, pairs)
        except Exception as error:  # the libraries raise bare exceptions
            raise Unavailable(f"The {self._what} failed: {error}", reason="PROVIDER_FAILED") from error

    def _logits(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
        # Batches of similar length need little padding.
        order = sorted(range(len(pairs)), key=lambda index: len(pairs[index][0]) + len(pairs[index][1]))
        rows: dict[int, NDArray[np.float64]] = {}
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            encoded = self._encode([pairs[index] for index in batch])
            feeds = {
                "input_ids": np.array([item.ids for item in encoded], dtype=np.int64),
                "attention_mask": np.array([item.attention_mask for item in encoded], dtype=np.int64),
                "token_type_ids": np.array([item.type_ids for item in encoded], dtype=np.int64),
            }
            output = self._session.run(None, {name: value for name, value in feeds.items() if name in self._inputs})[0]
            rows.update(zip(batch, np.asarray(output, dtype=np.float64), strict=True))
        return np.stack([rows[index] for index in range(len(pairs))]) if rows else np.zeros((0, 1))

    def _encode(self, pairs: Sequence[tuple[str, str]]) -> list[Encoding]:
        try:
            self._tokenizer.enable_truncation(self._max_tokens, strategy=self._cut)
            return list(self._tokenizer.encode_batch(pairs))
        except Exception as error:  # the library raises bare exceptions
            if "runcation" not in str(error):
                raise
        self._tokenizer.enable_truncation(self._max_tokens, strategy="longest_first")
        return list(self._tokenizer.encode_batch(pairs))
