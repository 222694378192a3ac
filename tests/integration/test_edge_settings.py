"""A collection's settings at the public API, over real stages: refused at write, shown as given and as they count."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from footnote.edge.v1.answers_pb2 import AskRequest
from footnote.edge.v1.collections_pb2 import (
    CreateCollectionRequest,
    GetCollectionRequest,
    ListCollectionsRequest,
    UpdateCollectionRequest,
)
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest
from footnote.types.v1 import collection_pb2 as col
from footnote_augmentation.app import build as build_augmentation
from footnote_edge.app import build as build_edge
from footnote_generation.app import build as build_generation
from footnote_indexing.app import build as build_indexing
from footnote_kit.edge import EdgeStub
from footnote_kit.errors import FailedPrecondition, InvalidArgument, NotFound
from footnote_kit.testing import serve_app
from footnote_retrieval.app import build as build_retrieval
from google.protobuf.field_mask_pb2 import FieldMask

pytestmark = pytest.mark.full


@pytest.fixture
async def edge(uri: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[EdgeStub]:
    """Every stage but ingestion, of a deployment without keys, with a budget and a limit of its own."""
    for name in ("OPENAI_API_KEY", "FOOTNOTE_OPENAI_API_KEY", "OPENAI_BASE_URL", "FOOTNOTE_OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FOOTNOTE_AUGMENTATION_TOKEN_BUDGET", "1234")
    monkeypatch.setenv("FOOTNOTE_RETRIEVAL_LIMIT", "7")
    async with AsyncExitStack() as stack:
        indexing = await stack.enter_async_context(serve_app(build_indexing, vector_store_uri=uri))
        addresses = {"indexing": indexing.address, "ingestion": "127.0.0.1:1"}
        retrieval = await stack.enter_async_context(
            serve_app(build_retrieval, addresses=addresses, vector_store_uri=uri)
        )
        addresses["retrieval"] = retrieval.address
        for name, build in (("augmentation", build_augmentation), ("generation", build_generation)):
            addresses[name] = (await stack.enter_async_context(serve_app(build))).address
        yield EdgeStub((await stack.enter_async_context(serve_app(build_edge, addresses=addresses))).channel)


def of(**settings: object) -> col.Collection:
    return col.Collection(name="tried", settings=col.CollectionSettings(**settings))  # type: ignore[arg-type]


REFUSED = [
    (of(rerank={"provider": "nope"}), "PROVIDER_INVALID", {}),
    (of(generation={"provider": "nope"}), "PROVIDER_INVALID", {}),
    (of(embedding={"provider": "nope"}), "PROVIDER_INVALID", {}),
    (of(generation={"provider": "builtin", "settings": {"x": 1}}), "PROVIDER_INVALID", {}),
    (of(rerank={"provider": "lexical", "settings": {"weight": 2}}), "PROVIDER_INVALID", {}),
    (of(generation={"provider": "openai"}), "PROVIDER_UNCONFIGURED", ("model", "openai", "FOOTNOTE_OPENAI_API_KEY")),
    (of(embedding={"provider": "openai"}), "PROVIDER_UNCONFIGURED", ("embedding", "openai", "FOOTNOTE_OPENAI_API_KEY")),
    (of(embedding={"provider": "onnx"}), "PROVIDER_UNCONFIGURED", ("embedding", "onnx", "FOOTNOTE_ONNX_MODEL")),
    (
        of(rerank={"provider": "http"}),
        "PROVIDER_UNCONFIGURED",
        ("reranker", "http", "FOOTNOTE_AUGMENTATION_RERANK_URL"),
    ),
    (
        of(rerank={"provider": "onnx"}),
        "PROVIDER_UNCONFIGURED",
        ("reranker", "onnx", "FOOTNOTE_AUGMENTATION_RERANK_MODEL"),
    ),
    (of(prompt={"locale": "xx"}), "INVALID_FIELD", "collection.settings.prompt.locale"),
    (of(prompt={"token_budget": 32_001}), "INVALID_FIELD", "collection.settings.prompt.token_budget"),
    (of(prompt={"token_budget": 99}), "INVALID_FIELD", "collection.settings.prompt.token_budget"),
    (of(generation={"max_tokens": 16_385}), "INVALID_FIELD", "collection.settings.generation.max_tokens"),
    (of(generation={"stop": {"values": ["x"] * 17}}), "INVALID_FIELD", "collection.settings.generation.stop"),
]


@pytest.mark.parametrize(("wanted", "reason", "more"), REFUSED, ids=lambda one: str(getattr(one, "settings", ""))[:40])
async def test_what_every_question_would_be_refused_is_refused_at_write(
    edge: EdgeStub, wanted: col.Collection, reason: str, more: object
) -> None:
    plain = (await edge.CreateCollection(CreateCollectionRequest(collection=col.Collection(name="plain")))).collection
    changed = col.Collection(settings=wanted.settings)
    kind = FailedPrecondition if reason == "PROVIDER_UNCONFIGURED" else InvalidArgument
    for place, call in (
        ("collection", edge.CreateCollection(CreateCollectionRequest(collection=wanted))),
        ("resource", edge.UpdateCollection(UpdateCollectionRequest(collection=plain.id, resource=changed))),
    ):
        with pytest.raises(kind) as refused:
            await call
        assert refused.value.reason == reason
        if isinstance(more, tuple):
            assert tuple(refused.value.metadata[key] for key in ("kind", "provider", "needs")) == more
        elif more:
            assert refused.value.violations[0].field == str(more).replace("collection", place)
            assert "collection." not in refused.value.message or place == "collection"
    listed = (await edge.ListCollections(ListCollectionsRequest())).collections
    assert list(listed) == [plain], "it was made or changed all the same"


async def test_settings_are_shown_as_given_and_as_they_count(edge: EdgeStub) -> None:
    settings = col.CollectionSettings(retrieval={"neighbors": 2}, generation={"strict": True})
    made = (
        await edge.CreateCollection(CreateCollectionRequest(collection=col.Collection(name="shown", settings=settings)))
    ).collection
    shown = (await edge.GetCollection(GetCollectionRequest(collection=made.id))).collection
    shown.settings.ClearField("embedding")
    assert shown.settings == settings
    counting = shown.effective_settings
    assert (counting.retrieval.neighbors, counting.generation.strict) == (2, True)
    assert (counting.retrieval.limit, counting.prompt.token_budget) == (7, 1234), "the deployment's do not count"
    assert (counting.chunking.size, counting.generation.max_tokens, counting.rerank.provider) == (1000, 1024, "none")
    # Cleared, it is inherited again; `effective_settings` in a request is ignored.
    change = col.Collection(effective_settings=col.CollectionSettings(retrieval={"neighbors": 5}))
    mask = FieldMask(paths=["settings.retrieval.neighbors"])
    await edge.UpdateCollection(UpdateCollectionRequest(collection=made.id, resource=change, update_mask=mask))
    after = (await edge.GetCollection(GetCollectionRequest(collection=made.id))).collection
    assert not after.settings.retrieval.HasField("neighbors")
    assert after.effective_settings.retrieval.neighbors == 0
    assert after.settings.generation.strict
    # With a path, false counts as present.
    change.settings.generation.strict = False
    mask = FieldMask(paths=["settings.generation.strict"])
    await edge.UpdateCollection(UpdateCollectionRequest(collection=made.id, resource=change, update_mask=mask))
    after = (await edge.GetCollection(GetCollectionRequest(collection=made.id))).collection
    assert after.settings.generation.HasField("strict")
    assert not after.effective_settings.generation.strict


async def test_a_conversation_over_a_collection_that_is_not_there_is_refused(edge: EdgeStub) -> None:
    with pytest.raises(NotFound) as refused:
        await edge.CreateConversation(CreateConversationRequest(collections=["nowhere"]))
    assert refused.value.reason == "COLLECTION_NOT_FOUND"


async def test_a_setting_out_of_range_is_refused_before_anything_is_done(edge: EdgeStub) -> None:
    with pytest.raises(InvalidArgument) as refused:
        async for _ in edge.Ask(AskRequest(question="q", retrieval={"limit": 0, "min_score": 2})):
            pass
    assert [one.field for one in refused.value.violations] == ["retrieval.limit", "retrieval.min_score"]
