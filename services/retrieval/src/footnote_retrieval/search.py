"""Retrieve: understand the question, run the channels, rank, and add context to the scored chunks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_RETRIEVAL
from footnote.types.v1.collection_pb2 import RetrievalSettings, SearchStrategy
from footnote.types.v1.reasons_pb2 import SearchStrategyReason
from footnote_kit import names
from footnote_kit.collection_settings import resolve, shared
from footnote_kit.degradations import degradation, word
from footnote_kit.enum_words import enum_word
from footnote_kit.logs import get_logger
from footnote_kit.telemetry import counter
from footnote_kit.text_work import beside
from footnote_kit.timings import Stopwatch
from footnote_text.lexical import fold
from opentelemetry import trace

from footnote_retrieval.channels import insisting
from footnote_retrieval.channels.channels import Channels
from footnote_retrieval.channels.plan import Plan, filter_of
from footnote_retrieval.channels.speculation import Ahead
from footnote_retrieval.model import Candidate, Effective, Group, SearchRequest, SearchResult, grouped
from footnote_retrieval.ports import ChunkStore, Collections, Embedder, Resolved, Searchable
from footnote_retrieval.query import own_vectors, understanding
from footnote_retrieval.query.file_index import FileIndex
from footnote_retrieval.query.files import FileNames, NamedFile, effort_of_naming, missing_files, named_files
from footnote_retrieval.query.filter_fields import unknown_fields
from footnote_retrieval.query.understanding import Query
from footnote_retrieval.ranking import steps
from footnote_retrieval.ranking.affinity import affinities
from footnote_retrieval.ranking.bands import MOST, depth
from footnote_retrieval.ranking.candidates import Ranking
from footnote_retrieval.ranking.expand import expanded
from footnote_retrieval.ranking.files import found
from footnote_retrieval.ranking.scored import readable, scored
from footnote_retrieval.settings import Settings

_log = get_logger("footnote.retrieval.search")
_FULLTEXT = SearchStrategy.SEARCH_STRATEGY_FULLTEXT
_VECTOR = SearchStrategy.SEARCH_STRATEGY_VECTOR
_HYBRID = SearchStrategy.SEARCH_STRATEGY_HYBRID

_STALE = "Documents that were being indexed or replaced are taken as they were known before."
_MISSING = "Not among the documents: {}. Nothing was taken from others in its place."


def _names_one(candidate: Candidate, filenames: Sequence[str]) -> bool:
    return any(fold(name) in fold(candidate.hit.text) for name in filenames)


class Searcher:
    """Searches collections for a caller; a failing channel degrades the result instead of failing it."""

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
        self._ahead: Ahead[Resolved] = Ahead()

    async def search(self, request: SearchRequest) -> SearchResult:
        """Find the chunks that match best.

        Raises NotFound for a collection that the caller cannot see, and InvalidArgument for an empty search. Raises
        InvalidArgument(DIMENSION_MISMATCH) for a vector of another length than those searched. Raises
        InvalidArgument(OWN_VECTORS) for a text alone where a named collection brings its own vectors.
        """
        own_vectors.check_request(request)
        clock = Stopwatch(PIPELINE_STAGE_RETRIEVAL)
        began = time.perf_counter()
        known = self._collections.known(request.scope, request.collections)
        if known is None:
            result = await self._asking(request, clock)
        else:
            clock.record("resolve", began, time.perf_counter())
            result = await self._search_in(known, request, clock.fork())
        clock.timings += result.timings
        result.timings = clock.finish()
        self._report(request, result)
        return result

    async def _asking(self, request: SearchRequest, clock: Stopwatch) -> SearchResult:
        """Search after asking indexing what the caller may see."""

        async def resolve() -> Resolved:
            with clock.step("resolve"):
                return await self._collections.resolve(request.scope, request.collections, stale_too=True)

        async def search(resolved: Resolved) -> SearchResult:
            result = await self._search_in(resolved.visible, request, clock.fork())
            if resolved.stale:
                result.degradations.append(degradation(PIPELINE_STAGE_RETRIEVAL, "DOCUMENTS_STALE", _STALE))
            return result

        who = (request.scope.SerializeToString(deterministic=True), request.collections)
        return await self._ahead.run(who, resolve, search, self._stays_here)

    def counting(self, given: RetrievalSettings, collections: Sequence[RetrievalSettings] = ()) -> RetrievalSettings:
        """Return the effective settings of the request and its collections."""
        return resolve(self._deployment, given, *([shared(collections)] if collections else []))

    def _stays_here(self, resolved: Resolved) -> bool:
        """Return whether a search may start on the last known answer: text sent elsewhere cannot be recalled."""
        return all(self._embedder.is_local(searchable.collection.settings.embedding) for searchable in resolved.visible)

    async def _search_in(self, visible: Sequence[Searchable], request: SearchRequest, clock: Stopwatch) -> SearchResult:
        now = self._now()
        groups = grouped(visible, request.scope.tenant_id)
        counting = self.counting(request.settings, [s.collection.settings.retrieval for s in visible])
        settings = Effective.of(counting)
        own_vectors.check_lengths(request, groups)
        own_vectors.check_named(request, settings.strategy, groups)
        languages = list(dict.fromkeys(code for searchable in visible for code in searchable.languages if code))
        understood = await beside(
            len(request.query), understanding.understand, request.query, request.language, languages
        )
        result = SearchResult(language=understood.language, timings=clock.timings, settings=counting)
        result.collection_ids = [searchable.collection.id for searchable in visible]
        if not groups:
            result.strategy = _HYBRID
            result.strategy_choice.reason = SearchStrategyReason.SEARCH_STRATEGY_REASON_NO_COLLECTION
            return result
        lacking = own_vectors.needing(request, groups)
        strategy, choice = await self._channels.choose(request, understood, settings.strategy, groups, lacking)
        filenames = await self._filenames(request, groups, now)
        named = await beside(effort_of_naming(request.query, filenames), named_files, request.query, filenames)
        choice.named_filenames.extend(file.filename for file in named)
        missing = await beside(effort_of_naming(request.query, filenames), missing_files, request.query, filenames)
        plan = await self._plan(request, understood, settings, languages, groups, lacking, strategy, named, now)
        auto = settings.strategy == SearchStrategy.SEARCH_STRATEGY_AUTO
        findings, strategy = await insisting.run(self._channels, plan, understood, strategy, choice, clock, auto=auto)
        if lacking and strategy != _FULLTEXT:
            findings.degradations.append(own_vectors.by_words_only(lacking, searched=strategy == _HYBRID))
        result.strategy, result.strategy_choice = strategy, choice
        result.channels, result.degradations = findings.runs, findings.degradations
        result.degradations += await unknown_fields(
            request.where, groups, self._store, now, self._settings.read_timeout
        )
        await self._channels.each_file(plan, findings, request, named, self._settings.candidates)
        affinity = await beside(len(request.query), affinities, request.query, understood.language, filenames)
        ranking = Ranking(
            plan, findings, strategy, settings, affinity, named, request.offset,
            self._settings.file_name_weight, self._settings.near_duplicate, self._settings.candidates,
        )  # fmt: skip
        ranking, page = await self._ranked(ranking, clock)
        stored = sum(len(candidate.hit.text) + len(candidate.hit.extra) for candidate in page)
        chosen = await beside(stored // steps.QUICKER, readable, page, result.degradations)
        result.total = len(ranking.findings.candidates)
        result.score_floor = max((ranking.floor_of(key) for key in findings.vectors), default=0.0)
        if missing:
            result.degradations.append(
                degradation(PIPELINE_STAGE_RETRIEVAL, "NAMED_FILE_MISSING", _MISSING.format(", ".join(missing)))
            )
            # Passages of another file would be taken for those of the file in question.
            chosen = chosen if named else [one for one in chosen if _names_one(one, missing)]
        if len(chosen) == settings.limit and result.total > ranking.wanted:
            result.further = ranking.wanted
        result.named_document_ids = found(named, (candidate.hit.document_id for candidate in chosen))
        result.chunks = [scored(candidate, explain=request.explain) for candidate in chosen]
        await self._expand(result, chosen, settings, now, clock)
        return result

    async def _filenames(self, request: SearchRequest, groups: Sequence[Group], now: float) -> FileNames:
        if request.document_ids:
            return FileNames({})  # the caller has already chosen files
        return await self._files.of(groups, now, self._settings.read_timeout)

    async def _plan(
        self, request: SearchRequest, understood: Query, settings: Effective, languages: Sequence[str],
        groups: Sequence[Group], lacking: Sequence[Group], strategy: SearchStrategy.ValueType,
        named: Sequence[NamedFile], now: float,
    ) -> Plan:  # fmt: skip
        return Plan(
            text=request.query,
            lexical_query=await beside(len(request.query), understanding.lexical_query, understood, languages),
            groups=groups,
            filter=filter_of(request, named),
            limit=depth(request.offset + settings.limit, self._settings.candidates),
            dense=strategy in {_VECTOR, _HYBRID},
            lexical=strategy in {_FULLTEXT, _HYBRID},
            now=now,
            scope=request.scope,
            query_vector=request.query_vector,
            by_words=frozenset(group.embedding_key for group in lacking),
            bounds=request.bounds,
        )

    async def _ranked(self, ranking: Ranking, clock: Stopwatch) -> tuple[Ranking, list[Candidate]]:
        """Rank, with more candidates where equals of the last ones lack: the engine's choice among them varies.

        Returns the ranking that counts, and its page.
        """
        while True:
            ranked = await beside(steps.effort(ranking), steps.rank, ranking, clock)
            if not ranked.lacks:
                break
            plan = replace(ranking.plan, limit=min(8 * ranking.plan.limit, MOST))
            findings = await self._channels.run(plan, clock)
            if findings.degradations:
                break
            ranking = replace(ranking, plan=plan, findings=findings)
        return ranking, ranked.page

    async def _expand(
        self, result: SearchResult, chosen: Sequence[Candidate], settings: Effective, now: float, clock: Stopwatch
    ) -> None:
        if not result.chunks or not (settings.neighbors or settings.resolve_parents):
            return
        timeout = self._settings.read_timeout
        with clock.step("expand"):
            result.chunks = await expanded(
                self._store, result.chunks, chosen, settings, now, timeout, result.degradations
            )

    @staticmethod
    def _report(request: SearchRequest, result: SearchResult) -> None:
        outcome = "degraded" if result.degradations else "found" if result.chunks else "empty"
        strategy = SearchStrategy.Name(result.strategy).removeprefix("SEARCH_STRATEGY_")
        counter("footnote.retrieval.searches").add(1, {names.STRATEGY: strategy, "outcome": outcome})
        trace.get_current_span().set_attributes({names.STRATEGY: strategy, names.CHUNKS: len(result.chunks)})
        _log.info(
            "search_done", strategy=strategy, outcome=outcome,
            reason=enum_word(SearchStrategyReason.DESCRIPTOR, result.strategy_choice.reason),
            query_length=len(request.query), language=result.language, chunks=len(result.chunks),
            top_k=result.settings.limit, scores=[round(one.score, 4) for one in result.chunks],
            candidates=result.total, degradations=[word(one) for one in result.degradations],
            duration_ms=round(result.timings[-1].duration.ToNanoseconds() / 1e6, 2),
        )  # fmt: skip
