"""Nonsense over HTTP, route by route as the OpenAPI document lists them: refused or answered, never a fault of ours."""

import json
import random
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from footnote_edge.app import build
from footnote_edge.http.openapi.document import document
from footnote_kit.testing import serve_app
from support.doubles.stages import World, serve_doubles

pytestmark = pytest.mark.full

ROUNDS = 12
TEXTS = [
    "", " ", "x", "default", "\u0000", "é\u202e", "../../etc/passwd", "' OR 1=1 --", "a" * 5000, "%00", "{", "null",
    "-1", "99999999999999999999", "1e400", "NaN", "true", "[]", '{"$or":[{}]}', "2026-13-45T99:99:99Z", "🦆",
]  # fmt: skip
CONTENT_TYPES = [
    "application/json",
    "text/plain",
    "multipart/form-data; boundary=x",
    "application/x-www-form-urlencoded",
]


def any_value(chance: random.Random, depth: int = 0) -> Any:
    """Return any JSON value."""
    kind = chance.randrange(9 if depth < 4 else 6)
    if kind == 0:
        return None
    if kind == 1:
        return chance.choice([True, False])
    if kind == 2:
        return chance.choice([0, -1, 1, 2**31, 2**63, -(2**70), 1e308, 0.1])
    if kind < 6:
        return chance.choice(TEXTS)
    if kind < 8:
        return {chance.choice([*TEXTS, "name", "settings"]): any_value(chance, depth + 1) for _ in range(3)}
    return [any_value(chance, depth + 1) for _ in range(chance.randrange(4))]


def value_for(schema: dict[str, Any], schemas: dict[str, Any], chance: random.Random, depth: int = 0) -> Any:
    """Return a value that mostly fits a schema, so that nonsense gets past the first check."""
    if chance.random() < 0.15 or depth > 5:
        return any_value(chance, depth)
    if "$ref" in schema:
        return value_for(schemas[schema["$ref"].rsplit("/", 1)[-1]], schemas, chance, depth + 1)
    if "enum" in schema:
        return chance.choice(schema["enum"])
    kind = schema.get("type")
    kind = chance.choice(kind) if isinstance(kind, list) else kind
    if kind == "object":
        properties = schema.get("properties", {})
        chosen = [name for name in properties if chance.random() < 0.6]
        return {name: value_for(properties[name], schemas, chance, depth + 1) for name in chosen}
    if kind == "array":
        return [value_for(schema.get("items", {}), schemas, chance, depth + 1) for _ in range(chance.randrange(3))]
    if kind == "string":
        return chance.choice(TEXTS)
    if kind == "integer":
        return chance.choice([0, 1, 5, 1000, -1, 2**31 - 1])
    if kind == "boolean":
        return chance.choice([True, False])
    return any_value(chance, depth)


def requests(chance: random.Random) -> Iterator[dict[str, Any]]:
    """Yield requests for every operation."""
    api = document("0")
    schemas = api["components"]["schemas"]
    for path, operations in api["paths"].items():
        for verb, operation in operations.items():
            for _ in range(ROUNDS):
                filled = path
                for parameter in operation["parameters"]:
                    if parameter["in"] == "path":
                        text = quote(chance.choice(TEXTS[2:]), safe="")
                        filled = filled.replace("{" + parameter["name"] + "}", text)
                query = {
                    parameter["name"]: chance.choice(TEXTS)
                    for parameter in operation["parameters"]
                    if parameter["in"] == "query" and chance.random() < 0.4
                }
                request: dict[str, Any] = {"method": verb.upper(), "url": filled, "params": query}
                content = operation.get("requestBody", {}).get("content", {}).get("application/json")
                if content is not None:
                    body = json.dumps(value_for(content["schema"], schemas, chance)).encode()
                    kind = "application/json" if chance.random() < 0.9 else chance.choice(CONTENT_TYPES)
                    request |= {"content": body, "headers": {"content-type": kind}}
                elif verb != "get":
                    body = chance.choice(TEXTS).encode("utf-8", "surrogatepass")
                    request |= {"content": body, "headers": {"content-type": chance.choice(CONTENT_TYPES)}}
                yield request


async def test_no_request_makes_the_service_fail() -> None:
    chance = random.Random(7)
    seen: dict[int, int] = {}
    async with serve_doubles(World()) as addresses, serve_app(build, addresses=addresses) as served:
        base = f"http://{served.runtime.announced['http']}"
        async with httpx2.AsyncClient(base_url=base, timeout=10, headers={"x-footnote-timeout": "5"}) as http:
            for request in requests(chance):
                # A watch of a collection does not end; only its status matters here.
                async with http.stream(**request) as answer:
                    seen[answer.status_code] = seen.get(answer.status_code, 0) + 1
                    assert answer.status_code < 500, (request, await answer.aread())
            assert (await http.get("/v1/health")).status_code == 200
    assert seen.get(200, 0) > 50, seen
    assert seen.get(400, 0) > 50, seen
