"""The two channels of a search, run concurrently, each with its own deadline and failure handling."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_RETRIEVAL
from footnote.types.v1.chunk_pb2 import SearchChannel
from footnote.types.v1.collection_pb2 import EmbeddingSettings, SearchStrategy
from footnote.types.v1.reasons_pb2 import (
    SEARCH_FALLBACK_SOME_WITHOUT_VECTOR,
    SEARCH_STRATEGY_REASON_NO_QUERY_VECTOR,
    SearchFallback,
    SearchStrategyChoice,
)
from footnote_kit.breaker import Guard
from footnote_kit.degradations import Reason
from footnote_kit.errors import FootnoteError, InvalidArgument
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import histogram, span
from footnote_kit.text_work import off_loop
from footnote_kit.timings import Stopwatch
from footnote_store.filters import conjunction
from footnote_store.rows import Hit

from footnote_retrieval.channels.findings import Findings, collect, keep_one_revision
from footnote_retrieval.channels.plan import Plan, bounds_of, filter_of
from footnote_retrieval.model import ChannelRun, Group, SearchRequest, degradation
from footnote_retrieval.ports import ChunkStore, Embedder, QueryVector
from footnote_retrieval.query import understanding
from footnote_retrieval.query.files import NamedFile
from footnote_retrieval.query.understanding import Query
from footnote_retrieval.settings import Settings

_log = get_logger("footnote.retrieval.channels")
T = TypeVar("T")
_OF_A_FILE = 5  # candidates of a named file that is searched separately


@dataclass(frozen=True, slots=True)
class Channel:
    """A way to search: its name in logs and metrics, its degradation on failure, and what remains then."""

    id: SearchChannel.ValueType
    name: str
    unavailable: Reason
    instead: str


DENSE = Channel(SearchChannel.SEARCH_CHANNEL_DENSE, "dense", "DENSE_UNAVAILABLE", "Full text search only.")
LEXICAL = Channel(SearchChannel.SEARCH_CHANNEL_LEXICAL, "lexical", "LEXICAL_UNAVAILABLE", "Vector search only.")


class Channels:
    """Runs the channels against the store and the embedding providers."""

    def __init__(self, store: ChunkStore, embedder: Embedder, settings: Settings) -> None:
        self._store = store
        self._embedder = embedder
        self._settings = settings
        self._breakers: dict[str, Guard] = {}

    def breaker(self, name: str) -> Guard:
        """Return the circuit breaker of a dependency."""
        if name not in self._breakers:
            self._breakers[name] = Guard(name, self._settings.breaker_failures, self._settings.breaker_open)
        return self._breakers[name]

    async def choose(
        self, request: SearchRequest, understood: Query, wanted: SearchStrategy.ValueType,
        groups: Sequence[Group], lacking: Sequence[Group],
    ) -> tuple[SearchStrategy.ValueType, SearchStrategyChoice]:  # fmt: skip
        """Return the strategy, never AUTO, with the reason; a given vector is used. Groups in `lacking` need one."""
        if request.query_vector:
            return understanding.choose_with_vector(understood, wanted)
        weights = [await self._embedder.dense_weight(group.embedding) for group in groups if group not in lacking]
        if not weights:
            lacks = SearchStrategyChoice(reason=SEARCH_STRATEGY_REASON_NO_QUERY_VECTOR)
            return SearchStrategy.SEARCH_STRATEGY_FULLTEXT, lacks
        words = self._settings.long_question_words
        strategy, choice = await off_loop(
            len(request.query), understanding.choose, understood, wanted, max(weights), words
        )
        vector = SearchStrategy.SEARCH_STRATEGY_VECTOR
        if lacking and strategy == vector and wanted != vector:
            choice.fallback = SEARCH_FALLBACK_SOME_WITHOUT_VECTOR
            return SearchStrategy.SEARCH_STRATEGY_HYBRID, choice
        return strategy, choice

    async def run(self, plan: Plan, clock: Stopwatch) -> Findings:
        """Run the channels in the plan; lexical replaces dense where dense alone was planned and cannot run.

        Raises PermissionDenied or FailedPrecondition (PROVIDER_NOT_ALLOWED) where the question may not be embedded.
        """
        if plan.dense and not plan.query_vector:
            # Full text cannot stand in for this failure: the caller has to choose another provider or collection.
            bounds = bounds_of([member.collection for group in plan.groups for member in group.members])
            for group in plan.groups_of(DENSE.id):
                self._embedder.check(plan.scope, group.embedding, bounds, plan.bounds)
        findings = Findings()
        jobs = []
        # Start full text first, so that the query is embedded while the store works.
        if plan.lexical:
            jobs.append(self._run(LEXICAL, plan, findings, clock))
        if plan.dense:
            jobs.append(self._run(DENSE, plan, findings, clock))
        await asyncio.gather(*jobs)
        findings.runs.sort(key=lambda run: run.channel)
        if findings.dense_failed and not plan.lexical:
            await self._run(LEXICAL, plan, findings, clock)
        if findings.lexical_failed and (findings.dense_failed or not plan.dense):
            detail = findings.degradations[-1].detail
            findings.degradations = [degradation("STORE_UNAVAILABLE", "No documents could be searched.", detail)]
        keep_one_revision(findings.candidates)
        return findings

    async def each_file(
        self, plan: Plan, findings: Findings, request: SearchRequest, named: Sequence[NamedFile], first: int
    ) -> None:
        """Search separately in each of several named files without a hit: a large file can crowd out the others.

        These hits rank last among the first candidates of their channel.
        """
        if len(named) < 2:
            return
        there = {candidate.hit.document_id for candidate in findings.candidates.values()}
        for file in named:
            if there.intersection(file.document_ids):
                continue
            alone = replace(plan, filter=filter_of(request, [file]), limit=_OF_A_FILE)
            more = await self.run(alone, Stopwatch(PIPELINE_STAGE_RETRIEVAL))
            for chunk_id, candidate in more.candidates.items():
                candidate.dense_rank = first - 1 if candidate.dense_rank else 0
                candidate.lexical_rank = first - 1 if candidate.lexical_rank else 0
                findings.candidates.setdefault(chunk_id, candidate)

    async def _run(self, channel: Channel, plan: Plan, findings: Findings, clock: Stopwatch) -> None:
        """Search by one channel; its failure is a degradation, not an error."""
        run = ChannelRun(channel.id)
        if channel is DENSE:
            run.coverage = _with_vectors(plan.groups)
        findings.runs.append(run)
        if channel is DENSE and not await self._embedded(plan, findings, clock):
            return
        began = time.perf_counter()
        try:
            found = await self._all_groups(plan, channel.id, findings)
            for group, hits in zip(plan.groups_of(channel.id), found, strict=True):
                collect(group, hits, channel.id, plan.now, findings)
                run.candidates += len(hits)
        except FootnoteError as error:
            findings.failed.add(channel.id)
            findings.degradations.append(degradation(channel.unavailable, channel.instead, error.message))
            _log.warning("channel_failed", channel=channel.name, error=error.message, reason=error.reason)
        finally:
            self._record(run, channel.name, began, clock)

    async def _embedded(self, plan: Plan, findings: Findings, clock: Stopwatch) -> bool:
        """Embed the query and return whether that succeeded; a failure is a degradation."""
        if all(group.is_empty for group in plan.groups_of(DENSE.id)):
            return True
        try:
            await self._embed(plan, findings, clock)
        except FootnoteError as error:
            findings.failed.add(DENSE.id)
            findings.degradations.append(degradation("EMBEDDING_UNAVAILABLE", DENSE.instead, error.message))
            _log.warning("embedding_unavailable", error=error.message, reason=error.reason)
            return False
        return True

    @staticmethod
    def _record(run: ChannelRun, name: str, began: float, clock: Stopwatch) -> None:
        ended = time.perf_counter()
        run.seconds = ended - began
        clock.record(name, began, ended)
        histogram("footnote.retrieval.duration").record(run.seconds, {"channel": name})

    async def _embed(self, plan: Plan, findings: Findings, clock: Stopwatch) -> None:
        """Embed the query once per provider and model, however many collections share it."""
        groups = [group for group in plan.groups_of(DENSE.id) if not group.is_empty]
        wanted = {group.embedding_key: group.embedding for group in groups}
        if plan.query_vector:
            vector = np.asarray(plan.query_vector, dtype=np.float32)
            for key, embedding in wanted.items():
                findings.vectors[key] = QueryVector(vector, await self._embedder.dense_weight(embedding))
            return
        with clock.step("embed"), span("embed query"):
            made = await _each([self._embed_one(embedding, plan.text) for embedding in wanted.values()])
        findings.vectors.update(zip(wanted, made, strict=True))
        if len(groups) > len(wanted):
            _log.info("query_vector_reused", of="this question", times=len(groups) - len(wanted))

    async def _embed_one(self, embedding: EmbeddingSettings, text: str) -> QueryVector:
        breaker = self.breaker(f"embedding provider {embedding.provider or 'default'}")
        return await breaker.call(lambda: self._embedder.embed_query(embedding, text), self._settings.embed_timeout)

    async def _all_groups(self, plan: Plan, channel: SearchChannel.ValueType, findings: Findings) -> list[list[Hit]]:
        return await _each([self._one(group, plan, channel, findings) for group in plan.groups_of(channel)])

    async def _one(self, group: Group, plan: Plan, channel: SearchChannel.ValueType, findings: Findings) -> list[Hit]:
        """Search one group, fetching passages and vectors too: a second request took longer than the search."""
        if group.is_empty:
            return []
        scope = group.scope(plan.now)
        if channel == DENSE.id:
            vector = findings.vectors[group.embedding_key].vector
            timeout = self._settings.dense_timeout
            if len(vector) != group.dimensions:
                raise InvalidArgument(
                    f"the query's vector has {len(vector)} dimensions, those searched have {group.dimensions}",
                    reason="DIMENSION_MISMATCH",
                )
            return await self.breaker("dense search").call(
                lambda: self._store.search_dense(group.space, vector, scope, plan.limit, timeout, where=plan.filter),
                timeout,
            )
        timeout = self._settings.lexical_timeout
        return await self.breaker("full text search").call(
            lambda: self._store.search_lexical(
                group.space, plan.lexical_query, scope, plan.limit, timeout, where=plan.filter, vectors=plan.dense
            ),
            timeout,
        )


def _with_vectors(groups: Sequence[Group]) -> float:
    """Return the share of the searched chunks that have vectors."""
    collections = [member.collection for group in groups for member in group.members]
    chunks = sum(collection.chunk_count for collection in collections)
    lacking = sum(min(collection.chunks_without_vector, collection.chunk_count) for collection in collections)
    return 1 - lacking / chunks if chunks else 1.0


async def _each(calls: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Await calls concurrently; a single one, the usual case, runs without its own task."""
    return [await calls[0]] if len(calls) == 1 else list(await asyncio.gather(*calls))


_FULLTEXT = SearchStrategy.SEARCH_STRATEGY_FULLTEXT
_HYBRID = SearchStrategy.SEARCH_STRATEGY_HYBRID


async def run_with_phrases(
    channels: Channels, plan: Plan, understood: Query, strategy: SearchStrategy.ValueType,
    choice: SearchStrategyChoice, clock: Stopwatch, *, auto: bool,
) -> tuple[Findings, SearchStrategy.ValueType, Plan]:  # fmt: skip
    """Run the channels; phrases are required if any chunk has them, and AUTO does not end without hits.

    Returns the plan that found them too. Where AUTO continues with another strategy, `choice` records the reason.
    """
    if understood.phrases and plan.lexical:
        with_phrases = replace(plan, filter=conjunction([plan.filter, understanding.holding_phrases(understood)]))
        findings = await channels.run(with_phrases, clock)
        if findings.candidates or findings.degradations:
            return findings, strategy, with_phrases
        if auto:
            plan, strategy = replace(plan, dense=True), _HYBRID
            choice.fallback = SearchFallback.SEARCH_FALLBACK_QUOTED_TERMS_NOT_FOUND
        return await channels.run(plan, clock), strategy, plan
    findings = await channels.run(plan, clock)
    if auto and strategy == _FULLTEXT and not findings.candidates and not findings.degradations:
        plan, strategy = replace(plan, dense=True), _HYBRID
        choice.fallback = SearchFallback.SEARCH_FALLBACK_WORDS_NOT_FOUND
        return await channels.run(plan, clock), strategy, plan
    return findings, strategy, plan
