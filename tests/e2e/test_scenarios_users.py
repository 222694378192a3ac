"""Who sees whose documents: users of one tenant with keys of their own, against the real services."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from footnote.edge.v1.answers_pb2 import AskRequest, SearchRequest
from footnote.edge.v1.collections_pb2 import CreateCollectionRequest
from footnote.edge.v1.documents_pb2 import UploadDocumentRequest, UploadMetadata, WatchDocumentRequest
from footnote.types.v1 import collection_pb2 as col
from support.deployment import Deployment, deployment
from support.edge_client import edge_client

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment in one process that wants keys."""
    with deployment(tmp_path_factory.mktemp("users"), env={"FOOTNOTE_EDGE_AUTH": "keys"}) as running:
        yield running


def key(running: Deployment, user: str, role: str, tenant: str = "one") -> dict[str, Any]:
    """Return the metadata of a call with a new key."""
    made = subprocess.run(
        [sys.executable, "-m", "footnote_cli.main", "keys", "create", user, "--user", user, "--role", role,
         "--tenant", tenant, "--json", "--data-dir", str(running.folder)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return {"metadata": (("x-api-key", json.loads(made.stdout)["key"]),)}


async def test_search_filtered_by_user_id_for_security(guarded: Deployment) -> None:
    admin, owner = key(guarded, "ann", "admin"), key(guarded, "ann", "reader")
    name = f"private-{uuid4().hex[:8]}"
    collection = col.Collection(name=name, visibility=col.VISIBILITY_PRIVATE)
    search, question = SearchRequest(query="code word xylophone"), AskRequest(question="What is the code word?")
    async with edge_client(guarded.address()) as client:
        await client.stub.CreateCollection(CreateCollectionRequest(collection=collection), **admin)
        head = UploadDocumentRequest(metadata=UploadMetadata(collection=name, filename="secret.txt"))
        data = UploadDocumentRequest(data=b"The code word is xylophone.")
        accepted = await client.stub.UploadDocument(iter([head, data]), **admin)
        watched = WatchDocumentRequest(document_id=accepted.document.id)
        async for _ in client.stub.WatchDocument(watched, timeout=60, **admin):
            pass
        found = await client.stub.Search(search, **owner)
        assert [one.chunk.filename for one in found.chunks] == ["secret.txt"]
        for other in (key(guarded, "bob", "reader"), key(guarded, "ann", "admin", tenant="two")):
            assert not (await client.stub.Search(search, **other)).chunks
            async for event in client.stub.Ask(question, timeout=60, **other):
                assert "xylophone" not in str(event)
