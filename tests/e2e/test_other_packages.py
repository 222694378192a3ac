"""Parsers, rerankers, models, verifiers and embedders of somebody else's package, found by its entry points alone."""

import os
import sys
from collections.abc import AsyncIterator, Iterator

import pytest
from footnote.edge.v1 import collections_pb2 as pb
from footnote.edge.v1.providers_pb2 import ListProvidersRequest
from footnote.types.v1 import collection_pb2 as col
from footnote.types.v1.answer_pb2 import VERDICT_SUPPORTED
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_INDEXED
from footnote.types.v1.provider_pb2 import (
    PROVIDER_KIND_EMBEDDING,
    PROVIDER_KIND_MODEL,
    PROVIDER_KIND_RERANKER,
)
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client
from support.other_package import install

LINES = (
    b"LEMON 1\n* The lemon trees of the harbour were planted by Ada Brown in 1911.\n"
    b"* The lemon trees of the harbour give zest to the cakes of the town.\n"
)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment in whose environment the package is installed."""
    folder = tmp_path_factory.mktemp("others")
    package = install(folder / "site")
    env = {
        "PYTHONPATH": os.pathsep.join([*sys.path, str(package)]),
        "FOOTNOTE_GENERATION_VERIFIER": "trusting:any",
    }
    with deployment(folder, env=env) as started:
        yield started


@pytest.fixture
async def edge(running: Deployment) -> AsyncIterator[EdgeClient]:
    async with edge_client(running.address()) as client:
        yield client


async def test_what_another_package_brings_is_listed_beside_ours(edge: EdgeClient) -> None:
    listed = (await edge.stub.ListProviders(ListProvidersRequest())).providers
    names = {(one.kind, one.id): one.display_name for one in listed}
    assert names[PROVIDER_KIND_RERANKER, "zest"] == "Likes zest"
    assert names[PROVIDER_KIND_MODEL, "parrot"] == "Parrot"
    assert names[PROVIDER_KIND_EMBEDDING, "other-words"] == "Other words"
    assert names[PROVIDER_KIND_MODEL, "builtin"] != "Impostor"


async def test_its_parser_embedder_reranker_model_and_verifier_do_the_work(edge: EdgeClient) -> None:
    settings = col.CollectionSettings(
        chunking=col.ChunkingSettings(
            strategy=col.CHUNKING_STRATEGY_PARAGRAPH, size=100, overlap_percent=0, contextual_header=False
        ),
        embedding=col.EmbeddingSettings(provider="other-words"),
        rerank=col.RerankSettings(provider="zest"),
        generation=col.GenerationSettings(provider="parrot"),
    )
    await edge.stub.CreateCollection(
        pb.CreateCollectionRequest(collection=col.Collection(name="lemons", settings=settings))
    )
    document = await edge.put(LINES, "harbour.lemon", collection="lemons")
    assert document.state == DOCUMENT_STATE_INDEXED, document
    assert (document.document_type, document.mime_type, document.title) == ("lemon", "application/x-lemon", "A lemon")
    assert document.chunk_count == 2
    done = await edge.answer("Who planted the lemon trees of the harbour?", collections=["lemons"])
    assert done.sources[0].text.endswith("zest to the cakes of the town.")
    assert done.answer.text == "The lemon trees of the harbour give zest to the cakes of the town. [1]"
    assert (done.answer.provider, done.answer.model) == ("parrot", "grey")
    assert done.answer.claims[0].support == VERDICT_SUPPORTED
    assert not done.degradations


async def test_a_file_of_that_name_without_its_first_bytes_is_what_its_bytes_say(edge: EdgeClient) -> None:
    document = await edge.put(b"No such file at all, only words.", "plain.lemon", collection="default")
    assert document.document_type == "txt"


def test_what_is_left_out_is_said_in_the_log(running: Deployment) -> None:
    said = [line for line in running.log().splitlines() if "plugin_ignored" in line]
    for name, reason in (
        ("greedy", ".pdf is read by a parser of ours"),
        ("impostor", "'builtin' is there already"),
        ("missing", "cannot be loaded: AttributeError"),
        ("wrong", "is no footnote_generation.ports.ModelRegistration"),
    ):
        assert any(f'"{name}"' in line and reason in line for line in said), (name, said)
