"""A mail server of this machine: Dovecot with one user, over TLS by a certificate of its own."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from support.certificates import Authority

USER, PASSWORD = "ann", "pässwörd-of-the-test"
PROGRAM = "/usr/sbin/dovecot"

CONFIGURATION = """
base_dir = {folder}/run
log_path = {folder}/log
auth_failure_delay = 0
protocols = imap
ssl = required
ssl_cert = <{folder}/server.pem
ssl_key = <{folder}/server.key
mail_location = maildir:{folder}/mail
mail_uid = mail
mail_gid = mail
first_valid_uid = 1
first_valid_gid = 1
passdb {{
  driver = static
  args = password={password}
}}
userdb {{
  driver = static
  args = uid=mail gid=mail home={folder}
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = 0
  }}
  inet_listener imaps {{
    address = 127.0.0.1
    port = {port}
  }}
}}
service anvil {{
  chroot =
}}
"""


def why_not() -> str:
    """Say why no mail server can be started here; "" when one can."""
    if not Path(PROGRAM).exists():
        return "Dovecot is not installed (apt-get install dovecot-imapd)"
    return "" if os.geteuid() == 0 else "Dovecot with users of its own starts as root only"


@dataclass
class MailServer:
    """A running server: its port, and the Maildir of its only user."""

    port: int
    mail: Path
    authority: Path
    """The certificate that callers have to trust."""

    def put(self, name: str, mail: bytes) -> None:
        """Deliver a mail."""
        owner = pwd.getpwnam("mail")
        path = self.mail / "new" / f"{time.time_ns()}.{name}.host"
        part = self.mail / "tmp" / path.name
        part.write_bytes(mail)
        os.chown(part, owner.pw_uid, owner.pw_gid)
        part.rename(path)

    def remove(self, name: str) -> None:
        """Delete a mail."""
        for folder in ("new", "cur"):
            for path in (self.mail / folder).glob(f"*.{name}.host*"):
                path.unlink()

    def renumber(self) -> None:
        """Make the server renumber all mails: another UIDVALIDITY."""
        for path in self.mail.glob("dovecot*"):
            path.unlink()
        time.sleep(1.1)  # a new UIDVALIDITY is the time in seconds


@contextmanager
def mail_server() -> Iterator[MailServer]:
    """Serve an empty mailbox on loopback, as 127.0.0.1."""
    folder = Path(tempfile.mkdtemp(prefix="footnote-mail-"))
    folder.chmod(0o755)
    owner = pwd.getpwnam("mail")
    for part in ("cur", "new", "tmp"):
        (folder / "mail" / part).mkdir(parents=True)
    for path in (folder / "mail", *(folder / "mail").iterdir()):
        os.chown(path, owner.pw_uid, owner.pw_gid)
    house = Authority(folder, "house")
    house.issue("server")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "conf").write_text(CONFIGURATION.format(folder=folder, port=port, password=PASSWORD))
    process = subprocess.Popen([PROGRAM, "-F", "-c", str(folder / "conf")], stdin=subprocess.DEVNULL)
    try:
        _listening(port, process, folder / "log")
        yield MailServer(port, folder / "mail", house.file)
    finally:
        _killed(process)
        shutil.rmtree(folder, ignore_errors=True)


def _killed(process: subprocess.Popen[bytes]) -> None:
    """End it with its parts: it would wait for them for seconds."""
    parts = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    for part in parts:
        with suppress(psutil.NoSuchProcess):
            part.kill()


def _listening(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(log.read_text() if log.exists() else "Dovecot did not start") from None
            time.sleep(0.1)
