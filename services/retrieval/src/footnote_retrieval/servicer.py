"""RetrievalService: validates requests, converts them to the logic's values, and converts results back."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from footnote.retrieval.v1 import retrieval_service_pb2 as pb
from footnote.retrieval.v1.retrieval_service_pb2_grpc import RetrievalServiceServicer
from footnote_kit.context import Call
from footnote_kit.errors import InvalidArgument
from footnote_kit.paging import Page, position_of, position_token, sequence
from footnote_providers.egress import egress
from footnote_store.filters import parse_filter

from footnote_retrieval.memory import Memory, MemoryOptions
from footnote_retrieval.metadata import MetadataQuery
from footnote_retrieval.model import SearchRequest
from footnote_retrieval.search import Searcher

MAX_QUERY = 8000
MAX_SHOWN = 1000
"""Maximum results of a search over all pages: each page ranks the results of the pages before it again."""
_MAX_COLLECTIONS = 1000
_MAX_DOCUMENTS = 1000


class RetrievalServicer(RetrievalServiceServicer):
    """Converts messages, and nothing else."""

    def __init__(self, searcher: Searcher, metadata: MetadataQuery, memory: Memory) -> None:
        self._searcher = searcher
        self._metadata = metadata
        self._memory = memory

    async def Retrieve(self, request: pb.RetrieveRequest, context: Call) -> pb.RetrieveResponse:
        """Search."""
        # Every visible collection may be more than a caller can name.
        most_collections = len(request.collections) if request.every_collection else _MAX_COLLECTIONS
        result = await self._searcher.search(
            SearchRequest(
                scope=request.scope,
                query=_query(request.query),
                collections=_bounded(request.collections, most_collections, "collections"),
                every_collection=request.every_collection,
                settings=request.settings,
                offset=_shown(request),
                where=parse_filter(request),
                document_ids=_bounded(request.document_ids, _MAX_DOCUMENTS, "document_ids"),
                language=request.language,
                query_vector=tuple(request.query_vector),
                explain=request.explain,
                bounds=request.bounds,
            )
        )
        response = pb.RetrieveResponse(
            chunks=result.chunks,
            strategy=result.strategy,
            strategy_choice=result.strategy_choice,
            query_language=result.language,
            degradations=result.degradations,
            timings=result.timings,
            total_candidates=result.total,
            settings=result.settings,
            collection_ids=result.collection_ids,
            named_document_ids=result.named_document_ids,
            score_floor=result.score_floor,
            next_page_token=_next(request, result.further),
        )
        for run in result.channels:
            report = response.channels.add(
                channel=run.channel, candidates=run.candidates, weight=run.weight, coverage=run.coverage
            )
            report.duration.FromTimedelta(timedelta(seconds=run.seconds))
        return response

    async def ResolveSettings(self, request: pb.ResolveSettingsRequest, context: Call) -> pb.ResolveSettingsResponse:
        """Fill in settings."""
        return pb.ResolveSettingsResponse(retrieval=self._searcher.counting(request.retrieval))

    async def QueryChunks(self, request: pb.QueryChunksRequest, context: Call) -> pb.QueryChunksResponse:
        """Read chunks by metadata."""
        if not request.collection:
            raise InvalidArgument.field("collection", "is required")
        if request.offset < 0:
            raise InvalidArgument.field("offset", "must not be negative")
        page = Page.of(request.scope, request)
        chunks, token, total = await self._metadata.query(
            request.scope, request.collection, parse_filter(request), page, request.offset
        )
        return pb.QueryChunksResponse(chunks=chunks, next_page_token=token, total_size=total)

    async def SearchMemory(self, request: pb.SearchMemoryRequest, context: Call) -> pb.SearchMemoryResponse:
        """Search past messages."""
        options = MemoryOptions(
            enabled=request.enabled if request.HasField("enabled") else True,
            max_messages=request.max_messages if request.HasField("max_messages") else 5,
            max_tokens=request.max_tokens if request.HasField("max_tokens") else 2000,
            exclude_conversation_id=request.exclude_conversation_id,
            bounds=egress.bounds_of(request.HasField("bounds"), request.bounds),
        )
        result = await self._memory.search(request.scope, request.query[:MAX_QUERY], options)
        return pb.SearchMemoryResponse(
            context=result.context,
            source_messages=result.messages,
            enabled=result.enabled,
            degradations=result.degradations,
        )


def _query(text: str) -> str:
    if len(text) > MAX_QUERY:
        raise InvalidArgument.field("query", f"must be at most {MAX_QUERY} characters")
    return text


def _shown(request: pb.RetrieveRequest) -> int:
    """Return how many results the previous pages had."""
    if not request.page_token:
        return 0
    (shown,) = position_of(request.scope, request, request.page_token, kinds=(sequence,))
    if not 0 < shown <= MAX_SHOWN:
        raise InvalidArgument.field("page_token", "is not one that was given out")
    return int(shown)


def _next(request: pb.RetrieveRequest, further: int) -> str:
    """Return the token of the page after `further` results; 0 means that this page is the last."""
    return position_token(request.scope, request, (further,)) if 0 < further <= MAX_SHOWN else ""


def _bounded(values: Iterable[str], most: int, field: str) -> tuple[str, ...]:
    found = tuple(values)
    if len(found) > most:
        raise InvalidArgument.field(field, f"must name at most {most}")
    if any("\n" in value or "\r" in value for value in found):
        raise InvalidArgument.field(field, "must not hold line breaks")
    return tuple(dict.fromkeys(found))
