"""OpenAPI of routes without annotations in the contract: files, the wrapper's paths, OpenAI's."""

from typing import Any

_PROBLEM = {
    "description": "It failed; the body says how and what to do",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


_OPENAI_ERROR = {
    "description": "It failed, said in OpenAI's form",
    "content": {"application/json": {"schema": {"type": "object", "required": ["error"]}}},
}


def _operation(
    identifier: str,
    summary: str,
    *,
    path: tuple[str, ...] = (),
    answers: tuple[str, ...] = ("application/json",),
    status: tuple[str, ...] = ("200",),
    failure: dict[str, Any] = _PROBLEM,
    **more: Any,
) -> dict[str, Any]:
    done = {"description": "Done", "content": {kind: {} for kind in answers}}
    parameters = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in path]
    parameters += more.pop("query", [])
    return {
        "operationId": identifier,
        "summary": summary,
        "parameters": parameters,
        "responses": {**dict.fromkeys(status, done), "default": failure},
        **more,
    }


def _query(name: str, **schema: Any) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema}


def _json(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {"required": True, "content": {"application/json": {"schema": schema}}}


_STRING: dict[str, Any] = {"type": "string"}
_NAME: dict[str, Any] = {"type": "string", "minLength": 1}
_OBJECT: dict[str, Any] = {"type": "object", "additionalProperties": True}
_FILE = {"type": "string", "format": "binary"}
_DOCUMENT = {
    "type": "object",
    "required": ["text", "embedding"],
    "properties": {
        "id": _STRING,
        "text": _NAME,
        "metadata": _OBJECT,
        "embedding": {"type": "array", "items": {"type": "number"}, "minItems": 1},
    },
}
_MESSAGE = {
    "type": "object",
    "required": ["role", "content"],
    "properties": {"role": {"enum": ["system", "developer", "user", "assistant"]}, "content": _STRING},
}


def _form(**fields: Any) -> dict[str, Any]:
    schema = {"type": "object", "required": ["file"], "properties": {**fields, "file": _FILE}}
    return {"required": True, "content": {"multipart/form-data": {"schema": schema}}}


PATHS: dict[str, dict[str, Any]] = {
    "/v1/documents": {
        "post": _operation(
            "UploadDocument",
            "Upload a file: fields first, then the file; or bare bytes with the fields in the query",
            status=("201", "200"),
            requestBody=_form(
                **dict.fromkeys(("collection", "filename", "tags", "metadata", "source_type", "ttl"), _STRING),
                **dict.fromkeys(("allow_duplicate", "size_bytes", "sha256", "request_id"), _STRING),
            ),
        )
    },
    "/v1/documents:upload": {
        "post": _operation(
            "UploadDocuments",
            "Upload several small files into one collection: first the fields, about each of them, then the files",
            requestBody=_form(
                **dict.fromkeys(("collection", "tags", "metadata", "source_type", "ttl", "allow_duplicate"), _STRING)
            ),
        )
    },
    "/v1/documents/{document_id}:replace": {
        "post": _operation(
            "ReplaceDocument",
            "Replace a document's file",
            path=("document_id",),
            requestBody=_form(filename=_STRING, etag=_STRING, request_id=_STRING),
        )
    },
    "/v1/feedback.jsonl": {
        "get": _operation("feedback.export", "All feedback as JSON lines", answers=("application/jsonl",))
    },
    "/v1/audit/events.jsonl": {
        "get": _operation(
            "audit.export",
            "Events of the audit log as JSON lines, newest first",
            answers=("application/jsonl",),
            query=[
                *(_query(name, type="string", format="date-time") for name in ("start_time", "end_time")),
                *(_query(name, type="string") for name in ("user_id", "key_id", "action", "resource", "tenant_id")),
                _query("outcome", type="string"),
            ],
        )
    },
    "/v1/chat/completions": {
        "post": _operation(
            "openai.completions",
            "OpenAI-compatible chat: `model` is a collection, or `footnote` for all",
            answers=("application/json", "text/event-stream"),
            failure=_OPENAI_ERROR,
            requestBody=_json(
                {
                    "model": _STRING,
                    "messages": {"type": "array", "items": _MESSAGE, "minItems": 1},
                    "stream": {"type": "boolean"},
                },
                "model",
                "messages",
            ),
        )
    },
    "/v1/models": {"get": _operation("openai.models", "Collections as OpenAI models", failure=_OPENAI_ERROR)},
    "/v1/models/{model}": {
        "get": _operation("openai.model", "One collection as an OpenAI model", path=("model",), failure=_OPENAI_ERROR)
    },
    "/collections": {
        "get": _operation("wrapper.list", "All collections with their metadata"),
        "post": _operation(
            "wrapper.create",
            "Create a collection; embedding fields become metadata",
            status=("201",),
            requestBody=_json(
                {
                    "name": _NAME,
                    "metadata": _OBJECT,
                    "embedding_provider": _STRING,
                    "embedding_model": _STRING,
                },
                "name",
            ),
        ),
    },
    "/collections/{name}": {
        "get": _operation("wrapper.get", "One collection with its metadata", path=("name",)),
        "delete": _operation("wrapper.delete", "Delete a collection", path=("name",)),
    },
    "/collections/{name}/metadata": {
        "put": _operation(
            "wrapper.metadata",
            "Replace a collection's metadata",
            path=("name",),
            requestBody=_json({"metadata": _OBJECT}),
        )
    },
    "/collections/{name}/documents": {
        "get": _operation(
            "wrapper.query",
            "Documents by their metadata",
            path=("name",),
            query=[
                _query("where", type="string"),
                _query("limit", type="integer", minimum=0, default=100),
                _query("offset", type="integer", minimum=0, default=0),
            ],
        ),
        "post": _operation(
            "wrapper.add",
            "Add documents with embeddings that the caller made",
            path=("name",),
            requestBody=_json({"documents": {"type": "array", "items": _DOCUMENT, "minItems": 1}}, "documents"),
        ),
    },
}
