"""Git's protocol over SSH, by the OpenSSH program: the host key is pinned, and the account's SSH files are not used.

The address is checked as for the web; `ssh` connects to exactly that address.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dulwich.client import SSHGitClient, SSHVendor, SubprocessWrapper
from dulwich.errors import GitProtocolError
from dulwich.protocol import Protocol

from footnote_edge.sources.kinds.git import SshPlace
from footnote_edge.sources.ports import SourceRefused

_OPTIONS = {
    "BatchMode": "yes", "StrictHostKeyChecking": "yes", "GlobalKnownHostsFile": "/dev/null", "UpdateHostKeys": "no",
    "VerifyHostKeyDNS": "no", "IdentitiesOnly": "yes", "IdentityAgent": "none", "PasswordAuthentication": "no",
    "KbdInteractiveAuthentication": "no", "GSSAPIAuthentication": "no", "HostbasedAuthentication": "no",
    "ClearAllForwardings": "yes", "ForwardAgent": "no", "PermitLocalCommand": "no", "ProxyCommand": "none",
    "ControlPath": "none", "ServerAliveCountMax": "2", "LogLevel": "ERROR",
}  # fmt: skip


class GitSsh(SSHGitClient):
    """Reads one repository over SSH; `close` ends the program and deletes the key."""

    def __init__(
        self, place: SshPlace, addresses: Sequence[str], host_key: str, private_key: str, timeout: float, limit: int
    ) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="footnote-ssh-"))
        self._vendor = _Pinned(self._folder, place, addresses, host_key, private_key, timeout, limit)
        self._protocols: list[Protocol] = []
        super().__init__(place.host, vendor=self._vendor, username=place.user, port=place.port, ssh_command="")

    def _connect(self, *arguments: Any, **more: Any) -> Any:
        # dulwich leaves the protocol open if the host breaks off.
        made = super()._connect(*arguments, **more)
        self._protocols.append(made[0])
        return made

    def close(self) -> None:
        """End running programs."""
        self._vendor.end()
        for protocol in self._protocols:
            protocol.close()
        shutil.rmtree(self._folder, ignore_errors=True)


class _Pinned(SSHVendor):
    def __init__(
        self, folder: Path, place: SshPlace, addresses: Sequence[str], host_key: str, private_key: str, timeout: float,
        limit: int,
    ) -> None:  # fmt: skip
        self._place, self._address, self._limit = place, addresses[0], limit
        self._program = shutil.which("ssh")
        self._processes: list[subprocess.Popen[bytes]] = []
        known, key = folder / "known_hosts", folder / "key"
        known.write_text(f"pinned {host_key}\n")
        key.touch(mode=0o600)
        key.write_text(private_key.strip() + "\n" if private_key else "")
        named = {"HostKeyAlias": "pinned", "UserKnownHostsFile": str(known), "IdentityFile": str(key)}
        times = {"ConnectTimeout": f"{timeout:.0f}", "ServerAliveInterval": f"{max(timeout / 2, 1):.0f}"}
        self._options = {**_OPTIONS, **named, **times}

    def run_command(self, host: str, command: bytes, *arguments: Any, **more: Any) -> Any:
        """Run a Git command on the host."""
        if self._program is None:
            raise SourceRefused("The server lacks the program ssh, which Git over SSH needs (openssh-client).")
        options = [part for name, value in self._options.items() for part in ("-o", f"{name}={value}")]
        where = ["-F", "/dev/null", "-T", "-p", str(self._place.port), "-l", self._place.user]
        process = subprocess.Popen(
            [self._program, *where, *options, "--", self._address, command], bufsize=0, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
        )  # fmt: skip
        self._processes.append(process)
        return _Bounded(process, self._limit)

    def end(self) -> None:
        """End every program that was started."""
        for process in self._processes:
            process.kill()
            process.wait()


class _Bounded(SubprocessWrapper):
    """The pipes of `ssh`, with a limit on the bytes read."""

    def __init__(self, process: subprocess.Popen[bytes], limit: int) -> None:
        super().__init__(process)
        self._read, self._left = self.read, limit
        self.read = self._bounded

    def _bounded(self, size: int | None = -1, /) -> bytes:
        found: bytes = self._read(size)
        self._left -= len(found)
        if self._left < 0:
            raise GitProtocolError("the host sends too much")
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
