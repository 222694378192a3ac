"""The default embedder of new collections, and that each collection keeps the one it was created with."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from footnote.indexing.v1 import indexing_service_pb2 as pb
from footnote.stages.v1.scope_pb2 import Scope
from footnote.types.v1.collection_pb2 import VISIBILITY_PRIVATE, Collection
from footnote.types.v1.provider_pb2 import PROVIDER_KIND_EMBEDDING
from footnote.types.v1.role_pb2 import ROLE_WRITER
from footnote_indexing.app import build
from footnote_kit.testing import serve_app
from footnote_providers.e5 import files
from google.protobuf.field_mask_pb2 import FieldMask
from support.indexing import Client

pytestmark = pytest.mark.full

MASKS = (["description"], ["settings"], ["settings.embedding"], ["settings.ttl", "settings.embedding.provider"])
WRITER = Scope(tenant_id="t", user_id="w", roles=[ROLE_WRITER])


class Service:
    """Indexing over one folder, begun again with another default or other packages; no model is loaded for it."""

    def __init__(self, folder: Path, uri: str, patch: pytest.MonkeyPatch) -> None:
        self._folder, self._uri, self._patch = folder, uri, patch

    @asynccontextmanager
    async def running(self, provider: str | None, *, installed: bool, scope: Scope = WRITER) -> AsyncIterator[Client]:
        if provider is None:
            self._patch.delenv("FOOTNOTE_EMBEDDING_PROVIDER", raising=False)
        else:
            self._patch.setenv("FOOTNOTE_EMBEDDING_PROVIDER", provider)
        self._patch.setattr(files, "installed", lambda: installed)
        async with serve_app(build, data_dir=self._folder, vector_store_uri=self._uri) as served:
            yield Client(served.channel, scope)


@pytest.fixture
def service(tmp_path: Path, uri: str, monkeypatch: pytest.MonkeyPatch) -> Service:
    """Indexing over one folder, which a test starts again with other defaults."""
    return Service(tmp_path, uri, monkeypatch)


async def create(client: Client, name: str) -> Collection:
    """Make a collection of a writer's own, who chooses no embedder."""
    wanted = Collection(name=name, visibility=VISIBILITY_PRIVATE)
    return (
        await client.stub.CreateCollection(pb.CreateCollectionRequest(scope=client.scope, collection=wanted))
    ).collection


async def embedder(client: Client, name: str) -> str:
    """The embedder of a collection, as searches see it."""
    [found] = (await client.locate(name)).collections
    assert found.collection.settings.embedding.provider == (await client.get(name)).settings.embedding.provider
    return found.collection.settings.embedding.provider


async def note(client: Client) -> tuple[str, str]:
    """The default embedder, and its note."""
    listed = (await client.stub.ListProviders(pb.ListProvidersRequest(scope=client.scope))).providers
    [default] = [one for one in listed if one.is_default]
    assert default.kind == PROVIDER_KIND_EMBEDDING
    assert [one.id for one in listed if one.note] == [default.id]
    return default.id, default.note


@pytest.mark.parametrize("said", ["auto", None], ids=["told so", "told nothing"])
@pytest.mark.parametrize(("installed", "wanted", "words"), [
    (True, "e5", "by meaning in about 100 languages"),
    (False, "builtin", "know words and not meaning"),
])  # fmt: skip
async def test_it_is_what_is_installed(
    service: Service, said: str | None, installed: bool, wanted: str, words: str
) -> None:
    async with service.running(said, installed=installed) as client:
        made = await create(client, f"new-{wanted}-{said}".lower())
        assert await embedder(client, made.id) == wanted
        assert made.settings.embedding.model
        assert made.settings.embedding.dimensions
        assert (await note(client))[0] == wanted
        assert words in (await note(client))[1]


async def test_a_collection_keeps_what_it_began_with_until_it_is_moved(service: Service) -> None:
    async with service.running("builtin", installed=True) as client:
        before = await create(client, "before")
    async with service.running(None, installed=True) as client:
        after = await create(client, "after")
        for found in (before, after):
            begun = await embedder(client, found.id)
            for paths in MASKS:
                changed = Collection(id=found.id, description="changed")
                request = pb.UpdateCollectionRequest(
                    scope=client.scope, collection=found.id, resource=changed, update_mask=FieldMask(paths=paths)
                )
                await client.stub.UpdateCollection(request)
                assert await embedder(client, found.id) == begun, paths
    async with service.running(None, installed=False) as client:
        assert await embedder(client, before.id) == "builtin"
        assert await embedder(client, after.id) == "e5"
        assert await embedder(client, (await create(client, "later")).id) == "builtin"


async def test_a_policy_without_e5_leaves_the_built_in(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTE_ALLOWED_EMBEDDING_PROVIDERS", "builtin,onnx")
    async with service.running("auto", installed=True) as client:
        assert await embedder(client, (await create(client, "bound")).id) == "builtin"
        assert "policy" in (await note(client))[1]


async def test_what_is_named_counts_for_all(service: Service) -> None:
    async with service.running("builtin", installed=True) as client:
        assert await embedder(client, (await create(client, "named")).id) == "builtin"
        assert await note(client) == (
            "builtin",
            "New collections are searched with the built-in vectors, which know words and not meaning, "
            "as FOOTNOTE_EMBEDDING_PROVIDER says",
        )
