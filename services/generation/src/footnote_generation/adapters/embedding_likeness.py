"""How alike a question and sentences are in meaning, by the embedding model that is installed on this machine."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from footnote.types.v1.collection_pb2 import EmbeddingSettings
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger
from footnote_providers import registry
from footnote_providers.base import EmbeddingProvider, KnowsItsCosines, Vectors, embed_waited_for
from footnote_providers.e5 import files
from footnote_providers.settings import DefaultSettings

from footnote_generation.ports import Compared

_log = get_logger("footnote.generation.likeness")
_SECONDS = 0.15
_BATCH = 4
_KEPT = 4096  # vectors, 6 MB of e5's


@dataclass(slots=True)
class _Made:
    """What a comparison has so far: the question's vector, and those of the first texts."""

    compared: Compared | None = None


class EmbeddingLikeness:
    """Cosines of the deployment's embedding model; it keeps the vectors of sentences.

    It uses only a model on this machine that knows meaning and its typical cosines: others need a network, or compare
    words. An answer waits 0.15 seconds and the batch that is begun then, and 0.3 at most, also while the model loads.
    What has no vector then is not compared; those that were made serve the next question.
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
        """Return the likeness of the first texts, as many as the time allowed; None where that is none of them."""
        if self._usable and not texts:
            return []
        made = await self._made(question, texts, self._seconds)
        if made is None or not len(made.texts):
            return None
        known = made.cosines
        cosines = (made.texts @ made.question).tolist()
        return [(cosine - known.unrelated) / (known.related - known.unrelated) for cosine in cosines]

    async def vectors(self, question: str, texts: Sequence[str], seconds: float = 0.0) -> Compared | None:
        """Return the vectors of a question and of all texts; None where the model or the time did not allow it.

        It takes `seconds`, or those of this object for 0, and the batch that is begun then; twice that at most.
        """
        made = await self._made(question, texts, seconds or self._seconds)
        return made if made is not None and len(made.texts) == len(texts) else None

    async def _made(self, question: str, texts: Sequence[str], seconds: float) -> Compared | None:
        """Return the vectors of a question and of the first texts; None without a model or the question's vector."""
        if not self._usable:
            return None
        made = _Made()
        try:
            async with asyncio.timeout(2 * seconds), registry.lease(self._chosen) as provider:
                await self._measure(made, provider, question, texts, seconds)
        except TimeoutError:
            _log.info("likeness_late", without=len(texts) - (len(made.compared.texts) if made.compared else 0))
        except (FootnoteError, OSError) as error:
            _log.warning("likeness_unavailable", reason=getattr(error, "reason", type(error).__name__))
        return made.compared

    async def _measure(
        self, made: _Made, provider: EmbeddingProvider, question: str, texts: Sequence[str], seconds: float
    ) -> None:
        """Set what is made so far, batch by batch: a caller that waits no longer has that."""
        assert isinstance(provider, KnowsItsCosines), provider.id
        until = time.monotonic() + seconds
        asked = await provider.embed_query(question)
        rows = np.zeros((0, len(asked)), np.float32)
        made.compared = Compared(provider.id, asked, rows, provider.cosines)
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            vectors = {text: self._vectors[text] for text in batch if text in self._vectors}
            wanted = [text for text in dict.fromkeys(batch) if text not in vectors]
            if wanted:
                if time.monotonic() >= until:
                    known = list(takewhile(vectors.__contains__, batch))
                    if known:
                        rows = np.concatenate([rows, np.stack([vectors[text] for text in known])])
                        made.compared = Compared(provider.id, asked, rows, provider.cosines)
                    _log.info("likeness_late", without=len(texts) - len(rows))
                    return
                vectors.update(zip(wanted, await embed_waited_for(provider, wanted), strict=True))
            self._keep(vectors)
            rows = np.concatenate([rows, np.stack([vectors[text] for text in batch])])
            made.compared = Compared(provider.id, asked, rows, provider.cosines)

    def _keep(self, vectors: Mapping[str, Vectors]) -> None:
        for text, vector in vectors.items():
            self._vectors[text] = vector
            self._vectors.move_to_end(text)
        while len(self._vectors) > _KEPT:
            self._vectors.popitem(last=False)
