"""Fills a data folder through the API of an earlier release, in its checkout and with its own environment.

    git archive COMMIT | tar x -C CHECKOUT; make -C CHECKOUT setup
    CHECKOUT/.venv/bin/python tests/support/states/fill.py CHECKOUT OUT
    CHECKOUT/.venv/bin/footnote keys create COMMIT --role admin --data-dir OUT/data
    tar cJf COMMIT.tar.xz -C OUT data kept.json     # without logs, locks, spool, sockets and embeddings.db

Names are those of the release: messages were in one module until 2026-11-22.
"""

# mypy: ignore-errors
import asyncio
import json
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

CHECKOUT, OUT = map(Path, sys.argv[1:])
sys.path.insert(0, str(CHECKOUT / "tests"))
sys.path.append(str(Path(__file__).parent))  # `support` is the checkout's

from footnote.types.v1.collection_pb2 import Collection  # noqa: E402
from google.protobuf.json_format import MessageToDict, ParseDict  # noqa: E402
from texts import ADDED, QUESTIONS, TEXTS  # noqa: E402

from support.deployment import deployment  # noqa: E402
from support.edge_client import edge_client  # noqa: E402

try:
    from footnote.edge.v1 import answers_pb2, collections_pb2, conversations_pb2, documents_pb2, vectors_pb2

    SPLIT = True
except ImportError:
    from footnote.edge.v1 import edge_service_pb2

    answers_pb2 = collections_pb2 = conversations_pb2 = documents_pb2 = vectors_pb2 = edge_service_pb2
    SPLIT = False


async def fill(running):
    async with edge_client(running.address()) as client:
        stub = client.stub
        for name in ("river", "stars"):
            request = collections_pb2.CreateCollectionRequest(collection=Collection(name=name, description=name))
            await stub.CreateCollection(request)
        documents = {
            name: (await client.put(text.encode(), name, "river", tags=["water"])).id for name, text in TEXTS.items()
        }
        replaced = documents_pb2.ReplaceMetadata(document_id=documents["mill.md"], filename="mill.md")

        async def parts():
            yield documents_pb2.ReplaceDocumentRequest(metadata=replaced)
            yield documents_pb2.ReplaceDocumentRequest(data=(TEXTS["mill.md"] + ADDED).encode())

        await stub.ReplaceDocument(parts(), timeout=60)
        await client.settle(documents["mill.md"])
        vector = "vector" if SPLIT else "embedding"
        rows = [
            {"id": f"own-{n}", "text": f"Star number {n} is called Vega{n}.", vector: [1.0, 0.1 * n, 0, 0]}
            for n in range(4)
        ]
        add = {"collection": "stars", "rows" if SPLIT else "documents": rows}
        await stub.AddVectors(ParseDict(add, vectors_pb2.AddVectorsRequest()))
        made = await stub.CreateConversation(conversations_pb2.CreateConversationRequest(collections=["river"]))
        conversation = made.conversation.id
        answers = [await client.answer(text, conversation_id=conversation, **more) for text, more in QUESTIONS]
        answers.append(await client.answer("Where does the key of the weir hang?", collections=["river"]))
        empty = await stub.CreateConversation(conversations_pb2.CreateConversationRequest(title="Empty"))
        listed = await stub.ListMessages(conversations_pb2.ListMessagesRequest(conversation_id=conversation))
        module = answers_pb2 if hasattr(answers_pb2, "CreateFeedbackRequest") else conversations_pb2
        rated = {"answer_id" if SPLIT else "message_id": listed.messages[-1].id, "rating": 1, "comment": "Right"}
        await stub.CreateFeedback(module.CreateFeedbackRequest(**rated))
        await asyncio.sleep(6)  # memory is written
        await stub.ReindexDocuments(documents_pb2.ReindexDocumentsRequest(document_ids=[documents["heron.txt"]]))
        for one in documents.values():
            await client.settle(one)
        await asyncio.sleep(2)
        plain = [MessageToDict(one, preserving_proto_field_name=True) for one in answers]
        return {
            "documents": documents, "conversation": conversation, "empty": empty.conversation.id,
            "messages": [one.id for one in listed.messages], "answers": [one["answer"]["text"] for one in plain],
        }  # fmt: skip


folder = OUT / "data"
folder.mkdir(parents=True)
with deployment(folder) as serving:
    kept = asyncio.run(fill(serving))
with closing(sqlite3.connect(folder / "edge" / "edge.db")) as connection:
    lone = connection.execute("SELECT id FROM messages WHERE conversation_id IS NULL AND role = 3").fetchone()
kept["lone"] = lone[0] if lone else ""  # the first release kept answers of conversations only
(OUT / "kept.json").write_text(json.dumps(kept, indent=1))
for file in folder.glob("*/*.db"):
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
