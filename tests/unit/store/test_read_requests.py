"""Requests made here instead of by pymilvus say the same."""

from __future__ import annotations

import numpy as np
import pytest
from footnote_store.requests import search_request
from numpy.typing import NDArray
from pymilvus.client.prepare import Prepare
from pymilvus.grpc_gen.milvus_pb2 import SearchRequest

# What every server takes for granted where it is left out.
GRANTED = {"ignore_growing": "False"}


def parts(request: SearchRequest) -> tuple[SearchRequest, dict[str, str]]:
    """A request without its parameters, whose order means nothing, and these."""
    parameters = {pair.key: pair.value for pair in request.search_params}
    rest = SearchRequest()
    rest.CopyFrom(request)
    del rest.search_params[:]
    return rest, parameters


@pytest.mark.parametrize(
    ("field", "query"), [("sparse", "stück bolt 中文"), ("dense", np.linspace(-1, 1, 8, dtype=np.float32))]
)
def test_a_search_is_asked_for_as_pymilvus_would(field: str, query: NDArray[np.float32] | str) -> None:
    ours, our_parameters = parts(search_request("chunks", field, query, 'a == "b"', 60, ["text", "extra"]))
    theirs, their_parameters = parts(
        Prepare.search_requests_with_expr(
            "chunks", field, {}, 60, data=[query], expr='a == "b"', output_fields=["text", "extra"]
        )
    )
    assert ours == theirs
    assert our_parameters | GRANTED == their_parameters
