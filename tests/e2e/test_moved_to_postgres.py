"""A deployment on SQLite, copied to PostgreSQL, answers as before: texts, footnotes, histories, keys, use, and jobs."""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from footnote.client import AsyncClient
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest, ListCollectionsRequest
from footnote.edge.v1.conversations_pb2 import (
    CreateConversationRequest,
    ListConversationsRequest,
    ListMessagesRequest,
)
from footnote.edge.v1.keys_pb2 import ListKeysRequest
from footnote.edge.v1.system_pb2 import GetUsageRequest
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from google.protobuf.json_format import MessageToDict
from support import postgres
from support.base_environment import inherited
from support.conditions import until
from support.deployment import deployment
from support.edge_client import EdgeClient

pytestmark = [pytest.mark.slow, pytest.mark.full]
SUBJECTS = {
    "heron": "The grey heron stands 94 centimetres tall and eats frogs.",
    "harbour": "The harbour of Elmsund was dredged to 14 metres in 1987.",
}
QUESTIONS = ("How tall does the grey heron stand?", "How deep was the harbour of Elmsund dredged?")
KEYS = {"FOOTNOTE_EDGE_AUTH": "keys"}
LAMPS, WAITING = "lamps", 30
"""A collection of documents that were acknowledged right before the power cut: some have a job that is not done."""


def footnote(*arguments: str, env: dict[str, str] | None = None) -> str:
    """Run the command as an operator would and return what it printed."""
    done = subprocess.run(
        [sys.executable, "-m", "footnote_cli.main", *arguments],
        env={**inherited(), "PYTHONPATH": os.pathsep.join(sys.path), **(env or {})},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def lamp(number: int) -> bytes:
    """Too large for a group, so that it waits as a job."""
    return "".join(f"Lamp {number} stands on floor {floor} of the mill.\n" for floor in range(1_700)).encode()


async def titled(edge: EdgeClient) -> bool:
    """Return whether a job has titled the conversation."""
    return bool((await edge.stub.ListConversations(ListConversationsRequest())).conversations[0].title)


async def answers(edge: EdgeClient) -> list[Any]:
    """Answers and their footnotes, without what differs from call to call."""
    found = []
    for question in QUESTIONS:
        answer = (await edge.answer(question, collections=["default"])).answer
        cited = [(one.number, one.chunk_id, one.document_id, one.quote) for one in answer.citations]
        found.append((answer.text, cited))
    return found


async def tokens(edge: EdgeClient) -> int:
    """Tokens that the caller has used today."""
    return (await edge.stub.GetUsage(GetUsageRequest())).own.tokens_today


async def kept(edge: EdgeClient) -> list[dict[str, Any]]:
    """What a caller has in its lists."""
    told = await edge.stub.ListConversations(ListConversationsRequest())
    messages = [await edge.stub.ListMessages(ListMessagesRequest(conversation_id=one.id)) for one in told.conversations]
    lists = [
        told,
        await edge.stub.ListKeys(ListKeysRequest()),
        *messages,
    ]
    collections = await edge.stub.ListCollections(ListCollectionsRequest())
    lists += [one for one in collections.collections if one.name != LAMPS]
    lists += await edge.documents("default")
    return [MessageToDict(one) for one in lists]


def test_copied_to_postgres_it_answers_as_before(tmp_path: Path, postgres_url: str) -> None:
    folder = tmp_path / "data"
    folder.mkdir()

    async def fill(address: str, key: str) -> tuple[list[Any], list[dict[str, Any]], int]:
        async with AsyncClient(address, api_key=key) as client:
            edge = EdgeClient(client.channel)
            for name, text in SUBJECTS.items():
                assert (await edge.put(text.encode(), f"{name}.txt")).state == DOCUMENT_STATE_INDEXED
            await edge.stub.CreateCollection(CreateCollectionRequest(collection=Collection(name=LAMPS)))
            made = await edge.stub.CreateConversation(CreateConversationRequest())
            assert (await edge.answer(QUESTIONS[0], conversation_id=made.conversation.id)).answer.text
            said = await answers(edge)
            await until(lambda: titled(edge))
            listed, used = await kept(edge), await tokens(edge)
            await asyncio.gather(*(edge.upload(lamp(number), f"lamp-{number}.txt", LAMPS) for number in range(WAITING)))
            return said, listed, used

    with deployment(folder, env=KEYS) as running:
        key = footnote("keys", "create", "first", "--role", "admin", "--data-dir", str(folder)).strip()
        before, listed, used = asyncio.run(fill(running.address(), key))
        running.kill()
    with closing(sqlite3.connect(folder / "edge" / "jobs.db")) as ledger:
        [(open_jobs,)] = ledger.execute("SELECT count(*) FROM workflow_status WHERE status IN ('PENDING', 'ENQUEUED')")
    assert open_jobs, "the power cut came too late to leave a job"

    url = asyncio.run(postgres.new_database(postgres_url))
    told = json.loads(
        footnote("admin", "migrate", "--data-dir", str(folder), "--json", env={"FOOTNOTE_MIGRATE_TO": url})
    )
    assert {"edge.messages", "edge.api_keys", "ingestion.documents", "indexing_revisions", "dbos.workflow_status"} <= {
        one["table"] for one in told["tables"] if one["rows"]
    }
    # The files are not read any more: what is served from now on is PostgreSQL's.
    for path in (*folder.glob("edge/*.db*"), *folder.glob("indexing/*.db*"), *folder.glob("ingestion/*.db*")):
        path.unlink()

    async def compare(address: str) -> None:
        async with AsyncClient(address, api_key=key) as client:
            edge = EdgeClient(client.channel)
            found = await edge.documents()
            assert len(found) == len(SUBJECTS) + WAITING
            for one in found:
                assert (await edge.settle(one.id)).state == DOCUMENT_STATE_INDEXED, one.filename
            for now, then in zip(await kept(edge), listed, strict=True):
                assert now == then
            assert await tokens(edge) >= used > 0  # what was unfinished has been embedded since
            assert await answers(edge) == before

    with deployment(folder, env={**KEYS, **dict.fromkeys(told["set"], url)}) as moved:
        asyncio.run(compare(moved.address()))
