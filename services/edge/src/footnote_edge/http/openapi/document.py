"""The OpenAPI 3.1 document of the HTTP API, and a page that shows it offline."""

import asyncio
import base64
import hashlib
import html
import json
from functools import cache
from threading import Lock
from typing import Any

from footnote.types.v1.role_pb2 import Role
from footnote_kit.field_behavior import is_required
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from footnote_edge.gateway.guard import PUBLIC, ROLES
from footnote_edge.http.openapi.extras import PATHS
from footnote_edge.http.openapi.schemas import Schema, Schemas
from footnote_edge.http.serving.problems import MEDIA_TYPE
from footnote_edge.http.transcoding.binding import Rule, rules

_writing = Lock()
_PROBLEM: Schema = {
    "type": "object",
    "description": "Problem details, RFC 9457.",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong and what to do about it."},
        "reason": {"type": "string", "description": "A name of ErrorReason, for programs."},
        "request_id": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"field": {"type": "string"}, "description": {"type": "string"}},
            },
        },
    },
}


def document(version: str) -> dict[str, Any]:
    """Return the OpenAPI document: the annotated RPCs and the routes without an RPC of their own."""
    schemas = Schemas()
    paths: dict[str, dict[str, Any]] = {}
    for rule in rules():
        paths.setdefault(rule.documented_path, {})[rule.verb.lower()] = _operation(rule, schemas)
    for path, operations in PATHS.items():
        paths.setdefault(path, {}).update(operations)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Footnote",
            "version": version,
            "description": "Answers with footnotes: collections, documents, search, questions, conversations.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{}, {"bearer": []}, {"apiKey": []}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": {**schemas.components, "Problem": _PROBLEM},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            },
        },
    }


def _written(version: str) -> tuple[Response, Response]:
    """Return the document and the page."""
    with _writing:  # both routes are public: many first requests at once must not each write them
        return _write(version)


@cache
def _write(version: str) -> tuple[Response, Response]:
    # At the first request, which few deployments ever get: writing them takes longer than other routes' whole start.
    content = document(version)
    text = _page(content)
    style = base64.b64encode(hashlib.sha256(text.partition("<style>")[2].partition("</style>")[0].encode()).digest())
    policy = f"default-src 'none'; style-src 'sha256-{style.decode()}'; frame-ancestors 'none'; base-uri 'none'"
    return JSONResponse(content), HTMLResponse(text, headers={"content-security-policy": policy})


def routes(version: str) -> list[Route]:
    """Return the routes of the document and of the page."""

    async def as_json(_: Request) -> Response:
        return (await asyncio.to_thread(_written, version))[0]

    async def as_page(_: Request) -> Response:
        return (await asyncio.to_thread(_written, version))[1]

    return [Route("/openapi.json", as_json, name="openapi"), Route("/docs", as_page, name="docs")]


def _operation(rule: Rule, schemas: Schemas) -> dict[str, Any]:
    method = rule.method
    operation: dict[str, Any] = {
        "operationId": method.name,
        "summary": _words(method.name),
        "parameters": [*_path_parameters(rule), *_query_parameters(rule, schemas)],
        "responses": {
            "200": {"description": "Done", "content": _content(rule, schemas)},
            "default": _failure(),
        },
    }
    if method.name in PUBLIC:
        operation["security"] = [{}]
    else:
        least = Role.Name(ROLES[method.name]).removeprefix("ROLE_").lower()
        operation["description"] = f"Needs the role {least}."
    if rule.body:
        operation["requestBody"] = _body(rule, schemas)
    return operation


def _body(rule: Rule, schemas: Schemas) -> dict[str, Any]:
    message = rule.method.input_type
    if rule.body == "*":
        schema = schemas.of(message, without=rule.variables)
        needed = any(is_required(field) for field in message.fields if field.name not in rule.variables)
    else:
        field = message.fields_by_name[rule.body]
        schema, needed = schemas.field(field), is_required(field)
    return {"required": needed, "content": {"application/json": {"schema": schema}}}


def _content(rule: Rule, schemas: Schemas) -> dict[str, Any]:
    if rule.method.name == "DownloadDocument":
        return {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    schema = schemas.of(rule.method.output_type)
    if rule.method.server_streaming:
        # As JSON, the response is the content of the last message.
        return {"text/event-stream": {"schema": _event(schema)}, "application/json": {}}
    return {"application/json": {"schema": schema}}


def _event(message: Schema) -> Schema:
    """Return the schema of one event: its data as JSON."""
    held = {"anyOf": [message, {"$ref": "#/components/schemas/Problem"}]}
    data = {"type": "string", "contentMediaType": "application/json", "contentSchema": held}
    named = {"type": "string", "description": "What came; `error` for a failure in the middle, as problem details."}
    return {"type": "object", "required": ["data"], "properties": {"event": named, "data": data}}


def _path_parameters(rule: Rule) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in rule.variables
    ]


def _query_parameters(rule: Rule, schemas: Schemas) -> list[dict[str, Any]]:
    if rule.body == "*":
        return []
    taken = {name.split(".")[0] for name in rule.variables} | {rule.body}
    filters = [
        {"name": f"{field.name}.json", "in": "query", "required": False, "schema": {"type": "string"}}
        for field in rule.method.input_type.fields
        if field.message_type is not None and field.message_type.full_name == "footnote.types.v1.Filter"
    ]
    return filters + [
        {"name": field.name, "in": "query", "required": False, "schema": schemas.field(field)}
        for field in rule.method.input_type.fields
        if field.name not in taken
        and (field.message_type is None or field.message_type.file.package == "google.protobuf")
    ]


def _failure() -> dict[str, Any]:
    return {
        "description": "It failed; the body says how and what to do",
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }


def _words(name: str) -> str:
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
    return spaced.capitalize()


def _page(content: dict[str, Any]) -> str:
    rows = []
    for path, operations in content["paths"].items():
        for verb, operation in operations.items():
            body = json.dumps(operation, indent=2)
            rows.append(
                f"<details><summary><b class={verb}>{verb.upper()}</b> <code>{html.escape(path)}</code> "
                f"{html.escape(operation.get('summary', ''))}</summary><pre>{html.escape(body)}</pre></details>"
            )
    schemas = [
        f"<details id='{html.escape(name)}'><summary><code>{html.escape(name)}</code></summary>"
        f"<pre>{html.escape(json.dumps(schema, indent=2))}</pre></details>"
        for name, schema in sorted(content["components"]["schemas"].items())
    ]
    return _FRAME.format(version=html.escape(content["info"]["version"]), rows="".join(rows), schemas="".join(schemas))


_FRAME = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Footnote API</title>
<meta name="viewport" content="width=device-width"><style>
body{{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}}
summary{{padding:.35rem .5rem;cursor:pointer;border-bottom:1px solid #ddd}}
pre{{overflow:auto;background:#f6f6f4;padding:1rem}}
b{{display:inline-block;width:4.5rem}} .get{{color:#1a6b3c}} .post{{color:#1d4f91}} .delete{{color:#a12622}}
.put,.patch{{color:#8a5a00}}</style></head><body>
<h1>Footnote API {version}</h1><p>The document itself: <a href="openapi.json">openapi.json</a></p>
<h2>Calls</h2>{rows}<h2>Messages</h2>{schemas}</body></html>"""
