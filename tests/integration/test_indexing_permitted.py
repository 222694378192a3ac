"""Indexing checks the policy itself for every caller: when settings are given, and before texts are embedded."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from footnote.indexing.v1 import indexing_service_pb2 as pb
from footnote.indexing.v1.indexing_service_pb2_grpc import IndexingServiceStub
from footnote.stages.v1.parsing_pb2 import BLOCK_KIND_PARAGRAPH, Block, ParsedMetadata
from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote.stages.v1.text_bounds_pb2 import TextBounds
from footnote.types.v1.answer_pb2 import MESSAGE_ROLE_USER, MemoryMessage
from footnote.types.v1.collection_pb2 import VISIBILITY_PRIVATE, Collection, CollectionSettings
from footnote.types.v1.role_pb2 import ROLE_ADMIN, ROLE_WRITER, Role
from footnote_indexing.app import build
from footnote_kit.errors import FailedPrecondition, InvalidArgument, PermissionDenied
from footnote_kit.testing import serve_app
from google.protobuf.json_format import ParseDict
from support.doubles.remote_provider import RemoteProvider, remote_provider

pytestmark = pytest.mark.full

AWAY = {"provider": "openai", "model": "away-embed", "dimensions": 64}


@pytest.fixture
async def outside(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[RemoteProvider]:
    """A provider elsewhere that notes what it receives."""
    async with remote_provider() as server:
        monkeypatch.setenv("FOOTNOTE_OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("FOOTNOTE_OPENAI_API_KEY", "sk-elsewhere-0123456789")
        yield server


@asynccontextmanager
async def indexing(folder: Path) -> AsyncIterator[IndexingServiceStub]:
    async with serve_app(build, data_dir=folder, vector_store_uri="http://127.0.0.1:9") as served:
        yield IndexingServiceStub(served.channel)


def scope(role: Role.ValueType) -> Scope:
    return Scope(tenant_id="acme", user_id="ann", roles=[role])


async def create(stub: Any, role: Role.ValueType, name: str, settings: dict[str, Any]) -> Collection:
    wanted = Collection(name=name, visibility=VISIBILITY_PRIVATE, settings=ParseDict(settings, CollectionSettings()))
    request = pb.CreateCollectionRequest(scope=scope(role), collection=wanted)
    return (await stub.CreateCollection(request)).collection


CHOICES: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"embedding": {"provider": "builtin", "dimensions": 64}}, True),
    ({"embedding": AWAY}, False),
    ({"embedding": {"provider": "ollama"}}, False),
    ({"generation": {"provider": "builtin"}}, True),
    ({"generation": {"provider": "openai", "model": "gpt-5-mini"}}, False),
    ({"generation": {"model": "gpt-5-mini"}}, False),
    ({"rerank": {"provider": "mmr"}}, True),
    ({"rerank": {"provider": "none"}}, True),
    ({"rerank": {"provider": "http"}}, False),
    ({"rerank": {"provider": "cosine"}}, False),
]


async def test_a_writer_gives_its_collections_no_provider_that_is_not_in_use(
    tmp_path: Path, outside: RemoteProvider
) -> None:
    async with indexing(tmp_path) as stub:
        for number, (settings, free) in enumerate(CHOICES):
            if free:
                await create(stub, ROLE_WRITER, f"w{number}", settings)
            else:
                with pytest.raises(PermissionDenied, match="administrator") as caught:
                    await create(stub, ROLE_WRITER, f"w{number}", settings)
                assert caught.value.reason == "PROVIDER_NOT_ALLOWED", settings
            if settings.get("embedding", {}).get("provider") != "ollama":
                await create(stub, ROLE_ADMIN, f"a{number}", settings)
        # What an administrator has set stays as it is when a writer changes something else, and cannot be exchanged.
        made = await create(stub, ROLE_ADMIN, "tuned", {"generation": {"provider": "openai", "model": "gpt-5-mini"}})
        for generation, free in (({"temperature": 0.3}, True), ({"model": "gpt-5"}, False)):
            change = Collection(id=made.id, settings=ParseDict({"generation": generation}, CollectionSettings()))
            request = pb.UpdateCollectionRequest(scope=scope(ROLE_WRITER), collection=made.id, resource=change)
            if free:
                await stub.UpdateCollection(request)
            else:
                with pytest.raises(PermissionDenied):
                    await stub.UpdateCollection(request)
    assert outside.received("dimensions") == []  # known from the settings: no call was needed


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"prompt": {"systemPrompt": "x" * 8001}}, "system_prompt must have at most 8000"),
        ({"prompt": {"tokenBudget": 100_000}}, "token_budget must be from 100 to 32000"),
        ({"generation": {"maxTokens": 1_000_000}}, "max_tokens must be from 1 to 16384"),
        ({"generation": {"stop": {"values": ["x" * 300]}}}, "must have at most 200 characters"),
        (
            {"rerank": {"provider": "lexical", "settings": {"x": "y" * 20_000}}},
            "settings must have at most 16384 bytes",
        ),
        ({"embedding": {"settings": {"document_prefix": "y" * 20_000}}}, "settings must have at most 16384 bytes"),
        (
            {"embedding": {"provider": "openai", "settings": {"base_url": "http://169.254.169.254"}}},
            "for the deployment",
        ),
    ],
)
async def test_settings_have_bounds(
    tmp_path: Path, outside: RemoteProvider, settings: dict[str, Any], words: str
) -> None:
    async with indexing(tmp_path) as stub:
        with pytest.raises(InvalidArgument, match=words):
            await create(stub, ROLE_ADMIN, "endless", settings)


async def test_a_policy_made_later_binds_what_is_there(
    tmp_path: Path, outside: RemoteProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with indexing(tmp_path) as stub:
        made = await create(stub, ROLE_ADMIN, "away", {"embedding": AWAY})

    def parts() -> Iterator[pb.IndexDocumentRequest]:
        document = Document(id="d", collection_id=made.id, revision=1, filename="a.txt")
        yield pb.IndexDocumentRequest(scope=scope(ROLE_ADMIN), header=pb.IndexDocumentHeader(document=document))
        block = Block(kind=BLOCK_KIND_PARAGRAPH, text="Penguins march south.")
        yield pb.IndexDocumentRequest(blocks=pb.BlockBatch(blocks=[block]))
        yield pb.IndexDocumentRequest(metadata=ParsedMetadata())

    message = MemoryMessage(message_id="m", conversation_id="c", role=MESSAGE_ROLE_USER, text="Penguins?")
    monkeypatch.setenv("FOOTNOTE_EMBEDDING_PROVIDER", "openai")
    monkeypatch.setenv("FOOTNOTE_EMBEDDING_MODEL", "away-embed")
    for name, value, kind in (
        ("FOOTNOTE_LOCAL_ONLY", "true", FailedPrecondition),
        ("FOOTNOTE_ALLOWED_EMBEDDING_PROVIDERS", "builtin,onnx", PermissionDenied),
    ):
        with monkeypatch.context() as patched:
            patched.setenv(name, value)
            async with indexing(tmp_path) as stub:
                calls: list[Any] = [
                    _drained(stub.IndexDocument(parts())),
                    stub.IndexMessages(
                        pb.IndexMessagesRequest(scope=scope(ROLE_ADMIN), messages=[message], bounds=TextBounds())
                    ),
                ]
                for call in calls:
                    with pytest.raises(kind) as caught:
                        await call
                    assert caught.value.reason == "PROVIDER_NOT_ALLOWED"
                # It can still be described and deleted: nothing is embedded for that.
                change = Collection(id=made.id, description=f"since {name}")
                await stub.UpdateCollection(
                    pb.UpdateCollectionRequest(scope=scope(ROLE_ADMIN), collection=made.id, resource=change)
                )
    async with indexing(tmp_path) as stub:
        for bounds in (None, TextBounds(local_only=True, because="the collection 'hr'")):
            request = pb.IndexMessagesRequest(scope=scope(ROLE_ADMIN), messages=[message], bounds=bounds)
            with pytest.raises(FailedPrecondition, match="where texts must stay"):
                await stub.IndexMessages(request)
    assert outside.received("Penguins") == []


async def _drained(events: Any) -> None:
    async for _ in events:
        pass
