"""Every operation of every door, found where the product publishes them, and what the contracts say of each."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from footnote_kit.edge import METHODS

from support.access.fields import Slot, UnknownFields, Variant, slots_of, variants_of
from support.access.people import Right
from support.access.wire import Operation, Wire


@dataclass(frozen=True)
class Rule:
    """What an operation needs and shows.

    `role`: the least role; empty means none at all. `right`: what it needs in a collection that it names, or whose
    document it names. `shows`: what an allowed answer must show of its target ("content", "personal", "feedback",
    "sources").
    `lists`: without naming anything it shows all that the caller may see. `changes`: kinds of named things that it
    changes; "*" is every kind. `spends`: what it uses up, so that an allowed call needs one of its own. `makes`: it
    makes something of the caller's own that names others' things.
    """

    role: str = "reader"
    right: Right = Right.READ
    shows: str = ""
    lists: bool = False
    changes: tuple[str, ...] = ()
    spends: str = ""
    makes: bool = False


CREATE = Rule("writer", Right.NONE, changes=("*",))
MANAGE = Rule("writer", Right.MANAGE, changes=("*",), spends="collection")
WRITE = Rule("writer", Right.WRITE, changes=("*",))
SPEND = Rule("writer", Right.WRITE, changes=("*",), spends="document")
CONTENT = Rule(shows="content")
LISTS = Rule(shows="content", lists=True)
ANSWERS = Rule(shows="content", changes=("conversation",))
FEEDBACK = Rule(shows="feedback", lists=True)
SOURCE = Rule("writer", Right.WRITE, shows="sources")
OWN_SOURCE = Rule("writer", Right.MANAGE, changes=("*",), spends="source")

RULES: dict[str, Rule] = {
    "CreateCollection": CREATE,
    "GetCollection": CONTENT,
    "ListCollections": LISTS,
    "UpdateCollection": MANAGE,
    "DeleteCollection": MANAGE,
    "AddVectors": WRITE,
    "GetVector": CONTENT,
    "ListVectors": CONTENT,
    "DeleteVectors": replace(WRITE, spends="vector"),
    "QueryChunks": CONTENT,
    "GetChunk": CONTENT,
    "ListChunks": CONTENT,
    "ListTables": CONTENT,
    "GetTable": CONTENT,
    "QueryTables": CONTENT,
    "UploadDocument": WRITE,
    "UploadDocuments": WRITE,
    "WatchDocument": CONTENT,
    "WatchDocuments": CONTENT,
    "ListDocuments": LISTS,
    "GetDocument": CONTENT,
    "DownloadDocument": CONTENT,
    "UpdateDocument": SPEND,
    "DeleteDocument": SPEND,
    "ReplaceDocument": SPEND,
    "ReindexDocuments": SPEND,
    "CancelDocument": SPEND,
    "Search": CONTENT,
    "Ask": ANSWERS,
    "CreateConversation": Rule(makes=True),
    "GetConversation": Rule(shows="personal"),
    "ListConversations": Rule(shows="personal", lists=True),
    "UpdateConversation": Rule(changes=("*",), spends="conversation"),
    "DeleteConversation": Rule(changes=("*",), spends="conversation"),
    "ListMessages": Rule(shows="personal"),
    "RegenerateMessage": Rule(changes=("*",), spends="message"),
    "EditMessage": Rule(changes=("*",), spends="message"),
    "RestoreMessage": Rule(changes=("*",)),
    "ShareConversation": Rule(changes=("*",)),
    "UnshareConversation": Rule(changes=("*",)),
    # Its rules are in tests/integration/test_edge_sharing.py.
    "GetSharedConversation": Rule(),
    # The rules of named runs are in tests/integration/test_edge_evaluations.py.
    "CreateEvaluationRun": WRITE,
    "ListEvaluationRuns": Rule(),
    "GetEvaluationRun": Rule(),
    "DeleteEvaluationRun": Rule("writer"),
    "GetAnswer": Rule(shows="personal"),
    "GetAnswerManifest": Rule(shows="personal"),
    "ReplayAnswer": CONTENT,
    "DeleteAnswer": Rule(changes=("*",), spends="message"),
    "SearchMemory": Rule(shows="personal"),
    "CreateFeedback": Rule(changes=("*",)),
    "DeleteFeedback": Rule(changes=("*",), spends="message"),
    "ListFeedback": FEEDBACK,
    "ListProviders": Rule(),
    "ValidateProvider": Rule(),
    "CheckProvider": Rule("admin"),
    "GetHealth": Rule(""),
    "GetTrace": Rule(),
    "WhoAmI": Rule(),
    "GetUsage": Rule(),
    "ListUserUsage": Rule("admin"),
    "GetActivity": Rule("admin"),
    "GetSystemInfo": Rule(),
    # Keys belong to a tenant and have no content: their own rules are in tests/integration/test_edge_keys.py.
    "CreateKey": Rule("admin"),
    "ListKeys": Rule("admin"),
    "RevokeKey": Rule("admin"),
    # For a tenant and its operators: their rules are in tests/integration/test_edge_{audit,tenant_limits}.py.
    "ListAuditEvents": Rule("admin"),
    "GetTenantLimits": Rule("admin"),
    "ListTenantLimits": Rule("admin"),
    "UpdateTenantLimits": Rule("admin"),
    "audit.export": Rule("admin"),
    # Callers that may write to the collection see its sources; creators and managers change them.
    "CreateSource": WRITE,
    "GetSource": SOURCE,
    "ListSources": replace(SOURCE, lists=True),
    "ListSourceItems": replace(SOURCE, shows="content"),
    "WatchSource": SOURCE,
    "SyncSource": WRITE,
    "UpdateSource": OWN_SOURCE,
    "DeleteSource": OWN_SOURCE,
    "ListSourceKinds": Rule(),
    "GetOperation": Rule(),
    "ListOperations": FEEDBACK,
    "WatchOperation": Rule(),
    "CancelOperation": Rule("writer"),
    # The paths of the wrapper, and files.
    "wrapper.list": LISTS,
    "wrapper.create": CREATE,
    "wrapper.get": CONTENT,
    "wrapper.delete": MANAGE,
    "wrapper.query": CONTENT,
    "wrapper.add": WRITE,
    "wrapper.metadata": MANAGE,
    "feedback.export": FEEDBACK,
    # OpenAI's paths.
    "openai.models": LISTS,
    "openai.model": Rule(),
    "openai.completions": CONTENT,
    # The tools of agents.
    "search": CONTENT,
    "ask": CONTENT,
    "list_collections": LISTS,
    "list_documents": LISTS,
}


@dataclass(frozen=True)
class Planned:
    """An operation with its rule and the ways to call it."""

    operation: Operation
    rule: Rule
    slots: tuple[Slot, ...]
    variants: tuple[Variant, ...]


@dataclass
class Plan:
    """All operations of a deployment, and what about them is not known."""

    operations: list[Planned]
    unknown: list[str]

    def named(self, door: str, name: str) -> Planned:
        return next(one for one in self.operations if (one.operation.door, one.operation.id) == (door, name))


async def discover(wire: Wire, key: str) -> Plan:
    """Ask every door what it offers and plan how to call it."""
    plan = Plan([], [])
    for method in METHODS:
        _add(plan, Operation("gRPC", method.name, method), {}, {})
    document = (await wire.http.get("/openapi.json")).raise_for_status().json()
    schemas = document["components"]["schemas"]
    for path, verbs in document["paths"].items():
        for verb, operation in verbs.items():
            _add(plan, *_http_operation(path, verb, operation, schemas), schemas)
    bearer = {"authorization": f"Bearer {key}"}
    tools = (await wire.rpc("tools/list", {}, bearer)).raise_for_status().json()["result"]["tools"]
    for tool in tools:
        _add(plan, Operation("MCP", tool["name"]), tool["inputSchema"], {})
    for more in ("resources", "prompts"):
        offered = (await wire.rpc(f"{more}/list", {}, bearer)).json().get("result", {}).get(more)
        plan.unknown += [f"MCP {more}: {one}" for one in offered or ()]
    return plan


def _http_operation(
    path: str, verb: str, found: Mapping[str, Any], schemas: Mapping[str, Any]
) -> tuple[Operation, dict[str, Any]]:
    name = str(found.get("operationId"))
    content = found.get("requestBody", {}).get("content", {})
    media = next(iter(content), "")
    schema = content[media]["schema"] if media else {"properties": {}}
    reference = schema.get("$ref", "").rpartition("/")[2]
    body = schemas.get(reference, schema)
    parameters = found.get("parameters", [])
    properties = {**body.get("properties", {}), **{one["name"]: one["schema"] for one in parameters}}
    required = [*body.get("required", ()), *(one["name"] for one in parameters if one["in"] == "path")]
    query = tuple(one["name"] for one in parameters if one["in"] == "query")
    door = "OpenAI" if name.startswith("openai.") else "HTTP"
    operation = Operation(door, name, None, verb, path, media, query)
    parts = {"properties": properties, "required": required, "title": reference.rpartition(".")[2]}
    return operation, parts


def _add(plan: Plan, operation: Operation, parts: Mapping[str, Any], schemas: Mapping[str, Any]) -> None:
    rule = RULES.get(operation.id)
    if rule is None:
        plan.unknown.append(f"{operation}: who may call it?")
        return
    try:
        slots = slots_of(operation, schemas, parts)
    except UnknownFields as error:
        plan.unknown.append(str(error))
        return
    plan.operations.append(Planned(operation, rule, tuple(slots), tuple(variants_of(slots))))
