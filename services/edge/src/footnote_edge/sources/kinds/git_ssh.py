"""Git's protocol over SSH, by the OpenSSH program: the host key is pinned, and the account's SSH files are not used.

The address is checked as for the web; `ssh` connects to exactly that address.
"""

import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dulwich.client import SSHGitClient, SSHVendor, SubprocessWrapper
from dulwich.errors import GitProtocolError
from dulwich.protocol import Protocol

from footnote_edge.sources.kinds.git import SshPlace
from footnote_edge.sources.kinds.git_http import HeldBack, PackLimit
from footnote_edge.sources.ports import SourceRefused

_OPTIONS = {
    "BatchMode": "yes", "StrictHostKeyChecking": "yes", "GlobalKnownHostsFile": "/dev/null", "UpdateHostKeys": "no",
    "VerifyHostKeyDNS": "no", "IdentitiesOnly": "yes", "IdentityAgent": "none", "PasswordAuthentication": "no",
    "KbdInteractiveAuthentication": "no", "GSSAPIAuthentication": "no", "HostbasedAuthentication": "no",
    "ClearAllForwardings": "yes", "ForwardAgent": "no", "PermitLocalCommand": "no", "ProxyCommand": "none",
    "ControlPath": "none", "ServerAliveCountMax": "2", "LogLevel": "ERROR",
}  # fmt: skip


class GitSsh(SSHGitClient):
    """Reads one repository over SSH; `end` ends the program, and `close` also deletes the key.

    The key is a file in `folder`, which must be the source's own, only until the host has answered. What a killed
    process leaves goes with the source's next run.
    """

    def __init__(
        self, folder: Path, place: SshPlace, addresses: Sequence[str], host_key: str, private_key: str, timeout: float,
        limit: PackLimit,
    ) -> None:  # fmt: skip
        self._vendor = _Pinned(folder, place, addresses, host_key, private_key, timeout, limit)
        self._protocols: list[Protocol] = []
        super().__init__(place.host, vendor=self._vendor, username=place.user, port=place.port, ssh_command="")

    def _connect(self, *arguments: Any, **more: Any) -> Any:
        # dulwich leaves the protocol open if the host breaks off.
        made = super()._connect(*arguments, **more)
        self._protocols.append(made[0])
        return made

    def end(self) -> None:
        """End the running program, and start no other; may be called from another thread."""
        self._vendor.end()

    def close(self) -> None:
        """End running programs, and delete the key."""
        self.end()
        for protocol in self._protocols:
            protocol.close()
        self._vendor.forget()


class _Pinned(SSHVendor):
    def __init__(
        self, folder: Path, place: SshPlace, addresses: Sequence[str], host_key: str, private_key: str, timeout: float,
        limit: PackLimit,
    ) -> None:  # fmt: skip
        self._place, self._address, self._limit = place, addresses[0], limit
        self._program = shutil.which("ssh")
        self._processes: list[subprocess.Popen[bytes]] = []
        self._starting, self._ended = threading.Lock(), False
        self._folder = folder
        self._known, self._key = folder / "known_hosts", folder / "key"
        self._keys = f"pinned {host_key}\n", private_key.strip() + "\n" if private_key else ""
        named = {"HostKeyAlias": "pinned", "UserKnownHostsFile": str(self._known), "IdentityFile": str(self._key)}
        times = {"ConnectTimeout": f"{timeout:.0f}", "ServerAliveInterval": f"{max(timeout / 2, 1):.0f}"}
        self._options = {**_OPTIONS, **named, **times}

    def run_command(self, host: str, command: bytes, *arguments: Any, **more: Any) -> Any:
        """Run a Git command on the host."""
        if self._program is None:
            raise SourceRefused("The server lacks the program ssh, which Git over SSH needs (openssh-client).")
        options = [part for name, value in self._options.items() for part in ("-o", f"{name}={value}")]
        where = ["-F", "/dev/null", "-T", "-p", str(self._place.port), "-l", self._place.user]
        with self._starting:
            if self._ended:
                raise GitProtocolError("the run was ended")
            self._write()
            process = subprocess.Popen(
                [self._program, *where, *options, "--", self._address, command], bufsize=0, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
            )  # fmt: skip
            self._processes.append(process)
        return _Bounded(process, self._limit, self.forget)

    def _write(self) -> None:
        self.forget()
        self._folder.mkdir(mode=0o700, parents=True)
        for path, content in zip((self._known, self._key), self._keys, strict=True):
            path.touch(mode=0o600)
            path.write_text(content)

    def forget(self) -> None:
        """Delete the key's file; the program reads it before the host answers."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def end(self) -> None:
        """End every program that was started, and start no other."""
        with self._starting:
            self._ended = True
        for process in self._processes:
            process.kill()
            process.wait()


class _Bounded(SubprocessWrapper):
    """The pipes of `ssh`, with a limit on the bytes read; calls `answered` when the host has answered."""

    def __init__(self, process: subprocess.Popen[bytes], limit: PackLimit, answered: Callable[[], None]) -> None:
        super().__init__(process)
        self._read, self._left, self._refusal = self.read, limit.most, limit.refusal
        self._answered: Callable[[], None] | None = answered
        self.read = self._bounded

    def _bounded(self, size: int | None = -1, /) -> bytes:
        found: bytes = self._read(size)
        if self._answered is not None:
            self._answered()
            self._answered = None
        self._left -= len(found)
        if self._left < 0:
            raise HeldBack(SourceRefused(self._refusal))
        return found


def refusal(said: Sequence[bytes]) -> SourceRefused | None:
    """Return the error that the program's output reports, if the user can resolve it; None for other output."""
    text = b"\n".join(said)
    if b"Host key verification failed" in text:
        return SourceRefused("The host shows another key than the source's host_key.")
    if b"Permission denied" in text:
        return SourceRefused("The host refuses the private key, or requires one.")
    if b"invalid format" in text or b"error in libcrypto" in text:
        return SourceRefused("The private key cannot be read: it must be an OpenSSH key without a passphrase.")
    return None
