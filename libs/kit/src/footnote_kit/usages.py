"""Adds up what calls of models cost."""

from footnote.types.v1.answer_pb2 import Usage


def add_usage(usage: Usage, more: Usage) -> None:
    """Add the usage of another call to the first one; the cost is known if both are."""
    if not _tokens(more):
        return
    known = more.HasField("cost_usd") and (usage.HasField("cost_usd") or not _tokens(usage))
    usage.prompt_tokens += more.prompt_tokens
    usage.completion_tokens += more.completion_tokens
    usage.embedding_tokens += more.embedding_tokens
    usage.estimated = usage.estimated or more.estimated
    if known:
        usage.cost_usd += more.cost_usd
    else:
        usage.ClearField("cost_usd")


def _tokens(usage: Usage) -> int:
    return usage.prompt_tokens + usage.completion_tokens + usage.embedding_tokens
