"""The two channels of a search, side by side, each with its own deadline and its own way to fail."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from footnote.types.v1.answer_pb2 import Degradation
from footnote.types.v1.chunk_pb2 import SearchChannel
from footnote.types.v1.collection_pb2 import Collection, EmbeddingSettings, SearchStrategy
from footnote.types.v1.provider_pb2 import TextBounds
from footnote.types.v1.reasons_pb2 import (
    SEARCH_FALLBACK_SOME_WITHOUT_VECTOR,
    SEARCH_STRATEGY_REASON_NO_QUERY_VECTOR,
    SearchStrategyChoice,
)
from footnote.types.v1.scope_pb2 import Scope
from footnote_kit.breaker import Guard
from footnote_kit.errors import FootnoteError, InvalidArgument
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import histogram, span
from footnote_kit.text_work import beside
from footnote_kit.timings import Stopwatch
from footnote_store.rows import Hit
from numpy.typing import NDArray

from footnote_retrieval import query
from footnote_retrieval.model import Candidate, ChannelRun, Group, SearchRequest, degradation
from footnote_retrieval.ports import ChunkStore, Embedder, QueryVector
from footnote_retrieval.settings import Settings

_log = get_logger("footnote.retrieval.channels")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to search for, in which groups, under which filter."""

    text: str
    lexical_query: str
    groups: Sequence[Group]
    filter: str
    limit: int
    dense: bool
    lexical: bool
    now: float
    scope: Scope
    query_vector: tuple[float, ...] = ()
    by_words: frozenset[bytes] = frozenset()
    """Embedding keys of the groups that are searched by words only: they bring their own vectors."""

    def groups_of(self, channel: SearchChannel.ValueType) -> Sequence[Group]:
        """Return the groups that a channel searches."""
        if channel == SearchChannel.SEARCH_CHANNEL_LEXICAL or not self.by_words:
            return self.groups
        return [group for group in self.groups if group.embedding_key not in self.by_words]


@dataclass(slots=True)
class Findings:
    """What the channels brought."""

    candidates: dict[str, Candidate] = field(default_factory=dict)
    vectors: dict[bytes, QueryVector] = field(default_factory=dict)
    runs: list[ChannelRun] = field(default_factory=list)
    degradations: list[Degradation] = field(default_factory=list)
    dense_failed: bool = False
    lexical_failed: bool = False


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
        self, request: SearchRequest, understood: query.Query, wanted: SearchStrategy.ValueType,
        groups: Sequence[Group], lacking: Sequence[Group],
    ) -> tuple[SearchStrategy.ValueType, SearchStrategyChoice]:  # fmt: skip
        """Return the strategy, never AUTO, and why; a vector given is used. `lacking` are groups that need one."""
        if request.query_vector:
            return query.choose_with_vector(understood, wanted)
        weights = [await self._embedder.dense_weight(group.embedding) for group in groups if group not in lacking]
        if not weights:
            lacks = SearchStrategyChoice(reason=SEARCH_STRATEGY_REASON_NO_QUERY_VECTOR)
            return SearchStrategy.SEARCH_STRATEGY_FULLTEXT, lacks
        words = self._settings.long_question_words
        strategy, choice = await beside(len(request.query), query.choose, understood, wanted, max(weights), words)
        vector = SearchStrategy.SEARCH_STRATEGY_VECTOR
        if lacking and strategy == vector and wanted != vector:
            choice.fallback = SEARCH_FALLBACK_SOME_WITHOUT_VECTOR
            return SearchStrategy.SEARCH_STRATEGY_HYBRID, choice
        return strategy, choice

    async def run(self, plan: Plan, clock: Stopwatch) -> Findings:
        """Run the channels that the plan asks for; if dense was to go alone and cannot, lexical steps in.

        Raises PermissionDenied or FailedPrecondition (PROVIDER_NOT_ALLOWED) where the question may not be embedded.
        """
        if plan.dense and not plan.query_vector:
            # Not a failure that full text could stand in for: somebody has to choose another provider or collection.
            bounds = bounds_of([member.collection for group in plan.groups for member in group.members])
            for group in plan.groups_of(SearchChannel.SEARCH_CHANNEL_DENSE):
                self._embedder.check(plan.scope, group.embedding, bounds)
        findings = Findings()
        jobs = []
        # Full text first: while the store is at it, the query's vector is made.
        if plan.lexical:
            jobs.append(self._lexical(plan, findings, clock))
        if plan.dense:
            jobs.append(self._dense(plan, findings, clock))
        await asyncio.gather(*jobs)
        findings.runs.sort(key=lambda run: run.channel)
        if findings.dense_failed and not plan.lexical:
            await self._lexical(plan, findings, clock)
        if findings.lexical_failed and (findings.dense_failed or not plan.dense):
            detail = findings.degradations[-1].detail
            findings.degradations = [degradation("STORE_UNAVAILABLE", "No documents could be searched.", detail)]
        _keep_one_revision(findings.candidates)
        return findings

    async def _dense(self, plan: Plan, findings: Findings, clock: Stopwatch) -> None:
        run = ChannelRun(SearchChannel.SEARCH_CHANNEL_DENSE)
        findings.runs.append(run)
        try:
            await self._embed(plan, findings, clock)
        except FootnoteError as error:
            findings.dense_failed = True
            findings.degradations.append(degradation("EMBEDDING_UNAVAILABLE", "Full text search only.", error.message))
            _log.warning("embedding_unavailable", error=error.message, reason=error.reason)
            return
        began = time.perf_counter()
        try:
            channel = SearchChannel.SEARCH_CHANNEL_DENSE
            found = await self._all_groups(plan, channel, findings)
            for group, hits in zip(plan.groups_of(channel), found, strict=True):
                self._collect(group, hits, SearchChannel.SEARCH_CHANNEL_DENSE, plan.now, findings)
                run.candidates += len(hits)
        except FootnoteError as error:
            findings.dense_failed = True
            findings.degradations.append(degradation("DENSE_UNAVAILABLE", "Full text search only.", error.message))
            _log.warning("dense_search_failed", error=error.message, reason=error.reason)
        finally:
            self._record(run, "dense", began, clock)

    async def _lexical(self, plan: Plan, findings: Findings, clock: Stopwatch) -> None:
        run = ChannelRun(SearchChannel.SEARCH_CHANNEL_LEXICAL)
        findings.runs.append(run)
        began = time.perf_counter()
        try:
            channel = SearchChannel.SEARCH_CHANNEL_LEXICAL
            found = await self._all_groups(plan, channel, findings)
            for group, hits in zip(plan.groups_of(channel), found, strict=True):
                self._collect(group, hits, SearchChannel.SEARCH_CHANNEL_LEXICAL, plan.now, findings)
                run.candidates += len(hits)
        except FootnoteError as error:
            findings.lexical_failed = True
            findings.degradations.append(degradation("LEXICAL_UNAVAILABLE", "Vector search only.", error.message))
            _log.warning("lexical_search_failed", error=error.message, reason=error.reason)
        finally:
            self._record(run, "lexical", began, clock)

    @staticmethod
    def _record(run: ChannelRun, name: str, began: float, clock: Stopwatch) -> None:
        ended = time.perf_counter()
        run.seconds = ended - began
        clock.record(name, began, ended)
        histogram("footnote.retrieval.duration").record(run.seconds, {"channel": name})

    async def _embed(self, plan: Plan, findings: Findings, clock: Stopwatch) -> None:
        """Embed the query once for each provider and model, however many collections share it."""
        groups = plan.groups_of(SearchChannel.SEARCH_CHANNEL_DENSE)
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
            _log.debug("query_vector_reused", times=len(groups) - len(wanted))

    async def _embed_one(self, embedding: EmbeddingSettings, text: str) -> QueryVector:
        breaker = self.breaker(f"embedding provider {embedding.provider or 'default'}")
        return await breaker.call(lambda: self._embedder.embed_query(embedding, text), self._settings.embed_timeout)

    async def _all_groups(self, plan: Plan, channel: SearchChannel.ValueType, findings: Findings) -> list[list[Hit]]:
        return await _each([self._one(group, plan, channel, findings) for group in plan.groups_of(channel)])

    async def _one(self, group: Group, plan: Plan, channel: SearchChannel.ValueType, findings: Findings) -> list[Hit]:
        """Search one group. Passages and vectors come along: asking for them later took longer than the search."""
        scope = group.scope(plan.now)
        if channel == SearchChannel.SEARCH_CHANNEL_DENSE:
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

    def _collect(
        self, group: Group, hits: Sequence[Hit], channel: SearchChannel.ValueType, now: float, findings: Findings
    ) -> None:
        """Take hits into the candidates, checking the scope of each once more."""
        for rank, hit in enumerate(hits, 1):
            if not group.allows(hit, now):
                # Never expected; whoever sees this has found a fault in the filter or in the store.
                _log.error("hit_outside_scope", chunk_id=hit.id, space=group.space)
                continue
            candidate = findings.candidates.get(hit.id)
            if candidate is None:
                candidate = findings.candidates[hit.id] = Candidate(hit, group)
            if channel == SearchChannel.SEARCH_CHANNEL_DENSE:
                candidate.dense, candidate.dense_rank = hit.score, rank
            else:
                candidate.lexical, candidate.lexical_rank = hit.score, rank

    @staticmethod
    def complete(plan: Plan, findings: Findings) -> None:
        """Fill in the score that a candidate lacks of the channel that did not bring it.

        Cosines are computed from the vectors that came with the lexical hits. BM25 scores are not: a chunk below the
        best few dozen has little of it, and half of the lowest score seen did as well as the true one on every set.
        """
        for group in plan.groups_of(SearchChannel.SEARCH_CHANNEL_DENSE):
            sought = findings.vectors[group.embedding_key].vector
            missing = [
                c for c in findings.candidates.values() if c.group is group and c.dense is None and _fits(c, sought)
            ]
            if missing:
                stored = np.stack([c.hit.vector for c in missing if c.hit.vector is not None])
                for candidate, cosine in zip(missing, cosines(stored, sought), strict=True):
                    candidate.dense = float(cosine)
        known = [c.dense for c in findings.candidates.values() if c.dense is not None]
        shares = [c.lexical for c in findings.candidates.values() if c.lexical is not None]
        lowest_cosine = min(known, default=0.0)
        # A list that is not full holds every chunk with a common term; the others have none.
        lowest_share = min(shares) / 2 if len(shares) >= plan.limit else 0.0
        for candidate in findings.candidates.values():
            if candidate.dense is None and candidate.group.embedding_key not in plan.by_words:
                candidate.dense = lowest_cosine
            candidate.lexical = lowest_share if candidate.lexical is None else candidate.lexical


def bounds_of(collections: Sequence[Collection]) -> TextBounds:
    """Return what binds a question to these collections: the strictest of them."""
    kept = [collection.name for collection in collections if collection.settings.local_only]
    return TextBounds(
        local_only=bool(kept),
        because=f"the collection {', '.join(map(repr, kept[:3]))}" if kept else "",
        collections=[name for collection in collections for name in (collection.name, collection.id)],
    )


def _keep_one_revision(candidates: dict[str, Candidate]) -> None:
    """Leave out the chunks of a revision whose writing began after the search had been told what to hide.

    Revisions are announced a moment before their first row is written, so only a search that takes longer sees two of
    a document: the lower is the one that was current.
    """
    current: dict[tuple[str, str], Hit] = {}
    revisions = {(c.hit.collection_key, c.hit.revision_key): c.hit for c in candidates.values()}
    for hit in revisions.values():
        document = (hit.collection_key, hit.owner_key)
        lowest = current.setdefault(document, hit)
        if hit.revision < lowest.revision:
            current[document] = hit
    if len(current) == len(revisions):
        return
    for chunk_id, candidate in list(candidates.items()):
        hit = candidate.hit
        if hit.revision > current[hit.collection_key, hit.owner_key].revision:
            del candidates[chunk_id]


def _fits(candidate: Candidate, query: NDArray[np.float32]) -> bool:
    return candidate.hit.vector is not None and len(candidate.hit.vector) == len(query)


async def _each(calls: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Await calls side by side; a single one, the usual case, without a task of its own."""
    return [await calls[0]] if len(calls) == 1 else list(await asyncio.gather(*calls))


def cosines(stored: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the cosine to a vector of each row, shape (n, dimensions), of length 1; 0 for a row of nothing."""
    length = float(np.linalg.norm(query)) or 1.0
    products: NDArray[np.float32] = stored @ query
    return products / length
