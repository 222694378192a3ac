"""Parts of every kind that another package can provide, found by its entry points alone."""

import os
import sys
from collections.abc import AsyncIterator, Iterator

import pytest
from footnote.edge.v1 import collections_pb2 as pb
from footnote.edge.v1.providers_pb2 import CheckProviderRequest, ListProvidersRequest
from footnote.types.v1 import collection_pb2 as col
from footnote.types.v1.answer_pb2 import VERDICT_SUPPORTED
from footnote.types.v1.document_pb2 import DOCUMENT_STATE_ERROR, DOCUMENT_STATE_INDEXED
from footnote.types.v1.provider_pb2 import (
    PROVIDER_KIND_EMBEDDING,
    PROVIDER_KIND_MODEL,
    PROVIDER_KIND_RERANKER,
    PROVIDER_KIND_STORE,
)
from footnote_kit.errors import InvalidArgument
from support.deployment import Deployment, deployment
from support.edge_client import EdgeClient, edge_client
from support.other_package import install

pytestmark = pytest.mark.full

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
        "FOOTNOTE_VECTOR_STORE": "cellar",
    }
    with deployment(folder, env=env) as started:
        yield started


@pytest.fixture
async def edge(running: Deployment) -> AsyncIterator[EdgeClient]:
    """A client of the deployment."""
    async with edge_client(running.address()) as client:
        yield client


async def test_what_another_package_brings_is_listed_beside_ours(edge: EdgeClient) -> None:
    listed = (await edge.stub.ListProviders(ListProvidersRequest())).providers
    names = {(one.kind, one.id): one.display_name for one in listed}
    assert names[PROVIDER_KIND_RERANKER, "zest"] == "Likes zest"
    assert names[PROVIDER_KIND_MODEL, "parrot"] == "Parrot"
    assert names[PROVIDER_KIND_EMBEDDING, "other-words"] == "Other words"
    assert names[PROVIDER_KIND_MODEL, "builtin"] != "Impostor"
    assert [one.id for one in listed if one.kind == PROVIDER_KIND_STORE] == ["cellar"]


async def test_its_parser_embedder_store_reranker_model_and_verifier_do_the_work(edge: EdgeClient) -> None:
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
    request = CheckProviderRequest(kind=PROVIDER_KIND_STORE, id="cellar")
    health = (await edge.stub.CheckProvider(request)).health
    assert (health.healthy, health.details["engine"], health.details["chunks"]) == (True, "memory", 2)


def chunked_by(name: str) -> col.CollectionSettings:
    return col.CollectionSettings(
        chunking=col.ChunkingSettings(strategy=col.CHUNKING_STRATEGY_NAMED, chunker=name, contextual_header=False)
    )


@pytest.mark.parametrize("blocks", [3, 900], ids=["on a thread", "in the process of long documents"])
async def test_its_chunker_cuts(edge: EdgeClient, blocks: int) -> None:
    name = f"blocks-{blocks}"
    made = col.Collection(name=name, settings=chunked_by("each-block"))
    await edge.stub.CreateCollection(pb.CreateCollectionRequest(collection=made))
    text = "".join(f"Lemon tree {number} of the harbour is {number + 3} feet high.\n\n" for number in range(blocks))
    document = await edge.put(text.encode(), "trees.md", collection=name)
    assert document.state == DOCUMENT_STATE_INDEXED, document
    assert document.chunk_count == blocks
    assert document.chunking_strategy == col.CHUNKING_STRATEGY_NAMED
    done = await edge.answer("How high is lemon tree 2?", collections=[name])
    assert done.sources[0].text == "Lemon tree 2 of the harbour is 5 feet high."


async def test_a_chunker_that_loses_text_ends_the_document_and_says_so(edge: EdgeClient) -> None:
    made = col.Collection(name="forgetful", settings=chunked_by("forgetful"))
    await edge.stub.CreateCollection(pb.CreateCollectionRequest(collection=made))
    document = await edge.put(b"One.\n\nTwo.\n", "a.md", collection="forgetful")
    assert document.state == DOCUMENT_STATE_ERROR
    assert document.chunk_count == 0


@pytest.mark.parametrize("name", ["", "nobody"])
async def test_a_chunker_that_there_is_not_is_refused(edge: EdgeClient, name: str) -> None:
    made = col.Collection(name="nobody", settings=chunked_by(name))
    with pytest.raises(InvalidArgument, match="each-block, fixed_window, forgetful"):
        await edge.stub.CreateCollection(pb.CreateCollectionRequest(collection=made))


async def test_its_locale_is_spoken_by_every_stage(edge: EdgeClient) -> None:
    """The prompt's wording, the words for places, and what is said without a model."""
    settings = col.CollectionSettings(
        prompt=col.PromptSettings(locale="eo"), generation=col.GenerationSettings(provider="builtin")
    )
    made = pb.CreateCollectionRequest(collection=col.Collection(name="esperanto", settings=settings))
    await edge.stub.CreateCollection(made)
    await edge.put(
        b"# Harbour\n\nAda Brown planted the trees of the harbour in 1911.\n", "a.md", collection="esperanto"
    )
    done = await edge.answer("Who planted the trees of the harbour?", collections=["esperanto"])
    assert done.sources[0].label.startswith("a.md, linioj 1-3")
    assert done.manifest.template_version == "grounded/eo/3"
    assert (await edge.answer("Hello!", collections=["esperanto"])).answer.text.startswith("Saluton!")
    lost = await edge.answer("What does the moon of Jupiter weigh?", collections=["esperanto"])
    assert lost.answer.text == "Mi trovis nenion pri tiu demando en viaj dokumentoj."


async def test_a_file_of_that_name_without_its_first_bytes_is_what_its_bytes_say(edge: EdgeClient) -> None:
    document = await edge.put(b"No such file at all, only words.", "plain.lemon", collection="default")
    assert document.document_type == "txt"


def test_what_is_left_out_is_said_in_the_log(running: Deployment) -> None:
    said = [line for line in running.log().splitlines() if "plugin_ignored" in line]
    for name, reason in (
        ("greedy", ".pdf is read by a parser of ours"),
        ("impostor", "'builtin' is there already"),
        ("paragraph", "'paragraph' is there already"),
        ("missing", "cannot be loaded: AttributeError"),
        ("not-one", "is no footnote_text.locales.Locale"),
        ("wrong", "is no footnote_kit.registration.Registration"),
        ("misplaced", "is registered as reranker, not as model"),
    ):
        assert any(f'"{name}"' in line and reason in line for line in said), (name, said)
