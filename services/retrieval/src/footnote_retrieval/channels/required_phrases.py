"""Runs the channels for a question with required phrases, and continues where AUTO would find nothing."""

from __future__ import annotations

from dataclasses import replace

from footnote.types.v1.collection_pb2 import SearchStrategy
from footnote.types.v1.reasons_pb2 import SearchFallback, SearchStrategyChoice
from footnote_kit.timings import Stopwatch
from footnote_store.filters import conjunction

from footnote_retrieval.channels.channels import Channels
from footnote_retrieval.channels.findings import Findings
from footnote_retrieval.channels.plan import Plan
from footnote_retrieval.query import understanding
from footnote_retrieval.query.understanding import Query

_FULLTEXT = SearchStrategy.SEARCH_STRATEGY_FULLTEXT
_HYBRID = SearchStrategy.SEARCH_STRATEGY_HYBRID


async def run(
    channels: Channels, plan: Plan, understood: Query, strategy: SearchStrategy.ValueType,
    choice: SearchStrategyChoice, clock: Stopwatch, *, auto: bool,
) -> tuple[Findings, SearchStrategy.ValueType]:  # fmt: skip
    """Run the channels; phrases are required if any chunk has them, and AUTO does not end without hits.

    Where AUTO continues with another strategy, `choice` records the reason.
    """
    if understood.phrases and plan.lexical:
        filter = conjunction([plan.filter, understanding.holding_phrases(understood)])
        findings = await channels.run(replace(plan, filter=filter), clock)
        if findings.candidates or findings.degradations:
            return findings, strategy
        if auto:
            plan, strategy = replace(plan, dense=True), _HYBRID
            choice.fallback = SearchFallback.SEARCH_FALLBACK_QUOTED_TERMS_NOT_FOUND
        return await channels.run(plan, clock), strategy
    findings = await channels.run(plan, clock)
    if auto and strategy == _FULLTEXT and not findings.candidates and not findings.degradations:
        plan, strategy = replace(plan, dense=True), _HYBRID
        choice.fallback = SearchFallback.SEARCH_FALLBACK_WORDS_NOT_FOUND
        return await channels.run(plan, clock), strategy
    return findings, strategy
