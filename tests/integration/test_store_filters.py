"""Compiled filters against their plain Python meaning, on the real engine, with random rows and hostile strings."""

from __future__ import annotations

import json
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from footnote.retrieval.v1.retrieval_service_pb2 import QueryChunksRequest
from footnote_store.filters import RowScope, compile_expr, conjunction, evaluate, parse_filter, parse_where
from footnote_store.store import VectorStore
from support.chunks import DIMENSIONS, make_chunk, make_row
from support.typed_filters import as_json, random_filter

pytestmark = pytest.mark.full

NOW = 1_800_000_000.0
HOSTILE = [
    '"', "\\", '\\"', "') or 1==1 --", '" or tenant_id != "', '"] or id != ""', "a\nb", "tab\there", "é中文🙂", "%",
    "_", "{}", "null", "true", "1", "", " ", "$ne", "\u2028", "\x01", "a'b", "](", "id", "tenant_id", "facets", "`",
    "0x1", "\\n", "ＡＢ",
]  # fmt: skip
KEYS = ["k", "n", "b", "lst", "deep.er", "mix", *HOSTILE[:8], "tags", "title", "page", "heading", "a b", "k_", "k_5f_"]
COLUMNS = ["filename", "language", "document_type", "source_type", "document_id", "ordinal", "created_at"]
NUMBERS: list[Any] = [0, 1, -1, 2, 2.5, -0.5, 1e3, 1e15, 2**53, 1.0, 1e20, -1e20, 1e-9]
DATES = ["2023-11-14", "2023-11-14T22:13:20Z", "2024-02-29", 1_700_000_000_000]


def _text(rng: random.Random) -> str:
    return rng.choice(HOSTILE) if rng.random() < 0.6 else rng.choice("abcxyz")


def _scalar(rng: random.Random) -> Any:
    return rng.choice([_text(rng), _text(rng), rng.choice(NUMBERS), rng.random() < 0.5])


def _metadata(rng: random.Random) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key in [*KEYS[:14], "a b", "k_", "k_5f_"]:
        if not key or rng.random() < 0.4:
            continue
        if key == "deep.er":
            data["deep"] = {"er": _scalar(rng)}
        elif key == "lst" or rng.random() < 0.15:
            data[key] = [_scalar(rng) for _ in range(rng.randrange(4))]
        else:
            data[key] = _scalar(rng)
    return data


def _where(rng: random.Random, depth: int = 0) -> dict[str, Any]:
    roll = rng.random()
    if depth < 3 and roll < 0.3:
        return {rng.choice(["$and", "$or"]): [_where(rng, depth + 1) for _ in range(rng.randrange(4))]}
    if depth < 3 and roll < 0.42:
        return {"$not": _where(rng, depth + 1)}
    where: dict[str, Any] = {}
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        field = rng.choice(KEYS + COLUMNS)
        if not field:
            continue
        where[field] = _condition(rng, field)
    return where


def _condition(rng: random.Random, field: str) -> Any:
    def value() -> Any:
        if field == "created_at":  # what is no date is refused before
            return rng.choice(DATES if rng.random() < 0.7 else NUMBERS)
        if field in {"ordinal", "page"} and rng.random() < 0.7:
            return rng.choice([0, 3, 7, 2.5, -1, 1e30, -1e30])
        if field == "document_id" and rng.random() < 0.5:
            return f"d{rng.randrange(40)}"
        return _scalar(rng)

    if rng.random() < 0.35:
        return rng.choice([value(), value(), value(), None])
    operators: dict[str, Any] = {}
    for _ in range(rng.choice([1, 1, 2])):
        name = rng.choice(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin", "$exists", "$not"])
        if name in {"$in", "$nin"}:
            operators[name] = [value() for _ in range(rng.randrange(5))]
        elif name == "$exists":
            operators[name] = rng.random() < 0.5
        elif name == "$not":
            operators[name] = (
                {"$gt": _text(rng)} if field != "created_at" and rng.random() < 0.5 else {"$lte": rng.choice(NUMBERS)}
            )
        else:
            found = value()
            operators[name] = 1 if isinstance(found, bool) and name not in {"$eq", "$ne"} else found
    return operators


@pytest.fixture
async def store(uri: str) -> AsyncIterator[VectorStore]:
    """The store over the engine."""
    store = VectorStore(uri)
    yield store
    await store.close()


@pytest.mark.parametrize("seed", range(4))
async def test_compiled_filters_mean_what_python_says(store: VectorStore, seed: int) -> None:
    rng = random.Random(seed)
    space = await store.ensure_space(DIMENSIONS)
    tenant = f"t{seed}"
    chunks = []
    for index in range(120):
        chunk = make_chunk(
            f"text {index}", document_id=f"d{index % 40}", ordinal=index, tenant_id=tenant,
            filename=_text(rng) or "f.md", language=rng.choice(["en", "fr", ""]),
            created=1_700_000_000 + rng.choice([0, 1, -86_400, 86_400]),
            tags=[_text(rng) or "t" for _ in range(rng.randrange(3))], metadata=_metadata(rng),
            title=rng.choice(["", "T", "1"]),
        )  # fmt: skip
        if rng.random() < 0.5:
            chunk.locator.page.page = rng.randrange(1, 9)
            chunk.locator.heading_path.extend(["A", "B"][: rng.randrange(3)])
        chunks.append(chunk)
    foreign = [make_chunk("not yours", document_id=f"d{i}", ordinal=900 + i, tenant_id="other") for i in range(40)]
    await store.upsert(space, [make_row(chunk) for chunk in chunks + foreign])
    scope = RowScope(tenant, ["c1:1"], [], NOW).rows()
    matched = 0
    for _ in range(250):
        where = json.dumps(_where(rng))
        expr = parse_where(where)
        expected = [chunk.id for chunk in chunks if evaluate(expr, chunk)]
        compiled = conjunction([scope, compile_expr(expr)])
        found = await store.ids(space, compiled, 1000)
        assert found == sorted(expected), f"{where}\n{compiled}"
        matched += 0 < len(expected) < len(chunks)
    assert matched > 60  # the filters are not all trivial
    for _ in range(60):
        given = random_filter(rng)
        typed = parse_filter(QueryChunksRequest(filter=given))
        answers = []
        for expr in (typed, parse_where(json.dumps(as_json(given)))):
            answers.append(await store.ids(space, conjunction([scope, compile_expr(expr)]), 1000))
        assert answers[0] == answers[1] == sorted(chunk.id for chunk in chunks if evaluate(typed, chunk)), given
