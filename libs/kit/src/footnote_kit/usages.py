"""Adds up what calls of models cost."""

from footnote.types.v1.answer_pb2 import Usage


def add_usage(usage: Usage, more: Usage) -> None:
    """Add the usage of another call to the first one; the cost is that of the calls whose price is known."""
    usage.prompt_tokens += more.prompt_tokens
    usage.completion_tokens += more.completion_tokens
    usage.embedding_tokens += more.embedding_tokens
    usage.estimated = usage.estimated or more.estimated
    if more.HasField("cost_usd"):
        usage.cost_usd += more.cost_usd
