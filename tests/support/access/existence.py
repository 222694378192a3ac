"""What gives hidden things away without showing them: counts, duplicates, time; and doors that must not be there."""

import json
import statistics
import time
from collections.abc import AsyncIterator, Callable
from importlib import import_module
from typing import Any

import grpc
from footnote.edge.v1.collections_pb2 import UpdateCollectionRequest
from footnote.edge.v1.documents_pb2 import DeleteDocumentRequest, UploadDocumentRequest, UploadMetadata
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from support.access.fields import Variant
from support.access.judge import changes, leaked, shape
from support.access.matrix import Matrix
from support.access.operations import Planned
from support.access.people import Grant, Person, Right, word
from support.access.targets import Target
from support.access.wire import CUT_WHILE_WRITING

INTERNAL = ("ingestion", "indexing", "retrieval", "augmentation", "generation", "telemetry")
ROUNDS = 25
"""Calls of each kind when answers are timed."""

REPEATS = 5
"""Tries to learn what the server says to a client stream that it refuses."""


async def counts(matrix: Matrix, person: Person) -> list[str]:
    """Add hidden resources and return which responses to a person reveal them."""
    asked = [pair for pair in _general(matrix) if not changes(*pair) and not pair[0].rule.makes]
    before = [await _shape(matrix, person, planned, variant) for planned, variant in asked]
    people = matrix.cast.people
    nina, tom = people["seeder nina"], people["seeder tom"]
    await matrix.seeder.make("another's private", nina, people["seeder sam"])
    if person.tenant != tom.tenant:
        await matrix.seeder.make("another tenant's", tom, tom, private=False)
    found = []
    for (planned, variant), was in zip(asked, before, strict=True):
        now = await _shape(matrix, person, planned, variant)
        if now != was:
            found.append(
                f"{planned.operation} [{variant.label}]: {json.dumps(was)[:200]} became {json.dumps(now)[:200]}"
            )
    return found


def _general(matrix: Matrix) -> list[tuple[Planned, Variant]]:
    """Return all calls that name nothing of anybody's, and all that name what is shared."""
    # What one has used oneself moves with every question; that hidden things do not move it: test_edge_usage.py.
    stable = (
        "GetHealth",
        "CheckProvider",
        "GetTrace",
        "GetUsage",
        "ListUserUsage",
        "GetActivity",
        "ListKeys",
        "CreateKey",
        "ListAuditEvents",  # of administrators, who see all; it moves with what anybody does
        "audit.export",
    )
    return [
        (planned, variant)
        for planned in matrix.plan.operations
        for variant in planned.variants
        if planned.operation.id not in stable and variant.plain and not variant.mixed and not variant.names_new
    ]


async def _shape(matrix: Matrix, person: Person, planned: Planned, variant: Variant) -> Any:
    shared = matrix.world.shared.names
    body = variant.build({**shared, "key": "word"}, shared, b"x", lambda content: content)
    outcome = await matrix.wire.call(planned.operation, body, matrix.cast.keys[person])
    return [outcome.code, [shape(one) for one in outcome.bodies[-1:]]]


async def duplicates(matrix: Matrix, person: Person) -> list[str]:
    """Upload hidden bytes where a person may write, and return where the response reveals that they are known."""
    found = []
    mine = matrix.world.own[person.name]
    for target in matrix.world.of(person):
        if target.right(person):
            continue
        for place in (mine, matrix.world.shared):
            if place.right(person) < Right.WRITE:
                continue
            first = await _upload(matrix, person, place, target.text)
            again = await _upload(matrix, person, place, target.text)
            if first.duplicate:
                found.append(f"{person.name} into {place.label}: the bytes of {target.label} are a duplicate")
            if leaked_ids := [one for one in target.content if one == first.document.id]:
                found.append(f"{person.name} into {place.label}: got the document {leaked_ids} of {target.label}")
            if not again.duplicate:
                found.append(f"{person.name} into {place.label}: its own bytes are no duplicate the second time")
            delete = DeleteDocumentRequest(document_id=first.document.id)
            await matrix.seeder.stub.DeleteDocument(delete, metadata=matrix.seeder.key(place.manager))
    return found


async def _upload(matrix: Matrix, person: Person, place: Target, content: bytes) -> Any:
    head = UploadMetadata(collection=place.names["collection_id"], filename="same.txt")
    parts = [UploadDocumentRequest(metadata=head), UploadDocumentRequest(data=content)]
    return await matrix.seeder.stub.UploadDocument(iter(parts), metadata=matrix.seeder.key(person), timeout=30)


async def revoked(matrix: Matrix, person: Person) -> list[str]:
    """Take a grant away and say what the person who had it still sees."""
    olga, seeder = matrix.cast.people["owner"], matrix.seeder
    grant = Grant(Right.WRITE, user=person.user)
    target = await seeder.make("private", olga, matrix.cast.people["seeder sam"], grants=[grant])
    get = matrix.plan.named("gRPC", "GetDocument")
    body = {"document_id": target.names["document_id"]}
    if not (await matrix.wire.call(get.operation, body, matrix.cast.keys[person])).ok:
        return [f"{person.name} with a WRITE grant can't read"]
    change = {"collection": target.names["collection_id"], "resource": {"grants": []}}
    request = ParseDict({**change, "update_mask": "grants"}, UpdateCollectionRequest())
    try:
        await seeder.stub.UpdateCollection(request, metadata=seeder.maker(olga))
    except grpc.aio.AioRpcError as error:
        return [f"grants can't be taken away: {error.details()}"]
    target.grants = []
    found = []
    for planned, variant in _general_of(matrix):
        body = variant.build(target.names, target.names, b"x", lambda content: content)
        outcome = await matrix.wire.call(planned.operation, body, matrix.cast.keys[person])
        if shown := leaked(outcome, target.hidden_from(person), json.dumps(body, default=str)):
            found.append(f"{planned.operation} [{variant.label}] still shows {shown[:3]}")
    return found


def _general_of(matrix: Matrix) -> list[tuple[Planned, Variant]]:
    return [
        (planned, variant)
        for planned in matrix.plan.operations
        for variant in planned.variants
        if not changes(planned, variant)
        and not planned.rule.makes
        and variant.plain
        and not variant.mixed
        and "token" not in variant.kinds  # no caller has listed a collection made for this
    ]


TIMED: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "GetCollection": lambda names: {"collection": names["collection_id"]},
    "GetDocument": lambda names: {"document_id": names["document_id"]},
    "DownloadDocument": lambda names: {"document_id": names["document_id"]},
    "WatchDocument": lambda names: {"document_id": names["document_id"]},
    "ListDocuments": lambda names: {"collection": names["collection"]},
    "QueryChunks": lambda names: {"collection": names["collection"]},
    "Search": lambda names: {"query": "code word", "collections": [names["collection"]]},
    "GetConversation": lambda names: {"conversation_id": names["conversation_id"]},
    "ReplayAnswer": lambda names: {"answer_id": names["answer_id"]},
    "GetTrace": lambda names: {"trace_id": names["trace_id"]},
    "GetOperation": lambda names: {"operation_id": names["operation_id"]},
    "UpdateDocument": lambda names: {"document_id": names["document_id"], "resource": {"tags": ["x"]}},
    "DeleteDocument": lambda names: {"document_id": names["document_id"]},
    "GetSource": lambda names: {"source_id": names["source_id"]},
    "DeleteSource": lambda names: {"source_id": names["source_id"]},
}


async def timing(matrix: Matrix, person: Person, name: str) -> dict[str, float]:
    """Return milliseconds, by the median, for a hidden thing, an absent one, and another absent one, taking turns."""
    target = matrix.world.private if not matrix.world.private.right(person) else matrix.world.unshared
    planned, key = matrix.plan.named("gRPC", name), matrix.cast.keys[person]
    kinds = {"hidden": target.names, "absent": target.absent(), "also absent": target.absent()}
    took: dict[str, list[float]] = {kind: [] for kind in kinds}
    for turn in range(ROUNDS + 2):
        for kind, names in kinds.items():
            start = time.perf_counter()
            await matrix.wire.call(planned.operation, TIMED[name](names), key)
            if turn >= 2:
                took[kind].append((time.perf_counter() - start) * 1000)
    return {kind: round(statistics.median(values), 2) for kind, values in took.items()}


async def other_services(matrix: Matrix, person: Person) -> list[str]:
    """Say which services of the inside answer, or are named, on the public port."""
    found = []
    names = await _reflected(matrix)
    found += [f"reflection names {name}" for name in names if name.startswith("footnote.") and ".edge." not in name]
    scope = {"tenant_id": matrix.cast.acme, "user_id": word("forged"), "roles": ["ROLE_ADMIN"]}
    for stage in INTERNAL:
        module = import_module(f"footnote.{stage}.v1.{stage}_service_pb2")
        for service in module.DESCRIPTOR.services_by_name.values():
            for method in service.methods:
                request = GetMessageClass(method.input_type)()
                if "scope" in method.input_type.fields_by_name:
                    ParseDict({"scope": scope}, request)
                if "trace_id" in method.input_type.fields_by_name:
                    request.trace_id = matrix.world.private.names["trace_id"]
                code = await _try(matrix, method, request, person)
                if code not in ("UNIMPLEMENTED", "UNAUTHENTICATED"):
                    found.append(f"{service.full_name}/{method.name} answers {code}")
    return found


async def _try(matrix: Matrix, method: Any, request: Any, person: Person) -> str:
    for _ in range(REPEATS):
        code, said = await _once(matrix, method, request, person)
        if not (code == "INTERNAL" and CUT_WHILE_WRITING in said):
            break
    return code


async def _once(matrix: Matrix, method: Any, request: Any, person: Person) -> tuple[str, str]:
    kind = f"{'stream' if method.client_streaming else 'unary'}_{'stream' if method.server_streaming else 'unary'}"
    call = getattr(matrix.wire.channel, kind)(
        f"/{method.containing_service.full_name}/{method.name}",
        type(request).SerializeToString,
        GetMessageClass(method.output_type).FromString,
    )
    made = call(iter([request]) if method.client_streaming else request, metadata=matrix.seeder.key(person), timeout=20)
    try:
        if method.server_streaming:
            async for _ in made:
                break
        else:
            await made
    except grpc.aio.AioRpcError as error:
        return error.code().name, error.details() or ""
    return "OK", ""


async def _reflected(matrix: Matrix) -> list[str]:
    stub = reflection_pb2_grpc.ServerReflectionStub(matrix.wire.channel)

    async def ask() -> AsyncIterator[Any]:
        yield reflection_pb2.ServerReflectionRequest(list_services="")

    async for answer in stub.ServerReflectionInfo(ask(), timeout=20):
        return [service.name for service in answer.list_services_response.service]
    return []
