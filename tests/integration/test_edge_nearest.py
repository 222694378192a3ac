"""The passage that is offered with a refusal, at every door: gRPC, stored answers, OpenAI's HTTP and MCP."""

from collections.abc import AsyncIterator

import httpx2
import pytest
from footnote.edge.v1.answers_pb2 import ANSWER_PART_SOURCES, AskRequest, GetAnswerRequest
from footnote.edge.v1.documents_pb2 import DeleteDocumentRequest
from footnote.types.v1.answer_pb2 import FINISH_REASON_NO_RELEVANT_CONTENT
from footnote_edge.app import build
from footnote_kit.testing import Served, serve_app
from mcp.client import Client
from support.doubles.stages import World, serve_doubles
from support.edge_client import edge_client

TEA = "Tea is brewed at 80 degrees."


@pytest.fixture
def world() -> World:
    """Doubles that find no passage which answers."""
    return World(finish_reason=FINISH_REASON_NO_RELEVANT_CONTENT, says="No passage was found that answers.")


@pytest.fixture
async def served(world: World) -> AsyncIterator[Served]:
    """Edge before these doubles."""
    async with serve_doubles(world) as addresses, serve_app(build, addresses=addresses) as running:
        yield running


async def test_grpc_offers_it_and_a_deletion_takes_it_out_of_what_is_stored(served: Served) -> None:
    async with edge_client(served.address) as client:
        document = await client.put(TEA.encode(), "tea.txt")
        told = [event async for event in client.stub.Ask(AskRequest(question="tea ?"))][-1].completed
        assert told.answer.nearest.quote == TEA
        assert not told.answer.nearest.HasField("quote_span")  # the text that it counts in was not asked for
        wanted = GetAnswerRequest(answer_id=told.answer.id, include=[ANSWER_PART_SOURCES])
        kept = await client.stub.GetAnswer(wanted)
        assert (kept.answer.nearest.quote, kept.answer.nearest.quote_span.end) == (TEA, len(TEA))
        await client.stub.DeleteDocument(DeleteDocumentRequest(document_id=document.id))
        forgotten = await client.stub.GetAnswer(wanted)
        assert "80 degrees" not in str(forgotten)


async def test_openai_clients_and_mcp_clients_are_offered_it(served: Served) -> None:
    async with edge_client(served.address) as client:
        document = await client.put(TEA.encode(), "tea.txt")
    base = f"http://{served.runtime.announced['http']}"
    body = {"model": "footnote", "messages": [{"role": "user", "content": "tea ?"}]}
    async with httpx2.AsyncClient(base_url=base, timeout=20) as http:
        said = (await http.post("/v1/chat/completions", json=body)).json()
    assert said["choices"][0]["message"]["content"] == "No passage was found that answers."
    assert said["footnote"]["nearest"] == {"label": "tea.txt", "quote": TEA, "document_id": document.id}
    async with Client(f"{base}/mcp") as mcp:
        result = await mcp.call_tool("ask", {"question": "tea ?"})
    assert result.structured_content["nearest"] == {"place": "tea.txt", "quote": TEA, "document_id": document.id}
