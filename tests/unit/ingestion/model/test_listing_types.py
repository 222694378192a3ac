"""A list of documents of a type that nothing reads is refused: it would be empty for ever."""

import pytest
from footnote.ingestion.v1.ingestion_service_pb2 import ListDocumentsRequest
from footnote_ingestion.model.listing import list_query
from footnote_kit.errors import InvalidArgument
from footnote_kit.testing import SCOPE


def test_types_are_those_that_parsers_read() -> None:
    assert list(list_query(ListDocumentsRequest(scope=SCOPE, document_types=["PDF", "md"])).document_types) == [
        "pdf",
        "md",
    ]
    with pytest.raises(InvalidArgument, match="has no 'pfd'; there are: code, csv") as caught:
        list_query(ListDocumentsRequest(scope=SCOPE, document_types=["pfd"]))
    assert caught.value.violations[0][0] == "document_types"
