"""Everything that a deployment writes is its own: files 0600, folders 0700, memory and environment closed."""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from footnote.edge.v1.conversations_pb2 import CreateConversationRequest
from footnote.edge.v1.documents_pb2 import DeleteDocumentRequest
from footnote.edge.v1.system_pb2 import GetHealthRequest, GetHealthResponse
from support.deployment import Deployment, deployment
from support.edge_client import edge_client

pytestmark = [pytest.mark.full, pytest.mark.slow]


@pytest.fixture(params=["all in one", "one process each"])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Deployment]:
    """A deployment on a folder that an earlier version left open, started with a permissive umask."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "edge").mkdir()
    (folder / "edge" / "old.txt").write_text("of an earlier version")
    for path in (folder, folder / "edge"):
        path.chmod(0o755)
    (folder / "edge" / "old.txt").chmod(0o644)
    before = os.umask(0o022)
    try:
        with deployment(folder, separate=request.param == "one process each") as started:
            yield started
    finally:
        os.umask(before)


async def use(running: Deployment) -> GetHealthResponse:
    """Upload, ask, talk, delete; the last call is when the sandbox of all parsers is known."""
    async with edge_client(running.address()) as edge:
        document = await edge.put(b"The zebra sleeps standing.")
        await edge.put(b"The warranty is 60 months.", "b.txt")
        made = await edge.stub.CreateConversation(CreateConversationRequest())
        await edge.answer("How does the zebra sleep?", conversation_id=made.conversation.id)
        await edge.stub.DeleteDocument(DeleteDocumentRequest(document_id=document.id))
        while "workers_isolated" not in logs(running):  # noqa: ASYNC110  # at its leisure: no start waits for it
            await asyncio.sleep(0.1)
        return await edge.stub.GetHealth(GetHealthRequest())


def logs(running: Deployment) -> str:
    return "".join(running.log(target) for target in running.targets())


def test_files_and_folders_are_the_owners_alone(opened: Deployment) -> None:
    health = asyncio.run(use(opened))
    seen = []
    for parent, folders, files in os.walk(opened.folder):
        for name in (*folders, *files):
            path = Path(parent) / name
            if path.parent == opened.folder and path.suffix == ".log":
                continue  # written by this test, not by the deployment
            seen.append(path)
            # A socket's x bit means nothing; the engine makes its own with all of the owner's.
            allowed = 0o700 if path.is_dir() or path.is_socket() else 0o600
            assert stat.S_IMODE(path.lstat().st_mode) & ~allowed == 0, f"{path} {oct(path.lstat().st_mode)}"
    assert stat.S_IMODE(opened.folder.stat().st_mode) == 0o700
    suffixes = {path.name.partition(".")[2] for path in seen}
    assert {"db", "json", "lock", "log"} <= suffixes, suffixes
    assert any(path.suffix.startswith(".db-") for path in seen)
    assert "data_folder_was_open" in logs(opened)
    # The sandbox of parsers is reported to operators.
    details = {part.name: part.detail for part in health.components}
    assert details["ingestion"].startswith("Parser processes isolated") or "not isolated" in details["ingestion"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything; tests/unit/kit/test_private.py shows the effect")
def test_memory_and_environment_are_closed(opened: Deployment) -> None:
    """The kernel gives root the /proc files of a non-dumpable process: no other user can read its environment."""
    for process in opened.processes.values():
        assert Path(f"/proc/{process.pid}/environ").stat().st_uid == 0
