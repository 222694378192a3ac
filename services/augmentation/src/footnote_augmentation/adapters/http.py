"""Rerankers behind a `/rerank` endpoint, in the forms of Cohere, Jina and text-embeddings-inference."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import httpx2
from footnote_kit.errors import Unavailable
from footnote_kit.redact import register
from footnote_kit.registration import Wanted, unconfigured
from footnote_providers.openai_client import transport
from pydantic import BaseModel, ConfigDict, Field

from footnote_augmentation.ports import Reranker

# Passages per request. Text-embeddings-inference refuses more than its --max-client-batch-size, by default 32; Cohere
# takes 1000 documents.
_MOST = {"tei": 32, "cohere": 1000}


class Settings(BaseModel):
    """The settings that a collection may set."""

    model_config = ConfigDict(extra="forbid")

    form: Literal["cohere", "tei"] = Field(
        default="cohere", description="What the body looks like; cohere is also Jina's and vLLM's."
    )


class HttpReranker:
    """Posts question and passages; `form` says what the body looks like: "cohere" (also Jina, vLLM) or "tei"."""

    def __init__(self, url: str, model: str, form: str, api_key: str, timeout: float) -> None:
        self._url = url
        self._model = model
        self._form = form
        register(api_key)
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        verify, proxied = transport(url)
        limits = httpx2.Limits(max_connections=16)
        self._client = httpx2.AsyncClient(
            verify=verify, timeout=timeout, headers=headers, limits=limits, trust_env=proxied
        )

    async def rerank(self, question: str, passages: Sequence[str], scores: Sequence[float]) -> list[float]:
        """Return the endpoint's scores, 0 to 1; logits go through a sigmoid. Raises Unavailable(PROVIDER_FAILED)."""
        values: list[float] = []
        size = _MOST[self._form]
        for start in range(0, len(passages), size):
            values += await self._post(question, passages[start : start + size])
        # Decided over all batches together: one batch of logits may by chance lie between 0 and 1.
        if any(value < 0 or value > 1 for value in values):
            values = [1 / (1 + math.exp(-max(-60.0, min(60.0, value)))) for value in values]
        return values

    async def _post(self, question: str, passages: Sequence[str]) -> list[float]:
        if self._form == "tei":
            body: dict[str, object] = {"query": question, "texts": passages, "raw_scores": False, "truncate": True}
        else:
            body = {"query": question, "documents": passages, "top_n": len(passages), "return_documents": False}
            if self._model:
                body["model"] = self._model
        try:
            response = await self._client.post(self._url, json=body)
            response.raise_for_status()
            return self._read(response.json(), len(passages))
        except httpx2.HTTPStatusError as error:
            raise Unavailable(
                f"The reranker answered {error.response.status_code}.", reason="PROVIDER_FAILED"
            ) from error
        except httpx2.HTTPError as error:
            raise Unavailable(
                f"The reranker does not answer: {type(error).__name__}.", reason="PROVIDER_FAILED"
            ) from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Unavailable("The reranker's answer cannot be read.", reason="PROVIDER_FAILED") from error

    def _read(self, answer: Any, expected: int) -> list[float]:
        rows = answer if isinstance(answer, list) else answer["results"]
        found: dict[int, float] = {}
        for row in rows:
            value = row["relevance_score"] if "relevance_score" in row else row["score"]
            found[int(row["index"])] = float(value)
        if set(found) != set(range(expected)) or not all(math.isfinite(value) for value in found.values()):
            raise ValueError("one score per passage is needed")
        return [found[index] for index in range(expected)]

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def creator(url: str, api_key: str, timeout: float) -> Callable[[Wanted[Settings]], Reranker]:
    """Return a factory with the deployment's address and key; a collection's settings never set the address.

    A collection that could set the address could make this service call anything in its network.
    """

    def create(wanted: Wanted[Settings]) -> Reranker:
        if not url:
            raise unconfigured(
                "reranker",
                "http",
                "FOOTNOTE_AUGMENTATION_RERANK_URL",
                "The http reranker needs FOOTNOTE_AUGMENTATION_RERANK_URL, the address of a /rerank endpoint.",
            )
        return HttpReranker(url, wanted.model, wanted.settings.form, api_key, timeout)

    return create
