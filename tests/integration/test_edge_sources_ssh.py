"""Git repositories over SSH: a real server lets in the source's key, and shows the key that was pinned."""

import asyncio
import multiprocessing
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from footnote_edge.sources.kinds import GIT
from footnote_edge.sources.policy import Policy
from footnote_edge.sources.ports import Opening, SourceRefused, SourceUnavailable
from footnote_edge.sources.registry import parsed
from footnote_edge.sources.testing import SUITE, Check, listed
from support.source_servers import GitRepository
from support.ssh_server import SshServer, key_pair, ssh_server, why_not

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SshServer]:
    """A real SSH server with a repository."""
    with ssh_server(tmp_path_factory.mktemp("ssh") / "server") as running:
        yield running


@dataclass
class SshOrigin:
    """Files of a repository that is reached over SSH."""

    server: SshServer
    folder: Path
    private: tuple[str, ...] = ("127.0.0.1",)
    secrets: dict[str, str] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    kind = GIT

    def __post_init__(self) -> None:
        self.repository = GitRepository.make(self.folder / "repository")
        self.settings = {"url": f"{self.server.address}{self.repository.folder}", "host_key": self.server.host_key}
        self.secrets = {"private_key": self.server.private_key}

    def opening(self) -> Opening:
        policy = Policy.of((), self.private, (), timeout=10.0)
        settings, secrets = parsed(GIT.settings, self.settings), parsed(GIT.secrets, self.secrets)
        return Opening(settings, secrets, "default", self.folder / "cache", policy)

    async def put(self, name: str, text: str) -> None:
        (self.repository.folder / f"{name}.txt").write_text(text)
        self.repository.commit()

    async def remove(self, name: str) -> None:
        (self.repository.folder / f"{name}.txt").unlink()
        self.repository.commit()

    async def vanish(self) -> None:
        self.repository.folder.rename(self.folder / "elsewhere")


@pytest.fixture
def origin(server: SshServer, tmp_path: Path) -> SshOrigin:
    """That repository, as the conformance suite changes it."""
    return SshOrigin(server, tmp_path)


@pytest.mark.parametrize("check", SUITE, ids=lambda check: check.__name__)
async def test_the_kind_keeps_the_promises_of_the_port(check: Check, origin: SshOrigin) -> None:
    await check(origin)


async def test_a_host_with_another_key_is_refused(origin: SshOrigin, tmp_path: Path) -> None:
    await origin.put("one", "A text.")
    _, origin.settings["host_key"] = key_pair(tmp_path / "other")
    with pytest.raises(SourceRefused, match="another key"):
        await listed(origin)


async def test_a_key_that_the_host_does_not_know_is_refused(origin: SshOrigin, tmp_path: Path) -> None:
    await origin.put("one", "A text.")
    origin.secrets["private_key"], _ = key_pair(tmp_path / "other")
    with pytest.raises(SourceRefused, match="refuses the private key") as caught:
        await listed(origin)
    assert "PRIVATE" not in str(caught.value)


async def test_keys_of_the_account_are_not_used(
    origin: SshOrigin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await origin.put("one", "A text.")
    home = tmp_path / "home" / ".ssh"
    home.mkdir(parents=True, mode=0o700)
    (home / "id_ed25519").write_text(origin.server.private_key)
    (home / "id_ed25519").chmod(0o600)
    monkeypatch.setenv("HOME", str(home.parent))
    origin.secrets = {}
    with pytest.raises(SourceRefused):
        await listed(origin)


async def test_a_private_host_is_not_reached(origin: SshOrigin) -> None:
    origin.private = ()
    with pytest.raises(SourceRefused, match="not public"):
        await listed(origin)


async def test_no_key_is_left_behind(origin: SshOrigin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await origin.put("one", "A text.")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    (tmp_path / "scratch").mkdir()
    assert len(await listed(origin)) == 1
    assert not any((tmp_path / "scratch").iterdir())


def keys_below(folder: Path) -> list[Path]:
    return [one for one in folder.rglob("*") if one.is_file() and b"PRIVATE KEY" in one.read_bytes()]


def test_a_run_that_was_killed_leaves_no_key_behind_for_good(
    origin: SshOrigin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The source's next run, here or after a restart, removes what the killed one could not."""
    asyncio.run(origin.put("one", "A text."))
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    address = origin.settings["url"]
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(120)
        origin.settings["url"] = f"ssh://git@127.0.0.1:{silent.getsockname()[1]}/repository"
        run = multiprocessing.get_context("fork").Process(target=lambda: asyncio.run(listed(origin)))
        run.start()
        with silent.accept()[0]:  # of the program, which has its key by now
            assert keys_below(tmp_path)
            run.kill()
            run.join()
    origin.settings["url"] = address
    assert len(asyncio.run(listed(origin))) == 1
    assert keys_below(tmp_path) == []


async def test_a_repository_for_which_the_disk_has_no_room_is_refused(
    origin: SshOrigin, monkeypatch: pytest.MonkeyPatch
) -> None:
    await origin.put("one", os.urandom(11_000).hex())
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=60_000))
    with pytest.raises(SourceRefused, match="more than 10000 bytes, which is what the disk has room for"):
        await listed(origin)


@pytest.mark.parametrize(
    "wrong",
    [
        {"host_key": ""}, {"host_key": "ssh-ed25519 nonsense"}, {"host_key": "ssh-dss " + "A" * 100},
        {"url": "ssh://-oProxyCommand=touch/x"}, {"url": "ssh://a:b@host/x"}, {"url": "ssh://-x@host/x"},
        {"url": "ssh://host"}, {"url": "https://host/x"},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_wrong_with_an_address_is_said(wrong: dict[str, str]) -> None:
    right = {"url": "ssh://git@example.org/a.git", "host_key": "ssh-ed25519 " + "A" * 68}
    assert parsed(GIT.settings, right)
    with pytest.raises(ValueError, match=r"host_key|ssh://"):
        parsed(GIT.settings, {**right, **wrong})


async def test_a_host_that_does_not_answer_is_away(origin: SshOrigin) -> None:
    origin.settings["url"] = f"ssh://git@127.0.0.1:1{origin.repository.folder}"
    with pytest.raises(SourceUnavailable):
        await listed(origin)


async def test_a_server_without_the_program_says_what_is_missing(
    origin: SshOrigin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SourceRefused, match="openssh-client"):
        await listed(origin)
