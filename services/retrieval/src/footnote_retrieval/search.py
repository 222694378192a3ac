"""Retrieve: understand the question, run the channels, rank, and add context to the scored chunks."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from footnote.types.v1.answer_pb2 import PIPELINE_STAGE_RETRIEVAL, Degradation
from footnote.types.v1.collection_pb2 import RetrievalSettings, SearchStrategy
from footnote.types.v1.reasons_pb2 import SearchStrategyChoice, SearchStrategyReason
from footnote_kit import names
from footnote_kit.collection_settings import resolve, shared
from footnote_kit.degradations import degradation, word
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger
from footnote_kit.paging import fitting
from footnote_kit.printable import enum_word
from footnote_kit.telemetry import counter
from footnote_kit.text_work import off_loop
from footnote_kit.timings import Stopwatch
from footnote_text.lexical import fold
from opentelemetry import trace

from footnote_retrieval.channels.channels import Channels, run_with_phrases
from footnote_retrieval.channels.findings import Findings
from footnote_retrieval.channels.plan import Plan, filter_of, unknown_fields
from footnote_retrieval.channels.speculation import Speculation
from footnote_retrieval.model import Candidate, Effective, Group, SearchRequest, SearchResult, grouped
from footnote_retrieval.ports import ChunkStore, Collections, Embedder, Resolved, Searchable
from footnote_retrieval.query import own_vectors, understanding
from footnote_retrieval.query.file_index import FileIndex
from footnote_retrieval.query.files import (
    FileNames,
    NamedFile,
    asks_for_whole,
    effort_of_naming,
    first_documents,
    missing_files,
    named_files,
)
from footnote_retrieval.query.understanding import Query
from footnote_retrieval.ranking import steps
from footnote_retrieval.ranking.affinity import affinities
from footnote_retrieval.ranking.bands import MOST, depth
from footnote_retrieval.ranking.expand import expanded
from footnote_retrieval.ranking.openings import openings
from footnote_retrieval.ranking.ranking import Ranking
from footnote_retrieval.ranking.repetitions import without_repetitions
from footnote_retrieval.ranking.scored import readable, scored
from footnote_retrieval.settings import Settings

_log = get_logger("footnote.retrieval.search")
_FULLTEXT = SearchStrategy.SEARCH_STRATEGY_FULLTEXT
_VECTOR = SearchStrategy.SEARCH_STRATEGY_VECTOR
_HYBRID = SearchStrategy.SEARCH_STRATEGY_HYBRID

_STALE = "Documents that were being indexed or replaced are taken as they were known before."
_MISSING = "Not among the documents: {}. Nothing was taken from others in its place."


@dataclass(frozen=True, slots=True)
class _Search:
    """One search: what is asked, in which collections, how it is understood, and the settings that count."""

    request: SearchRequest
    visible: Sequence[Searchable]
    groups: Sequence[Group]
    counting: RetrievalSettings
    settings: Effective
    languages: Sequence[str]
    query: Query
    lacking: Sequence[Group]
    """Groups that bring their own vectors, which this search has none for."""
    now: float
    clock: Stopwatch

    @property
    def is_auto(self) -> bool:
        """Whether the search chooses its strategy itself."""
        return self.settings.strategy == SearchStrategy.SEARCH_STRATEGY_AUTO

    def result(self, strategy: SearchStrategy.ValueType, choice: SearchStrategyChoice) -> SearchResult:
        """Return a result without chunks."""
        return SearchResult(
            strategy=strategy,
            strategy_choice=choice,
            language=self.query.language,
            timings=self.clock.timings,
            settings=self.counting,
            collection_ids=[searchable.collection.id for searchable in self.visible],
        )

    def nothing(self) -> SearchResult:
        """Return the result where there is no collection to search."""
        reason = SearchStrategyReason.SEARCH_STRATEGY_REASON_NO_COLLECTION
        return self.result(_HYBRID, SearchStrategyChoice(reason=reason))


@dataclass(frozen=True, slots=True)
class _Files:
    """The documents' file names, those that the question names, and names in it that no document has."""

    filenames: FileNames
    named: Sequence[NamedFile]
    missing: Sequence[str]

    def without_others(self, chosen: list[Candidate]) -> list[Candidate]:
        """Return passages of named files or about missing ones: others would be taken for the file in question."""
        if self.named:
            return chosen
        names = [fold(name) for name in self.missing]
        return [one for one in chosen if any(name in fold(one.hit.text) for name in names)]


class Searcher:
    """Searches collections for a caller; a failing channel degrades the result instead of failing it."""

    def __init__(
        self, collections: Collections, store: ChunkStore, embedder: Embedder, settings: Settings,
        deployment: RetrievalSettings | None = None,
    ) -> None:  # fmt: skip
        self._collections = collections
        self._store = store
        self._embedder = embedder
        self._settings = settings
        self._deployment = deployment or RetrievalSettings()
        self._channels = Channels(store, embedder, settings)
        self._files = FileIndex(store)
        self._speculation: Speculation[Resolved] = Speculation()

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
            result = await self._speculate(request, clock)
        else:
            clock.record("resolve", began, time.perf_counter())
            result = await self._search_in(known, request, clock.fork())
        clock.timings += result.timings
        result.timings = clock.finish()
        self._report(request, result)
        return result

    async def _speculate(self, request: SearchRequest, clock: Stopwatch) -> SearchResult:
        """Search what the caller saw last while indexing is asked again; that result counts only if nothing changed."""

        async def resolve() -> Resolved:
            with clock.step("resolve"):
                return await self._collections.resolve(request.scope, request.collections, stale_too=True)

        async def search(resolved: Resolved) -> SearchResult:
            result = await self._search_in(resolved.visible, request, clock.fork())
            if resolved.stale:
                result.degradations.append(degradation(PIPELINE_STAGE_RETRIEVAL, "DOCUMENTS_STALE", _STALE))
            return result

        who = (request.scope.SerializeToString(deterministic=True), request.collections)
        return await self._speculation.run(who, resolve, search, self._stays_here)

    def counting(self, given: RetrievalSettings, collections: Sequence[RetrievalSettings] = ()) -> RetrievalSettings:
        """Return the effective settings of the request and its collections."""
        return resolve(self._deployment, given, *([shared(collections)] if collections else []))

    def _stays_here(self, resolved: Resolved) -> bool:
        """Return whether a search may start on the last known answer: text sent elsewhere cannot be recalled."""
        return all(self._embedder.is_local(searchable.collection.settings.embedding) for searchable in resolved.visible)

    async def _search_in(self, visible: Sequence[Searchable], request: SearchRequest, clock: Stopwatch) -> SearchResult:
        search = await self._begin(visible, request, clock)
        if not search.groups:
            return search.nothing()
        strategy, choice = await self._channels.choose(
            request, search.query, search.settings.strategy, search.groups, search.lacking
        )
        files = await self._files_in_question(search)
        choice.named_filenames.extend(file.filename for file in files.named)
        if (whole := await self._whole(search, strategy, choice, files)) is not None:
            return whole
        plan = await self._plan(search, strategy, files.named)
        findings, strategy, plan = await run_with_phrases(
            self._channels, plan, search.query, strategy, choice, clock, auto=search.is_auto
        )
        degradations = await self._degradations(search, findings, strategy)
        await self._channels.each_file(plan, findings, request, files.named, self._settings.candidates)
        ranking, page = await self._rank(search, plan, findings, strategy, files)
        result = search.result(strategy, choice)
        result.channels, result.degradations = findings.runs, degradations
        result.total = len(ranking.findings.candidates)
        result.score_floor = max((ranking.floor_of(key) for key in findings.vectors), default=0.0)
        await self._show(search, result, page, files)
        return result

    async def _whole(
        self, search: _Search, strategy: SearchStrategy.ValueType, choice: SearchStrategyChoice, files: _Files
    ) -> SearchResult | None:
        """Return the named files' openings if the question asks for nothing in particular in them.

        None where it does, or where the store does not answer: then the search says so.
        """
        request, timeout = search.request, self._settings.read_timeout
        if request.query_vector or not await off_loop(len(request.query), asks_for_whole, request.query, files.named):
            return None
        try:
            with search.clock.step("read"):
                leaves = await openings(self._store, search.groups, request, files.named, search.now, timeout)
        except FootnoteError as error:
            _log.warning("whole_file_unavailable", error=error.message, reason=error.reason)
            return None
        if not leaves:
            return None
        choice.reason = SearchStrategyReason.SEARCH_STRATEGY_REASON_WHOLE_FILE
        result = search.result(strategy, choice)
        result.total = len(leaves)
        wanted = request.offset + search.settings.limit
        kept = without_repetitions(leaves, wanted, self._settings.near_duplicate, files.named)
        await self._show(search, result, kept[request.offset : wanted], files)
        return result

    async def _show(self, search: _Search, result: SearchResult, page: list[Candidate], files: _Files) -> None:
        """Put a page into a result that has its total, with what surrounds the passages."""
        stored = sum(len(candidate.hit.text) + len(candidate.hit.extra) for candidate in page)
        chosen = await off_loop(stored // steps.QUICKER, readable, page, result.degradations)
        if files.missing:
            effect = _MISSING.format(", ".join(files.missing))
            result.degradations.append(degradation(PIPELINE_STAGE_RETRIEVAL, "NAMED_FILE_MISSING", effect))
            chosen = files.without_others(chosen)
        wanted = search.request.offset + search.settings.limit
        if len(page) == search.settings.limit and result.total > wanted:
            result.further = wanted
        made = [scored(candidate, explain=search.request.explain) for candidate in chosen]
        result.chunks = made
        await self._expand(search, result, chosen)
        effort = stored * (1 + 2 * search.settings.neighbors) // steps.QUICKER
        count = await off_loop(effort, fitting, result.chunks)
        if count < len(result.chunks):  # the next page begins after the last one that fits
            result.chunks = result.chunks[:count]
            chosen = chosen[: [id(one) for one in made].index(id(result.chunks[-1])) + 1]
            result.further = search.request.offset + [id(one) for one in page].index(id(chosen[-1])) + 1
        result.named_document_ids = first_documents(files.named, (candidate.hit.document_id for candidate in chosen))

    async def _begin(self, visible: Sequence[Searchable], request: SearchRequest, clock: Stopwatch) -> _Search:
        """Understand the question in the languages of the collections, and settle the settings that count."""
        groups = grouped(visible, request.scope.tenant_id)
        counting = self.counting(request.settings, [one.collection.settings.retrieval for one in visible])
        settings = Effective.of(counting)
        own_vectors.check_lengths(request, groups)
        own_vectors.check_named(request, settings.strategy, groups)
        languages = list(dict.fromkeys(code for searchable in visible for code in searchable.languages if code))
        query = await off_loop(len(request.query), understanding.understand, request.query, request.language, languages)
        lacking = own_vectors.needing(request, groups)
        return _Search(request, visible, groups, counting, settings, languages, query, lacking, time.time(), clock)

    async def _files_in_question(self, search: _Search) -> _Files:
        """Return the files that the question names; none where the caller has already chosen files."""
        text = search.request.query
        filenames = FileNames({})
        if not search.request.document_ids:
            filenames = await self._files.of(search.groups, search.now, self._settings.read_timeout)
        effort = effort_of_naming(text, filenames)
        named = await off_loop(effort, named_files, text, filenames)
        return _Files(filenames, named, await off_loop(effort, missing_files, text, filenames))

    async def _plan(self, search: _Search, strategy: SearchStrategy.ValueType, named: Sequence[NamedFile]) -> Plan:
        request = search.request
        words = await off_loop(len(request.query), understanding.lexical_query, search.query, search.languages)
        return Plan(
            text=request.query,
            lexical_query=words,
            groups=search.groups,
            filter=filter_of(request, named),
            limit=depth(request.offset + search.settings.limit, self._settings.candidates),
            dense=strategy in {_VECTOR, _HYBRID},
            lexical=strategy in {_FULLTEXT, _HYBRID},
            now=search.now,
            scope=request.scope,
            query_vector=request.query_vector,
            by_words=frozenset(group.embedding_key for group in search.lacking),
            bounds=request.bounds,
        )

    async def _degradations(
        self, search: _Search, findings: Findings, strategy: SearchStrategy.ValueType
    ) -> list[Degradation]:
        """Return what the search could not do: channels that failed, collections without vectors, unknown fields."""
        made = findings.degradations
        if search.lacking and strategy != _FULLTEXT:
            made.append(own_vectors.by_words_only(search.lacking, searched=strategy == _HYBRID))
        timeout = self._settings.read_timeout
        return made + await unknown_fields(search.request.where, search.groups, self._store, search.now, timeout)

    async def _rank(
        self, search: _Search, plan: Plan, findings: Findings, strategy: SearchStrategy.ValueType, files: _Files
    ) -> tuple[Ranking, list[Candidate]]:
        """Rank, with more candidates where equals of the last ones lack: the engine's choice among them varies.

        Returns the ranking that counts, and its page.
        """
        text, language = search.request.query, search.query.language
        affinity = await off_loop(len(text), affinities, text, language, files.filenames)
        ranking = Ranking(
            plan, findings, strategy, search.settings, affinity, files.named, search.request.offset,
            self._settings.file_name_weight, self._settings.near_duplicate, self._settings.candidates,
        )  # fmt: skip
        while True:
            ranked = await off_loop(steps.effort(ranking), steps.rank, ranking, search.clock)
            if not ranked.lacks:
                break
            plan = replace(ranking.plan, limit=min(8 * ranking.plan.limit, MOST))
            findings = await self._channels.run(plan, search.clock)
            if findings.degradations:
                break
            await self._channels.each_file(plan, findings, search.request, files.named, self._settings.candidates)
            ranking = replace(ranking, plan=plan, findings=findings)
        return ranking, ranked.page

    async def _expand(self, search: _Search, result: SearchResult, chosen: Sequence[Candidate]) -> None:
        settings, timeout = search.settings, self._settings.read_timeout
        if not result.chunks or not (settings.neighbors or settings.resolve_parents):
            return
        with search.clock.step("expand"):
            result.chunks = await expanded(
                self._store, result.chunks, chosen, settings, search.now, timeout, result.degradations
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
