"""Where a fetch of a repository keeps its bytes: in containers /tmp is small, or memory that counts for the service."""

import gc
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from dulwich.repo import Repo
from footnote_edge.sources.kinds import GIT
from footnote_edge.sources.kinds.git_http import MEMORY
from footnote_edge.sources.kinds.git_repository import _SMALL
from footnote_edge.sources.policy import Policy
from footnote_edge.sources.ports import Opening, SourceRefused, SourceUnavailable
from footnote_edge.sources.registry import parsed
from footnote_edge.sources.testing import Memory, listing
from support.source_servers import GitRepository, git_server


@pytest.fixture
def served(tmp_path: Path) -> Iterator[GitRepository]:
    """A repository over HTTP."""
    with git_server(GitRepository.make(tmp_path / "origin")) as repository:
        yield repository


async def files_of(repository: GitRepository, cache: Path, item_bytes: int = 100 * 1024 * 1024) -> list[str]:
    """List a repository as a run does, with a cache of its own."""
    settings = parsed(GIT.settings, {"url": repository.url + "/.git"})
    policy = Policy.of((), ("127.0.0.1",), (), timeout=10.0, item_bytes=item_bytes)
    connection = GIT.open(Opening(settings, parsed(GIT.secrets, {}), "default", cache, policy))
    try:
        return [item.id for page in await listing(connection, Memory()) for item in page.items]
    finally:
        await connection.close()


def holds(cache: Path, text: bytes) -> bool:
    repo = Repo(str(cache / "git"))
    try:
        return any(text in repo[sha].as_raw_string() for sha in repo.object_store)
    finally:
        repo.close()


@pytest.mark.parametrize("size", [10_000, _SMALL], ids=["small", "large"])
async def test_a_file_that_left_the_repository_leaves_the_disk(
    served: GitRepository, tmp_path: Path, size: int
) -> None:
    """At once from a small cache, and within a day from a large one: git is where files are removed for good."""
    cache = tmp_path / "cache"
    (served.folder / "staff.txt").write_text("Ada Quokka earns 54 000.")
    (served.folder / "kept.bin").write_bytes(os.urandom(size))
    served.commit()
    assert await files_of(served, cache) == ["kept.bin", "staff.txt"]
    (served.folder / "staff.txt").unlink()
    (served.folder / "kept.txt").write_text("Open from nine to five.")
    served.commit()
    assert await files_of(served, cache) == ["kept.bin", "kept.txt"]
    assert holds(cache, b"Quokka") is (size == _SMALL)
    for pack in (cache / "git" / "objects" / "pack").iterdir():
        os.utime(pack, (0, pack.stat().st_mtime - 25 * 3600))
    sent = served.bytes_sent
    assert await files_of(served, cache) == ["kept.bin", "kept.txt"]
    assert (served.bytes_sent - sent > size) is (size == _SMALL), "only what must be fetched again is"
    assert not holds(cache, b"Quokka")
    assert holds(cache, b"nine to five")


@pytest.mark.parametrize(
    ("free", "item_bytes", "told"),
    [(120_000, 100_000, "more than 20000 bytes, which is what the disk"), (10**9, 1000, "larger than 20000 bytes")],
    ids=["of the disk", "of the policy"],
)
async def test_a_repository_beyond_its_limit_is_refused_before_the_disk_is_full(
    served: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, item_bytes: int, told: str
) -> None:
    (served.folder / "big.bin").write_bytes(os.urandom(21_000))
    served.commit()
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=free))
    with pytest.raises(SourceRefused, match=told):
        await files_of(served, tmp_path / "cache", item_bytes)
    assert not [one for one in (tmp_path / "cache").rglob("*") if one.is_file() and one.stat().st_size > 5000]


async def test_what_a_killed_fetch_leaves_goes_with_the_next_one(served: GitRepository, tmp_path: Path) -> None:
    (served.folder / "a.txt").write_text("A text.")
    served.commit()
    cache = tmp_path / "cache"
    assert await files_of(served, cache) == ["a.txt"]
    left = ["git/objects/tmp_pack_1", "git/refs/heads/footnote.lock", "git-pruned/HEAD"]
    (cache / "git-pruned").mkdir()
    for name in left:
        (cache / name).write_bytes(b"half")
    (served.folder / "b.txt").write_text("Another.")
    served.commit()
    assert await files_of(served, cache) == ["a.txt", "b.txt"]
    assert [name for name in left if (cache / name).exists()] == []


async def test_a_pack_beyond_memory_lies_in_the_sources_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = GitRepository.make(tmp_path / "origin")
    (repository.folder / "big.bin").write_bytes(os.urandom(MEMORY + 1))
    repository.commit()
    with git_server(repository):
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "no folder"))
        assert await files_of(repository, tmp_path / "cache") == ["big.bin"]
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["git"]  # nothing of it stays


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_damaged_cache_is_begun_anew(served: GitRepository, tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (served.folder / name).write_text(f"The text of {name}.")
    served.commit()
    cache = tmp_path / "cache"
    assert await files_of(served, cache) == ["a.txt", "b.txt"]
    [pack] = (cache / "git" / "objects" / "pack").glob("*.pack")
    whole = pack.read_bytes()
    pack.chmod(0o600)
    pack.write_bytes(whole[:-30] + bytes(10) + whole[-20:])  # in a file, which is stored last
    (served.folder / "c.txt").write_text("A third.")
    served.commit()
    with pytest.raises(SourceUnavailable, match="GitProtocolError"):
        await files_of(served, cache)
    assert await files_of(served, cache) == ["a.txt", "b.txt", "c.txt"]
    gc.collect()  # dulwich cannot close the damaged pack, and says so here
