"""Whatever a caller sends in place of what the server gave it, the answer is never INTERNAL and never UNKNOWN.

Every text and bytes field of every RPC, and of every HTTP route, as the descriptors list them; page and resume tokens
are taken apart, and each value in them is changed. SQLite gets all of it by gRPC. HTTP, which leads to the same calls,
gets what its path, query and JSON may spoil, and PostgreSQL what a database may refuse.
"""

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import grpc
import httpx2
import pytest
from footnote.edge.v1 import answers_pb2 as ans
from footnote.edge.v1 import collections_pb2 as col
from footnote.edge.v1 import conversations_pb2 as con
from footnote.edge.v1 import documents_pb2 as doc
from footnote.edge.v1 import evaluations_pb2 as ev
from footnote.edge.v1 import keys_pb2 as keys
from footnote.edge.v1 import limits_pb2 as lim
from footnote.edge.v1 import sources_pb2 as src
from footnote.edge.v1 import vectors_pb2 as vec
from footnote.types.v1.collection_pb2 import Collection
from footnote.types.v1.role_pb2 import ROLE_WRITER
from footnote.types.v1.vector_pb2 import VectorRow
from footnote_edge.http.transcoding.binding import Rule, rules
from footnote_kit.edge import METHODS, PATHS, EdgeStub
from footnote_kit.field_behavior import is_required
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.json_format import MessageToDict
from google.protobuf.message_factory import GetMessageClass
from support import postgres
from support.deployment import Deployment, deployment
from support.mutations import PLACEHOLDER, REFUSED, STORED, TEXTS, WRITTEN, fresh, put, raw, tokens, ways

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(600)]

FAULTS = {grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN, grpc.StatusCode.DATA_LOSS}
QUESTION = "How long is the warranty of the laser?"
SECONDS = 60
AT_ONCE = 4
"""Calls at a time: a deployment that waits for one call costs as much as one that works."""
DISTURBED = {
    grpc.StatusCode.ABORTED, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED, 409, 429, 503, 504,
}  # fmt: skip
"""How calls end that others may have kept from what they are for: these are made again, alone."""
EACH = 8
"""HTTP gets one token of so many; all of them come by gRPC."""
Way = tuple[FieldDescriptor, ...]
PAGED = [method for method in METHODS if {"page_token", "resume_token"} & set(method.input_type.fields_by_name)]


class Filled:
    """A deployment that holds two of everything that is listed, and what the server called the first of each."""

    def __init__(self, running: Deployment, key: str, folder: Path, database: str) -> None:
        self.running, self.database = running, database
        self.metadata = (("authorization", f"Bearer {key}"),)
        self.channel = grpc.insecure_channel(running.address())
        self.stub: Any = EdgeStub(self.channel)
        self.http = httpx2.Client(
            base_url=f"http://{running.address('http')}", headers={"authorization": f"Bearer {key}"}, timeout=SECONDS
        )
        self.pool = ThreadPoolExecutor(AT_ONCE)
        self.names: dict[str, Any] = {"query": "laser", "question": QUESTION, "text": QUESTION, "id": "builtin"}
        for name in ("papers", "rows"):
            wanted = Collection(name=name)
            if name == "rows":
                wanted.settings.embedding.provider, wanted.settings.embedding.dimensions = "none", 3
            self._say("CreateCollection", col.CreateCollectionRequest(collection=wanted))
        rows = [VectorRow(id=f"r{n}", text=f"Row {n}.", vector=[1.0, n, 0.0]) for n in range(3)]
        self._say("AddVectors", vec.AddVectorsRequest(collection="rows", rows=rows))
        uploaded = [self._upload(number) for number in range(2)]
        self._say("ReindexDocuments", doc.ReindexDocumentsRequest(collection="papers"))
        last = self._say("ReindexDocuments", doc.ReindexDocumentsRequest(document_ids=uploaded[:1]))
        for _ in range(2):
            talk = self._say("CreateConversation", con.CreateConversationRequest()).conversation.id
            request = ans.AskRequest(question=QUESTION, conversation_id=talk, collections=["papers"])
            answer = self._ask(request, self.metadata)
            feedback = ans.CreateFeedbackRequest(answer_id=answer.answer.id, rating=ans.RATING_UP)
            self._say("CreateFeedback", feedback)
        other = self._say(
            "CreateKey", keys.CreateKeyRequest(label="of another", user_id="bob", role=ROLE_WRITER)
        ).secret
        self._ask(ans.AskRequest(question=QUESTION), (("authorization", f"Bearer {other}"),))
        sources = [self._source(folder, number) for number in range(2)]
        for tenant in ("acme", "other"):
            allowance = lim.TenantAllowance(documents=1000)
            limits = lim.UpdateTenantLimitsRequest(tenant_id=tenant, resource=allowance)
            limits.update_mask.paths.append("documents")
            self._say("UpdateTenantLimits", limits)
        said = self._say("ListMessages", con.ListMessagesRequest(conversation_id=talk)).messages
        shared = self._say("ShareConversation", con.ShareConversationRequest(conversation_id=talk)).shared
        question = ev.EvaluatedQuestion(id="q", question=QUESTION, grade=ev.EVALUATION_GRADE_RIGHT)
        for _ in range(2):
            kept = ev.CreateEvaluationRunRequest(collection="papers", run=ev.EvaluationRun(questions=[question]))
            run = self._say("CreateEvaluationRun", kept).run
        found = self._say("Search", ans.SearchRequest(query="laser", collections=["papers"]))
        self.names |= {
            "collection": "papers", "collections": "papers", "document_id": uploaded[0], "document_ids": uploaded[0],
            "answer_id": answer.answer.id, "conversation_id": talk, "message_id": said[0].id, "vector_id": "r0",
            "chunk_id": found.chunks[0].chunk.id, "operation_id": last.operation.id, "ids": "r0", "etag": "x",
            "source_id": sources[0], "share_id": shared.share_id, "run_id": run.id,
        }  # fmt: skip
        # Now, while every list has two: a call that is left at its head, an edited question's, may leave one.
        self.tokens = {method.name: self._token(method) for method in PAGED}

    def close(self) -> None:
        self.pool.shutdown()
        self.http.close()
        self.channel.close()

    def _say(self, name: str, request: Any) -> Any:
        return getattr(self.stub, name)(request, metadata=self.metadata, timeout=SECONDS)

    def _ask(self, request: Any, metadata: Any) -> Any:
        return list(self.stub.Ask(request, metadata=metadata, timeout=SECONDS))[-1].completed

    def _upload(self, number: int) -> str:
        text = "\n\n".join(
            f"The laser of type {number}{part} has a warranty of {part + 12} months." for part in range(60)
        )
        # Two tables of two rows, so that lists of tables and of rows have a second page.
        for name in ("Weight", "Price"):
            text += f"\n\n| Laser | {name} |\n|---|---|\n| Type {number}1 | 12 |\n| Type {number}2 | 14 |\n\nAs sold."
        parts = [
            doc.UploadDocumentRequest(metadata=doc.UploadMetadata(collection="papers", filename=f"{number}.md")),
            doc.UploadDocumentRequest(data=text.encode()),
        ]
        document = self._say("UploadDocument", iter(parts)).document.id
        watched = self.stub.WatchDocument(
            doc.WatchDocumentRequest(document_id=document), metadata=self.metadata, timeout=SECONDS
        )
        list(watched)
        return str(document)

    def _source(self, folder: Path, number: int) -> str:
        """Make a source of a folder, wait until its two files are in step, and return its id."""
        wanted = src.Source(name=f"notes {number}", collection="papers", kind="folder")
        wanted.settings.update({"path": str(folder)})
        made = self._say("CreateSource", src.CreateSourceRequest(source=wanted)).source.id
        for _ in range(600):
            if self._say("GetSource", src.GetSourceRequest(source_id=made)).source.items_in_step == 2:
                return str(made)
            time.sleep(0.2)
        raise AssertionError("the source does not come into step")

    def usual(self, method: MethodDescriptor) -> Any:
        """Return a request that names what is there, wherever it has to name something."""
        request = GetMessageClass(method.input_type)()
        for field in method.input_type.fields:
            if field.name in self.names and field.type == FieldDescriptor.TYPE_STRING:
                value = "rows" if "Vector" in method.name and field.name == "collection" else self.names[field.name]
                put(request, (field,), value)
        if "number" in method.input_type.fields_by_name:
            request.number = 1
        return request

    def code(self, method: MethodDescriptor, *messages: bytes) -> grpc.StatusCode:
        """Return how a call with these very bytes ends; of what goes on for ever, the first answer counts."""
        several, streams = method.client_streaming, method.server_streaming
        kind = f"{'stream' if several else 'unary'}_{'stream' if streams else 'unary'}"
        call = getattr(self.channel, kind)(PATHS[method.name], None, None)
        try:
            answer = call(iter(messages) if several else messages[0], metadata=self.metadata, timeout=SECONDS)
            if streams:
                next(answer, None)
                answer.cancel()
        except grpc.RpcError as error:
            return error.code()
        return grpc.StatusCode.OK

    def faults(self, call: Callable[[Any], Any], cases: Iterable[Any], bad: set[Any]) -> list[tuple[Any, Any]]:
        """Return the cases whose calls end badly, and how; several calls are made at a time."""
        tried = list(cases)
        ends = self.pool.map(call, tried)
        alone = [(case, call(case) if end in DISTURBED else end) for case, end in zip(tried, [*ends], strict=True)]
        return [(case, end) for case, end in alone if end in bad]

    def _token(self, method: MethodDescriptor) -> str:
        """Return a token that the server gave for this list."""
        if method.name == "WatchDocuments":
            request = doc.WatchDocumentsRequest(collection="papers")
            for event in self.stub.WatchDocuments(request, metadata=self.metadata, timeout=SECONDS):
                if event.resume_token:
                    return str(event.resume_token)
        return str(self._say(method.name, self._page(method)).next_page_token)

    def _page(self, method: MethodDescriptor) -> Any:
        request = self.usual(method)
        if "page_size" in method.input_type.fields_by_name:
            request.page_size = 1
        else:
            request.settings.limit = 1
        for name in ("query", "collection", "conversation_id"):
            field = method.input_type.fields_by_name.get(name)
            if field is not None and method.name != "Search" and not is_required(field):
                request.ClearField(name)
        return request

    def with_token(self, method: MethodDescriptor, token: str) -> Any:
        if method.name == "WatchDocuments":
            return doc.WatchDocumentsRequest(collection="papers", resume_token=token)
        request = self._page(method)
        request.page_token = token
        return request


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    """A database of this module on a PostgreSQL server of its own."""
    if (why := postgres.why_not()) is not None:
        pytest.skip(why)
    with postgres.server() as url:
        yield asyncio.run(postgres.new_database(url))


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """A deployment that holds two of everything, on SQLite and on PostgreSQL."""
    folder = tmp_path_factory.mktemp("internal")
    key = folder / "first.key"
    notes = folder / "notes"
    notes.mkdir()
    for name in ("a.txt", "b.txt"):
        (notes / name).write_text(f"What stands in {name} is of no matter.")
    env = {
        "FOOTNOTE_EDGE_AUTH": "keys", "FOOTNOTE_EDGE_FIRST_KEY_FILE": str(key),
        "FOOTNOTE_EDGE_OPERATOR_TENANT": "default",
        "FOOTNOTE_EDGE_SOURCE_FOLDERS": str(notes), "FOOTNOTE_EDGE_SOURCE_LOOK_SECONDS": "1",
    }  # fmt: skip
    if request.param == "postgres":
        url = request.getfixturevalue("database")
        env |= {f"FOOTNOTE_{stage}_DATABASE_URL": url for stage in ("EDGE", "INGESTION", "INDEXING")}
    (folder / "data").mkdir()
    with deployment(folder / "data", env=env) as running:
        made = Filled(running, key.read_text().strip(), notes, request.param)
        yield made
        made.close()
        faults = [line for line in running.log().splitlines() if '"rpc_failed"' in line or '"http_failed"' in line]
        assert not faults, faults[0]


@pytest.mark.parametrize("method", PAGED, ids=lambda method: str(method.name))
def test_tokens_over_grpc(filled: Filled, method: MethodDescriptor) -> None:
    real = filled.tokens[method.name]
    assert real
    assert filled.code(method, filled.with_token(method, real).SerializeToString()) is grpc.StatusCode.OK

    def call(token: str) -> grpc.StatusCode:
        return filled.code(method, filled.with_token(method, token).SerializeToString())

    assert not filled.faults(call, tokens(real), FAULTS)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: str(method.name))
def test_texts_over_grpc(filled: Filled, method: MethodDescriptor) -> None:
    first = fresh(method, METHODS)
    new, known = (TEXTS, STORED) if filled.database == "sqlite" else (STORED, REFUSED)

    def call(case: tuple[Way, str]) -> grpc.StatusCode:
        request = filled.usual(method)
        put(request, *case)
        return filled.code(method, raw(request))

    cases = ((path, text) for path in ways(method.input_type) for text in (new if path in first else known))
    assert not told(filled.faults(call, cases, FAULTS))


def told(faults: list[tuple[tuple[Way, str], Any]]) -> list[tuple[str, str, Any]]:
    """Return faults with the names of their fields, and the heads of their texts."""
    return [(".".join(field.name for field in path), text[:40], end) for (path, text), end in faults]


def asked(filled: Filled, rule: Rule, request: Any) -> httpx2.Response:
    """Send a request by the route, its values as text; those that are no UTF-8 as JSON can write them, escaped."""
    values = MessageToDict(request, preserving_proto_field_name=True)
    path = rule.path.replace(":path", "")
    for variable in rule.variables:
        value = values.pop(variable, "x")
        path = path.replace("{" + variable + "}", quote(str(value), safe="").replace(quote(PLACEHOLDER), "%ed%a0%80"))
    if rule.verb in ("GET", "DELETE"):
        query = "&".join(f"{name}={quote(one)}" for name, one in _pairs(values))
        return _answer(filled, rule.verb, f"{path}?{query.replace(quote(PLACEHOLDER), '%ed%a0%80')}", None)
    body = values.get(rule.body, {}) if rule.body not in ("*", "") else values
    return _answer(filled, rule.verb, path, json.dumps(body).replace(PLACEHOLDER, "\\ud800"))


def _pairs(values: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        for one in value if isinstance(value, list) else [value]:
            yield name, one if isinstance(one, str) else json.dumps(one)


def _answer(filled: Filled, verb: str, path: str, body: str | None) -> httpx2.Response:
    headers = {"content-type": "application/json"} if body is not None else {}
    # What goes on for ever is left at its head.
    with filled.http.stream(verb, path, content=body, headers=headers) as answer:
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            answer.read()
        return answer


def in_body(rule: Rule, path: Way) -> bool:
    """Return whether a route takes a field from its body: what is neither in its path nor in its query."""
    return path[0].name not in rule.variables and rule.body in ("*", path[0].name)


# What a database refuses it refuses whatever the door: on PostgreSQL these values come by gRPC, above.
@pytest.mark.parametrize("filled", ["sqlite"], indirect=True)
@pytest.mark.parametrize("rule", rules(), ids=lambda rule: f"{rule.verb} {rule.template}")
def test_texts_and_tokens_over_http(filled: Filled, rule: Rule) -> None:
    def call(case: tuple[Way, str]) -> int:
        request = filled.usual(rule.method)
        put(request, case[0], case[1][:4000])
        return asked(filled, rule, request).status_code

    def page(token: str) -> int:
        return asked(filled, rule, filled.with_token(rule.method, token[:4000])).status_code

    here = ways(rule.method.input_type)
    cases = ((path, text) for path in here for text in (WRITTEN if in_body(rule, path) else TEXTS))
    assert not told(filled.faults(call, cases, {500}))
    if rule.method in PAGED:
        some = islice(tokens(filled.tokens[rule.method.name]), 0, None, EACH)
        assert not filled.faults(page, some, {500})


METADATA = [
    "1e999", "-1e999", "NaN", '"\\ud800"', '"\\u0000"', "9" * 400, "9" * 5000, "1, \"a\": 2", '"Infinity"',
    "[[[[[[[[1]]]]]]]]", *('{"a":' * depth + "1" + "}" * depth for depth in (12, 16, 17, 30, 33, 34, 60)),
    "[" * 30 + "]" * 30, "{}", "null", "-0",
]  # fmt: skip
OTHERS = [
    '{"name": "x", "name": "y"}', '{"settings": {"retrieval": {"limit": 1e999}}}', '{"": {"": ""}}', "[]", "1",
    '"x"', "nul", '{"query": "x", "retrieval": {"minScore": 1e999}}',
    '{"query": "x", "retrieval": {"minScore": "NaN"}}', "\ufeff{}",
    '{"rows": [{"text": "x", "vector": [1e999, 1, 1]}]}', '{"rows": [{"text": "x", "vector": ["NaN", 1, 1]}]}',
    '{"rows": [{"text": "x", "vector": [1e39, 1, 1]}]}', '{"lifetime": "1e99s"}', '{"lifetime": "315576000001s"}',
    '{"expireTime": "0000-00-00T00:00:00Z"}', '{"pageSize": 1e999}', '{"pageSize": 99999999999}',
    '{"rating": 1e30}', '{"rows": [{"text": "x", "vector": [1, 1, 1], "metadata": {"a": 1e400}}]}',
    '{"ttl": "-1s"}', '{"updateMask": "a..b,,*"}',
]  # fmt: skip


def bodies(rule: Rule, database: str) -> Iterator[str]:
    """Yield bodies of any kind, and those with metadata; on PostgreSQL only what the route stores as metadata."""
    fields = rule.method.input_type.fields_by_name
    inner = fields[rule.body].message_type.fields_by_name if rule.body in fields else fields
    named = '"name": "deep", ' if "name" in inner else ""
    if database == "sqlite":
        yield from OTHERS
    elif "metadata" not in inner:
        return
    for value in METADATA:
        yield f'{{{named}"metadata": {{"a": {value}}}}}'
        yield f'{{{named}"metadata": {{"\\udfff": {value}}}}}'


@pytest.mark.parametrize(
    "rule", [rule for rule in rules() if rule.body], ids=lambda rule: f"{rule.verb} {rule.template}"
)
def test_bodies_over_http(filled: Filled, rule: Rule) -> None:
    path = rule.path.replace(":path", "")
    for variable in rule.variables:
        rows = "Vector" in rule.method.name and variable == "collection"
        value = "rows" if rows else filled.names.get(variable, "x")
        path = path.replace("{" + variable + "}", quote(str(value), safe=""))

    def call(body: str) -> int:
        return _answer(filled, rule.verb, path, body).status_code

    faults = filled.faults(call, bodies(rule, filled.database), {500})
    assert not [(body[:60], status) for body, status in faults]
