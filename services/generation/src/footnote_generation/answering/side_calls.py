"""Asks a model for one short text beside an answer (a title, a rewritten question, a query), and says what it costs."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass

from footnote.types.v1.answer_pb2 import Usage
from footnote_kit.errors import FootnoteError

from footnote_generation.answering.billing import Prices, price, usage_of
from footnote_generation.answering.retries import RetryPolicy, stream_with_retries
from footnote_generation.ports import Finished, ModelProvider, ModelRequest, Words


@dataclass(frozen=True, slots=True)
class SideCalls:
    """How such calls are repeated, and the prices of models."""

    retry_policy: RetryPolicy
    prices: Prices

    async def ask(self, provider: ModelProvider, request: ModelRequest) -> tuple[str, Usage]:
        """Return the model's whole text, "" for a refusal, and its cost. Raises FootnoteError when the model fails."""
        said, usage, error = await self.attempt(provider, request)
        if error is not None:
            raise error
        return said, usage

    async def attempt(self, provider: ModelProvider, request: ModelRequest) -> tuple[str, Usage, FootnoteError | None]:
        """Like `ask`, but return a failure, with "" and the cost of what came before it."""
        words: list[str] = []
        finished, error = Finished(), None
        try:
            async with aclosing(stream_with_retries(provider, request, self.retry_policy)) as stream:
                async for event in stream:
                    if isinstance(event, Words):
                        words.append(event.text)
                    else:
                        finished = event
        except FootnoteError as failure:
            if not words:
                return "", Usage(), failure
            error = failure
        said = "".join(words)
        usage = usage_of(request, said, finished)
        price(usage, self.prices, finished.model or request.model or provider.default_model)
        return ("" if error or finished.refusal else said), usage, error
