"""Adds up what calls of models cost."""

import math

from footnote.types.v1.answer_pb2 import Usage

from footnote_kit.errors import FootnoteError

_KEY = "usage"
"""The key of a failed call's usage in its error's metadata: prompt tokens, completion tokens, US dollars if known."""


def add_usage(usage: Usage, more: Usage) -> None:
    """Add the usage of another call to the first one; the cost is that of the calls whose price is known."""
    usage.prompt_tokens += more.prompt_tokens
    usage.completion_tokens += more.completion_tokens
    usage.embedding_tokens += more.embedding_tokens
    usage.estimated = usage.estimated or more.estimated
    if more.HasField("cost_usd"):
        usage.cost_usd += more.cost_usd


def with_usage(error: FootnoteError, usage: Usage) -> FootnoteError:
    """Return an error of a model's call that also says what the call cost."""
    cost = [repr(usage.cost_usd)] if usage.HasField("cost_usd") else []
    error.metadata[_KEY] = " ".join([str(usage.prompt_tokens), str(usage.completion_tokens), *cost])
    return error


def usage_in(error: FootnoteError) -> Usage:
    """Return what a failed call cost, by its error; nothing if that does not say."""
    prompt, completion, *cost = [*error.metadata.get(_KEY, "").split(" "), ""][:3]
    try:
        usage = Usage(prompt_tokens=int(prompt), completion_tokens=int(completion), estimated=True)
        if cost and cost[0]:
            usage.cost_usd = float(cost[0])
    except ValueError:
        return Usage()
    wrong = usage.prompt_tokens < 0 or usage.completion_tokens < 0 or not 0 <= usage.cost_usd < math.inf
    return Usage() if wrong else usage
