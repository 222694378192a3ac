"""The contract's promises for retrieval: query to scored chunks, of the caller's collections and of no other."""

import json
from typing import Any

from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_USER, MemoryMessage
from footnote.types.v1.chunk_pb2 import SEARCH_CHANNEL_LEXICAL
from footnote.types.v1.collection_pb2 import (
    SEARCH_STRATEGY_AUTO,
    SEARCH_STRATEGY_FULLTEXT,
    SEARCH_STRATEGY_HYBRID,
    SEARCH_STRATEGY_UNSPECIFIED,
    SEARCH_STRATEGY_VECTOR,
    RetrievalSettings,
)
from footnote.types.v1.filter_pb2 import COMPARISON_OP_EQ, Comparison, Filter, FilterList, FilterValue

from footnote_conformance.stages import common
from footnote_conformance.stages.asking import INVALID, at_once, refused, refused_field, stranger, with_scope
from footnote_conformance.stages.library import TEXTS, Library
from footnote_conformance.suite import Suite, expect
from footnote_conformance.target import Target

SUITE = Suite("retrieval", probe="ResolveSettings", needs=("indexing",))
common.add_to(SUITE)

_QUERY = "Who made the sextant of the museum?"
_NO_COLLECTION = ("NOT_FOUND", "COLLECTION_NOT_FOUND")
_BAD_FILTER = ("INVALID_ARGUMENT", "INVALID_FILTER")


def _library(target: Target) -> Library:
    return Library(target.others["indexing"], target.scope)


async def _found(target: Target, **fields: Any) -> Any:
    return await target.call("Retrieve", **{"query": _QUERY, "collections": ["instruments"], **fields})


def _json(given: dict[str, Any]) -> Filter:
    return Filter(json=json.dumps(given))


def _documents(response: Any) -> list[str]:
    return [hit.chunk.document_id for hit in response.chunks]


@SUITE.check(
    "Finds the chunks that best match a query.",
    "RetrieveResponse.chunks: Best first.",
    "A passage that has the words of the query and answers it is first with every strategy: by meaning, by words, "
    "and by both.",
    "How well it matches by words and meaning, 0..1, higher is better.",
    "Strategy used; never AUTO.",
    "Ids of the collections searched.",
    "Name of that collection, filled in by retrieval.",
)
async def the_best_passage_comes_first(target: Target) -> None:
    """By vectors, by words, and by both."""
    library = _library(target)
    async with library.collection() as made:
        await library.fill(made)
        strategies = (
            SEARCH_STRATEGY_UNSPECIFIED,
            SEARCH_STRATEGY_VECTOR,
            SEARCH_STRATEGY_FULLTEXT,
            SEARCH_STRATEGY_HYBRID,
        )
        for strategy in strategies:
            answer = await _found(target, settings=RetrievalSettings(strategy=strategy))
            expect(_documents(answer)[:1] == ["sextant"], f"strategy {strategy} finds {_documents(answer)}")
            scores = [hit.score for hit in answer.chunks]
            expect(scores == sorted(scores, reverse=True), f"the scores are {scores}")
            expect(all(0 <= score <= 1 for score in scores), f"the scores are {scores}")
            known = answer.strategy not in (SEARCH_STRATEGY_AUTO, SEARCH_STRATEGY_UNSPECIFIED)
            expect(known, f"the strategy used is {answer.strategy}")
            expect(list(answer.collection_ids) == [made.id], f"searched were {list(answer.collection_ids)}")
            chunk = answer.chunks[0].chunk
            whole = chunk.collection == "instruments" and chunk.tenant_id == target.scope.tenant_id and chunk.text
            expect(whole, f"a chunk has collection '{chunk.collection}', tenant '{chunk.tenant_id}'")


@SUITE.check(
    "A condition on the properties of passages, as messages or as JSON text; both have the same fields and meaning, "
    "and can be mixed.",
    "Only of these documents; empty means all.",
    "Only passages that match this filter.",
    "If `filter` and `document_ids` are both given, both apply.",
)
async def filters_are_respected(target: Target) -> None:
    """On tags, on metadata, on the file; typed and as JSON find the same."""
    library = _library(target)
    async with library.collection() as made:
        await library.fill(made)
        shelf = Filter(
            comparison=Comparison(field="shelf", op=COMPARISON_OP_EQ, value=FilterValue(number_value=len("barometer")))
        )
        for fields, wanted in (
            ({"filter": _json({"tags": "theodolite"})}, {"theodolite"}),
            ({"filter": _json({"shelf": len("barometer")})}, {"barometer"}),
            ({"filter": shelf}, {"barometer"}),
            ({"filter": _json({"filename": {"$in": ["sextant.md", "barometer.md"]}})}, {"sextant", "barometer"}),
            ({"document_ids": ["theodolite"]}, {"theodolite"}),
            ({"document_ids": ["theodolite"], "filter": _json({"tags": "barometer"})}, set()),
            ({"filter": Filter(**{"and": FilterList(filters=[shelf, _json({"tags": "sextant"})])})}, set()),  # type: ignore[arg-type]
        ):
            found = set(_documents(await _found(target, **fields)))
            expect(found <= wanted, f"with {fields} there are {sorted(found)}")
            expect(found or not wanted, f"with {fields} there is nothing")


@SUITE.check(
    "An invalid filter is INVALID_ARGUMENT with INVALID_FILTER, and google.rpc.BadRequest names the place: "
    '"filter.and.filters[1].comparison.field".',
)
async def wrong_filters_are_refused(target: Target) -> None:
    """Neither ignored nor a fault of ours."""
    library = _library(target)
    async with library.collection():
        for text in ("{", "[]", json.dumps({"tags": {"$near": 1}}), json.dumps({"$or": 1})):
            await refused(_found(target, filter=Filter(json=text)), _BAD_FILTER, f"filter {text}", "filter.json")


@SUITE.check(
    "Chunks to return, 1 to 100; 5 by default.",
    "The pages of a search are parts of one list: two pages of one chunk have the chunks of one page of two.",
    "RetrieveRequest.page_token: `next_page_token` of the previous page, of the same request by the same caller.",
)
async def limits_and_pages_are_kept(target: Target) -> None:
    """Two pages of one have what one of two has."""
    library = _library(target)
    async with library.collection() as made:
        await library.fill(made)
        both = _documents(await _found(target, settings=RetrievalSettings(limit=2)))
        expect(len(both) == 2, f"with limit 2 there are {both}")
        one = RetrievalSettings(limit=1)
        first = await _found(target, settings=one)
        expect(first.next_page_token != "", "a full page with more after it has no next_page_token")
        second = await _found(target, settings=one, page_token=first.next_page_token)
        apart = [_documents(first), _documents(second)]
        expect(apart == [both[:1], both[1:]], f"one by one there are {apart}, together {both}")


@SUITE.check(
    "Fill in how each score was computed.",
    "Its score in each channel; a channel that did not find it is absent.",
    "Rank in the channel's list, from 1.",
    "The engine's score normalised to 0..1 over this query's candidates, higher is better.",
)
async def scores_are_explained(target: Target) -> None:
    """A channel that found a chunk says its rank and its score."""
    library = _library(target)
    async with library.collection() as made:
        await library.fill(made)
        answer = await _found(target, explain=True, settings=RetrievalSettings(strategy=SEARCH_STRATEGY_FULLTEXT))
        channels = answer.chunks[0].channels
        expect([one.channel for one in channels] == [SEARCH_CHANNEL_LEXICAL], f"full text search has {list(channels)}")
        expect(channels[0].rank == 1 and 0 <= channels[0].score <= 1, f"the best has rank {channels[0].rank}")


@SUITE.check(
    "Nothing of one tenant is ever visible to another.",
    "The collection does not exist or is not visible to the caller. NOT_FOUND.",
    "Collections by name or id; empty means every one visible to the caller.",
)
async def nothing_of_another_tenant_is_found(target: Target) -> None:
    """By name, by id, over all collections, by metadata, and with a collection of the same name."""
    library, other = _library(target), stranger(target)
    async with library.collection() as made:
        await library.fill(made)
        for name in (made.id, made.name, "nothing-of-that-name"):
            call = with_scope(target, "Retrieve", other, query=_QUERY, collections=[name])
            await refused(call, _NO_COLLECTION, f"a search in another tenant's '{name}'")
            call = with_scope(target, "QueryChunks", other, collection=name)
            await refused(call, _NO_COLLECTION, f"a query in another tenant's '{name}'")
        theirs = Library(target.others["indexing"], other)
        async with theirs.collection() as same_name:
            await theirs.index(same_name, "telescope", "The telescope stands on the roof.")
            for collections in ([], ["instruments"]):
                answers = await at_once(
                    [
                        with_scope(target, "Retrieve", other, query=_QUERY, collections=collections),
                        _found(target, collections=collections),
                    ]
                )
                found = set(_documents(answers[0]))
                expect(found <= {"telescope"}, f"another tenant's {sorted(found)} were found")
                expect(_documents(answers[1])[:1] == ["sextant"], "the owner does not find them")


@SUITE.check(
    "Returns chunks by their metadata, without a query, in reading order.",
    "How many there are on all pages, skipped ones included.",
    "Chunks to skip before the first page.",
    "QueryChunksResponse.next_page_token: Token of the next page; empty on the last.",
    "Only chunks that match this filter.",
    "Pages of QueryChunks, and an offset, cut the list and not the total.",
)
async def chunks_are_queried_by_metadata(target: Target) -> None:
    """Pages cut the list, not the total."""
    library = _library(target)
    async with library.collection() as made:
        await library.fill(made)
        everything = await target.call("QueryChunks", collection="instruments")
        expect({chunk.document_id for chunk in everything.chunks} == set(TEXTS), "not every document is there")
        expect(len(everything.chunks) == everything.total_size, f"it counts {everything.total_size}")
        expect(not everything.next_page_token, "the last page has a next_page_token")
        part = await target.call("QueryChunks", collection="instruments", page_size=1, offset=1)
        expect(list(part.chunks) == list(everything.chunks)[1:2], "page_size 1 and offset 1 give another chunk")
        expect(part.total_size == everything.total_size, f"the total is {part.total_size} of {everything.total_size}")
        after = await target.call(
            "QueryChunks", collection="instruments", page_size=1, offset=1, page_token=part.next_page_token
        )
        expect(list(after.chunks) == list(everything.chunks)[2:3], "the next page has another chunk")
        found = await target.call("QueryChunks", collection="instruments", filter=_json({"tags": "sextant"}))
        expect({chunk.document_id for chunk in found.chunks} == {"sextant"}, "the filter is not respected")


@SUITE.check(
    "What to look for, at most 8000 characters. Required, unless a `query_vector` is given.",
    "A text that is required is missing when it is empty or blank: INVALID_ARGUMENT with INVALID_FIELD and the "
    "field's name.",
    "So is a field out of the range in its comment, and a negative number of things to skip.",
    "In a list that comes in pages, a `page_size` below 0 and a `page_token` that is no `next_page_token` of the same "
    "request by the same caller are INVALID_ARGUMENT with INVALID_FIELD.",
)
async def queries_are_required(target: Target) -> None:
    """What is missing or too long is INVALID_FIELD."""
    library = _library(target)
    async with library.collection():
        await refused_field(target, "Retrieve", "query", query="  ", collections=["instruments"])
        await refused_field(target, "Retrieve", "query", query="x" * 8001, collections=["instruments"])
        await refused(_found(target, page_token="nothing"), INVALID, "an invented page_token", "page_token")


@SUITE.check(
    "It must be as long as the vectors of every collection searched, else INVALID_ARGUMENT with DIMENSION_MISMATCH.",
)
async def vectors_of_another_length_are_refused(target: Target) -> None:
    """Whatever the collection's length is."""
    library = _library(target)
    async with library.collection() as made:
        await library.fill(made)
        call = _found(target, query_vector=[0.5, 0.5, 0.5])
        await refused(call, ("INVALID_ARGUMENT", "DIMENSION_MISMATCH"), "a query_vector of three numbers")


@SUITE.check(
    "The settings that were used, complete.",
)
async def settings_in_use_are_reported(target: Target) -> None:
    """A value given counts."""
    library = _library(target)
    async with library.collection():
        reported = (await _found(target, settings=RetrievalSettings(limit=7))).settings
        expect(reported.limit == 7, f"a limit of 7 counted as {reported.limit}")
        filled = reported.HasField("neighbors") and reported.HasField("recency_weight") and reported.strategy
        expect(filled, f"not everything is filled in: {reported}")


@SUITE.check(
    "If memory cannot be searched, it returns an empty context instead of an error.",
    "False when memory was switched off or could not be searched.",
)
async def an_empty_memory_is_no_failure(target: Target) -> None:
    """Switched off it says so."""
    answer = await target.call("SearchMemory", query=_QUERY)
    expect(not answer.context and not answer.source_messages, "a new user has memories")
    off = await target.call("SearchMemory", query=_QUERY, enabled=False)
    expect(not off.enabled and not off.context, "memory that is switched off was searched")


@SUITE.check(
    "Finds past messages of the same user.",
    "The messages in `context`, most similar first.",
    "Conversation whose messages are left out, because the prompt has them already.",
)
async def memory_is_of_the_same_user(target: Target) -> None:
    """Of another one nothing, of a conversation that is left out nothing, and of one that is forgotten nothing."""
    library = _library(target)
    said = MemoryMessage(message_id="m1", conversation_id="c1", role=MESSAGE_ROLE_USER, text=_QUERY)
    await library.call("IndexMessages", messages=[said])
    found = await target.call("SearchMemory", query=_QUERY)
    names = [one.message_id for one in found.source_messages]
    expect(names == ["m1"] and _QUERY in found.context, f"found are {names}")
    colleague = Scope(tenant_id=target.scope.tenant_id, user_id="colleague", roles=target.scope.roles)
    other = await with_scope(target, "SearchMemory", colleague, query=_QUERY)
    expect(not other.source_messages, "another user finds it")
    without = await target.call("SearchMemory", query=_QUERY, exclude_conversation_id="c1")
    expect(not without.source_messages, "a conversation that is left out is found")
    await library.call("DeleteMessages", conversation_id="c1")
    after = await target.call("SearchMemory", query=_QUERY)
    expect(not after.source_messages, "what was forgotten is found")
