"""Converts a list request into a validated query."""

from __future__ import annotations

import re
from collections.abc import Sequence

from footnote.ingestion.v1.ingestion_service_pb2 import ListDocumentsRequest
from footnote.types.v1.document_pb2 import DocumentState
from footnote_kit.errors import InvalidArgument
from footnote_kit.paging import Page, text
from google.protobuf.timestamp_pb2 import Timestamp

from footnote_ingestion.model.values import NEWEST_FIRST, ORDERS, ListQuery, Order
from footnote_ingestion.parsers import supported

CONTROL = re.compile(r"[\x00-\x1f\x7f]")
"""Characters that are invalid in names, tags and types of documents."""

MOST_VALUES = 100
_MOST_CHARACTERS = 200


def list_query(request: ListDocumentsRequest) -> ListQuery:
    """Return the query over every collection; raises InvalidArgument for an invalid field."""
    for state in request.states:
        if state not in DocumentState.values() or not state:
            raise InvalidArgument.field("states", "holds an unknown state")
    order = _order(request.order_by)
    return ListQuery(
        tenant_id="" if request.all_tenants else request.scope.tenant_id,
        states=tuple(request.states),
        filename_contains=request.filename_contains,
        tags=_values("tags", request.tags),
        document_types=_types(request.document_types),
        languages=[one.lower() for one in _values("languages", request.languages)],
        outdated_for=request.outdated_for,
        created_after=_moment(request.created_after) if request.HasField("created_after") else None,
        created_before=_moment(request.created_before) if request.HasField("created_before") else None,
        order=order,
        page=Page.of(request.scope, request, kinds=(order.kind, text)),
    )


def _order(wanted: str) -> Order:
    order = ORDERS.get(wanted) if wanted else NEWEST_FIRST
    if order is None:
        raise InvalidArgument.field("order_by", f"must be one of: {', '.join(ORDERS)}")
    return order


def _types(wanted: Sequence[str]) -> list[str]:
    """Return the document types; raises InvalidArgument for a type without a parser, which would match nothing."""
    types = [one.lower() for one in _values("document_types", wanted)]
    for one in types:
        if one not in supported():
            raise InvalidArgument.field(
                "document_types", f"has no '{one}'; there are: {', '.join(sorted(supported()))}"
            )
    return types


def _values(name: str, values: Sequence[str]) -> tuple[str, ...]:
    """Return the values as stored in documents, without duplicates."""
    if len(values) > MOST_VALUES:
        raise InvalidArgument.field(name, f"must be at most {MOST_VALUES}")
    stripped = tuple(dict.fromkeys(value.strip() for value in values))
    if not all(0 < len(value) <= _MOST_CHARACTERS and not CONTROL.search(value) for value in stripped):
        raise InvalidArgument.field(name, f"must each be 1 to {_MOST_CHARACTERS} characters, none a control character")
    return stripped


def _moment(time: Timestamp) -> int:
    """Return microseconds, rounded up: document times have that unit, so this keeps comparisons exact."""
    return time.seconds * 1_000_000 - (-time.nanos // 1000)
