"""The built-in embedder: hashed words and character n-grams, deterministic, without any model or network.

It sees shared words, shared beginnings of words (a stem that needs no language) and shared spellings, so typing errors
and inflected forms come near each other; it knows nothing of meaning. Its recommended weight is small for that reason.
"""

import asyncio
import re
import unicodedata
import zlib
from collections.abc import Sequence

import numpy as np
from footnote_text.scripts import HAN, KANA, KHMER, LAO, THAI
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from footnote_providers.base import Cosines, Health, Vectors, normalized

MODEL = "hashing-v1"
DIMENSIONS = 384
# Fused with stemmed BM25 by z-scores, nDCG@10 on Cranfield, SQuAD-13, PIAF: 0.3817, 0.8955, 0.8089 without it,
# 0.3859, 0.8962, 0.8106 at 0.1; at 0.2 SQuAD-13 falls to 0.8923.
DENSE_WEIGHT = 0.1
# Means over SQuAD-13 and PIAF-fr: questions to passages of the other set, and to the passages that answer them.
COSINES = Cosines(unrelated=0.03, related=0.29)

_WORD = re.compile(r"[^\W_]+")
# Scripts written without spaces: their "words" are whole sentences, so only n-grams say anything.
_UNSPACED = re.compile(f"[{THAI}{LAO}{KHMER}{KANA}{HAN}]")
_STEM = 6
_WORD_WEIGHT, _STEM_WEIGHT, _NGRAM_WEIGHT = 1.0, 0.7, 0.25
_UNSPACED_NGRAM_WEIGHT = 0.8
_MIX = np.uint64(0x9E3779B97F4A7C15)
_KEY_BITS = np.uint64(40)


class Settings(BaseModel):
    """The built-in embedder has nothing to set."""

    model_config = ConfigDict(extra="forbid")


class BuiltinEmbeddings:
    """Signed feature hashing, sublinear in term frequency, L2-normalised."""

    id = "builtin"
    recommended_dense_weight = DENSE_WEIGHT
    cosines = COSINES
    max_batch = 100
    max_in_flight = 2

    def __init__(self, model: str = MODEL, dimensions: int = DIMENSIONS) -> None:
        self.model = model
        self.dimensions = dimensions

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Embed passages: shape (n, dimensions)."""
        return await asyncio.to_thread(embed, list(texts), self.dimensions)

    async def embed_query(self, text: str) -> Vectors:
        """Embed a question: shape (dimensions,)."""
        row: Vectors = embed([text], self.dimensions)[0]
        return row

    async def health(self) -> Health:
        """Report that it is there; it depends on nothing."""
        return Health(True, details={"model": self.model, "dimensions": self.dimensions})

    async def close(self) -> None:
        """Do nothing: there is nothing to free."""


def embed(texts: Sequence[str], dimensions: int) -> Vectors:
    """Embed texts: shape (n, dimensions), rows of length 1 (zeros for a text without letters or digits)."""
    owners: list[int] = []
    hashes: list[int] = []
    weights: list[float] = []
    grams: list[tuple[int, str]] = []
    for row, text in enumerate(texts):
        for word in _WORD.findall(_fold(text)):
            grams.append((row, word))
            if _UNSPACED.search(word):
                continue
            short = 0.3 if len(word) < 4 else 1.0
            owners += (row, row)
            hashes += (zlib.crc32(word.encode()), zlib.crc32(b"~" + word[:_STEM].encode()))
            weights += (_WORD_WEIGHT * short, _STEM_WEIGHT * short)
    gram_owners, gram_hashes, gram_weights = _ngrams(grams)
    return _project(
        np.concatenate([np.array(owners, dtype=np.int64), gram_owners]),
        np.concatenate([np.array(hashes, dtype=np.uint64), gram_hashes]),
        np.concatenate([np.array(weights, dtype=np.float64), gram_weights]),
        len(texts),
        dimensions,
    )


def _fold(text: str) -> str:
    """Lower-case without accents; CJK compatibility forms unified."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return unicodedata.normalize("NFC", "".join(c for c in decomposed if not unicodedata.combining(c)))


def _ngrams(words: list[tuple[int, str]]) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.float64]]:
    """Hash every three characters of each word with its borders, and every two of an unspaced script."""
    if not words:
        return np.zeros(0, np.int64), np.zeros(0, np.uint64), np.zeros(0, np.float64)
    joined = " " + " ".join(word for _, word in words) + " "
    codes = np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    lengths = np.array([len(word) + 1 for _, word in words], dtype=np.int64)
    owner_of = np.repeat(np.array([row for row, _ in words], dtype=np.int64), lengths)
    owner_of = np.concatenate([owner_of[:1], owner_of])
    blank = codes == 32
    wide = codes >= 0x0E00
    first, second, third = codes[:-2], codes[1:-1], codes[2:]
    inside = ~blank[1:-1]
    three = _mix(first * np.uint64(0x1F1F1F1F) + second * np.uint64(0x10001) + third) >> np.uint64(32)
    keep = inside & ~wide[1:-1]
    two = _mix(codes[:-1] * np.uint64(0x2F2F2F2F) + codes[1:] + np.uint64(7)) >> np.uint64(32)
    pair = wide[:-1] & wide[1:]
    owners = np.concatenate([owner_of[1:-1][keep], owner_of[:-1][pair]])
    weights = np.concatenate([np.full(keep.sum(), _NGRAM_WEIGHT), np.full(pair.sum(), _UNSPACED_NGRAM_WEIGHT)])
    return owners, np.concatenate([three[keep], two[pair]]), weights


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread the bits of 64-bit values (Fibonacci hashing)."""
    mixed: NDArray[np.uint64] = (values ^ (values >> np.uint64(15))) * _MIX
    return mixed


def _project(
    owners: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    weights: NDArray[np.float64],
    rows: int,
    dimensions: int,
) -> Vectors:
    """Count each feature once with sublinear weight, and add it with its sign to its dimension."""
    spread = _mix(hashes)
    keys = (owners.astype(np.uint64) << _KEY_BITS) | (spread >> np.uint64(24))
    unique, index, counts = np.unique(keys, return_index=True, return_counts=True)
    feature = unique & np.uint64((1 << 40) - 1)
    sign = np.where((feature >> np.uint64(39)) & np.uint64(1), 1.0, -1.0)
    value = sign * weights[index] * (1.0 + np.log(counts))
    place = owners[index] * dimensions + (feature % np.uint64(dimensions)).astype(np.int64)
    total = np.bincount(place, weights=value, minlength=rows * dimensions)
    return normalized(total.reshape(rows, dimensions).astype(np.float32))
