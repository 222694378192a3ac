"""What an answer costs, from the provider or by our count; at its end, and as it streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from footnote.types.v1.answer_pb2 import ChatMessage, Usage
from footnote_kit.errors import DeadlineExceeded
from footnote_text import tokens

from footnote_generation.ports import Finished, ModelProvider, ModelRequest

Prices = Mapping[str, tuple[float, float]]
"""US dollars per million tokens of prompt and answer, by the beginning of a model's name."""

_EVERY_CHARACTERS = 200
_OF_A_MESSAGE = 4  # extra tokens per message


class Bill:
    """A model's token usage so far, for an answer that may be interrupted."""

    def __init__(self, request: ModelRequest, provider: ModelProvider, prices: Prices) -> None:
        self._request = request
        self._model = request.model or provider.default_model
        self._billed = provider.id != "builtin"
        self._prices = prices
        self._usage = Usage(estimated=True)
        self._fresh = ""

    def opened(self) -> Usage:
        """Return the usage of the request: the prompt."""
        self._usage.prompt_tokens = count(self._request.messages)
        return self.so_far()

    def grown(self, text: str) -> Usage | None:
        """Take the next words; return the usage so far, now and then."""
        if not text or not self._billed:
            return None
        first = not self._usage.completion_tokens
        self._fresh += text
        if not first and len(self._fresh) < _EVERY_CHARACTERS:
            return None
        self._usage.completion_tokens += tokens.count(self._fresh)
        self._fresh = ""
        return self.so_far()

    def closed(self, error: Exception) -> Usage | None:
        """Return the usage of a failed call: nothing if the model refused before the first word, as far as is known."""
        if not self._billed:
            return None
        self._usage.completion_tokens += tokens.count(self._fresh)
        self._fresh = ""
        if not self._usage.completion_tokens and not isinstance(error, DeadlineExceeded):
            self._usage.prompt_tokens = 0
        return self.so_far()

    def ended(self, text: str, finished: Finished) -> Usage:
        """Return the usage of an answer without its cost, from the provider, else by our count.

        A model's words count as it wrote them, thoughts too, whatever of them is shown as the answer's `text`.
        """
        usage = usage_of(self._request, text, finished)
        if self._billed and finished.completion_tokens is None:
            usage.completion_tokens = self._usage.completion_tokens + tokens.count(self._fresh)
        return usage

    def so_far(self) -> Usage:
        """Return the usage so far."""
        price(self._usage, self._prices, self._model)
        usage = Usage()
        usage.CopyFrom(self._usage)
        return usage


def count(messages: Sequence[ChatMessage]) -> int:
    """Return the tokens of a prompt, as we count them."""
    return sum(tokens.count(message.text) + _OF_A_MESSAGE for message in messages)


def usage_of(request: ModelRequest, text: str, finished: Finished) -> Usage:
    """Return the usage of an answer, from the provider, else by our count."""
    estimated = finished.prompt_tokens is None or finished.completion_tokens is None
    prompt = count(request.messages) if finished.prompt_tokens is None else finished.prompt_tokens
    completion = tokens.count(text) if finished.completion_tokens is None else finished.completion_tokens
    return Usage(prompt_tokens=prompt, completion_tokens=completion, estimated=estimated)


def price(usage: Usage, prices: Prices, model: str) -> None:
    """Set an answer's cost in US dollars; leave it unset if the model's price is unknown.

    A price applies to every model whose name begins with its own, the longest match: providers add dates to names.
    """
    known = max((name for name in prices if model.startswith(name)), key=len, default=None)
    if known is None:
        return
    prompt, completion = prices[known]
    usage.cost_usd = (usage.prompt_tokens * prompt + usage.completion_tokens * completion) / 1_000_000
