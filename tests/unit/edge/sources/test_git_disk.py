"""Where a fetch of a repository keeps its bytes: in containers /tmp is small, or memory that counts for the service."""

import os
import tempfile
from pathlib import Path

import pytest
from footnote_edge.sources.kinds import GIT
from footnote_edge.sources.kinds.git_http import MEMORY
from footnote_edge.sources.policy import Policy
from footnote_edge.sources.ports import Opening
from footnote_edge.sources.registry import parsed
from footnote_edge.sources.testing import Memory, listing
from support.source_servers import GitRepository, git_server


async def test_a_pack_beyond_memory_lies_in_the_sources_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = GitRepository.make(tmp_path / "origin")
    (repository.folder / "big.bin").write_bytes(os.urandom(MEMORY + 1))
    repository.commit()
    with git_server(repository):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "no folder"))
        settings = parsed(GIT.settings, {"url": repository.url + "/.git"})
        policy = Policy.of((), ("127.0.0.1",), (), timeout=10.0)
        connection = GIT.open(Opening(settings, parsed(GIT.secrets, {}), "default", tmp_path / "cache", policy))
        try:
            assert [item.id for page in await listing(connection, Memory()) for item in page.items] == ["big.bin"]
        finally:
            await connection.close()
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["git"]  # nothing of it stays
