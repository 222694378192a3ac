"""The scenarios of answers with footnotes and of chat memory that end at the public API, against the real services."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest
from footnote.edge.v1.answers_pb2 import (
    RATING_DOWN,
    AskRequest,
    CreateFeedbackRequest,
    ListFeedbackRequest,
    SearchRequest,
)
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest, ListMessagesRequest, SearchMemoryRequest
from footnote.edge.v1.documents_pb2 import QueryChunksRequest
from footnote.edge.v1.providers_pb2 import CheckProviderRequest, ListProvidersRequest, ValidateProviderRequest
from footnote.types.v1 import answer_pb2 as ans
from footnote.types.v1 import collection_pb2 as col
from footnote.types.v1 import document_pb2 as doc
from footnote.types.v1.provider_pb2 import PROVIDER_KIND_EMBEDDING, PROVIDER_KIND_STORE
from support.deployment import Deployment
from support.edge_client import EdgeClient

pytestmark = pytest.mark.slow

STOCK = b"Produit;Stock;Entrepot\nVis M4;150 unites;Lyon\nEcrou M6;80 unites;Paris\n"
INVENTORY = b"Produit;Inventaire\nVis M4;145 unites\nEcrou M6;82 unites\n"
REPORT = "# Stock de sécurité\n\nLe stock de sécurité recommandé pour la vis M4 est de 200 unités.\n".encode()
NOT_FOUND = "Je n'ai trouvé dans vos documents aucun passage qui réponde à cette question."


@pytest.fixture
async def factory(edge: EdgeClient) -> str:
    """A collection with a table of stocks, an inventory and a report, in French."""
    name = f"usine-{uuid4().hex[:8]}"
    await edge.stub.CreateCollection(CreateCollectionRequest(collection=col.Collection(name=name)))
    for content, filename in ((STOCK, "production.csv"), (INVENTORY, "inventaire.csv"), (REPORT, "rapport.md")):
        document = await edge.put(content, filename, name)
        assert document.state == doc.DOCUMENT_STATE_INDEXED, document
    return name


def headers(user: str, tenant: str = "default") -> dict[str, Any]:
    return {"metadata": (("x-footnote-tenant", tenant), ("x-footnote-user", user))}


async def until(look: Callable[[], Awaitable[Any]]) -> Any:
    """Return what `look` finds as soon as it is something; what is made in the background sends no event."""
    for _ in range(300):
        found = await look()
        if found:
            return found
        await asyncio.sleep(0.1)
    raise AssertionError("nothing came")


async def test_index_chunks_after_document_processing(edge: EdgeClient, factory: str) -> None:
    documents = await edge.documents(factory)
    assert all(one.chunk_count > 0 for one in documents)
    page = await edge.stub.QueryChunks(QueryChunksRequest(collection=factory))
    assert {one.document_id for one in page.chunks} == {one.id for one in documents}
    assert all(one.text and one.filename and one.locator.WhichOneof("place") for one in page.chunks)


async def test_user_query_triggers_hybrid_search(edge: EdgeClient, factory: str) -> None:
    question = "Quel est le stock de sécurité recommandé pour la vis M4 ?"
    found = await edge.stub.Search(SearchRequest(query=question, collections=[factory], explain=True))
    assert 0 < len(found.chunks) <= 5
    assert found.chunks[0].chunk.filename == "rapport.md"
    assert len({channel.channel for hit in found.chunks for channel in hit.channels}) == 2


async def test_search_with_no_relevant_results(edge: EdgeClient, factory: str) -> None:
    done = await edge.answer("Quelle est la capitale de la Mongolie extérieure ?", collections=[factory])
    assert done.answer.finish_reason == ans.FINISH_REASON_NO_RELEVANT_CONTENT
    assert done.answer.text == NOT_FOUND
    assert not done.answer.citations


async def test_llm_generates_response_with_citations(edge: EdgeClient, factory: str) -> None:
    made = await edge.stub.CreateConversation(CreateConversationRequest(collections=[factory]))
    done = await edge.answer("Quel est le stock de la vis M4 à Lyon ?", conversation_id=made.conversation.id)
    assert "150" in done.answer.text
    listed = await edge.stub.ListMessages(ListMessagesRequest(conversation_id=made.conversation.id))
    (citation, *_) = listed.messages[1].answer.citations
    assert citation.filename == "production.csv"
    assert "150" in citation.quote
    start, end = citation.claim_span.start, citation.claim_span.end
    assert "150" in listed.messages[1].answer.text[start:end]


async def test_query_references_data_from_two_files(edge: EdgeClient, factory: str) -> None:
    question = "Compare les stocks entre production.csv et inventaire.csv"
    done = await edge.answer(question, collections=[factory])
    assert {one.filename for one in done.sources} >= {"production.csv", "inventaire.csv"}
    assert done.answer.citations
    for citation in done.answer.citations:
        assert citation.filename == done.sources[citation.number - 1].filename


async def test_file_specific_query(edge: EdgeClient, factory: str) -> None:
    done = await edge.answer("Que dit le fichier rapport.md du stock de la vis M4 ?", collections=[factory])
    assert {one.filename for one in done.sources} == {"rapport.md"}


async def test_user_feedback_on_citation_accuracy(edge: EdgeClient, factory: str, running: Deployment) -> None:
    made = await edge.stub.CreateConversation(CreateConversationRequest(collections=[factory]))
    done = await edge.answer("Quel est le stock de la vis M4 à Lyon ?", conversation_id=made.conversation.id)
    verdict = CreateFeedbackRequest(answer_id=done.answer.id, citation=1, rating=RATING_DOWN, comment="wrong row")
    given = (await edge.stub.CreateFeedback(verdict)).feedback
    negative = await edge.stub.ListFeedback(ListFeedbackRequest(rating=RATING_DOWN))
    assert (given.citation, given.comment) == (1, "wrong row")
    assert given.id in [one.id for one in negative.feedback]
    log = running.log("edge" if running.separate else "all")
    assert [line for line in log.splitlines() if "feedback_negative" in line and given.id in line]
    assert "wrong row" not in log


async def test_provider_capabilities_declaration(edge: EdgeClient) -> None:
    listed = await edge.stub.ListProviders(ListProvidersRequest())
    told = {capability for one in listed.providers for capability in one.capabilities}
    assert told >= {"collections", "search", "embeddings", "metadata_filtering"}


async def test_provider_initialization_with_schema(edge: EdgeClient) -> None:
    listed = await edge.stub.ListProviders(ListProvidersRequest(kind=PROVIDER_KIND_EMBEDDING))
    (provider,) = [one for one in listed.providers if one.id == "openai"]
    assert provider.settings_schema.fields["properties"].struct_value.fields
    request = ValidateProviderRequest(kind=PROVIDER_KIND_EMBEDDING, id="openai")
    request.settings.update({"no_such_setting": 1})
    refused = await edge.stub.ValidateProvider(request)
    assert not refused.valid
    assert any("no_such_setting" in problem for problem in refused.problems)
    builtin = ValidateProviderRequest(kind=PROVIDER_KIND_EMBEDDING, id="builtin")
    assert (await edge.stub.ValidateProvider(builtin)).valid


async def test_health_check_with_details(edge: EdgeClient, factory: str) -> None:
    checked = await edge.stub.CheckProvider(CheckProviderRequest(kind=PROVIDER_KIND_STORE, id="milvus"))
    health = checked.health
    assert health.healthy, health.error
    assert health.check_time.seconds
    assert health.latency.ToNanoseconds()
    assert set(health.details) >= {"collections"}, dict(health.details)


async def test_memory_without_embeddings_is_empty_and_enabled(edge: EdgeClient) -> None:
    found = await edge.stub.SearchMemory(SearchMemoryRequest(query="anything"), **headers(f"new-{uuid4().hex[:8]}"))
    assert (found.context, list(found.source_messages), found.enabled) == ("", [], True)


async def test_memory_is_the_users_own_and_within_its_budget(edge: EdgeClient) -> None:
    user = headers(f"ann-{uuid4().hex[:8]}")
    made = await edge.stub.CreateConversation(CreateConversationRequest(), **user)
    text = "My bicycle is a green Peugeot from 1978."
    request = AskRequest(question=text, conversation_id=made.conversation.id)
    events = [event async for event in edge.stub.Ask(request, timeout=60, **user)]
    assert events[-1].HasField("completed")

    async def recalled() -> str:
        asked = SearchMemoryRequest(query="which bicycle do I have?")
        return str((await edge.stub.SearchMemory(asked, **user)).context)

    context = await until(recalled)
    assert f"[user] {text}" in context.splitlines()
    others = await edge.stub.SearchMemory(SearchMemoryRequest(query="bicycle"), **headers("somebody-else"))
    assert "Peugeot" not in others.context
    tight = SearchMemoryRequest(query="which bicycle do I have?", max_tokens=100)
    assert len((await edge.stub.SearchMemory(tight, **user)).context) <= 400
