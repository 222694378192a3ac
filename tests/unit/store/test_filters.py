import json
import time
from typing import Any

import pytest
from footnote_kit.errors import InvalidArgument
from footnote_store.compiler import FALSE
from footnote_store.fields import check_metadata, facets
from footnote_store.filters import ALL, RowScope, any_of, both, compile_expr, evaluate, parse_where
from footnote_store.scope import search_key
from google.protobuf.struct_pb2 import Struct
from support.chunks import make_chunk

CHUNK = make_chunk(
    "text",
    tags=["hr", "policy"],
    metadata={
        "chapter": "1",
        "year": 2023,
        "draft": False,
        "authors": ["Ann", "Bo"],
        "deep": {"er": 1.5},
        "language": "xx",
    },
    created=1_700_000_000,
)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({}, True),
        ({"chapter": "1"}, True),
        ({"chapter": 1}, False),
        ({"chapter": "1", "year": 2022}, False),
        ({"year": {"$gt": 2022, "$lte": 2023}}, True),
        ({"year": {"$ne": 2023}}, False),
        ({"missing": {"$ne": 1}}, True),
        ({"missing": {"$gt": 1}}, False),
        ({"missing": {"$not": {"$gt": 1}}}, True),
        ({"missing": None}, True),
        ({"chapter": None}, False),
        ({"draft": False}, True),
        ({"draft": 0}, False),
        ({"authors": "Bo"}, True),
        ({"authors": {"$nin": ["Cy", "Ann"]}}, False),
        ({"deep.er": {"$gte": 1.5}}, True),
        ({"tags": "hr"}, True),
        ({"tags": {"$in": ["x", "policy"]}}, True),
        ({"tags": {"$exists": True}}, True),
        ({"language": "en"}, True),
        ({"metadata.language": "xx"}, True),
        ({"$or": [{"chapter": "9"}, {"year": 2023}]}, True),
        ({"$and": [{"chapter": "1"}, {"$not": {"year": 2023}}]}, False),
        ({"$or": []}, False),
        ({"$and": []}, True),
        ({"filename": {"$in": ["notes.md"]}}, True),
        ({"created_at": {"$gte": "2023-11-14", "$lt": "2023-11-15T00:00:00Z"}}, True),
        ({"document_id": {"$in": []}}, False),
    ],
)
def test_meaning(where: dict[str, Any], expected: bool) -> None:
    assert evaluate(parse_where(json.dumps(where)), CHUNK) is expected


@pytest.mark.parametrize("text", ["invalid-json-string", "{", '{"a": NaN}', "[" * 100_000])
def test_text_that_is_not_json_gets_the_exact_message(text: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        parse_where(text[:16_000])
    assert error.value.message == "Invalid 'where' filter: must be valid JSON"
    assert error.value.reason == "INVALID_FILTER"


@pytest.mark.parametrize(
    "where",
    [
        [], "x", 1, None, {"a": [1]}, {"a": {}}, {"$xor": []}, {"a": {"$regex": "x"}}, {"$and": {}}, {"$or": [1]},
        {"$not": 1}, {"a": {"$in": "x"}}, {"a": {"$in": [[1]]}}, {"a": {"$exists": 1}}, {"a": {"$gt": True}},
        {"a": {"$gt": None}}, {"": 1},
        {"created_at": {"$gt": "not a date"}}, {"create_time": "2026-13-01"}, {"created_at": {"$in": ["2026", True]}},
        {"$not": {"$or": [{"created_at": "soon"}]}}, {"created_at": {"$ne": "x"}}, {"created_at": ""},
        {"a": {"$not": 3}}, {"a": {"$in": list(range(300))}}, {"a": "\x00"}, {"a": "\ud800"}, {"a": 10**400},
        {"a": 2**53 + 1}, {"a": {"$in": [1, -(2**53) - 1]}}, {"a": {"$gt": 10**18}},
    ],
)  # fmt: skip
def test_wrong_filters_are_refused_with_words(where: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"^Invalid 'where' filter: ") as error:
        parse_where(json.dumps(where))
    assert error.value.reason == "INVALID_FILTER"
    assert error.value.violations[0].field == "filter.json"


def test_deep_nesting_is_refused() -> None:
    where: Any = {"a": 1}
    for _ in range(100):
        where = {"$not": where}
    with pytest.raises(InvalidArgument, match="deeper"):
        parse_where(json.dumps(where))


def test_names_and_literals_cannot_break_out() -> None:
    hostile = 'x"] == 1 or tenant_id != "'
    compiled = compile_expr(parse_where(json.dumps({hostile: hostile, "filename": '") or (id != "'})))
    assert "tenant_id" not in compiled.replace('\\"', "").split('"')[0]
    assert 'filename == "\\") or (id != \\""' in compiled


def test_negation_is_pushed_inwards() -> None:
    compiled = compile_expr(parse_where('{"$not": {"$or": [{"filename": "a"}, {"ordinal": {"$gt": 2}}]}}'))
    assert compiled == '(filename != "a") and (ordinal <= 2)'
    assert "not (" not in compiled


def test_any_of_and_both() -> None:
    assert any_of("document_id", []) is ALL
    limited = any_of("document_id", ["d1"])
    assert both(ALL, limited) == limited == both(limited, ALL)
    assert evaluate(both(limited, parse_where('{"year": 2023}')), CHUNK)


def test_scope_names_everything_and_escapes() -> None:
    scope = RowScope('t"x', ("c:1", "c:2"), ("d:1",), 2.0)
    assert scope.rows() == (
        'tenant_id == "t\\"x" and collection_key in ["c:1", "c:2"] and revision_key not in ["d:1"] '
        "and expires_at > 2000"
    )
    keys = [search_key('t"x', "c:1"), search_key('t"x', "c:2")]
    found = f'search_key in {keys} and revision_key not in ["d:1"] and expires_at > 2000'
    assert scope.searched(by_tenant=False) == found
    assert scope.searched(by_tenant=True) == 'tenant_id == "t\\"x" and ' + found


def test_nothing_is_in_reach_without_tenant_or_collection() -> None:
    for scope in (RowScope("", ("c:1",), (), 2.0), RowScope("t", (), (), 2.0)):
        assert scope.rows() == scope.searched(by_tenant=False) == scope.searched(by_tenant=True) == FALSE


def test_search_keys_tell_collections_and_tenants_apart() -> None:
    names = [("t", "c:1"), ("tc", ":1"), ("t2", "c:1"), ("t", "c:2"), ("", "tc:1"), ("1", "0:tc:1")]
    keys = {search_key(*name) for name in names}
    assert len(keys) == len(names)
    assert all(0 < key < 2**63 for key in keys)
    assert search_key("t", "c:1") == search_key("t", "c:1")


@pytest.mark.parametrize("value", [[f"p{number}" for number in range(1600)], "é" * 24_900])
def test_metadata_that_is_accepted_has_room_in_every_chunk(value: Any) -> None:
    metadata = Struct()
    metadata.update({"parts": value})
    check_metadata("metadata", metadata)
    chunk = make_chunk("text", tags=[f"{number:0200}" for number in range(100)], metadata={"parts": value})
    chunk.title, chunk.locator.heading_path[:] = "題" * 500, ["題" * 200] * 4
    assert facets(chunk)
    metadata.update({"more": value})
    with pytest.raises(InvalidArgument, match=r"resource.metadata.*50000 bytes"):
        check_metadata("resource.metadata", metadata)


def test_metadata_of_long_names_and_many_leaves_is_refused_without_being_laid_out() -> None:
    metadata = Struct()
    metadata.update({"k" * 24_000: {f"{number}": 1 for number in range(1_500)}})
    began = time.process_time()
    with pytest.raises(InvalidArgument):
        check_metadata("metadata", metadata)
    assert time.process_time() - began < 0.2  # it took 3 s and 260 MB


def test_the_origin_of_a_document_has_room_beside_its_metadata() -> None:
    metadata = Struct()
    metadata.update({"parts": "é" * 24_900, "footnote_source": {"id": "s", "address": "a" * 2_000}})
    check_metadata("metadata", metadata)
