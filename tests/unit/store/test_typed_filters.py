"""Typed filters: the same expression as their JSON form, and what is refused with its place."""

import json
import random
from datetime import UTC, datetime
from typing import Any

import pytest
from footnote.retrieval.v1.retrieval_service_pb2 import QueryChunksRequest
from footnote.types.v1 import filter_pb2 as pb
from footnote_kit.errors import InvalidArgument
from footnote_store.filters import ALL, And, Expr, evaluate, parse_filter, parse_where
from google.protobuf.json_format import ParseDict
from support.chunks import make_chunk
from support.typed_filters import as_json, random_filter

BAD_FILTERS = [
    ({}, "filter"),
    ({"and": {"filters": [{"comparison": {"field": "a", "op": 1, "value": {"bool_value": True}}}, {}]}},
     "filter.and.filters[1]"),
    ({"not": {"or": {"filters": [{"comparison": {"field": "", "op": 1, "value": {"number_value": 1}}}]}}},
     "filter.not.or.filters[0].comparison.field"),
    *(({"comparison": {"field": field, "op": 9}}, "filter.comparison.field") for field in ("$ne", "x" * 257, "")),
    ({"comparison": {"field": "a", "value": {"number_value": 1}}}, "filter.comparison.op"),
    ({"comparison": {"field": "a", "op": 1}}, "filter.comparison.value"),
    ({"comparison": {"field": "a", "op": 1, "value": {}}}, "filter.comparison.value"),
    ({"comparison": {"field": "a", "op": 9, "value": {"number_value": 1}}}, "filter.comparison.value"),
    ({"comparison": {"field": "a", "op": 3, "value": {"bool_value": True}}}, "filter.comparison.value"),
    ({"comparison": {"field": "a", "op": 7, "value": {"number_value": 1}}}, "filter.comparison.value"),
    ({"comparison": {"field": "a", "op": 1, "value": {"list_value": {"items": []}}}}, "filter.comparison.value"),
    ({"comparison": {"field": "a", "op": 7, "value": {"list_value": {"items": [{"number_value": 1}, {}]}}}},
     "filter.comparison.value.list_value.items[1]"),
    ({"comparison": {"field": "a", "op": 7, "value": {"list_value": {"items": [{"list_value": {}}]}}}},
     "filter.comparison.value.list_value.items[0]"),
    ({"comparison": {"field": "a", "op": 1, "value": {"number_value": "NaN"}}}, "filter.comparison.value.number_value"),
    ({"comparison": {"field": "a", "op": 1, "value": {"number_value": "Infinity"}}},
     "filter.comparison.value.number_value"),
    ({"comparison": {"field": "a", "op": 1, "value": {"string_value": "a\0b"}}},
     "filter.comparison.value.string_value"),
    ({"comparison": {"field": "create_time", "op": 3, "value": {"string_value": "soon"}}},
     "filter.comparison.value.string_value"),
    ({"comparison": {"field": "create_time", "op": 1, "value": {"bool_value": True}}},
     "filter.comparison.value.bool_value"),
    ({"comparison": {"field": "year", "op": 3, "value": {"time_value": "2026-11-22T00:00:00Z"}}},
     "filter.comparison.value.time_value"),
    ({"comparison": {"field": "a", "op": 1, "value": {"string_value": "x" * 70_000}}}, "filter"),
    ({"or": {"filters": [{"comparison": {"field": "a", "op": 9}}] * 256}}, "filter.or.filters[255]"),
    ({"comparison": {"field": "a", "op": 7, "value": {"list_value": {"items": [{"number_value": 1}] * 256}}}},
     "filter.comparison.value.list_value"),
]  # fmt: skip


def parsed(given: pb.Filter) -> Expr:
    return parse_filter(QueryChunksRequest(filter=given))


def both(*given: pb.Filter) -> pb.Filter:
    return pb.Filter(**{"and": pb.FilterList(filters=given)})  # type: ignore[arg-type]


def nested(depth: int) -> pb.Filter:
    found = pb.Filter(comparison=pb.Comparison(field="a", op=pb.COMPARISON_OP_EXISTS))
    for _ in range(depth - 1):
        found = pb.Filter(**{"not": found})  # type: ignore[arg-type]
    return found


def test_a_typed_filter_is_the_same_expression_as_its_json() -> None:
    for seed in range(300):
        given = random_filter(random.Random(seed))
        assert parsed(given) == parse_where(json.dumps(as_json(given))), (seed, given)


@pytest.mark.parametrize(("given", "place"), BAD_FILTERS)
def test_what_it_cannot_be_is_refused_with_its_place(given: dict[str, Any], place: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parsed(ParseDict(given, pb.Filter()))
    assert caught.value.reason == "INVALID_FILTER"
    assert [violation.field for violation in caught.value.violations] == [place]


def test_depth_is_limited() -> None:
    assert parsed(nested(16))
    with pytest.raises(InvalidArgument, match="nested deeper than 16"):
        parsed(nested(17))


def test_without_one_all_pass_and_text_mixes_with_messages() -> None:
    assert parse_filter(QueryChunksRequest()) == ALL
    one = pb.Filter(comparison=pb.Comparison(field="a", op=pb.COMPARISON_OP_EXISTS))
    text = pb.Filter(json='{"b": 1}')
    assert parsed(text) == parse_where('{"b": 1}')
    assert parsed(both(text, one)) == And((parse_where('{"b": 1}'), parse_where('{"a": {"$exists": true}}')))
    for given, place in (
        (pb.Filter(json="no json"), "filter.json"),
        (both(one, pb.Filter(json="[]")), "filter.and.filters[1].json"),
    ):
        with pytest.raises(InvalidArgument) as caught:
            parsed(given)
        assert caught.value.violations[0].field == place


def test_json_counts_towards_the_limits_of_the_whole() -> None:
    many = pb.Filter(json=json.dumps({"a": {"$in": list(range(100))}}))
    assert parsed(both(many, many))
    with pytest.raises(InvalidArgument, match="at most 256"):
        parsed(both(many, many, many))
    deep = "{" + '"$not":{' * 15 + '"a":1' + "}" * 16
    assert parsed(pb.Filter(json=deep))
    with pytest.raises(InvalidArgument, match="nested deeper than 16"):
        parsed(both(both(both(pb.Filter(json=deep)))))


@pytest.mark.parametrize("nanos", [0, 5_000_000, 1])
def test_a_time_is_compared_to_the_nanosecond(nanos: int) -> None:
    chunk = make_chunk("text", created=1_700_000_000)
    value = pb.FilterValue()
    value.time_value.FromDatetime(datetime.fromtimestamp(1_700_000_000, UTC))
    value.time_value.nanos = nanos
    whole = nanos == 0
    for op, expected in (("EQ", whole), ("GTE", whole), ("LT", not whole), ("LTE", True), ("NE", not whole)):
        comparison = pb.Comparison(field="create_time", op=pb.ComparisonOp.Value(f"COMPARISON_OP_{op}"), value=value)
        assert evaluate(parsed(pb.Filter(comparison=comparison)), chunk) is expected
