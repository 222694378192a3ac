"""Page tokens: bound to the caller and the request, opaque, never a crash."""

import base64
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from footnote.indexing.v1.indexing_service_pb2 import ListCollectionsRequest
from footnote.ingestion.v1.ingestion_service_pb2 import ListDocumentsRequest
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_kit.errors import InvalidArgument
from footnote_kit.paging import DEFAULT_SIZE, LARGEST_SIZE, Kind, Page, _print, fitting, micros, moment, sequence, text
from hypothesis import given
from hypothesis import strategies as st

ANN = Scope(tenant_id="t", user_id="ann")
BOB = Scope(tenant_id="t", user_id="bob")


TEXTS = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=60)


@given(st.tuples(TEXTS, st.integers(0, 2**31 - 1), st.integers(0, 253_402_300_799_999_999)))
def test_a_position_comes_back_as_it_was(position: tuple[str, int, int]) -> None:
    request = ListDocumentsRequest(filename_contains="a")
    kinds = (text, sequence, micros)
    request.page_token = Page.of(ANN, request, kinds=kinds).token(position)
    request.page_size = 7
    page = Page.of(ANN, request, kinds=kinds)
    assert page.position == position
    assert page.size == 7


def test_sizes() -> None:
    assert Page.of(ANN, ListCollectionsRequest()).size == DEFAULT_SIZE
    assert Page.of(ANN, ListCollectionsRequest(page_size=5000)).size == LARGEST_SIZE
    with pytest.raises(InvalidArgument, match="page_size"):
        Page.of(ANN, ListCollectionsRequest(page_size=-1))


def test_a_token_is_good_for_its_own_list_only() -> None:
    request = ListDocumentsRequest(scope=ANN, filename_contains="a")
    token = Page.of(ANN, request).token(["x"])
    Page.of(ANN, ListDocumentsRequest(filename_contains="a", page_token=token, page_size=3))
    others = [
        (BOB, ListDocumentsRequest(filename_contains="a", page_token=token)),
        (ANN, ListDocumentsRequest(filename_contains="b", page_token=token)),
        (ANN, ListDocumentsRequest(page_token=token)),
        (ANN, ListCollectionsRequest(page_token=token)),
    ]
    for scope, other in others:
        with pytest.raises(InvalidArgument, match="belongs to another request"):
            Page.of(scope, other)


@given(st.one_of(st.text(max_size=200), st.binary(max_size=200).map(lambda b: base64.urlsafe_b64encode(b).decode())))
def test_no_token_breaks_anything(token: str) -> None:
    request = ListCollectionsRequest(page_token=token)
    if not token:
        assert Page.of(ANN, request).position is None
        return
    with pytest.raises(InvalidArgument, match="page_token"):
        Page.of(ANN, request)


@pytest.mark.parametrize("inner", ["[" * 5000, "{}", "1", "[]", '["p",true]', '["p",1.5]', '["p",[1]]', '["p",1,2]'])
def test_hostile_tokens_are_refused(inner: str) -> None:
    token = base64.urlsafe_b64encode(inner.encode()).decode()
    with pytest.raises(InvalidArgument):
        Page.of(ANN, ListCollectionsRequest(page_token=token))


MOMENT = "2026-11-26T08:00:00"
OFFSETS = ("2026-11-26T08:00:00+01:00", "0001-01-01T00:00:00+23:59")


@given(st.datetimes(timezones=st.sampled_from([UTC, None])))
def test_a_time_comes_back_in_utc(time: datetime) -> None:
    request = ListDocumentsRequest()
    request.page_token = Page.of(ANN, request, kinds=(moment,)).token((time.isoformat(),))
    assert Page.of(ANN, request, kinds=(moment,)).position == (time.replace(tzinfo=UTC),)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (text, [1, 2**63, "a\0", "\ud800", "a\udfff"]),
        (sequence, ["1", "", -2, 2**31, 2**63, 10**100, "\ud800"]),
        (micros, ["1", -2, 2**63, 2**63 - 1, 10**100, 253_402_300_800_000_000]),
        (moment, [1, "", "soon", *OFFSETS, "10000-01-01", "\ud800", MOMENT + "\0"]),
    ],
)
def test_a_position_of_another_kind_is_refused(kind: Kind, values: list[Any]) -> None:
    request = ListDocumentsRequest()
    for value in values:
        inner = json.dumps([_print(ANN, request), value])
        request.page_token = base64.urlsafe_b64encode(inner.encode()).decode()
        with pytest.raises(InvalidArgument, match="was not issued by this service"):
            Page.of(ANN, request, kinds=(kind,))


def test_a_page_ends_before_it_grows_too_large() -> None:
    documents = [Document(title="x" * 1000) for _ in range(50)]
    assert fitting(documents) == 50
    assert 4 <= fitting(documents, 5000) < 5
    assert fitting(documents, 10) == 1
    assert fitting([]) == 0
