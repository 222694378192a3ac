"""The built-in embedder: hashed words and character n-grams, deterministic, without a model or network.

It captures shared words, shared word prefixes (a language-independent stem) and shared spellings, so typing errors
and inflected forms are close to each other. It captures no meaning, which is why its recommended weight is small.
"""

import asyncio
import re
import threading
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


class Settings(BaseModel):
    """The built-in embedder has no settings."""

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
        """Report that it is healthy; it has no dependencies."""
        return Health(True, details={"model": self.model, "dimensions": self.dimensions})

    async def close(self) -> None:
        """Do nothing, because there is nothing to free."""


_WORD = re.compile(r"[^\W_]+")
# Scripts written without spaces: their "words" are whole sentences, so only n-grams are meaningful.
_UNSPACED = re.compile(f"[{THAI}{LAO}{KHMER}{KANA}{HAN}]")
_STEM = 6
_SHORT = 4
# By kind: a word, its stem, both of a short word, three characters of a word, two of an unspaced script.
_WEIGHTS = np.array([1.0, 0.7, 0.3, 0.7 * 0.3, 0.25, 0.8])
_WORD_KIND, _STEM_KIND, _OF_SHORT, _THREE_KIND, _TWO_KIND = 0, 1, 2, 4, 5
_MIX = np.uint64(0x9E3779B97F4A7C15)
_HASH_BITS, _KIND_BITS = np.uint64(40), np.uint64(3)
_FEATURE_BITS = _HASH_BITS + _KIND_BITS

_MOST_KEPT, _LONGEST = 300_000, 32
"""The most cached features, those of some 30 000 words in 2.4 MB, and the most characters of a cached word."""

_Features = NDArray[np.uint64]


def embed(texts: Sequence[str], dimensions: int) -> Vectors:
    """Embed texts: shape (n, dimensions), rows of length 1 (zeros for a text without letters or digits)."""
    words: list[str] = []
    counts: list[int] = []
    for text in texts:
        found = _WORD.findall(_fold(text))
        counts.append(len(found))
        words += found
    features, each = _known.of(words)
    rows = np.repeat(np.repeat(np.arange(len(texts), dtype=np.uint64), counts), each)
    return _project((rows << _FEATURE_BITS) | features, len(texts), dimensions)


def _fold(text: str) -> str:
    """Lower-case a text without accents, with unified CJK compatibility forms."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    if not decomposed.isascii():
        decomposed = "".join([char for char in decomposed if not unicodedata.combining(char)])
    return unicodedata.normalize("NFC", decomposed)


class _Words:
    """Caches the features of words in one array: most words of a text occurred before."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._features = np.zeros(0, np.uint64)
        self._starts = np.zeros(1, np.int64)
        self._lock = threading.Lock()

    def of(self, words: Sequence[str]) -> tuple[_Features, NDArray[np.int64]]:
        """Return the features of words in order, and how many each has."""
        with self._lock:
            # Additions replace these objects, so that a reader can use them after the lock is released.
            numbers, features, starts = self._numbers, self._features, self._starts
            known = [numbers.get(word) for word in words]
            if None in known:
                new = list({word: None for word, number in zip(words, known, strict=True) if number is None})
                found, each = _features_of(new)
                names = dict(zip(new, range(len(numbers), len(numbers) + len(new)), strict=True))
                starts = np.concatenate([starts, len(features) + np.cumsum(each)])
                features = np.concatenate([features, found])
                known = [names[word] if number is None else number for word, number in zip(words, known, strict=True)]
                self._keep(names, features, starts)
        places = np.array(known, dtype=np.int64)
        first = starts[places]
        each = starts[places + 1] - first
        ends = np.cumsum(each)
        within = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - each, each)
        return features[np.repeat(first, each) + within], each

    def _keep(self, names: dict[str, int], features: _Features, starts: NDArray[np.int64]) -> None:
        """Cache new words, unless one of them is long; clear the cache when it is too large."""
        if len(features) > _MOST_KEPT:
            self._numbers, self._features, self._starts = {}, np.zeros(0, np.uint64), np.zeros(1, np.int64)
        elif all(len(word) <= _LONGEST for word in names):
            self._numbers.update(names)
            self._features, self._starts = features, starts


def _features_of(words: Sequence[str]) -> tuple[_Features, NDArray[np.int64]]:
    """Return the features of words in order with their counts; a repeated feature of a word appears repeatedly."""
    owners: list[int] = []
    hashes: list[int] = []
    kinds: list[int] = []
    for number, word in enumerate(words):
        if not _UNSPACED.search(word):
            short = _OF_SHORT if len(word) < _SHORT else 0
            owners += (number, number)
            hashes += (zlib.crc32(word.encode()), zlib.crc32(b"~" + word[:_STEM].encode()))
            kinds += (_WORD_KIND + short, _STEM_KIND + short)
    gram_owners, gram_hashes, gram_kinds = _ngrams(words)
    owner = np.concatenate([np.array(owners, dtype=np.int64), gram_owners])
    spread = _mix(np.concatenate([np.array(hashes, dtype=np.uint64), gram_hashes])) >> np.uint64(24)
    kind = np.concatenate([np.array(kinds, dtype=np.uint64), gram_kinds])
    order = np.argsort(owner, kind="stable")
    return ((spread << _KIND_BITS) | kind)[order], np.bincount(owner, minlength=len(words))


def _ngrams(words: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.uint64], NDArray[np.uint64]]:
    """Hash each character trigram of a word with its borders, and each bigram of an unspaced script."""
    codes = np.frombuffer(f" {' '.join(words)} ".encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    owner_of = np.repeat(np.arange(len(words)), [len(word) + 1 for word in words])
    owner_of = np.concatenate([owner_of[:1], owner_of])
    blank = codes == 32
    wide = codes >= 0x0E00
    first, second, third = codes[:-2], codes[1:-1], codes[2:]
    three = _mix(first * np.uint64(0x1F1F1F1F) + second * np.uint64(0x10001) + third) >> np.uint64(32)
    keep = ~blank[1:-1] & ~wide[1:-1]
    two = _mix(codes[:-1] * np.uint64(0x2F2F2F2F) + codes[1:] + np.uint64(7)) >> np.uint64(32)
    pair = wide[:-1] & wide[1:]
    kinds = [np.full(keep.sum(), _THREE_KIND, np.uint64), np.full(pair.sum(), _TWO_KIND, np.uint64)]
    owners = np.concatenate([owner_of[1:-1][keep], owner_of[:-1][pair]])
    return owners, np.concatenate([three[keep], two[pair]]), np.concatenate(kinds)


def _mix(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread the bits of 64-bit values (Fibonacci hashing)."""
    mixed: NDArray[np.uint64] = (values ^ (values >> np.uint64(15))) * _MIX
    return mixed


def _project(keys: NDArray[np.uint64], rows: int, dimensions: int) -> Vectors:
    """Count each feature of a row once with sublinear weight, and add it with its sign to its dimension."""
    if not len(keys):
        return np.zeros((rows, dimensions), dtype=np.float32)
    ordered = np.sort(keys)
    starts = np.flatnonzero(np.concatenate([np.ones(1, dtype=bool), ordered[1:] != ordered[:-1]]))
    counts = np.diff(starts, append=len(ordered))
    unique = ordered[starts]
    feature = (unique >> _KIND_BITS) & np.uint64((1 << int(_HASH_BITS)) - 1)
    sign = np.where((feature >> np.uint64(39)) & np.uint64(1), 1.0, -1.0)
    value = sign * _WEIGHTS[unique & np.uint64(7)] * (1.0 + np.log(counts))
    row = (unique >> _FEATURE_BITS).astype(np.int64)
    place = row * dimensions + (feature % np.uint64(dimensions)).astype(np.int64)
    total = np.bincount(place, weights=value, minlength=rows * dimensions)
    return normalized(total.reshape(rows, dimensions).astype(np.float32))


_known = _Words()
