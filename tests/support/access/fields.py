"""What every field of every request is filled with, by its name; a field that is not in the table fails the matrix."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from footnote_kit.field_behavior import is_output_only, is_required
from google.protobuf.descriptor import Descriptor

from support.access.people import word
from support.access.wire import Operation

Values = Mapping[str, Any]
"""What a target's things are called, by field name; see `targets.Target.values`."""
Make = Callable[[Values, Values], Any]
"""From the target's values and the caller's own."""

ADDRESSES = ("collection", "document", "conversation", "message", "trace", "source")
VARYING = (*ADDRESSES, "filter", "token")


@dataclass(frozen=True)
class Filler:
    """How a field is filled.

    `kind`: what it names ("collection", "document", "conversation", "message", "trace", "source"), or "filter"
    (narrows by what things are like), "token" (a page of another user's list), "text" (a query), "name" (of a new
    thing), "mode" (one of several ways), "plain" (the same always), "bytes" (a file), "skip" (left unset: names
    nothing), "into" (a message whose own fields are filled).
    """

    kind: str
    forms: Mapping[str, Make] = field(default_factory=dict)
    required: bool = False


def of(kind: str, required: bool = False, **forms: str) -> Filler:
    """Fill with what the target calls these."""
    return Filler(kind, {name: (lambda values, _, key=key: values[key]) for name, key in forms.items()}, required)


def plain(value: Any) -> Filler:
    return Filler("plain", {"": lambda *_: value})


def made(kind: str, **forms: Make) -> Filler:
    return Filler(kind, forms)


def mode(**values: Any) -> Filler:
    return Filler("mode", {name: (lambda *_, value=value: value) for name, value in values.items()})


def _equal(name: str, value: Any) -> dict[str, Any]:
    """Return the typed filter of a field's being equal to a text."""
    return {"comparison": {"field": name, "op": "COMPARISON_OP_EQ", "value": {"string_value": value}}}


SKIP, INTO = Filler("skip"), Filler("into")
COLLECTION = of("collection", name="collection", id="collection_id")
NEEDED_COLLECTION = replace(COLLECTION, required=True)
QUESTION = made("text", words=lambda values, _: f"What is the code word of {values['key']}?")
NEW_NAME = of("name", name="collection")
NEW_TEXT = "A text that the matrix writes."
DESCRIPTION = "Changed by the matrix."
NEW_SOURCE = made("plain", fresh=lambda *_: word("source"))

# Sought in this order: "door operation.field", "operation.field", "message.field", "field".
FILLERS: dict[str, Filler] = {
    # What names things.
    "collection": COLLECTION,
    "collections": COLLECTION,
    "document_id": of("document", id="document_id", failed="failed_id"),
    "document_ids": of("document", id="document_id", failed="failed_id"),
    "chunk_id": of("document", id="chunk_id"),
    "ListChunks.revision": SKIP,
    "conversation_id": of("conversation", id="conversation_id"),
    "answer_id": of("message", id="answer_id"),
    "RegenerateMessage.message_id": of("message", id="answer_id"),
    "EditMessage.message_id": of("message", id="question_id"),
    "EditMessage.text": plain("hello"),
    "EditMessage.keep_replaced": plain(True),
    "share_id": plain("none"),
    # Its rules are in tests/integration/test_edge_sharing.py.
    **dict.fromkeys(("ShareConversation.answer_id", "UnshareConversation.answer_id"), SKIP),
    "RestoreMessage.message_id": of("message", id="question_id"),
    "UpdateConversation.resource": INTO,
    "UpdateConversation.update_mask": SKIP,
    "Conversation.collections": SKIP,
    "HTTP UpdateConversation.collections": SKIP,
    "include_superseded": plain(True),
    "trace_id": of("trace", id="trace_id"),
    "operation_id": of("trace", id="operation_id"),  # visible like its trace: to its user and administrators
    "filter": made(
        "filter",
        document=lambda values, _: _equal("document_id", values["document_id"]),
        tag=lambda values, _: _equal("tags", values["tag"]),
        json=lambda values, _: {"json": json.dumps({"document_id": values["document_id"]})},
        json_tag=lambda values, _: {"json": json.dumps({"tags": values["tag"]})},
        metadata=lambda values, _: {"json": json.dumps({"shelf": values["shelf"]})},
    ),
    **dict.fromkeys(
        ("wrapper.query.where", "MCP search.filter", "QueryChunks.filter.json"),
        made(
            "filter",
            document=lambda values, _: json.dumps({"document_id": values["document_id"]}),
            tag=lambda values, _: json.dumps({"tags": values["tag"]}),
            metadata=lambda values, _: json.dumps({"shelf": values["shelf"]}),
        ),
    ),
    "ListVectors.filter.json": made(
        "filter",
        row=lambda values, _: json.dumps({"document_id": values["vector_id"]}),
        metadata=lambda values, _: json.dumps({"shelf": values["shelf"]}),
    ),
    "ListVectors.filter": made(
        "filter",
        row=lambda values, _: _equal("document_id", values["vector_id"]),
        json=lambda values, _: {"json": json.dumps({"document_id": values["vector_id"]})},
        metadata=lambda values, _: {"json": json.dumps({"shelf": values["shelf"]})},
    ),
    "filename_contains": of("filter", part="filename_part"),
    "page_token": of("token", other="page_token"),
    # Runs of golden questions.
    "run_id": plain("none"),
    **dict.fromkeys(("CreateEvaluationRun.run", "EvaluationRun.questions"), INTO),
    **dict.fromkeys(("EvaluationRun.filename", "EvaluationRun.label"), SKIP),
    "EvaluatedQuestion.id": plain("leave"),
    "EvaluatedQuestion.question": plain("How many days of leave?"),
    "EvaluatedQuestion.grade": plain("EVALUATION_GRADE_RIGHT"),
    **dict.fromkeys(("EvaluationRun.id", "EvaluationRun.collection_id", "EvaluationRun.user_id",
                     "EvaluationRun.counts", "EvaluationRun.create_time", "EvaluationRun.expire_time"), SKIP),
    # Sources. Those that cells make are paused: nothing answers at their address.
    "source_id": of("source", id="source_id"),
    "with_documents": SKIP,
    "with_starter_questions": plain(True),
    "CreateSource.source": INTO,
    "UpdateSource.resource": INTO,
    **dict.fromkeys(("CreateSource.source.collection", "HTTP CreateSource.collection"), NEEDED_COLLECTION),
    **dict.fromkeys(("CreateSource.source.name", "HTTP CreateSource.name"), NEW_SOURCE),
    **dict.fromkeys(("UpdateSource.resource.name", "HTTP UpdateSource.name"), NEW_SOURCE),
    **dict.fromkeys(("CreateSource.source.kind", "HTTP CreateSource.kind"), plain("git")),
    **dict.fromkeys(
        ("CreateSource.source.settings", "HTTP CreateSource.settings"), plain({"url": "https://git.invalid/a.git"})
    ),
    **dict.fromkeys(("CreateSource.source.secrets", "HTTP CreateSource.secrets"), plain({"password": "of the matrix"})),
    **dict.fromkeys(("CreateSource.source.paused", "HTTP CreateSource.paused"), plain(True)),
    **dict.fromkeys(
        ("Source.id", "Source.collection", "Source.kind", "Source.settings", "Source.secrets", "Source.interval",
         "Source.paused", "HTTP UpdateSource.collection", "HTTP UpdateSource.kind", "HTTP UpdateSource.id",
         "HTTP CreateSource.id", "secrets", "interval", "paused", "UpdateSource.update_mask",
         "HTTP UpdateSource.update_mask"), SKIP
    ),
    # What is looked for.
    "query": QUESTION,
    "QueryTables.query": made("plain", all=lambda values, _: f"SELECT * FROM t_{values['document_id'][:12]}_1"),
    "number": plain(1),
    **dict.fromkeys(("ListTables.document_id", "GetTable.document_id"), of("document", id="document_id")),
    "QueryTables.document_ids": of("document", id="document_id"),
    "question": QUESTION,
    "OpenAI openai.completions.messages": made(
        "text", words=lambda values, _: [{"role": "user", "content": f"What is the code word of {values['key']}?"}]
    ),
    # What is written.
    "data": Filler("bytes"),
    "file": Filler("bytes"),
    "filename": plain("new-file.txt"),
    "title": plain("renamed"),
    "comment": plain("by the matrix"),
    "CreateFeedback.rating": plain("RATING_UP"),
    "VectorRow.text": plain(NEW_TEXT),
    "vector": made("plain", one=lambda values, _: [0.1] * values["dimensions"]),
    "vector_id": made("plain", id=lambda values, _: values["vector_id"]),
    "DeleteVectors.ids": made("plain", id=lambda values, _: [values["vector_id"]]),
    "allow_missing": plain(True),
    "include_vector": plain(True),
    "include_vectors": plain(True),
    "documents.text": plain(NEW_TEXT),
    "embedding": made("plain", one=lambda values, _: [0.1] * values["dimensions"]),
    "include": plain([f"ANSWER_PART_{name}" for name in ("SOURCES", "CLAIMS", "MANIFEST", "TOKEN_PLAN")]),
    "GetAnswer.include": plain(["ANSWER_PART_SOURCES", "ANSWER_PART_CLAIMS"]),
    "page_size": plain(1000),
    "until_idle": plain(True),
    "until_vectors": plain(True),
    "ValidateProvider.kind": plain("PROVIDER_KIND_EMBEDDING"),
    "CheckProvider.kind": plain("PROVIDER_KIND_EMBEDDING"),
    "ValidateProvider.id": plain("builtin"),
    "CheckProvider.id": plain("builtin"),
    "label": plain("made by the matrix"),
    "role": plain("ROLE_READER"),
    "RevokeKey.key_id": plain("none"),
    # Their own rules are in tests/integration/test_edge_tenant_limits.py and test_edge_audit.py.
    "UpdateTenantLimits.resource": INTO,
    "UpdateTenantLimits.tenant_id": plain("beyond"),
    "GetTenantLimits.tenant_id": plain("beyond"),
    "TenantAllowance.documents": plain(100_000),
    "HTTP UpdateTenantLimits.documents": plain(100_000),
    **dict.fromkeys(
        ("action", "resource", "outcome", "start_time", "end_time", "ListAuditEvents.user_id", "audit.export.user_id",
         "ListAuditEvents.key_id", "audit.export.key_id", "bytes", "UpdateTenantLimits.collections", "tokens_per_day",
         "cost_usd_per_day", "effective", "UpdateTenantLimits.update_mask", "TenantAllowance.collections"), SKIP
    ),
    **dict.fromkeys(("CreateKey.user_id", "ListKeys.user_id", "groups", "include_ended", "force"), SKIP),
    "UpdateDocument.resource": INTO,
    "Document.tags": plain(["by the matrix"]),
    "HTTP UpdateDocument.tags": plain(["by the matrix"]),
    **dict.fromkeys(
        ("Document.metadata", "HTTP UpdateDocument.metadata", "UpdateDocument.update_mask",
         "HTTP UpdateDocument.update_mask", "allow_missing", "expire_time",
         "size_bytes", "sha256", "request_id", "kinds"), SKIP
    ),
    # Collections, made and changed.
    "CreateCollection.collection": INTO,
    "UpdateCollection.resource": INTO,
    "UpdateCollection.resource.name": SKIP,
    "HTTP UpdateCollection.name": SKIP,
    "CreateCollection.collection.name": NEW_NAME,
    "HTTP CreateCollection.name": NEW_NAME,
    "CreateCollection.collection.visibility": mode(private="VISIBILITY_PRIVATE", shared="VISIBILITY_SHARED"),
    "HTTP CreateCollection.visibility": mode(private="VISIBILITY_PRIVATE", shared="VISIBILITY_SHARED"),
    "UpdateCollection.update_mask": mode(
        description="description", metadata="metadata", visibility="visibility", grants="grants"
    ),
    "UpdateCollection.resource.description": plain(DESCRIPTION),
    "HTTP UpdateCollection.description": plain(DESCRIPTION),
    "UpdateCollection.resource.metadata": plain({"changed": "yes"}),
    "HTTP UpdateCollection.metadata": plain({"changed": "yes"}),
    "UpdateCollection.resource.visibility": plain("VISIBILITY_SHARED"),
    "HTTP UpdateCollection.visibility": plain("VISIBILITY_SHARED"),
    "UpdateCollection.resource.grants": made("plain", me=lambda _, mine: [mine["grant"]]),
    "HTTP UpdateCollection.grants": made("plain", me=lambda _, mine: [mine["grant"]]),
    "Collection.name": SKIP,
    "wrapper.metadata.metadata": plain({"changed": "yes"}),
    "wrapper.create.name": NEW_NAME,
    "name": COLLECTION,
    "OpenAI openai.completions.model": of("collection", name="collection"),
    "OpenAI openai.model.model": of("collection", name="collection"),
    "stream": mode(whole=False, stream=True),
    "metadata": SKIP,
    "UploadDocument.metadata": INTO,
    "HTTP UploadDocument.metadata": SKIP,
    "UploadDocuments.metadata": INTO,
    "HTTP UploadDocuments.metadata": SKIP,
    "ReplaceDocument.metadata": INTO,
    "AddVectors.rows": INTO,
    "wrapper.add.documents": INTO,
    # What names nothing of anybody's.
    **dict.fromkeys(
        (
            "allow_duplicate", "allow_missing", "created_after", "created_before", "document_types", "languages",
            "order_by", "chunk_count", "chunks_without_vector", "citation", "create_time", "description",
            "document_count", "effective_settings", "embedding_model", "embedding_provider", "enabled", "etag",
            "explain", "failed_only", "generation", "grants", "may_manage", "may_write", "outdated",
            "outdated_documents", "outdated_only",
            "reindex", "revision",
            "history", "instructions", "kind", "language", "limit", "max_messages", "max_tokens", "offset", "owner_id",
            "prompt",
            "query_vector", "rating", "rerank", "resume_token", "retrieval", "settings", "source_type", "states",
            "tags", "tenant_id", "ttl", "update_time", "use_memory", "visibility", "Collection.id", "VectorRow.id",
            "documents.id", "GetActivity.hours",
        ),
        SKIP,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Slot:
    """A field of a request: where it is in the body, and how it is filled."""

    path: tuple[str, ...]
    filler: Filler
    required: bool
    repeated: bool
    lists: frozenset[int] = frozenset()
    """The places in `path` of names that are lists of one message."""


@dataclass(frozen=True)
class Variant:
    """One way to fill an operation's request."""

    label: str
    fixed: tuple[Slot, ...]
    picks: tuple[tuple[Slot, str], ...] = ()

    @property
    def kinds(self) -> frozenset[str]:
        """What it names."""
        return frozenset(slot.filler.kind for slot, _ in self.picks if slot.filler.kind in VARYING)

    @property
    def mode(self) -> str:
        return next((form for slot, form in self.picks if slot.filler.kind == "mode"), "")

    @property
    def mixed(self) -> bool:
        return any(form == "mixed" for _, form in self.picks)

    @property
    def plain(self) -> bool:
        """Whether what it names is named in the first way there is."""
        named = [(slot, form) for slot, form in self.picks if slot.filler.kind in VARYING]
        return all(form == next(iter(slot.filler.forms)) for slot, form in named)

    @property
    def depends(self) -> bool:
        """Whether it says anything about the target."""
        return bool(self.kinds) or any(slot.filler.kind in ("text", "name") for slot in self.fixed)

    @property
    def names_new(self) -> bool:
        return any(slot.filler.kind == "name" for slot in self.fixed)

    def build(self, values: Values, mine: Values, content: bytes, as_bytes: Callable[[bytes], Any]) -> dict[str, Any]:
        """Return the body; `content` is the file that goes where a file is asked for."""
        body: dict[str, Any] = {}
        for slot in self.fixed:
            if slot.filler.kind == "bytes":
                _put(body, slot, as_bytes(content))
            else:
                _put(body, slot, next(iter(slot.filler.forms.values()))(values, mine))
        for slot, form in self.picks:
            if form == "mixed":
                make = next(iter(slot.filler.forms.values()))
                _put(body, slot, [make(mine, mine), make(values, mine)])
            else:
                value = slot.filler.forms[form](values, mine)
                _put(body, slot, [value] if slot.repeated and not isinstance(value, list) else value)
        return body


def _put(body: dict[str, Any], slot: Slot, value: Any) -> None:
    place: Any = body
    for depth, name in enumerate(slot.path[:-1]):
        inner = place.setdefault(name, [{}] if depth in slot.lists else {})
        place = inner[0] if isinstance(inner, list) else inner
    place[slot.path[-1]] = value


class UnknownFields(Exception):
    """Fields that the table doesn't know."""


def slots_of(operation: Operation, schemas: Mapping[str, Any], parts: Mapping[str, Any]) -> list[Slot]:
    """Return the slots of an operation; `parts` are the schemas of path, query and body where it is no RPC.

    Raises:
        UnknownFields: with the names that the table must learn.
    """
    if operation.method is not None:
        walk = _of_message(operation, operation.method.input_type, (), frozenset())
    else:
        walk = _of_schema(operation, parts, schemas, (), frozenset(), parts.get("title", ""))
    slots, unknown = [], []
    for name, slot in walk:
        if slot is None:
            unknown.append(name)
        elif slot.filler.kind != "skip":
            slots.append(slot)
    if unknown:
        raise UnknownFields(f"{operation}: {', '.join(unknown)}")
    return slots


def _filler(operation: Operation, path: tuple[str, ...], owner: str) -> Filler | None:
    dotted = ".".join(path)
    names = (f"{operation.door} {operation.id}.{dotted}", f"{operation.id}.{dotted}", f"{owner}.{path[-1]}", path[-1])
    return next((FILLERS[name] for name in names if name in FILLERS), None)


def _of_message(
    operation: Operation, message: Descriptor, prefix: tuple[str, ...], lists: frozenset[int]
) -> Iterator[tuple[str, Slot | None]]:
    for one in message.fields:
        if is_output_only(one):
            continue
        path = (*prefix, one.name)
        filler = _filler(operation, path, message.name)
        if filler is None:
            yield f"{message.name}.{one.name}", None
        elif filler.kind == "into":
            yield from _of_message(operation, one.message_type, path, _with(lists, prefix, one.is_repeated))
        else:
            required = filler.required or is_required(one)
            yield one.name, Slot(path, filler, required, one.is_repeated, lists)


def _of_schema(
    operation: Operation, parts: Mapping[str, Any], schemas: Mapping[str, Any], prefix: tuple[str, ...],
    lists: frozenset[int], owner: str,
) -> Iterator[tuple[str, Slot | None]]:  # fmt: skip
    required = parts.get("required", ())
    for name, schema in parts["properties"].items():
        if schema.get("readOnly"):
            continue
        path = (*prefix, name)
        filler = _filler(operation, path, owner)
        if filler is None:
            yield f"{owner}.{name}", None
            continue
        repeated = _is_list(schema)
        if filler.kind == "into":
            inner = schema["items"] if repeated else schema
            reference = inner.get("$ref", f".{name}").rpartition("/")[2]
            inner = schemas.get(reference, inner)
            yield from _of_schema(
                operation, inner, schemas, path, _with(lists, prefix, repeated), reference.rpartition(".")[2]
            )
        else:
            yield name, Slot(path, filler, filler.required or name in required, repeated, lists)


def _with(lists: frozenset[int], prefix: tuple[str, ...], repeated: bool) -> frozenset[int]:
    return lists | {len(prefix)} if repeated else lists


def _is_list(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "array" or any(one.get("type") == "array" for one in schema.get("anyOf", ()))


def variants_of(slots: list[Slot]) -> list[Variant]:
    """Return every way to name a target that these slots allow, and the way that names none."""
    fixed = tuple(slot for slot in slots if slot.filler.kind in ("plain", "text", "bytes", "name"))
    must = [slot for slot in slots if slot.filler.kind in VARYING and slot.required]
    may = [slot for slot in slots if slot.filler.kind in VARYING and not slot.required]
    modes = [slot for slot in slots if slot.filler.kind == "mode"]
    bases: list[tuple[tuple[Slot, str], ...]] = [()]
    if must:
        first = must[0]
        rest = tuple((slot, next(iter(slot.filler.forms))) for slot in must[1:])
        bases = [((first, form), *rest) for form in first.filler.forms]
    found = list(bases)
    for slot in may:
        found += [(*bases[0], (slot, form)) for form in slot.filler.forms]
        if slot.repeated:
            found.append((*bases[0], (slot, "mixed")))
    for slot in modes:
        forms = list(slot.filler.forms)
        found = [(*picks, (slot, forms[0])) for picks in found] + [(*bases[0], (slot, form)) for form in forms[1:]]
    return [Variant(_label(picks), fixed, picks) for picks in found]


def _label(picks: tuple[tuple[Slot, str], ...]) -> str:
    return ", ".join(f"{slot.path[-1]}={form}" for slot, form in picks) or "nothing named"
