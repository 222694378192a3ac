"""Retrieve: query to scored chunks."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_RETRIEVAL, Degradation
from footnote.types.v1.chunk_pb2 import ChannelScore, ScoredChunk, SearchChannel
from footnote.types.v1.collection_pb2 import RetrievalSettings, SearchStrategy
from footnote.types.v1.reasons_pb2 import SearchFallback, SearchStrategyChoice, SearchStrategyReason
from footnote_kit import names
from footnote_kit.collection_settings import resolve, shared
from footnote_kit.degradations import word
from footnote_kit.enum_words import enum_word
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import counter
from footnote_kit.text_work import beside
from footnote_kit.timings import Stopwatch
from footnote_store.filters import ALL, And, any_of, both, compile_expr, conjunction
from opentelemetry import trace

from footnote_retrieval import adjust, expand, files, fusion, own_vectors, proximity, query
from footnote_retrieval.affinity import affinities, apply_affinity
from footnote_retrieval.ahead import Ahead
from footnote_retrieval.channels import Channels, Findings, Plan
from footnote_retrieval.files import FileIndex, FileNames, NamedFile, named_files
from footnote_retrieval.model import (
    Candidate,
    Effective,
    Group,
    SearchRequest,
    SearchResult,
    degradation,
)
from footnote_retrieval.ports import ChunkStore, Collections, Embedder, Searchable
from footnote_retrieval.settings import Settings

_log = get_logger("footnote.retrieval.search")
_FULLTEXT = SearchStrategy.SEARCH_STRATEGY_FULLTEXT
_VECTOR = SearchStrategy.SEARCH_STRATEGY_VECTOR
_HYBRID = SearchStrategy.SEARCH_STRATEGY_HYBRID
_SPARE = 10  # passages read beyond those wanted, since repetitions will be left out
# Looking for a term in a passage, reading a passage's terms and decoding a row take less a character than analysing a
# question does, by about so many times.
_LOOKED, _QUICKER = 20_000, 200


class Searcher:
    """Searches collections on behalf of a caller; a failing channel degrades the result instead of failing it."""

    def __init__(
        self, collections: Collections, store: ChunkStore, embedder: Embedder, settings: Settings,
        now: Callable[[], float] = time.time, deployment: RetrievalSettings | None = None,
    ) -> None:  # fmt: skip
        self._collections = collections
        self._store = store
        self._embedder = embedder
        self._settings = settings
        self._deployment = deployment or RetrievalSettings()
        self._now = now
        self._channels = Channels(store, embedder, settings)
        self._files = FileIndex(store)
        self._ahead: Ahead[list[Searchable]] = Ahead()

    async def search(self, request: SearchRequest) -> SearchResult:
        """Find the chunks that match best.

        Raises NotFound for a collection that the caller cannot see, and InvalidArgument: for a search for nothing, a
        vector that is not as long as those searched (DIMENSION_MISMATCH), a text alone where a collection named brings
        its own vectors (OWN_VECTORS).
        """
        own_vectors.check_request(request)
        clock = Stopwatch(PIPELINE_STAGE_RETRIEVAL)

        async def resolve() -> list[Searchable]:
            with clock.step("resolve"):
                return await self._collections.resolve(request.scope, request.collections)

        who = (request.scope.SerializeToString(deterministic=True), request.collections)
        result = await self._ahead.run(
            who, resolve, lambda visible: self._search_in(visible, request, clock.fork()), self._stays_here
        )
        clock.timings += result.timings
        result.timings = clock.finish()
        self._report(request, result)
        return result

    def counting(self, given: RetrievalSettings, collections: Sequence[RetrievalSettings] = ()) -> RetrievalSettings:
        """Return what counts of a request's settings and the collections'."""
        return resolve(self._deployment, given, *([shared(collections)] if collections else []))

    def _stays_here(self, visible: Sequence[Searchable]) -> bool:
        """Tell whether a search may begin by what was known before: what has left cannot be called back."""
        return all(self._embedder.is_local(searchable.collection.settings.embedding) for searchable in visible)

    async def _search_in(self, visible: Sequence[Searchable], request: SearchRequest, clock: Stopwatch) -> SearchResult:
        now = self._now()
        groups = _groups(visible, request.scope.tenant_id)
        counting = self.counting(request.settings, [s.collection.settings.retrieval for s in visible])
        settings = Effective.of(counting)
        own_vectors.check_lengths(request, groups)
        own_vectors.check_named(request, settings.strategy, groups)
        languages = _languages(visible)
        size = len(request.query)
        understood = await beside(size, query.understand, request.query, request.language, languages)
        result = SearchResult(language=understood.language, timings=clock.timings, settings=counting)
        result.collection_ids = [searchable.collection.id for searchable in visible]
        if not groups:
            result.strategy = _HYBRID
            result.strategy_choice.reason = SearchStrategyReason.SEARCH_STRATEGY_REASON_NO_COLLECTION
            return result
        lacking = own_vectors.needing(request, groups)
        strategy, choice = await self._channels.choose(request, understood, settings.strategy, groups, lacking)
        filenames = await self._filenames(request, groups, now)
        named = await beside(files.effort_of_naming(request.query, filenames), named_files, request.query, filenames)
        plan = Plan(
            text=understood.subject,
            lexical_query=await beside(size, query.lexical_query, understood, languages),
            groups=groups,
            filter=_filter(request, named),
            limit=max(self._settings.candidates, request.offset + settings.limit),
            dense=strategy in {_VECTOR, _HYBRID},
            lexical=strategy in {_FULLTEXT, _HYBRID},
            now=now,
            scope=request.scope,
            query_vector=request.query_vector,
            by_words=frozenset(group.embedding_key for group in lacking),
        )
        findings, strategy = await self._run(plan, understood, strategy, choice, settings, clock)
        if lacking and strategy != _FULLTEXT:
            findings.degradations.append(own_vectors.by_words_only(lacking, searched=strategy == _HYBRID))
        affinity = await beside(size, affinities, request.query, understood.language, filenames)
        wanted = request.offset + settings.limit

        def select() -> list[Candidate]:
            ranked = self._rank(plan, findings, strategy, settings, affinity, named, wanted, clock)
            with clock.step("select"):
                keep = len(ranked) if len(named) > 1 else wanted
                ranked = adjust.without_repetitions(ranked, keep, self._settings.near_duplicate)
                return adjust.guarantee_files(ranked, named, wanted)[request.offset : wanted]

        ranked = await beside(_effort(plan, findings), select)
        stored = sum(len(candidate.hit.text) + len(candidate.hit.extra) for candidate in ranked)
        chosen = await beside(stored // _QUICKER, readable, ranked, findings.degradations)
        result.named_document_ids = files.found(named, (candidate.hit.document_id for candidate in chosen))
        result.chunks = [_scored(candidate, explain=request.explain) for candidate in chosen]
        choice.named_filenames.extend(file.filename for file in named)
        result.strategy, result.strategy_choice = strategy, choice
        result.channels, result.degradations = findings.runs, findings.degradations
        result.total = len(findings.candidates)
        result.chunks = await self._expand(result.chunks, chosen, settings, now, clock, result.degradations)
        return result

    async def _filenames(self, request: SearchRequest, groups: Sequence[Group], now: float) -> FileNames:
        if request.document_ids:
            return FileNames({})  # the caller has chosen already
        of_groups = [await self._files.names(group, now, self._settings.read_timeout) for group in groups]
        if len(of_groups) == 1:
            return of_groups[0]
        found = {i: name for names in of_groups for name, ids in names.documents.items() for i in ids}
        return await beside(files.effort(found), FileNames, found)

    async def _run(
        self,
        plan: Plan,
        understood: query.Query,
        strategy: SearchStrategy.ValueType,
        choice: SearchStrategyChoice,
        settings: Effective,
        clock: Stopwatch,
    ) -> tuple[Findings, SearchStrategy.ValueType]:
        """Run the channels; phrases must be there where any chunk has them, and AUTO does not end with nothing.

        Where AUTO goes on by another strategy, `choice` is told why.
        """
        auto = settings.strategy == SearchStrategy.SEARCH_STRATEGY_AUTO
        if understood.phrases and plan.lexical:
            with_phrases = _with(plan, filter=conjunction([plan.filter, query.holding_phrases(understood)]))
            findings = await self._channels.run(with_phrases, clock)
            if findings.candidates or findings.degradations:
                return findings, strategy
            if auto:
                plan, strategy = _with(plan, dense=True), _HYBRID
                choice.fallback = SearchFallback.SEARCH_FALLBACK_QUOTED_TERMS_NOT_FOUND
            return await self._channels.run(plan, clock), strategy
        findings = await self._channels.run(plan, clock)
        if auto and strategy == _FULLTEXT and not findings.candidates and not findings.degradations:
            plan, strategy = _with(plan, dense=True), _HYBRID
            choice.fallback = SearchFallback.SEARCH_FALLBACK_WORDS_NOT_FOUND
            return await self._channels.run(plan, clock), strategy
        return findings, strategy

    def _rank(
        self, plan: Plan, findings: Findings, strategy: SearchStrategy.ValueType, settings: Effective,
        affinity: Mapping[str, float], files: Sequence[NamedFile], wanted: int, clock: Stopwatch,
    ) -> list[Candidate]:  # fmt: skip
        """Give every candidate its score and sort."""
        both_ran = strategy == _HYBRID and not findings.dense_failed and not findings.lexical_failed
        with clock.step("fuse"):
            if both_ran and not settings.rrf:
                self._channels.complete(plan, findings)
            candidates = list(findings.candidates.values())
            if both_ran:
                self._fuse(candidates, findings, settings)
            else:
                _single(candidates)
            for run in findings.runs:
                run.weight = _mean_weight(candidates, run.channel)
            candidates = self._head(candidates, affinity, wanted, files)
        with clock.step("adjust"):
            if strategy != _VECTOR and not settings.rrf:
                adjust.order(candidates)
                adjust.apply_proximity(candidates, plan.lexical_query.split())
            candidates = [candidate for candidate in candidates if candidate.score >= settings.min_score]
            apply_affinity(candidates, affinity, self._settings.file_name_weight)
            adjust.apply_recency(candidates, settings.recency_weight, settings.half_life, plan.now)
            adjust.order(candidates)
        return candidates

    def _head(
        self, candidates: list[Candidate], affinity: Mapping[str, float], wanted: int,
        files: Sequence[NamedFile],
    ) -> list[Candidate]:  # fmt: skip
        """Return the candidates whose passages are worth reading: the best, some to spare, one of each named file."""
        weight = self._settings.file_name_weight
        ordered = sorted(
            candidates,
            key=lambda c: -(c.score + weight * affinity.get(c.hit.document_id, 0.0)),
        )
        size = max(proximity.TOP, wanted + _SPARE)
        head = ordered[:size]
        if len(files) > 1:
            there = {candidate.hit.document_id for candidate in head}
            for file in files:
                if not there.intersection(file.document_ids):
                    head += [c for c in ordered[size:] if c.hit.document_id in file.document_ids][:1]
        return head

    def _fuse(self, candidates: list[Candidate], findings: Findings, settings: Effective) -> None:
        """Fuse per embedding model: cosines of different models do not compare."""
        by_model: dict[bytes, list[Candidate]] = {}
        for candidate in candidates:
            by_model.setdefault(candidate.group.embedding_key, []).append(candidate)
        for key, members in by_model.items():
            made = findings.vectors.get(key)  # none where a collection brings its own and the search does not
            recommended = made.dense_weight if made is not None else 0.0
            weight = recommended if settings.dense_weight is None or made is None else settings.dense_weight
            dense = np.array([candidate.dense or 0.0 for candidate in members])
            lexical = np.array([candidate.lexical or 0.0 for candidate in members])
            fused = fusion.weighted(dense, lexical, weight, adapt=settings.dense_weight is None)
            scores, share = fused.scores, fused.dense_weight
            if settings.rrf:
                share = 0.5 if settings.dense_weight is None and made is not None else weight
                scores = fusion.reciprocal_rank(
                    [c.dense_rank for c in members], [c.lexical_rank for c in members], share
                )
            columns = zip(members, scores.tolist(), fused.dense.tolist(), fused.lexical.tolist(), strict=True)
            for candidate, candidate.score, candidate.normal_dense, candidate.normal_lexical in columns:
                candidate.dense_weight = share

    async def _expand(
        self, chunks: list[ScoredChunk], chosen: Sequence[Candidate], settings: Effective, now: float, clock: Stopwatch,
        degradations: list[Degradation],
    ) -> list[ScoredChunk]:  # fmt: skip
        """Add parents and neighbours where they are wanted; without them the hits are still good."""
        if not chunks or not (settings.neighbors or settings.resolve_parents):
            return chunks
        timeout = self._settings.read_timeout
        with clock.step("expand"):
            try:
                groups = {id(candidate.group): candidate.group for candidate in chosen}
                group_of = {id(chunk): candidate.group for chunk, candidate in zip(chunks, chosen, strict=True)}
                if settings.resolve_parents:
                    kept: set[int] = set()
                    for group in groups.values():
                        mine = [chunk for chunk in chunks if group_of[id(chunk)] is group]
                        kept.update(map(id, await expand.with_parents(self._store, group, mine, now, timeout)))
                    chunks = [chunk for chunk in chunks if id(chunk) in kept]
                for group in groups.values():
                    mine = [chunk for chunk in chunks if group_of[id(chunk)] is group]
                    await expand.add_neighbors(self._store, group, mine, settings.neighbors, now, timeout)
            except FootnoteError as error:
                degradations.append(
                    degradation("STORE_UNAVAILABLE", "Passages come without their surroundings.", error.message)
                )
        return chunks

    def _report(self, request: SearchRequest, result: SearchResult) -> None:
        outcome = "degraded" if result.degradations else "found" if result.chunks else "empty"
        strategy = SearchStrategy.Name(result.strategy).removeprefix("SEARCH_STRATEGY_")
        counter("footnote.retrieval.searches").add(1, {names.STRATEGY: strategy, "outcome": outcome})
        if not result.chunks:
            counter("footnote.retrieval.misses").add(1)
        trace.get_current_span().set_attributes({names.STRATEGY: strategy, names.CHUNKS: len(result.chunks)})
        _log.info(
            "search_done", strategy=strategy, outcome=outcome,
            reason=enum_word(SearchStrategyReason.DESCRIPTOR, result.strategy_choice.reason),
            query_length=len(request.query), language=result.language, chunks=len(result.chunks),
            candidates=result.total, degradations=[word(one) for one in result.degradations],
            duration_ms=round(result.timings[-1].duration.ToNanoseconds() / 1e6, 2),
        )  # fmt: skip


def _groups(visible: Sequence[Searchable], tenant_id: str) -> list[Group]:
    members: dict[tuple[str, bytes], list[Searchable]] = {}
    for searchable in visible:
        embedding = searchable.collection.settings.embedding
        if searchable.space:
            key = (searchable.space, embedding.SerializeToString(deterministic=True))
            members.setdefault(key, []).append(searchable)
    return [
        Group(space, same[0].collection.settings.embedding, tuple(same), tenant_id)
        for (space, _), same in members.items()
    ]


def _languages(visible: Sequence[Searchable]) -> list[str]:
    return list(dict.fromkeys(code for searchable in visible for code in searchable.languages if code))


def _filter(request: SearchRequest, files: Sequence[NamedFile]) -> str:
    documents = any_of("document_id", request.document_ids)
    if files:
        documents = any_of("document_id", [document for file in files for document in file.document_ids])
    expr = both(request.where, documents)
    return compile_expr(expr if expr != ALL else And(()))


def _with(plan: Plan, *, filter: str | None = None, dense: bool | None = None) -> Plan:
    return Plan(
        plan.text, plan.lexical_query, plan.groups, plan.filter if filter is None else filter, plan.limit,
        plan.dense if dense is None else dense, plan.lexical, plan.now, plan.scope, plan.query_vector,
        plan.by_words,
    )  # fmt: skip


def _effort(plan: Plan, findings: Findings) -> int:
    """Return how much work it is to rank, as characters of a question that would be as much."""
    read = sum(len(candidate.hit.lexical_text) for candidate in findings.candidates.values())
    sought = plan.lexical_query.count(" ") + 1
    return read // _QUICKER + sought * min(read, proximity.TOP * 8000) // _LOOKED


def _single(candidates: Sequence[Candidate]) -> None:
    """Score the hits of one channel: cosine as it is, BM25 as a share of the best."""
    best = max((c.lexical for c in candidates if c.lexical is not None), default=0.0)
    for candidate in candidates:
        if candidate.dense is not None:
            candidate.score = candidate.normal_dense = min(1.0, max(0.0, candidate.dense))
            candidate.dense_weight = 1.0
        elif candidate.lexical is not None:
            candidate.score = candidate.normal_lexical = candidate.lexical / best if best > 0 else 0.0


def readable(candidates: Sequence[Candidate], degradations: list[Degradation]) -> list[Candidate]:
    """Leave out candidates whose row is damaged, and say so: the others are still good."""
    kept = []
    for candidate in candidates:
        try:
            candidate.hit.decode()
        except FootnoteError as error:
            _log.error("row_unreadable", chunk_id=candidate.hit.id, error=error.message)
            degradations.append(degradation("STORE_UNAVAILABLE", "A damaged passage is left out.", error.message))
        else:
            kept.append(candidate)
    return kept


def _mean_weight(candidates: Sequence[Candidate], channel: int) -> float:
    if not candidates:
        return 0.0
    dense = sum(candidate.dense_weight for candidate in candidates) / len(candidates)
    return dense if channel == SearchChannel.SEARCH_CHANNEL_DENSE else 1.0 - dense


def _scored(candidate: Candidate, *, explain: bool) -> ScoredChunk:
    chunk = candidate.hit.chunk
    member = candidate.group.member(candidate.hit.collection_key)
    if member is not None:
        chunk.collection = member.collection.name
        chunk.collection_id = member.collection.id
    scored = ScoredChunk(chunk=chunk, score=min(1.0, max(0.0, candidate.score)))
    for channel, raw, normal, rank, weight in (
        (SearchChannel.SEARCH_CHANNEL_DENSE, candidate.dense, candidate.normal_dense,
         candidate.dense_rank, candidate.dense_weight),
        (SearchChannel.SEARCH_CHANNEL_LEXICAL, candidate.lexical, candidate.normal_lexical,
         candidate.lexical_rank, 1 - candidate.dense_weight),
    ):  # fmt: skip
        # A score fetched for a candidate that the channel did not find itself is shown only where one explains.
        if raw is not None and (rank or explain):
            scored.channels.append(ChannelScore(channel=channel, raw_score=raw, score=normal, rank=rank, weight=weight))
    if explain:
        scored.adjustments.extend(adjustment.message() for adjustment in candidate.adjustments)
    return scored
