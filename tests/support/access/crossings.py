"""Ways round: calls that name something of the caller's own and something hidden at once."""

import json
from collections.abc import Mapping
from typing import Any

from footnote.edge.v1.collections_pb2 import DeleteCollectionRequest
from footnote.edge.v1.documents_pb2 import QueryChunksRequest

from support.access.judge import as_if, leaked
from support.access.matrix import Matrix
from support.access.people import Person, word
from support.access.targets import Target, alike, differences

Names = Mapping[str, Any]


async def crossings(matrix: Matrix, person: Person) -> list[str]:
    """Try each way on what is hidden from a person, and say what it shows, changes or gives away."""
    found: list[str] = []
    targets = [one for one in matrix.world.of(person) if not one.right(person)]
    for target in targets:
        await _chunk(matrix, target)
        before = await matrix.seeder.state(target)
        for name in WAYS:
            found += [f"{name} on {target.label}: {what}" for what in await _one(matrix, person, target, name)]
        found += [f"on {target.label}: {what}" for what in differences(before, await matrix.seeder.state(target))]
    return found


async def _chunk(matrix: Matrix, target: Target) -> None:
    request = QueryChunksRequest(collection=target.names["collection_id"], page_size=1)
    found = await matrix.seeder.stub.QueryChunks(request, metadata=matrix.seeder.key(target.manager))
    target.names["chunk_id"] = found.chunks[0].id


async def _one(matrix: Matrix, person: Person, target: Target, name: str) -> list[str]:
    hidden, absent = dict(target.names), target.absent()
    absent["chunk_id"] = alike(target.names["chunk_id"])
    said = []
    for names in (hidden, absent):
        # A collection and a conversation of the caller's own for each, so that they are in the same state.
        mine, sent = await _own(matrix, person), ""
        for operation, body in WAYS[name](mine, names):
            planned = matrix.plan.named("gRPC", operation)
            body = json.loads(json.dumps(body).replace("<made>", mine.get("made", "")))
            sent += json.dumps(body)
            outcome = await matrix.wire.call(planned.operation, body, matrix.cast.keys[person])
            if operation == "CreateConversation" and outcome.ok:
                mine["made"] = outcome.bodies[0]["conversation"]["id"]
            if names is hidden and (shown := leaked(outcome, target.hidden_from(person), sent)):
                return [f"{operation} shows {shown[:3]}"]
            said.append(json.dumps(as_if(outcome, {**names, **{f"my {key}": value for key, value in mine.items()}})))
        # What it created must not block another call: it may have the name of a hidden resource by now.
        gone = DeleteCollectionRequest(collection=mine["collection_id"])
        await matrix.seeder.stub.DeleteCollection(gone, metadata=matrix.seeder.maker(person))
    half = len(said) // 2
    return [f"hidden: {a[:200]}; absent: {b[:200]}" for a, b in zip(said[:half], said[half:], strict=True) if a != b]


async def _own(matrix: Matrix, person: Person) -> dict[str, Any]:
    target = Target("own", person, True, person)
    await matrix.seeder.collection(target)
    await matrix.seeder.conversation(target, word("title"))
    target.names["source_id"] = await matrix.seeder.source(target)
    return target.names


def _vectors(mine: Names, identity: str) -> dict[str, Any]:
    vector = [0.1] * mine["dimensions"]
    return {"collection": mine["collection_id"], "rows": [{"id": identity, "text": "mine", "vector": vector}]}


def _change(collection: str, mask: str, **resource: str) -> dict[str, Any]:
    return {"collection": collection, "resource": {"description": "changed", **resource}, "update_mask": mask}


QUESTION = "What is the code word?"
WAYS: dict[str, Any] = {
    "a source that moves into a hidden collection": lambda mine, names: [
        (
            "UpdateSource",
            {"source_id": mine["source_id"], "resource": {"collection": names["collection"], "paused": True}},
        ),
        ("UpdateSource", {"source_id": mine["source_id"], "resource": {"id": names["source_id"], "paused": True}}),
    ],
    "vectors with the id of a hidden chunk": lambda mine, names: [("AddVectors", _vectors(mine, names["chunk_id"]))],
    "vectors with the id of a hidden document": lambda mine, names: [
        ("AddVectors", _vectors(mine, names["document_id"])),
        ("QueryChunks", {"collection": mine["collection_id"]}),
    ],
    "own name, hidden id": lambda mine, names: [
        ("UpdateCollection", _change(mine["collection"], "description", id=names["collection_id"]))
    ],
    "own id, hidden name": lambda mine, names: [
        ("UpdateCollection", _change(mine["collection_id"], "name", name=names["collection"]))
    ],
    "a conversation about a hidden collection": lambda mine, names: [
        ("CreateConversation", {"collections": [names["collection"]]}),
        ("Ask", {"question": QUESTION, "conversation_id": "<made>"}),
        ("ListMessages", {"conversation_id": "<made>"}),
    ],
    "a hidden document in an own conversation": lambda mine, names: [
        (
            "Ask",
            {
                "question": QUESTION,
                "conversation_id": mine["conversation_id"],
                "document_ids": [names["document_id"]],
            },
        ),
    ],
    "a hidden document in an own collection": lambda mine, names: [
        (
            "Search",
            {"query": QUESTION, "collections": [mine["collection_id"]], "document_ids": [names["document_id"]]},
        ),
        ("ReindexDocuments", {"collection": mine["collection_id"], "document_ids": [names["document_id"]]}),
    ],
    "a filter that is always true": lambda mine, names: [
        (
            "Search",
            {
                "query": QUESTION,
                "filter": {
                    "json": json.dumps({"$or": [{"document_id": names["document_id"]}, {"tags": names["tag"]}]})
                },
            },
        ),
    ],
}
