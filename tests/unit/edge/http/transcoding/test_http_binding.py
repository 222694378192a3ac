from typing import Any

import pytest
from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.edge.v1.collections_pb2 import UpdateCollectionRequest
from footnote.edge.v1.conversations_pb2 import EditMessageRequest, UpdateConversationRequest
from footnote.edge.v1.documents_pb2 import (
    ListDocumentsRequest,
    ListDocumentsResponse,
    QueryChunksRequest,
    WatchDocumentsRequest,
)
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED
from footnote_edge.http.dialects.wrapper import addition
from footnote_edge.http.transcoding.binding import Rule, bind, rules, to_json
from footnote_edge.http.transcoding.json_body import parse as parse_body
from footnote_kit.errors import InvalidArgument
from google.protobuf.descriptor import FieldDescriptor


def rule(name: str) -> Rule:
    return next(one for one in rules() if one.method.name == name)


def test_every_annotated_rpc_has_a_route_and_verbs_come_first() -> None:
    found = [one.template for one in rules()]
    assert len(found) == len({(one.verb, one.template) for one in rules()})
    assert found.index("/v1/documents/{document_id}:watch") < found.index("/v1/documents/{document_id}")
    assert rule("UpdateCollection").path == "/v1/collections/{collection}"


def test_query_values_become_fields_of_their_kind() -> None:
    query = [("states", "DOCUMENT_STATE_ERROR"), ("states", "DOCUMENT_STATE_INDEXED"), ("page_size", "5")]
    message = bind(rule("ListDocuments"), {}, query, {})
    assert message == ListDocumentsRequest(states=[DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED], page_size=5)
    watch = bind(rule("WatchDocuments"), {"collection": "c"}, [("until_idle", "true")], {})
    assert watch == WatchDocumentsRequest(collection="c", until_idle=True)


def test_the_body_is_one_field_or_all_and_the_path_wins() -> None:
    made = bind(rule("CreateCollection"), {}, [], {"name": "n", "settings": {"ttl": "5s"}})
    assert made.collection.settings.ttl.seconds == 5  # type: ignore[attr-defined]
    changed = bind(rule("UpdateCollection"), {"collection": "n"}, [("update_mask", "name")], {"name": "m"})
    wanted = UpdateCollectionRequest(collection="n", resource={"name": "m"}, update_mask={"paths": ["name"]})
    assert changed == wanted
    renamed = bind(rule("UpdateConversation"), {"conversation_id": "a"}, [], {"title": "t"})
    assert renamed == UpdateConversationRequest(conversation_id="a", resource={"title": "t"})
    edited = bind(rule("EditMessage"), {"message_id": "a"}, [], {"text": "t", "message_id": "b"})
    assert edited == EditMessageRequest(message_id="a", text="t")


@pytest.mark.parametrize(
    ("name", "query", "body"),
    [
        ("ListDocuments", [("nothing", "1")], {}),
        ("ListDocuments", [("page_size", "x")], {}),
        ("ListDocuments", [("states", "SLEEPING")], {}),
        ("ListDocuments", [("page_size", str(2**40))], {}),
        ("WatchDocuments", [("until_idle", "yes")], {}),
        ("Ask", [], []),
        ("Ask", [("collections", "b")], {"question": "q", "collections": "a"}),
        ("Ask", [], {"question": {"a": 1}}),
        ("Ask", [], {"unknown": 1}),
        ("Ask", [("retrieval", "x")], {}),
        ("Ask", [("question.x", "x")], {}),
    ],
)
def test_what_does_not_fit_is_refused(name: str, query: list[tuple[str, str]], body: Any) -> None:
    path = {"collection": "c"} if name == "WatchDocuments" else {}
    with pytest.raises(InvalidArgument):
        bind(rule(name), path, query, body)


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


SAMPLES = {
    FieldDescriptor.CPPTYPE_BOOL: "true",
    FieldDescriptor.CPPTYPE_STRING: "x",
    FieldDescriptor.CPPTYPE_DOUBLE: "1",
    FieldDescriptor.CPPTYPE_FLOAT: "1",
}


@pytest.mark.parametrize("one", rules(), ids=lambda one: f"{one.verb} {one.method.name}")
def test_a_query_takes_each_field_by_both_its_names(one: Rule) -> None:
    """By the contract's name and by that of protobuf's JSON, as a body does."""
    fields = one.method.input_type.fields_by_name
    path = {name: SAMPLES.get(fields[name].cpp_type, "1") if name in fields else "p" for name in one.variables}
    for field in one.method.input_type.fields:
        if field.name in path or one.body in ("*", field.name) or field.message_type is not None:
            continue
        names = [value.name for value in field.enum_type.values] if field.enum_type else []
        text = names[-1] if names else SAMPLES.get(field.cpp_type, "1")
        assert bind(one, path, [(camel(field.name), text)], {}) == bind(one, path, [(field.name, text)], {})


def test_both_names_of_a_field_are_one_field() -> None:
    mixed = bind(rule("ListDocuments"), {}, [("documentTypes", "pdf"), ("document_types", "md")], {})
    assert mixed == ListDocumentsRequest(document_types=["pdf", "md"])
    deep = bind(rule("QueryChunks"), {"collection": "c"}, [("filter.json", "{}"), ("pageSize", "3")], {})
    assert deep == QueryChunksRequest(collection="c", filter={"json": "{}"}, page_size=3)
    edited = bind(rule("EditMessage"), {"message_id": "a"}, [], {"text": "t", "messageId": "b"})
    assert edited == EditMessageRequest(message_id="a", text="t")
    with pytest.raises(InvalidArgument, match="given twice"):
        bind(rule("Ask"), {}, [], {"question": "q", "documentIds": ["a"], "document_ids": ["b"]})


@pytest.mark.parametrize("mask", ["tags,expire_time", "tags,expireTime"])
def test_a_mask_names_fields_as_the_contract_does(mask: str) -> None:
    changed = bind(rule("UpdateDocument"), {"document_id": "d"}, [("update_mask", mask)], {})
    assert list(changed.update_mask.paths) == ["tags", "expire_time"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("name", "query", "body", "field"),
    [
        ("ListDocuments", [("states", "SLEEPING")], {}, "states[0]"),
        ("ListDocuments", [("created_after", "yesterday")], {}, "created_after"),
        ("Search", [], {"filter": {"not": {"comparison": {"op": "LIKE"}}}}, "filter.not.comparison.op"),
        ("Search", [], {"filter": {"and": {"filters": [{}, {"maybe": 1}]}}}, "filter.and.filters[1].maybe"),
        ("Ask", [], {"unknown": 1}, "unknown"),
        ("Ask", [], {"question": {"a": 1}}, "question"),
    ],
)
def test_a_refusal_names_the_field(name: str, query: list[tuple[str, str]], body: Any, field: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        bind(rule(name), {}, query, body)
    assert [violation[0] for violation in caught.value.violations] == [field], caught.value.message
    assert ".." not in caught.value.message


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 100_000])
def test_what_is_not_json_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidArgument):
        parse_body(body)


def test_json_has_the_contracts_names_and_fields_without_value() -> None:
    body = to_json(ListDocumentsResponse())
    assert body == {"documents": [], "next_page_token": "", "total_size": 0}


LARGE = 1_800_000_000_000_000_123


@pytest.mark.parametrize(
    ("name", "body", "field"),
    [
        ("AddVectors", b'{"rows": [{"id": "a", "vector": [1], "metadata": {"deep": [{"a": %d}]}}]}', "rows.metadata"),
        ("CreateCollection", b'{"name": "n", "metadata": {"customer": %d}}', "collection.metadata"),
        ("Search", b'{"filter": {"comparison": {"field": "a", "op": 1, "value": {"number_value": %d}}}}',
         "filter.comparison.value.number_value"),
    ],
)  # fmt: skip
def test_a_whole_number_that_a_double_would_change_is_refused(name: str, body: bytes, field: str) -> None:
    """Two customers' ids would become one, and a filter on either would find the rows of both."""
    for number in (LARGE, -LARGE, 2**53 + 1):
        with pytest.raises(InvalidArgument, match=str(number)) as caught:
            bind(rule(name), {"collection": "c"}, [], parse_body(body % number))
        assert [violation[0] for violation in caught.value.violations] == [field]
    bind(rule(name), {"collection": "c"}, [], parse_body(body % 2**53))
    bind(rule(name), {"collection": "c"}, [], parse_body((body % 77).replace(b"77", b"1.8e18")))


def test_an_integer_field_takes_a_whole_number_of_64_bits() -> None:
    asked = bind(rule("Ask"), {}, [], parse_body(b'{"question": "q", "generation": {"seed": %d}}' % LARGE))
    assert asked == AskRequest(question="q", generation={"seed": LARGE})


@pytest.mark.parametrize("key", ["metadata", "embedding"])
def test_the_wrapper_refuses_such_numbers_too(key: str) -> None:
    document = b'{"text": "t", "metadata": {"a": 1}, "embedding": [1]}'
    wrong = document.replace(b"1}", b"%d}" % LARGE) if key == "metadata" else document.replace(b"[1]", b"[%d]" % LARGE)
    with pytest.raises(InvalidArgument, match="beyond 2\\^53"):
        addition("c", parse_body(b'{"documents": [%s, %s]}' % (document, wrong)))


def test_a_long_name_is_refused_and_a_long_text_is_not() -> None:
    """Protobuf's parser copies it for each value inside: a body of 1 MB took 5 s."""
    with pytest.raises(InvalidArgument, match="at most 2048 bytes"):
        parse_body(b'{"metadata": {"%s" : [1, 2]}}' % (b"k" * 2048))
    text = "x:" * 5000
    assert parse_body(f'{{"{"k" * 2000}": ["{text}", {{}}]}}'.encode()) == {"k" * 2000: [text, {}]}
