"""Where the embedded engine listens, and who gets there."""

import asyncio
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from footnote_kit.errors import FailedPrecondition
from footnote_kit.private import MAX_SOCKET_PATH
from footnote_store.endpoint import Socket, socket_path, socket_uri
from footnote_store.engine import EmbeddedEngine
from footnote_store.store import VectorStore

pytestmark = pytest.mark.full

NOBODY = 65534
KNOCK = """
import os, socket, sys
os.setgid(65534); os.setuid(65534)
with socket.socket(socket.AF_UNIX) as one:
    one.connect(sys.argv[1])
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user of the machine may enter and read, as data folders of old are."""
    with tempfile.TemporaryDirectory(prefix="fn-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


async def healthy(uri: str) -> bool:
    store = VectorStore(uri)
    try:
        return bool((await store.health())["healthy"])
    finally:
        await store.close()


async def test_only_this_user_gets_to_the_engine(open_folder: Path) -> None:
    data = open_folder / "store"
    data.mkdir(mode=0o755)
    (data / "engine.sock").write_text("left by one that was killed")
    engine = EmbeddedEngine(data)
    try:
        uri = await engine.start()
        assert uri == socket_uri(data) == f"unix:{data}/engine.sock"
        assert await healthy(uri)
        assert stat.S_IMODE(data.stat().st_mode) == 0o700
        for file in data.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) & 0o077 == 0, file
        assert engine.pid is not None
        process = psutil.Process(engine.pid)
        assert not [one for one in process.net_connections("inet") if one.status == psutil.CONN_LISTEN]
        if os.geteuid() == 0:
            knock = [sys.executable, "-c", KNOCK, str(data / "engine.sock")]
            refused = await asyncio.to_thread(subprocess.run, knock, capture_output=True, text=True, check=False)
            assert "Permission denied" in refused.stderr
    finally:
        await engine.stop()


async def test_a_path_that_is_too_long_for_a_socket_gets_a_private_folder(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(open_folder))
    data = open_folder / ("long" * 30) / "store"
    path = socket_path(data)
    assert len(os.fsencode(path)) <= MAX_SOCKET_PATH
    assert path == socket_path(data)
    assert path != socket_path(data.parent)
    engine = EmbeddedEngine(data)
    try:
        assert await healthy(await engine.start())
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    finally:
        await engine.stop()


def test_a_folder_that_another_user_put_there_is_not_used(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(open_folder))
    endpoint = Socket(open_folder / ("long" * 30))
    elsewhere = open_folder / "elsewhere"
    elsewhere.mkdir()
    endpoint.path.parent.symlink_to(elsewhere)
    with pytest.raises(FailedPrecondition, match="must belong to this user"):
        endpoint.prepare()
    endpoint.path.parent.unlink()
    if os.geteuid() == 0:
        endpoint.path.parent.mkdir()
        os.chown(endpoint.path.parent, NOBODY, NOBODY)
        with pytest.raises(FailedPrecondition):
            endpoint.prepare()
        shutil.rmtree(endpoint.path.parent)
    endpoint.prepare()


def test_the_engines_folder_may_be_a_link_to_a_larger_disk(open_folder: Path) -> None:
    disk = open_folder / "disk"
    disk.mkdir(mode=0o755)
    (open_folder / "store").symlink_to(disk)
    Socket(open_folder / "store").prepare()
    assert stat.S_IMODE(disk.stat().st_mode) == 0o700
