"""Which vector store a deployment uses, and the error if it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest
from footnote_cli.supervise import StartError, Supervisor
from footnote_cli.targets import parse
from footnote_kit.errors import FailedPrecondition
from footnote_kit.registration import Kind
from footnote_kit.settings import KitSettings
from footnote_store.endpoint import socket_uri
from footnote_store.registry import StoreRegistration, chosen, stores


@pytest.mark.parametrize(
    ("store", "uri", "wanted"),
    [
        ("", "", "milvus"), ("", "http://milvus:19530", "milvus-server"), ("milvus", "", "milvus"),
        ("milvus", "http://127.0.0.1:7", "milvus"), ("milvus-server", "http://milvus:19530", "milvus-server"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("target", ["all", "indexing", "retrieval", "store", "generation"])
def test_the_store_is_chosen_by_its_id_or_its_address(
    store: str, uri: str, wanted: str, target: str, tmp_path: Path
) -> None:
    settings = KitSettings(vector_store=store, vector_store_uri=uri, service_token="s" * 32)
    assert chosen(settings).id == wanted
    runtime = Supervisor(parse(target), settings, tmp_path, None).runtime
    reader = target in ("all", "indexing", "retrieval")
    assert runtime.vector_store_uri == (uri or (socket_uri(tmp_path / "store") if reader else ""))


@pytest.mark.parametrize("target", ["all", "indexing", "store"])
def test_an_unknown_store_is_said_before_anything_starts(target: str, tmp_path: Path) -> None:
    settings = KitSettings(vector_store="quadrant", service_token="s" * 32)
    with pytest.raises(
        StartError, match=r"FOOTNOTE_VECTOR_STORE: No vector store 'quadrant' is .* milvus, milvus-server"
    ):
        Supervisor(parse(target), settings, tmp_path, None)
    Supervisor(parse("generation"), settings, tmp_path, None)  # which has no use for one


def test_a_server_without_an_address_says_what_it_needs() -> None:
    with pytest.raises(FailedPrecondition, match="FOOTNOTE_VECTOR_STORE_URI") as caught:
        stores()["milvus-server"].build()
    assert caught.value.metadata == {"kind": "store", "provider": "milvus-server", "needs": "FOOTNOTE_VECTOR_STORE_URI"}


def test_only_the_embedded_one_is_kept_here() -> None:
    assert {one.id: isinstance(one, StoreRegistration) for one in stores().values()} == {
        "milvus": True, "milvus-server": False,
    }  # fmt: skip
    assert {one.kind for one in stores().values()} == {Kind.STORE}
