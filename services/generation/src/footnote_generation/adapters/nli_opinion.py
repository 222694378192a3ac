"""A second opinion by natural language inference: an ONNX sequence classifier and its tokenizer, in one folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from footnote_kit.errors import InvalidArgument
from footnote_providers.pair_classifier import PairClassifier

from footnote_generation.ports import Opinion

ENOUGH = 0.9


class NliOpinion:
    """Reads passage and statement together; the classes' names come from the folder's config.json."""

    most_passages = 6
    sees_contradictions = True

    def __init__(self, folder: Path, enough: float, timeout: float) -> None:
        self._model = PairClassifier(folder, "NLI model", cut="only_first", also=["config.json"])
        self._entails, self._contradicts = _classes(folder / "config.json")
        self.enough = enough or ENOUGH
        self.timeout = timeout

    async def ask(self, statement: str, passages: Sequence[str]) -> list[Opinion]:
        """Return the probabilities of entailment and contradiction."""
        if not passages:
            return []
        logits = await self._model.logits([(passage, statement) for passage in passages])
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = powers / powers.sum(axis=1, keepdims=True)
        against = shares[:, self._contradicts] if self._contradicts is not None else np.zeros(len(shares))
        return [Opinion(float(a), float(b)) for a, b in zip(shares[:, self._entails], against, strict=True)]

    async def close(self) -> None:
        """Let go of nothing: the session ends with the object."""


def _classes(config: Path) -> tuple[int, int | None]:
    """Return the places of "entailment" and "contradiction" among the classes; of two classes none is the latter."""
    labels = json.loads(config.read_text(encoding="utf-8")).get("id2label", {})
    places = {str(label).lower(): int(place) for place, label in labels.items()}
    entails = next((place for label, place in places.items() if label.startswith("entail")), None)
    if entails is None:
        raise InvalidArgument("The model's config.json names no class 'entailment'.", reason="PROVIDER_INVALID")
    return entails, next((place for label, place in places.items() if label.startswith("contra")), None)
