"""Random typed filters, and the JSON that means the same, written without the product's own translation."""

import random
from typing import Any

from footnote.types.v1 import filter_pb2 as pb

FIELDS = [
    "k",
    "n",
    "b",
    "lst",
    "deep.er",
    "tags",
    "title",
    "filename",
    "document_id",
    "ordinal",
    "metadata.language",
    "a b",
]
DATES = ["2023-11-14", "2023-11-14T22:13:20Z", "2024-02-29"]
TEXTS = ["", "a", "b", "x", 'q"uote', "back\\slash", "é中🙂", "a\nb", "$ne", "true", "1"]
NUMBERS = [0.0, 1.0, -1.0, 2.5, -0.5, 1e15, 3.0, 7.0]
_WORDS = {
    pb.COMPARISON_OP_EQ: "$eq", pb.COMPARISON_OP_NE: "$ne", pb.COMPARISON_OP_GT: "$gt", pb.COMPARISON_OP_GTE: "$gte",
    pb.COMPARISON_OP_LT: "$lt", pb.COMPARISON_OP_LTE: "$lte", pb.COMPARISON_OP_IN: "$in",
    pb.COMPARISON_OP_NOT_IN: "$nin",
}  # fmt: skip


def random_filter(rng: random.Random, depth: int = 0) -> pb.Filter:
    """Return a filter that is valid."""
    roll = rng.random()
    if depth < 4 and roll < 0.4:
        children = [random_filter(rng, depth + 1) for _ in range(rng.randrange(4))]
        kind = rng.choice(["and", "or"])
        return pb.Filter(**{kind: pb.FilterList(filters=children)})  # type: ignore[arg-type]
    if depth < 4 and roll < 0.55:
        return pb.Filter(**{"not": random_filter(rng, depth + 1)})  # type: ignore[arg-type]
    return pb.Filter(comparison=_comparison(rng))


def _comparison(rng: random.Random) -> pb.Comparison:
    date = rng.random() < 0.2
    field = rng.choice(["create_time", "created_at"]) if date else rng.choice(FIELDS)
    op: Any = rng.choice([op for op in pb.ComparisonOp.values() if op])
    if op in (pb.COMPARISON_OP_EXISTS, pb.COMPARISON_OP_NOT_EXISTS):
        return pb.Comparison(field=field, op=op)
    if op in (pb.COMPARISON_OP_IN, pb.COMPARISON_OP_NOT_IN):
        items = [_value(rng, date, bools=True) for _ in range(rng.randrange(4))]
        value = pb.FilterValue(list_value=pb.FilterValueList(items=items))
        return pb.Comparison(field=field, op=op, value=value)
    bools = op in (pb.COMPARISON_OP_EQ, pb.COMPARISON_OP_NE)
    return pb.Comparison(field=field, op=op, value=_value(rng, date, bools=bools))


def _value(rng: random.Random, date: bool, *, bools: bool) -> pb.FilterValue:
    if date and rng.random() < 0.5:
        value = pb.FilterValue()
        value.time_value.FromMilliseconds(1_700_000_000_000 + rng.randrange(-5, 5) * 500)
        return value
    if date:
        return pb.FilterValue(string_value=rng.choice(DATES))
    roll = rng.random()
    if bools and roll < 0.2:
        return pb.FilterValue(bool_value=rng.random() < 0.5)
    return (
        pb.FilterValue(string_value=rng.choice(TEXTS))
        if roll < 0.6
        else pb.FilterValue(number_value=rng.choice(NUMBERS))
    )


def as_json(given: pb.Filter) -> dict[str, Any]:
    """Return the JSON form of a filter."""
    kind = given.WhichOneof("kind")
    inner: Any = getattr(given, str(kind))
    if kind == "not":
        return {"$not": as_json(inner)}
    if kind in ("and", "or"):
        return {f"${kind}": [as_json(one) for one in inner.filters]}
    if inner.op in (pb.COMPARISON_OP_EXISTS, pb.COMPARISON_OP_NOT_EXISTS):
        return {inner.field: {"$exists": inner.op == pb.COMPARISON_OP_EXISTS}}
    return {inner.field: {_WORDS[inner.op]: _plain(inner.value)}}


def _plain(value: pb.FilterValue) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "list_value":
        return [_plain(one) for one in value.list_value.items]
    if kind == "time_value":
        return value.time_value.ToMilliseconds()
    return getattr(value, str(kind))
