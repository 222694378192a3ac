"""How alike a question and sentences are in meaning, by the embedding model that is installed on this machine."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence

import numpy as np
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger
from footnote_providers import registry
from footnote_providers.base import EmbeddingProvider, KnowsItsCosines, Vectors
from footnote_providers.e5 import files
from footnote_providers.settings import DefaultSettings

from footnote_generation.ports import Compared

_log = get_logger("footnote.generation.likeness")
_SECONDS = 0.15
_BATCH = 4
_KEPT = 4096  # vectors, 6 MB of e5's


class EmbeddingLikeness:
    """Cosines of the deployment's embedding model; it keeps the vectors of sentences.

    It uses only a model on this machine that knows meaning and its typical cosines: others need a network, or compare
    words. An answer waits 0.15 seconds and the batch that is begun then, and 0.3 at most, also while the model loads.
    Without the vectors of all sentences there is no likeness; those that were made serve the next question.
    """

    def __init__(self, seconds: float = _SECONDS) -> None:
        self._chosen = EmbeddingSettings(provider=registry.choose(DefaultSettings()).provider)
        registration = registry.registrations().get(self._chosen.provider)
        self._usable = (
            registration is not None
            and registration.local
            and registration.knows_cosines
            and not registration.builtin
            and (registration.id != registry.E5 or files.installed())
        )
        if not self._usable and self._chosen.provider == registry.E5:
            _log.warning("likeness_unavailable", reason="e5 is not installed here")
        self._seconds = seconds
        self._vectors: OrderedDict[str, Vectors] = OrderedDict()

    @property
    def provider(self) -> str:
        """The id of the embedder that is used, "" for none."""
        return self._chosen.provider if self._usable else ""

    async def of(self, question: str, texts: Sequence[str]) -> list[float] | None:
        """Return the likeness of each text in order; None where the model or the time did not allow it."""
        if self._usable and not texts:
            return []
        made = await self.vectors(question, texts)
        if made is None:
            return None
        known = made.cosines
        cosines = (made.texts @ made.question).tolist()
        return [(cosine - known.unrelated) / (known.related - known.unrelated) for cosine in cosines]

    async def vectors(self, question: str, texts: Sequence[str], seconds: float = 0.0) -> Compared | None:
        """Return the vectors of a question and of texts; None where the model or the time did not allow it.

        It takes `seconds`, or those of this object for 0, and the batch that is begun then; twice that at most.
        """
        seconds = seconds or self._seconds
        if not self._usable:
            return None
        try:
            async with asyncio.timeout(2 * seconds), registry.lease(self._chosen) as provider:
                return await self._measured(provider, question, texts, seconds)
        except TimeoutError:
            _log.info("likeness_late", without=len(texts))
            return None
        except (FootnoteError, OSError) as error:
            _log.warning("likeness_unavailable", reason=getattr(error, "reason", type(error).__name__))
            return None

    async def _measured(
        self, provider: EmbeddingProvider, question: str, texts: Sequence[str], seconds: float
    ) -> Compared | None:
        assert isinstance(provider, KnowsItsCosines), provider.id
        until = time.monotonic() + seconds
        asked = await provider.embed_query(question)
        vectors = {text: self._vectors[text] for text in texts if text in self._vectors}
        wanted = sorted({*texts} - {*vectors}, key=len)  # texts of similar length need little padding
        for start in range(0, len(wanted), _BATCH):
            if time.monotonic() >= until:
                _log.info("likeness_late", without=len(wanted) - start)
                return None
            batch = wanted[start : start + _BATCH]
            vectors.update(zip(batch, await provider.embed_documents(batch), strict=True))
            self._keep(vectors)
        self._keep(vectors)
        rows = np.stack([vectors[text] for text in texts]) if texts else np.zeros((0, len(asked)), np.float32)
        return Compared(provider.id, asked, rows, provider.cosines)

    def _keep(self, vectors: Mapping[str, Vectors]) -> None:
        for text, vector in vectors.items():
            self._vectors[text] = vector
            self._vectors.move_to_end(text)
        while len(self._vectors) > _KEPT:
            self._vectors.popitem(last=False)
