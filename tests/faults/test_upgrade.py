"""What earlier releases stored is opened, read through every RPC, changed, and forgotten when it is deleted."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from footnote.edge.v1 import answers_pb2 as answers
from footnote.edge.v1 import collections_pb2 as collections
from footnote.edge.v1 import conversations_pb2 as conversations
from footnote.edge.v1 import documents_pb2 as documents
from footnote.edge.v1 import operations_pb2 as operations
from footnote.edge.v1 import vectors_pb2 as vectors
from footnote.types.v1.answer_pb2 import DEGRADATION_REASON_DOCUMENT_DELETED
from footnote_cli.main import app
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client
from support.states import STATES, unpack
from typer.testing import CliRunner

pytestmark = pytest.mark.full
PATIENCE = 60.0
ROUNDS = 5.0
OFTEN = {"FOOTNOTE_INDEXING_RECOVERY_INTERVAL": "0.5", "FOOTNOTE_EDGE_RECONCILE_SECONDS": "0.5"}
SOURCES = [answers.ANSWER_PART_SOURCES]


async def said(client: EdgeClient, conversation: str) -> list[Any]:
    request = conversations.ListMessagesRequest(conversation_id=conversation, page_size=100)
    return list((await client.stub.ListMessages(request)).messages)


async def read(client: EdgeClient, kept: dict[str, Any]) -> None:
    """Read everything."""
    stub = client.stub
    assert {one.name for one in (await stub.ListCollections(collections.ListCollectionsRequest())).collections} >= {
        "river",
        "stars",
    }
    for name, one in kept["documents"].items():
        document = (await stub.GetDocument(documents.GetDocumentRequest(document_id=one))).document
        assert (document.filename, list(document.tags)) == (name, ["water"])
        got = [part async for part in stub.DownloadDocument(documents.DownloadDocumentRequest(document_id=one))]
        assert b"".join(part.data for part in got)
    found = await stub.QueryChunks(documents.QueryChunksRequest(collection="river"))
    assert {one.document_id for one in found.chunks} == set(kept["documents"].values())
    rows = (await stub.ListVectors(vectors.ListVectorsRequest(collection="stars", include_vectors=True))).rows
    assert sorted(one.id for one in rows) == [f"own-{n}" for n in range(4)], rows
    row = await stub.GetVector(vectors.GetVectorRequest(collection="stars", vector_id="own-1", include_vector=True))
    assert row.row.text == "Star number 1 is called Vega1."
    listed = (await stub.ListConversations(conversations.ListConversationsRequest())).conversations
    assert {kept["conversation"], kept["empty"]} <= {one.id for one in listed}
    there = await said(client, kept["conversation"])
    assert [one.id for one in there] == kept["messages"]
    assert [one.text for one in there][1::2] == kept["answers"][:3]
    for one in there[1::2]:
        assert one.answer.citations[0].quote
        whole = await stub.GetAnswer(answers.GetAnswerRequest(answer_id=one.id, include=SOURCES))
        assert whole.sources[0].text
        assert not one.degradations
        ask = answers.GetAnswerManifestRequest(answer_id=one.id)
        manifest = (await stub.GetAnswerManifest(ask)).manifest
        assert manifest.question
        assert len(manifest.prompt_hash) == 64
        assert {source.document_id for source in manifest.sources} <= set(kept["documents"].values())
        await stub.ReplayAnswer(answers.ReplayAnswerRequest(answer_id=one.id))
    if kept["lone"]:
        lone = await stub.GetAnswer(answers.GetAnswerRequest(answer_id=kept["lone"]))
        assert lone.answer.text == kept["answers"][3]
    feedback = (await stub.ListFeedback(answers.ListFeedbackRequest())).feedback
    assert [(one.answer_id, one.comment) for one in feedback] == [(kept["messages"][-1], "Right")]
    recalled = await stub.SearchMemory(conversations.SearchMemoryRequest(query="miller Orla Quist"))
    assert recalled.source_messages
    await stub.ListOperations(operations.ListOperationsRequest())


async def change(client: EdgeClient, kept: dict[str, Any]) -> None:
    """Continue with the existing data, and delete its sources."""
    stub = client.stub
    again = await client.answer("What does the heron eat?", conversation_id=kept["conversation"])
    assert "frogs" in again.answer.text
    regenerate = conversations.RegenerateMessageRequest(message_id=kept["messages"][3])
    assert [event async for event in stub.RegenerateMessage(regenerate)]
    added = {"id": "own-9", "text": "A new star.", "vector": [0.0, 1.0, 0.0, 0.0]}
    await stub.AddVectors(vectors.AddVectorsRequest(collection="stars", rows=[added]))
    await stub.DeleteVectors(vectors.DeleteVectorsRequest(collection="stars", ids=["own-0"]))
    reindex = documents.ReindexDocumentsRequest(document_ids=[kept["documents"]["weir.txt"]])
    await stub.ReindexDocuments(reindex)
    await client.settle(kept["documents"]["weir.txt"])
    await stub.DeleteDocument(documents.DeleteDocumentRequest(document_id=kept["documents"]["heron.txt"]))
    async with asyncio.timeout(PATIENCE):
        while any("frogs" in str(one) for one in await said(client, kept["conversation"])):  # noqa: ASYNC110
            await asyncio.sleep(0.2)
    first = (await said(client, kept["conversation"]))[1]
    assert not first.text
    assert any(one.reason == DEGRADATION_REASON_DOCUMENT_DELETED for one in first.degradations)
    found = await stub.SearchMemory(conversations.SearchMemoryRequest(query="frogs and small fish"))
    assert "frogs" not in str(found)


def doctor(folder: Path) -> list[dict[str, str]]:
    done = CliRunner().invoke(app, ["admin", "doctor", "--data-dir", str(folder), "--json"])
    return [one for one in json.loads(done.stdout)["findings"] if one["state"] == "broken"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("state", STATES)
def test_data_of_an_earlier_release_is_served_whole(tmp_path: Path, state: str) -> None:
    folder, kept = unpack(state, tmp_path)
    assert not doctor(folder)
    assert state in CliRunner().invoke(app, ["keys", "list", "--data-dir", str(folder)]).stdout

    async def use(running: Deployment) -> None:
        async with edge_client(running.address()) as client:
            await read(client, kept)
            await asyncio.sleep(ROUNDS)  # leftovers are looked for, and nothing here is one
            await read(client, kept)
            await change(client, kept)

    with deployment(folder, env=OFTEN) as running:
        asyncio.run(use(running))
        log = running.log()
    assert '"level":"error"' not in log.replace(" ", "")
    assert not doctor(folder)
