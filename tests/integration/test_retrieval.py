"""The retrieval service over gRPC, with the real store and the built-in embedder."""

from __future__ import annotations

import json
import random
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from footnote.retrieval.v1 import retrieval_service_pb2 as pb
from footnote.stages.v1.passage_pb2 import Chunk
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.chunk_pb2 import ChunkLevel, SearchChannel
from footnote.types.v1.collection_pb2 import EmbeddingSettings, FusionMethod, RetrievalSettings, SearchStrategy
from footnote.types.v1.filter_pb2 import Filter
from footnote.types.v1.reasons_pb2 import (
    SCORE_ADJUSTMENT_KIND_LEVEL,
    SCORE_ADJUSTMENT_KIND_NEAR_DUPLICATE,
    SCORE_ADJUSTMENT_KIND_PROXIMITY,
    SCORE_ADJUSTMENT_KIND_RECENCY,
    SEARCH_FALLBACK_QUOTED_TERMS_NOT_FOUND,
    SEARCH_FALLBACK_WORDS_NOT_FOUND,
    SEARCH_STRATEGY_REASON_KEYWORDS,
    SEARCH_STRATEGY_REASON_NOTHING_SPECIAL,
    SEARCH_STRATEGY_REASON_QUOTED_TERMS,
    SearchStrategyChoice,
)
from footnote.types.v1.role_pb2 import Role
from footnote_kit.degradations import word
from footnote_kit.errors import InvalidArgument, NotFound
from footnote_kit.paging import PAGE_BYTES, position_token
from footnote_kit.testing import SCOPE
from support.chunks import make_chunk
from support.library import Library, open_library

NOW = int(time.time())
HYBRID = SearchStrategy.SEARCH_STRATEGY_HYBRID
FULLTEXT = SearchStrategy.SEARCH_STRATEGY_FULLTEXT
VECTOR = SearchStrategy.SEARCH_STRATEGY_VECTOR

HANDBOOK = [
    "The safety stock of bolts is 150 units and is counted every Friday.",
    "Parental leave lasts sixteen weeks and is paid in full.",
    "Expenses above 500 euros need the approval of a manager.",
    "The office in Lyon opens at eight in the morning.",
    "Laptops are replaced every four years by the IT department.",
    "Visitors must sign in at the reception and wear a badge.",
]


@pytest.fixture
async def library(uri: str) -> AsyncIterator[Library]:
    """A store over the engine, and retrieval before it."""
    async with open_library(uri) as library:
        yield library


def chunks_of(texts: list[str], document_id: str = "d1", **more: Any) -> list[Chunk]:
    more.setdefault("created", NOW)
    return [make_chunk(text, document_id=document_id, ordinal=i, **more) for i, text in enumerate(texts)]


async def handbook(library: Library) -> None:
    shelf = await library.add_collection("handbook")
    await library.add(shelf, chunks_of(HANDBOOK, filename="handbook.md"))


async def retrieve(library: Library, query: str, **more: Any) -> pb.RetrieveResponse:
    more.setdefault("scope", SCOPE)
    after = more.pop("after", 0)
    request = pb.RetrieveRequest(query=query, **more)
    if after:
        request.page_token = position_token(request.scope, request, (after,))
    response: pb.RetrieveResponse = await library.stub.Retrieve(request)
    return response


def texts(response: pb.RetrieveResponse) -> list[str]:
    return [scored.chunk.text for scored in response.chunks]


async def test_hybrid_search_finds_and_explains(library: Library) -> None:
    await handbook(library)
    found = await retrieve(library, "How many weeks is the parental leave?", explain=True)
    assert texts(found)[0] == HANDBOOK[1]
    assert found.strategy == HYBRID
    assert found.strategy_choice == SearchStrategyChoice(reason=SEARCH_STRATEGY_REASON_NOTHING_SPECIAL)
    assert found.query_language == "en"
    assert not found.degradations
    best = found.chunks[0]
    assert best.chunk.collection == "handbook"
    assert {score.channel for score in best.channels} == {
        SearchChannel.SEARCH_CHANNEL_DENSE,
        SearchChannel.SEARCH_CHANNEL_LEXICAL,
    }
    assert all(0 <= score.score <= 1 for scored in found.chunks for score in scored.channels)
    assert [scored.score for scored in found.chunks] == sorted((s.score for s in found.chunks), reverse=True)
    assert sum(score.weight for score in best.channels) == pytest.approx(1)
    assert [(one.kind, one.WhichOneof("basis")) for one in best.adjustments] == [
        (SCORE_ADJUSTMENT_KIND_PROXIMITY, "share"),
        (SCORE_ADJUSTMENT_KIND_LEVEL, "share"),
        (SCORE_ADJUSTMENT_KIND_RECENCY, "age"),
    ]
    assert {"resolve", "embed", "dense", "lexical", "fuse", ""} <= {timing.step for timing in found.timings}
    assert {report.channel: report.candidates for report in found.channels}[SearchChannel.SEARCH_CHANNEL_DENSE] == 6


@pytest.mark.parametrize("strategy", [HYBRID, FULLTEXT, VECTOR])
async def test_each_strategy_finds(library: Library, strategy: SearchStrategy.ValueType) -> None:
    await handbook(library)
    found = await retrieve(library, "parental leave in weeks", settings=RetrievalSettings(strategy=strategy))
    assert texts(found)[0] == HANDBOOK[1]
    assert found.strategy == strategy
    channels = {report.channel for report in found.channels}
    assert (
        channels
        == {
            HYBRID: {SearchChannel.SEARCH_CHANNEL_DENSE, SearchChannel.SEARCH_CHANNEL_LEXICAL},
            FULLTEXT: {SearchChannel.SEARCH_CHANNEL_LEXICAL},
            VECTOR: {SearchChannel.SEARCH_CHANNEL_DENSE},
        }[strategy]
    )


async def test_rank_fusion(library: Library) -> None:
    await handbook(library)
    settings = RetrievalSettings(fusion=FusionMethod.FUSION_METHOD_RRF, strategy=HYBRID, recency_weight=0)
    found = await retrieve(library, "parental leave in weeks", settings=settings)
    assert texts(found)[0] == HANDBOOK[1]
    assert found.chunks[0].score == pytest.approx(1.0)


async def test_quoted_words_must_be_there(library: Library) -> None:
    await handbook(library)
    found = await retrieve(library, 'what about "safety stocks" and leave')
    assert texts(found) == [HANDBOOK[0]]
    assert (found.strategy, found.strategy_choice.reason) == (FULLTEXT, SEARCH_STRATEGY_REASON_QUOTED_TERMS)
    assert not found.strategy_choice.fallback
    fallback = await retrieve(library, 'what about "unheard of words" and leave')
    assert HANDBOOK[1] in texts(fallback)
    assert fallback.strategy == HYBRID
    assert fallback.strategy_choice == SearchStrategyChoice(
        reason=SEARCH_STRATEGY_REASON_QUOTED_TERMS, fallback=SEARCH_FALLBACK_QUOTED_TERMS_NOT_FOUND
    )
    keywords = await retrieve(library, "xylophone zeppelin")
    assert keywords.strategy_choice == SearchStrategyChoice(
        reason=SEARCH_STRATEGY_REASON_KEYWORDS, fallback=SEARCH_FALLBACK_WORDS_NOT_FOUND
    )
    assert fallback.strategy == HYBRID


@pytest.mark.parametrize("cat", ["A cat.", "The cat sleeps.", "Here sleeps a cat.", "The black cat sleeps."])
async def test_quoted_words_are_whole_words(library: Library, cat: str) -> None:
    shelf = await library.add_collection("c")
    await library.add(shelf, chunks_of([cat, "Each category sleeps.", "A bobcat sleeps.", "Categories sleep."]))
    assert texts(await retrieve(library, 'sleep "cat"')) == [cat]


async def test_any_number_of_quoted_words_is_looked_for(library: Library) -> None:
    shelf = await library.add_collection("c")
    words = [f"word{number}" for number in range(200)]
    await library.add(shelf, chunks_of([" ".join(words), " ".join(words[:-1])]))
    found = await retrieve(library, " ".join(f'"{word}"' for word in words))
    assert not found.degradations
    assert texts(found) == [" ".join(words)]


async def test_a_token_continues_where_the_limit_ended(library: Library) -> None:
    await handbook(library)
    query = "leave bolts office laptops visitors expenses of the company"
    everything = texts(await retrieve(library, query, settings=RetrievalSettings(limit=6)))
    shown: list[str] = []
    token = ""
    while True:
        page = await retrieve(library, query, settings=RetrievalSettings(limit=2), page_token=token)
        shown += texts(page)
        token = page.next_page_token
        if not token:
            break
    assert len(everything) == 6
    assert shown == everything


@pytest.mark.parametrize("resolve_parents", [False, True])
async def test_a_page_ends_before_it_is_too_large_and_the_next_goes_on_there(
    library: Library, resolve_parents: bool
) -> None:
    words = [" ".join(f"w{number * 5000 + word}" for word in range(5000)) for number in range(24)]
    long = [f"The budget of office {number} is {number * 37} euros. {more}" for number, more in enumerate(words)]
    shelf = await library.add_collection("c")
    await library.add(shelf, chunks_of(long))
    query = "What is the budget of the offices in euros?"
    settings = RetrievalSettings(limit=24, neighbors=5, resolve_parents=resolve_parents)
    shown: list[str] = []
    token, pages = "", 0
    while token or not pages:
        page = await retrieve(library, query, settings=settings, page_token=token)
        assert page.ByteSize() <= PAGE_BYTES + 4096
        shown += [one.chunk.id for one in page.chunks]
        token, pages = page.next_page_token, pages + 1
    assert pages > 1
    assert len(set(shown)) == len(shown) == page.total_candidates


ABOUT = "bolts stock count office leave budget weeks travel rooms orders north south machine winter report".split()  # noqa: SIM905
PAGED = "stock of bolts and the travel budget of the north office in winter"


async def shelf_of(library: Library, count: int) -> None:
    """Chunks in which words of PAGED stand in ever other mixtures, of ever other ages."""
    shelf = await library.add_collection("c")
    pick = random.Random(7)
    for number in range(count):
        text = " ".join([*pick.sample(ABOUT, 1 + number % 6), *(f"w{pick.randrange(10**6)}" for _ in range(12))])
        made = NOW - pick.randrange(60) * 86_400
        await library.add(shelf, chunks_of([text], f"d{number:03d}", created=made, filename=f"{number}.md"))


@pytest.mark.parametrize("fusion", [FusionMethod.FUSION_METHOD_WEIGHTED, FusionMethod.FUSION_METHOD_RRF])
@pytest.mark.parametrize("strategy", [HYBRID, FULLTEXT, VECTOR])
async def test_pages_of_five_are_two_hundred_distinct_results_in_one_order(
    library: Library, strategy: SearchStrategy.ValueType, fusion: FusionMethod.ValueType
) -> None:
    await shelf_of(library, 260)
    settings = RetrievalSettings(limit=5, strategy=strategy, fusion=fusion, recency_weight=0.1)
    pages = [await retrieve(library, PAGED, settings=settings, after=at) for at in range(0, 200, 5)]
    shown = [scored.chunk.id for page in pages for scored in page.chunks]
    assert len(shown) == len(set(shown)) == 200
    for size, offset in ((100, 0), (100, 100), (20, 50)):
        settings.limit = size
        page = await retrieve(library, PAGED, settings=settings, after=offset)
        assert [scored.chunk.id for scored in page.chunks] == shown[offset : offset + size]
        scores = [round(scored.score, 9) for scored in page.chunks]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("size", [10, 300])
async def test_two_files_named_are_both_there_though_one_fills_every_list(library: Library, size: int) -> None:
    shelf = await library.add_collection("c")
    large = [f"stock of bolts counted in units number {number}" for number in range(size)]
    await library.add(shelf, chunks_of(large, "d1", filename="production.xlsx"))
    await library.add(shelf, chunks_of(["Nothing of the sort is written here."], "d2", filename="minutes_2023.md"))
    query = "Compare the stock of bolts in units between production.xlsx and minutes_2023.md"
    for limit in (2, 5):
        found = await retrieve(library, query, settings=RetrievalSettings(limit=limit))
        assert {scored.chunk.filename for scored in found.chunks} == {"production.xlsx", "minutes_2023.md"}


async def test_rank_fusion_with_recency_keeps_the_order_of_equals(library: Library) -> None:
    """Of passages equally old the order is that without recency."""
    shelf = await library.add_collection("c")
    texts_ = [f"{' '.join(ABOUT[: 1 + number % 9])} w{number} v{number}" for number in range(40)]
    await library.add(shelf, chunks_of(texts_, created=NOW - 86_400))
    settings = RetrievalSettings(fusion=FusionMethod.FUSION_METHOD_RRF, strategy=HYBRID, limit=30, recency_weight=0)
    plain = await retrieve(library, PAGED, settings=settings)
    settings.recency_weight = 0.3
    recent = await retrieve(library, PAGED, settings=settings)
    assert [one.chunk.id for one in recent.chunks] == [one.chunk.id for one in plain.chunks]


async def test_min_score_cuts(library: Library) -> None:
    await handbook(library)
    found = await retrieve(library, "parental leave in weeks", settings=RetrievalSettings(min_score=0.6, limit=6))
    assert texts(found) == [HANDBOOK[1]]


NONSENSE = ["zxqv blorp fnord", "grumf trelk vossin parbel?", "Which zorgon flumps a quibbert in the snazzle?"]
OFF_TOPIC = ["How do I bake sourdough bread with rye flour?", "Who won the football world cup in 1998?"]
ANSWERED = ["How many weeks of parental leave are there?", "When are bolts counted?", "counted bolts"]


@pytest.mark.parametrize("strategy", [SearchStrategy.SEARCH_STRATEGY_UNSPECIFIED, HYBRID, FULLTEXT])
async def test_scores_say_whether_anything_answers(library: Library, strategy: SearchStrategy.ValueType) -> None:
    """One `min_score` keeps what answers and leaves nothing of what is nonsense or of something else."""
    await handbook(library)

    async def best(query: str, **settings: Any) -> float:
        found = await retrieve(library, query, settings=RetrievalSettings(strategy=strategy, **settings))
        return found.chunks[0].score if found.chunks else 0.0

    answered = [await best(query) for query in ANSWERED]
    others = [await best(query) for query in NONSENSE + OFF_TOPIC]
    assert min(answered) > 0.5 > 0.35 > max(others)
    assert [await best(query, min_score=0.4) > 0 for query in ANSWERED + NONSENSE + OFF_TOPIC] == [True] * 3 + [
        False
    ] * 5


async def test_filters_and_document_ids_limit(library: Library) -> None:
    shelf = await library.add_collection("c")
    await library.add(shelf, chunks_of(["alpha one"], "d1", metadata={"year": 2023}, tags=["hr"]))
    await library.add(shelf, chunks_of(["alpha two"], "d2", metadata={"year": 2024}))
    await library.add(shelf, chunks_of(["alpha three"], "d3", metadata={"year": 2025}))
    where = Filter(json=json.dumps({"year": {"$gte": 2024}}))
    assert set(texts(await retrieve(library, "alpha", filter=where))) == {"alpha two", "alpha three"}
    assert texts(await retrieve(library, "alpha", filter=Filter(json='{"tags": "hr"}'))) == ["alpha one"]
    assert texts(await retrieve(library, "alpha", filter=where, document_ids=["d1", "d3"])) == ["alpha three"]
    assert texts(await retrieve(library, "alpha", document_ids=['d1" or id != "'])) == []


async def test_several_collections_share_one_query_vector(library: Library) -> None:
    for name in ("a", "b", "c"):
        shelf = await library.add_collection(name)
        await library.add(shelf, chunks_of([f"alpha in {name}"], f"d{name}"))
    assert set(texts(await retrieve(library, "alpha", collections=["a", "t-c"]))) == {"alpha in a", "alpha in c"}
    everywhere = await retrieve(library, "where is alpha in the collections?")
    assert {scored.chunk.collection for scored in everywhere.chunks} == {"a", "b", "c"}
    assert len([timing for timing in everywhere.timings if timing.step == "embed"]) == 1


async def test_private_collections_are_their_owners(library: Library) -> None:
    shared, private = (
        await library.add_collection("s"),
        await library.add_collection("p", owner_id="owner", private=True),
    )
    await library.add(shared, chunks_of(["alpha shared"], "ds"))
    await library.add(private, chunks_of(["alpha private"], "dp"))
    reader = Scope(tenant_id="t", user_id="someone", roles=[Role.ROLE_READER])
    owner = Scope(tenant_id="t", user_id="owner", roles=[Role.ROLE_READER])
    assert texts(await retrieve(library, "alpha", scope=reader)) == ["alpha shared"]
    assert set(texts(await retrieve(library, "alpha", scope=owner))) == {"alpha shared", "alpha private"}
    with pytest.raises(NotFound, match="Collection 'p' not found"):
        await retrieve(library, "alpha", scope=reader, collections=["p"])
    assert texts(await retrieve(library, "alpha", scope=Scope(tenant_id="t2", user_id="owner"))) == []


async def test_of_two_revisions_that_nobody_hides_the_one_that_was_there_first_is_found(library: Library) -> None:
    shelf = await library.add_collection("handbook")
    await library.add(shelf, chunks_of(HANDBOOK, revision=2))
    await library.add(shelf, chunks_of([f"{text} As amended." for text in HANDBOOK], revision=3))
    await library.add(shelf, chunks_of(["Another document about bolts."], document_id="d2", revision=7))
    found = await retrieve(library, "Which bolts are counted every Friday?", settings=RetrievalSettings(limit=20))
    assert {(s.chunk.document_id, s.chunk.revision) for s in found.chunks} == {("d1", 2), ("d2", 7)}


async def test_expired_and_hidden_are_never_returned(library: Library) -> None:
    shelf = await library.add_collection("c")
    await library.add(shelf, chunks_of(["alpha expired"], "d1", expires=NOW - 1))
    await library.add(shelf, chunks_of(["alpha old"], "d2", revision=1))
    await library.add(shelf, chunks_of(["alpha new"], "d2", revision=2))
    shelf.hidden = ["d2:1"]
    assert texts(await retrieve(library, "alpha")) == ["alpha new"]


async def test_a_named_file_limits_and_two_named_are_both_there(library: Library) -> None:
    shelf = await library.add_collection("c")
    await library.add(
        shelf, chunks_of([f"stock of bolts {i} units" for i in range(8)], "d1", filename="production.xlsx")
    )
    await library.add(
        shelf, chunks_of(["inventory count", "something else entirely"], "d2", filename="Inventaire_Été.csv")
    )
    await library.add(shelf, chunks_of(["a report on bolts"], "d3", filename="rapport.pdf"))
    one = await retrieve(library, "What is in the rapport.pdf file about stock of bolts?")
    assert {scored.chunk.filename for scored in one.chunks} == {"rapport.pdf"}
    assert list(one.strategy_choice.named_filenames) == ["rapport.pdf"]
    two = await retrieve(library, "Compare stock of bolts units between PRODUCTION.XLSX and inventaire_ete")
    assert {scored.chunk.filename for scored in two.chunks} == {"production.xlsx", "Inventaire_Été.csv"}
    assert len(two.chunks) == 5
    assert set(two.strategy_choice.named_filenames) == {"production.xlsx", "Inventaire_Été.csv"}


@pytest.mark.parametrize(
    ("query", "files", "missing"),
    [
        ("What does missing-lease.pdf say about payment?", set(), True),
        ("What does lease.pdf say about payment?", {"lease.pdf"}, False),
        ("What does lease.pdf say that missing-lease.pdf does not?", {"lease.pdf"}, True),
        ("Who wrote old-lease.docx about payment?", {"letter.md"}, True),
        ("Does node.js mention payment, or www.example.com/terms.html?", {"lease.pdf", "letter.md"}, False),
    ],
)
async def test_a_named_file_that_is_not_there_is_said_and_no_other_is_taken_for_it(
    library: Library, query: str, files: set[str], missing: bool
) -> None:
    shelf = await library.add_collection("c")
    await library.add(shelf, chunks_of(["Payment is due in 30 days."], "d1", filename="lease.pdf"))
    await library.add(shelf, chunks_of(["The payment of old-lease.docx was late."], "d2", filename="letter.md"))
    found = await retrieve(library, query)
    assert {scored.chunk.filename for scored in found.chunks} == files
    assert ("NAMED_FILE_MISSING" in [word(one) for one in found.degradations]) is missing


async def test_newer_wins_between_equals(library: Library) -> None:
    shelf = await library.add_collection("c")
    await library.add(shelf, chunks_of(["the price of bolts is five euros here"], "old", created=NOW - 90 * 86_400))
    await library.add(shelf, chunks_of(["the price of bolts is nine euros here"], "new", created=NOW - 86_400))
    found = await retrieve(library, "What is the price of bolts?", explain=True)
    assert [scored.chunk.document_id for scored in found.chunks] == ["new", "old"]
    assert found.chunks[0].adjustments[-1].delta > found.chunks[1].adjustments[-1].delta


async def test_repetitions_are_left_out(library: Library) -> None:
    shelf = await library.add_collection("c")
    text = "The warranty of the machine covers all parts for two years after the day of delivery to the customer"
    await library.add(shelf, chunks_of([text], "d1"))
    await library.add(shelf, chunks_of([text + "."], "d2"))
    await library.add(shelf, chunks_of(["The warranty excludes batteries and anything that wears out with use"], "d3"))
    found = await retrieve(library, "What does the warranty of the machine cover?", explain=True)
    assert len(found.chunks) == 2
    repeated = [one for one in found.chunks[0].adjustments if one.kind == SCORE_ADJUSTMENT_KIND_NEAR_DUPLICATE]
    assert [bool(one.chunk_id) for one in repeated] == [True]


async def test_neighbours_in_reading_order(library: Library) -> None:
    await handbook(library)
    settings = RetrievalSettings(limit=1, neighbors=2)
    found = await retrieve(library, "parental leave in weeks", settings=settings)
    assert [chunk.text for chunk in found.chunks[0].neighbors] == [HANDBOOK[0], HANDBOOK[2], HANDBOOK[3]]


async def test_parents_stand_in_for_their_children(library: Library) -> None:
    shelf = await library.add_collection("c")
    parent = make_chunk("wide: alpha one. alpha two.", ordinal=0, level=ChunkLevel.CHUNK_LEVEL_PARENT, created=NOW)
    children = [
        make_chunk(text, ordinal=i, level=ChunkLevel.CHUNK_LEVEL_CHILD, parent_id=parent.id, created=NOW)
        for i, text in enumerate(["alpha one here", "alpha two there"], 1)
    ]
    await library.add(shelf, [parent, *children])
    found = await retrieve(library, "alpha", settings=RetrievalSettings(resolve_parents=True))
    assert texts(found) == ["wide: alpha one. alpha two."]
    assert texts(await retrieve(library, "alpha two")) == ["alpha two there", "alpha one here"]


async def test_queries_in_other_languages_meet_their_documents(library: Library) -> None:
    shelf = await library.add_collection("fr", languages=["fr"])
    french = ["Le congé parental dure seize semaines.", "Les élections présidentielles ont lieu en avril."]
    await library.add(shelf, chunks_of(french, language="fr"))
    found = await retrieve(library, "Quand ont lieu les elections presidentielles ?")
    assert found.query_language == "fr"
    assert texts(found)[0] == french[1]
    japanese = await library.add_collection("ja", languages=["ja"])
    await library.add(
        japanese, chunks_of(["日本の首都は東京です。", "富士山は日本一高い山です。"], "dj", language="ja")
    )
    found = await retrieve(library, "日本の首都はどこですか", collections=["ja"])
    assert texts(found)[0] == "日本の首都は東京です。"


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"query": "  "}, "query is required"),
        ({"query": "x" * 8001}, "8000"),
        ({"query": "x", "page_token": "-1"}, "page_token"),
        ({"query": "x", "settings": RetrievalSettings(limit=101)}, "limit"),
        ({"query": "x", "settings": RetrievalSettings(dense_weight=1.5)}, "dense_weight"),
        ({"query": "x", "settings": RetrievalSettings(neighbors=6)}, "neighbors"),
        ({"query": "x", "filter": Filter(json="invalid-json-string")}, "Invalid 'where' filter: must be valid JSON"),
        ({"query": "x", "document_ids": ["a\nb"]}, "line breaks"),
    ],
)
async def test_wrong_requests_say_what_is_wrong(library: Library, fields: dict[str, Any], problem: str) -> None:
    await handbook(library)
    with pytest.raises(InvalidArgument, match=problem):
        await library.stub.Retrieve(pb.RetrieveRequest(scope=SCOPE, **fields))


async def test_unknown_collection(library: Library) -> None:
    with pytest.raises(NotFound, match=r"^Collection 'nonexistent' not found$") as error:
        await retrieve(library, "x", collections=["nonexistent"])
    assert error.value.reason == "COLLECTION_NOT_FOUND"


async def test_nothing_matches(library: Library) -> None:
    await library.add_collection("empty")
    found = await retrieve(library, "anything at all?")
    assert not found.chunks
    assert not found.degradations


@pytest.mark.parametrize("strategy", [SearchStrategy.SEARCH_STRATEGY_UNSPECIFIED, HYBRID, VECTOR])
@pytest.mark.parametrize("query", ["", "safety stock"])
async def test_a_vector_of_another_length_is_refused_and_not_an_empty_result(
    library: Library, query: str, strategy: SearchStrategy.ValueType
) -> None:
    await handbook(library)
    settings = RetrievalSettings(strategy=strategy)
    for collections in (["handbook"], []):
        with pytest.raises(InvalidArgument, match="query_vector has 2 dimensions") as caught:
            await retrieve(library, query, query_vector=[1.0, 2.0], settings=settings, collections=collections)
        assert caught.value.reason == "DIMENSION_MISMATCH"
        assert caught.value.metadata == {"collection": "handbook", "expected": "384", "given": "2"}
    fits = await retrieve(library, query, query_vector=[1.0] * 384, settings=settings)
    assert len(fits.chunks) == 5


async def test_a_text_is_not_embedded_for_a_collection_that_brings_its_own_vectors(library: Library) -> None:
    own = EmbeddingSettings(provider="none", dimensions=384)
    shelf = await library.add_collection("handbook")
    await library.add(shelf, chunks_of(HANDBOOK[:3]))
    shelf.collection.settings.embedding.CopyFrom(own)
    plain = await library.add_collection("plain")
    await library.add(plain, chunks_of(HANDBOOK[3:], "d2"))
    for strategy in (SearchStrategy.SEARCH_STRATEGY_AUTO, HYBRID, VECTOR):
        with pytest.raises(InvalidArgument, match="'handbook' brings its own vectors: give query_vector") as caught:
            await retrieve(
                library, "safety stock of bolts", settings=RetrievalSettings(strategy=strategy),
                collections=["plain", "handbook"],
            )  # fmt: skip
        assert caught.value.reason == "OWN_VECTORS"
    listed = await retrieve(
        library, "How large is the safety stock of bolts in Lyon?", collections=["plain", "handbook"],
        every_collection=True,
    )  # fmt: skip
    assert [word(one) for one in listed.degradations] == ["OWN_VECTORS"]
    assert HANDBOOK[0] in [one.chunk.text for one in listed.chunks]
    by_words = await retrieve(library, "safety stock", settings=RetrievalSettings(strategy=FULLTEXT))
    assert by_words.chunks[0].chunk.text == HANDBOOK[0]
    assert not by_words.degradations
    for fusion in (FusionMethod.FUSION_METHOD_WEIGHTED, FusionMethod.FUSION_METHOD_RRF):
        found = await retrieve(
            library, "How large is the safety stock of bolts in Lyon?", explain=True,
            settings=RetrievalSettings(strategy=HYBRID, fusion=fusion),
        )  # fmt: skip
        assert [word(one) for one in found.degradations] == ["OWN_VECTORS"]
        channels = {one.chunk.text: [c.channel for c in one.channels] for one in found.chunks}
        assert channels[HANDBOOK[0]] == [SearchChannel.SEARCH_CHANNEL_LEXICAL]
        assert SearchChannel.SEARCH_CHANNEL_DENSE in channels[HANDBOOK[3]]
