"""An SSH server of this machine: OpenSSH's own, which lets one key in and runs Git's programs."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROGRAM = "/usr/sbin/sshd"


def why_not() -> str:
    """Say why no SSH server can be started here; "" when one can."""
    needed = {PROGRAM: "openssh-server", "ssh": "openssh-client", "ssh-keygen": "openssh-client", "git": "git"}
    missing = dict.fromkeys(package for program, package in needed.items() if shutil.which(program) is None)
    return f"not installed: {', '.join(missing)} (apt-get install {' '.join(missing)})" if missing else ""


@dataclass(frozen=True)
class SshServer:
    """A running server: where it is, its public key, and the private key that it lets in."""

    address: str
    """As in ssh://user@127.0.0.1:2222."""
    host_key: str
    private_key: str


def key_pair(path: Path) -> tuple[str, str]:
    """Make a key without a passphrase; return it and its public part."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path.read_text(), path.with_suffix(".pub").read_text().strip()


@contextmanager
def ssh_server(folder: Path) -> Iterator[SshServer]:
    """Serve on loopback, as the user that runs the tests."""
    folder.mkdir(mode=0o700, parents=True)
    _, host = key_pair(folder / "host")
    private, public = key_pair(folder / "user")
    (folder / "authorized").write_text(f"{public}\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    lines = [
        f"Port {port}", "ListenAddress 127.0.0.1", f"HostKey {folder / 'host'}",
        f"AuthorizedKeysFile {folder / 'authorized'}",
        "StrictModes no", "UsePAM no", "PasswordAuthentication no", "PermitRootLogin prohibit-password",
        f"PidFile {folder / 'pid'}", "AcceptEnv GIT_PROTOCOL",
    ]  # fmt: skip
    (folder / "conf").write_text("\n".join(lines))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # OpenSSH wants it of root
    command = [PROGRAM, "-D", "-e", "-f", str(folder / "conf")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log)
    try:
        _listening(port)
        yield SshServer(f"ssh://{pwd.getpwuid(os.geteuid()).pw_name}@127.0.0.1:{port}", host, private)
    finally:
        process.terminate()
        process.wait()


def _listening(port: int) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
