"""Verifiers without a language model: natural language inference (an ONNX classifier), or likeness of embeddings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_kit.errors import InvalidArgument
from footnote_providers import registry
from footnote_providers.base import embed_waited_for
from footnote_providers.pair_classifier import PairClassifier
from footnote_text.lexical import is_unspaced

from footnote_generation.ports import Asked, Opinion

ENOUGH = 0.9
_WINDOW, _STEP = 1200, 900  # characters of a premise read at once, well below 512 tokens


class NliVerifier:
    """Reads passage and statement together; the classes' names come from the folder's config.json."""

    most_passages = 6
    sees_contradictions = True

    def __init__(self, folder: Path, enough: float, timeout: float) -> None:
        self._model = PairClassifier(folder, "NLI model", cut="only_first", also=["config.json"])
        self._entails, self._contradicts = _classes(folder / "config.json")
        self.enough = enough or ENOUGH
        self.timeout = timeout

    async def ask(self, asked: Sequence[Asked]) -> list[list[Opinion]]:
        """Return the probabilities of entailment and contradiction; for a long passage, over its windows.

        The window with the strongest entailment represents the passage. A contradiction counts only if no window
        entails: a part that does not mention something does not deny it.
        """
        pairs = [(window, statement) for statement, passages in asked for one in passages for window in windows(one)]
        if not pairs:
            return [[] for _ in asked]
        logits = await self._model.logits(pairs)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = powers / powers.sum(axis=1, keepdims=True)
        against = shares[:, self._contradicts] if self._contradicts is not None else np.zeros(len(shares))
        each = iter(zip(shares[:, self._entails], against, strict=True))
        return [[self._of(list(islice(each, len(windows(one))))) for one in passages] for _, passages in asked]

    def _of(self, found: Sequence[tuple[float, float]]) -> Opinion:
        supports = float(max(entails for entails, _ in found))
        contradicts = float(max(against for _, against in found)) if len(found) == 1 or supports < self.enough else 0.0
        return Opinion(supports, contradicts)

    async def close(self) -> None:
        """Do nothing: the session is freed with the object."""


def windows(passage: str) -> list[str]:
    """Return a passage as overlapping parts short enough for the model; a short passage as itself."""
    # A Chinese character is a token or two, while an English token has four characters.
    spaced = not any(is_unspaced(char) for char in passage[:_WINDOW])
    size, step = (_WINDOW, _STEP) if spaced else (_WINDOW // 4, _STEP // 4)
    if len(passage) <= size:
        return [passage]
    return [passage[start : start + size] for start in range(0, max(1, len(passage) - size + step), step)]


def _classes(config: Path) -> tuple[int, int | None]:
    """Return the indexes of "entailment" and "contradiction" among the classes; with two classes there is no latter."""
    labels = json.loads(config.read_text(encoding="utf-8")).get("id2label", {})
    places = {str(label).lower(): int(place) for place, label in labels.items()}
    entails = next((place for label, place in places.items() if label.startswith("entail")), None)
    if entails is None:
        raise InvalidArgument("The model's config.json names no class 'entailment'.", reason="PROVIDER_INVALID")
    return entails, next((place for label, place in places.items() if label.startswith("contra")), None)


# Similarity says little about truth, so it changes no verdict, only the score of unconfirmed statements.
ALIKE_ENOUGH = 0.9


class EmbeddingVerifier:
    """Cosine of embeddings, with any registered embedding provider."""

    most_passages = 24
    sees_contradictions = False

    def __init__(self, provider: str, model: str, enough: float, timeout: float) -> None:
        problems = registry.validate(provider, {})
        if problems:
            raise InvalidArgument(" ".join(problems), reason="PROVIDER_INVALID")
        self._settings = EmbeddingSettings(provider=provider, model=model)
        self.enough = enough or ALIKE_ENOUGH
        self.timeout = timeout

    async def ask(self, asked: Sequence[Asked]) -> list[list[Opinion]]:
        """Return the cosines; raises Unavailable(PROVIDER_FAILED) when the provider does not answer."""
        if not asked:
            return []
        texts = list(dict.fromkeys(text for statement, passages in asked for text in (statement, *passages)))
        async with registry.lease(self._settings) as provider:
            size = provider.max_batch
            batches = [texts[start : start + size] for start in range(0, len(texts), size)]
            rows = [await embed_waited_for(provider, batch) for batch in batches]
        vectors = dict(zip(texts, np.concatenate(rows), strict=True))
        return [
            [Opinion(float(np.clip(vectors[passage] @ vectors[statement], 0.0, 1.0))) for passage in passages]
            for statement, passages in asked
        ]

    async def close(self) -> None:
        """Leave the provider open: the registry of providers shares it."""
