"""From a file to a footnoted answer, through the real launcher, in both modes."""

import json
import re

import grpc
import httpx2
import pytest
from footnote.edge.v1.answers_pb2 import SearchRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, DeleteCollectionRequest
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest, ListMessagesRequest
from footnote.edge.v1.documents_pb2 import Document, QueryChunksRequest, UpdateDocumentRequest
from footnote.edge.v1.system_pb2 import GetHealthRequest
from footnote.types.v1 import answer_pb2 as ans
from footnote.types.v1 import collection_pb2 as col
from footnote.types.v1.reasons_pb2 import QUERY_STRATEGY_FIRST_MESSAGE, QUERY_STRATEGY_FOLLOW_UP
from footnote_kit.settings import STAGES
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from support.answer_parts import EVERY_PART
from support.deployment import Deployment
from support.doubles.services import contracts
from support.edge_client import EdgeClient
from support.operations import ended

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("question", "answer", "place"),
    [
        (
            "How many months of warranty does the Polaris Laser Tracker have?",
            r"\b60\b",
            "products.xlsx, sheet 'Products'",
        ),
        ("How much is the daily travel allowance abroad?", r"\b54 euros\b", "handbook.pdf, page 3"),
        (
            "Combien de jours par semaine peut-on télétravailler à Lyon ?",
            r"\bdeux jours par semaine\b",
            "guide-lyon.md",
        ),
        ("How many characters must passwords have?", r"\b14\b", "security.md"),
    ],
)
async def test_questions_are_answered_with_footnotes_to_the_place(
    edge: EdgeClient, handbook: str, question: str, answer: str, place: str
) -> None:
    done = await edge.answer(question, collections=[handbook])
    assert done.answer.finish_reason == ans.FINISH_REASON_ANSWERED
    assert re.search(answer, done.answer.text), done.answer.text
    labels = [citation.label for citation in done.answer.citations]
    assert any(label.startswith(place) for label in labels), labels
    assert not done.degradations
    assert done.time_to_first_token.ToNanoseconds() > 0
    for citation in done.answer.citations:
        source = done.sources[citation.number - 1]
        assert citation.chunk_id == source.chunk_id
        start, end = citation.quote_span.start, citation.quote_span.end
        assert source.text[start:end] == citation.quote


async def test_search_explains_its_scores(edge: EdgeClient, handbook: str) -> None:
    request = SearchRequest(query="warranty months", collections=[handbook], explain=True)
    found = await edge.stub.Search(request)
    assert found.chunks
    assert found.chunks[0].channels
    assert re.fullmatch("[0-9a-f]{32}", found.trace_id)
    unfiltered = QueryChunksRequest(collection=handbook)
    assert (await edge.stub.QueryChunks(unfiltered)).total_size > 0


async def test_a_conversation_remembers_its_subject_and_gets_a_title(edge: EdgeClient, handbook: str) -> None:
    made = await edge.stub.CreateConversation(CreateConversationRequest(collections=[handbook]))
    conversation = made.conversation.id
    first = await edge.answer("What is the warranty of the Polaris Laser Tracker?", conversation_id=conversation)
    assert first.manifest.query_strategy == QUERY_STRATEGY_FIRST_MESSAGE
    second = await edge.answer("And how much does it cost?", conversation_id=conversation)
    assert second.manifest.query_strategy == QUERY_STRATEGY_FOLLOW_UP
    assert "Polaris" in second.manifest.query
    listed = await edge.stub.ListMessages(ListMessagesRequest(conversation_id=conversation, include=EVERY_PART))
    assert [message.role for message in listed.messages] == [
        ans.MESSAGE_ROLE_USER, ans.MESSAGE_ROLE_ASSISTANT, ans.MESSAGE_ROLE_USER, ans.MESSAGE_ROLE_ASSISTANT
    ]  # fmt: skip
    assert listed.messages[1].answer == first.answer


async def test_a_deleted_collection_is_gone_from_search(edge: EdgeClient) -> None:
    await edge.stub.CreateCollection(CreateCollectionRequest(collection=col.Collection(name="short-lived")))
    document = await edge.put(b"The zebra sleeps standing.", collection="short-lived")
    assert document.chunk_count == 1
    begun = await edge.stub.DeleteCollection(DeleteCollectionRequest(collection="short-lived"), timeout=60)
    found = await edge.stub.Search(SearchRequest(query="zebra sleeps standing"))
    assert not [one for one in found.chunks if one.chunk.document_id == document.id]
    deleted = await ended(edge.stub, begun.operation)
    assert (deleted.done, deleted.delete_collection.chunks_deleted) == (1, 1)


async def test_a_search_sees_new_tags_at_once(edge: EdgeClient) -> None:
    document = await edge.put(b"The okapi hides in the rain forest.", tags=["old"])

    async def found(tag: str) -> list[str]:
        request = SearchRequest(query="okapi rain forest", filter={"json": json.dumps({"tags": tag})})
        return [one.chunk.document_id for one in (await edge.stub.Search(request)).chunks]

    assert await found("old") == [document.id]
    change = UpdateDocumentRequest(document_id=document.id, resource=Document(tags=["new"]))
    assert (await edge.stub.UpdateDocument(change)).document.index_time == document.index_time
    assert (await found("old"), await found("new")) == ([], [document.id])


async def test_health_says_that_every_part_is_well(edge: EdgeClient) -> None:
    health = await edge.stub.GetHealth(GetHealthRequest())
    assert health.healthy, health
    assert {part.name for part in health.components} == {*STAGES, "vector store"}


@pytest.mark.parametrize("stage", STAGES)
async def test_every_service_shows_its_contract_by_reflection(running: Deployment, stage: str) -> None:
    async with grpc.aio.insecure_channel(running.address(stage)) as channel:
        asked = reflection_pb2.ServerReflectionRequest(list_services="")
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        answer = await anext(aiter(stub.ServerReflectionInfo(iter([asked]))))
    named = {service.name for service in answer.list_services_response.service}
    assert {service.full_name for _, service in contracts(stage)} <= named


async def test_http_serves_the_same(running: Deployment, handbook: str) -> None:
    async with httpx2.AsyncClient(base_url=f"http://{running.address('http')}", timeout=30) as http:
        listed = (await http.get("/collections")).json()["collections"]
        assert handbook in [one["name"] for one in listed]
        body = {"question": "How many characters must passwords have?", "collections": [handbook]}
        answer = await http.post("/v1/ask", json=body, headers={"accept": "application/json"})
        assert "14" in answer.json()["answer"]["text"]
