"""A local sentence-embedding model: a folder with `model.onnx` and `tokenizer.json`, run by onnxruntime."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from footnote_kit.errors import FootnoteError, Unavailable
from footnote_text.scripts import HAN, KANA, SOUTH_EAST_ASIAN
from pydantic import BaseModel, ConfigDict, Field

from footnote_providers.base import Health, Vectors, normalized

# With all-MiniLM and stemmed BM25, Cranfield (English) gains 0.007 nDCG@10 by 0.6 instead of 0.5. PIAF (French, which
# the model hardly knows) loses 0.015.
_DENSE_WEIGHT, _LOWEST_DENSE_WEIGHT = 0.7, 0.4
# Average number of vocabulary pieces per word of a question. all-MiniLM: English 1.1 (a tenth above 1.3), French 1.6
# (a tenth below 1.3).
_WHOLE, _BROKEN = 1.2, 1.5
OVERLAP = 8
"""Consecutive windows overlap by the window's length divided by this."""
_BATCH = 32
_MOST_PADDING = 8
"""Tokens by which the longest text of a batch may exceed the shortest. Padding is computed like text."""
_UNKNOWN = 3  # pieces that count for a word unknown to the vocabulary
_UNKNOWN_TOKENS = frozenset({"[UNK]", "<unk>"})
_LOOKED_AT = 1000  # the most characters of a question that are counted
# Scripts without spaces: each character is a word.
_UNSPACED = f"{SOUTH_EAST_ASIAN}{KANA}{HAN}"
_WORD = re.compile(rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_])+")


class Settings(BaseModel):
    """How the model expects its input."""

    model_config = ConfigDict(extra="forbid")

    pooling: Literal["mean", "cls"] = Field(default="mean", description="How token vectors become one vector.")
    max_tokens: int = Field(
        default=256, ge=16, le=8192, description="Longer texts are read in windows of so many tokens."
    )
    document_prefix: str = Field(
        "", max_length=200, description="Put before each passage, as some models were trained."
    )
    query_prefix: str = Field(
        default="", max_length=200, description="Put before each question, as some models were trained."
    )


class Tokenizer(Protocol):
    """Splits texts into the pieces of a model's vocabulary."""

    def windows(self, texts: Sequence[str]) -> list[list[list[int]]]:
        """Return each text's ids, special ones included, in windows that overlap by their length / OVERLAP."""
        ...

    def pieces(self, text: str) -> list[str]:
        """Return the pieces of a text."""
        ...


class JsonTokenizer:
    """The tokenizer of a `tokenizer.json`."""

    def __init__(self, file: Path, most: int) -> None:
        # Imported with the first model, as the inference engine is.
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(file))
        self._tokenizer.enable_truncation(most, stride=most // OVERLAP)
        self._tokenizer.no_padding()

    def windows(self, texts: Sequence[str]) -> list[list[list[int]]]:
        """Return each text's ids in overlapping windows."""
        encoded = self._tokenizer.encode_batch(list(texts))
        return [[first.ids, *(one.ids for one in first.overflowing)] for first in encoded]

    def pieces(self, text: str) -> list[str]:
        """Return the pieces of a text."""
        found: list[str] = self._tokenizer.encode(text, add_special_tokens=False).tokens
        return found


class OnnxEmbeddings:
    """Runs the model on a thread of its own, one call at a time, because each call uses all allowed cores."""

    id = "onnx"
    recommended_dense_weight = _DENSE_WEIGHT
    max_batch = 100
    max_in_flight = 2

    def __init__(
        self,
        files: tuple[Path, Path],
        model: str,
        settings: Settings,
        threads: int = 0,
        tokenizer: Callable[[Path, int], Tokenizer] = JsonTokenizer,
    ) -> None:
        # Imported with the first model: 20 MB and a quarter of a second that most deployments do not need.
        import onnxruntime

        self.model = model
        self._settings = settings
        self._tokenizer = tokenizer(files[1], settings.max_tokens)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or cores()
        options.inter_op_num_threads = 1
        # Threads that spin between operators took a quarter of the processor time (tests/bench/test_bench_e5_cost.py).
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(
            str(files[0]), sess_options=options, providers=["CPUExecutionProvider"]
        )
        self._inputs = {value.name for value in self._session.get_inputs()}
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="onnx-embed")
        self.dimensions = int(self._run(self._tokenizer.windows(["dimensions"])[0]).shape[1])

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed passages: shape (n, dimensions), in the order given."""
        return await self._embed([self._settings.document_prefix + text for text in texts])

    async def embed_query(self, text: str) -> Vectors:
        """Embed a question: shape (dimensions,)."""
        row: Vectors = (await self._embed([self._settings.query_prefix + text]))[0]
        return row

    def dense_weight_for(self, text: str) -> float:
        """Return the dense weight for this question: lower, the more pieces the vocabulary splits its words into.

        Words that a vocabulary splits are rare or foreign to the model, so its vectors are less meaningful for them.
        """
        pieces = self.pieces_per_word(text)
        return float(np.interp(pieces, [_WHOLE, _BROKEN], [_DENSE_WEIGHT, _LOWEST_DENSE_WEIGHT]))

    def pieces_per_word(self, text: str) -> float:
        """Return the average number of vocabulary pieces per word of a text; 1 for a text without words."""
        text = text[:_LOOKED_AT]
        words = len(_WORD.findall(text))
        if not words:
            return 1.0
        pieces = self._tokenizer.pieces(text)
        known = sum(any(map(str.isalnum, piece)) for piece in pieces)
        unknown = sum(piece in _UNKNOWN_TOKENS for piece in pieces)
        return (known + (_UNKNOWN - 1) * unknown) / words

    async def health(self) -> Health:
        """Embed one word and report the result."""
        details = {"model": self.model, "dimensions": self.dimensions}
        try:
            await self.embed_query("health")
        except FootnoteError as error:
            return Health(False, error.message, details)
        return Health(True, details=details)

    async def close(self) -> None:
        """End the thread once its work is done."""
        self._thread.shutdown(wait=False)

    async def _embed(self, texts: list[str]) -> Vectors:
        loop = asyncio.get_running_loop()
        try:
            windows, owners = _flat(await loop.run_in_executor(self._thread, self._tokenizer.windows, texts))
            vectors = np.zeros((len(windows), self.dimensions), dtype=np.float32)
            # Each small batch is queued separately, so that a question waits for one of them, not for all passages
            # before it.
            for rows in by_length(windows, _BATCH):
                vectors[rows] = await loop.run_in_executor(self._thread, self._run, [windows[row] for row in rows])
            return _joined(vectors, windows, owners, len(texts))
        except Exception as error:  # the libraries raise bare exceptions
            raise Unavailable(f"onnx model {self.model!r} failed: {error}", reason="PROVIDER_FAILED") from error

    def encode(self, texts: Sequence[str], beside: Executor | None = None, batch: int = _BATCH) -> Vectors:
        """Embed any number of texts in batches of nearly one length, on the calling thread or those of `beside`."""
        windows, owners = _flat(self._tokenizer.windows(texts))
        vectors = np.zeros((len(windows), self.dimensions), dtype=np.float32)
        batches = list(by_length(windows, batch))
        run = map if beside is None else beside.map
        made = run(self._run, [[windows[row] for row in rows] for rows in batches])
        for rows, some in zip(batches, made, strict=True):
            vectors[rows] = some
        return _joined(vectors, windows, owners, len(texts))

    def _run(self, windows: Sequence[Sequence[int]]) -> Vectors:
        ids = np.zeros((len(windows), max(map(len, windows))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for row, window in enumerate(windows):
            ids[row, : len(window)] = window
            mask[row, : len(window)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        taken = {name: value for name, value in feeds.items() if name in self._inputs}
        output = self._session.run(None, taken)[0].astype(np.float32)
        if output.ndim == 2:  # the model pools by itself
            return normalized(output)
        if self._settings.pooling == "cls":
            return normalized(output[:, 0])
        weights = mask[..., None].astype(np.float32)
        return normalized((output * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1.0))


def by_length(windows: Sequence[Sequence[int]], most: int) -> Iterator[list[int]]:
    """Yield the rows in batches of at most `most` of nearly one length, the longest first."""
    order = sorted(range(len(windows)), key=lambda row: -len(windows[row]))
    batch: list[int] = []
    for row in order:
        if batch and (len(batch) == most or len(windows[batch[0]]) - len(windows[row]) > _MOST_PADDING):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch


def _flat(texts: Sequence[list[list[int]]]) -> tuple[list[list[int]], list[int]]:
    """Return the windows of all texts, and the index of each window's text."""
    found = [(window, row) for row, windows in enumerate(texts) for window in windows]
    return [window for window, _ in found], [row for _, row in found]


def _joined(vectors: Vectors, windows: Sequence[Sequence[int]], owners: Sequence[int], texts: int) -> Vectors:
    """Return a vector for each text: the mean of its windows weighted by length, so that no part is ignored."""
    if len(windows) == texts:
        return vectors
    sums = np.zeros((texts, vectors.shape[1]), dtype=np.float32)
    np.add.at(sums, owners, vectors * np.array([[len(window)] for window in windows], dtype=np.float32))
    return normalized(sums)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
