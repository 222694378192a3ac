"""Where sources of thousands of items come from: texts by name, put where a source of each kind reads them.

Each origin takes a model, texts by item name, and changes only what differs from the model before.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from obstore.store import S3Store

from support.source_servers import GIT, GitRepository, Site, git_server, site

Texts = Mapping[str, str]
S3_KEYS = ("footnote", "footnote-secret")


def missing(kind: str) -> str:
    """Say what a kind of origin needs that is not here; "" when it can be made."""
    if kind == "bucket" and shutil.which("versitygw") is None:
        return "no S3 server (go install github.com/versity/versitygw/cmd/versitygw@latest)"
    if kind == "git" and shutil.which("git") is None:
        return "git is not installed"
    return ""


class Origin:
    """Items by name where one source finds them."""

    settings: dict[str, Any]
    secrets: dict[str, str] = {}  # noqa: RUF012 - never changed

    def item(self, name: str) -> str:
        """Return what the source calls an item."""
        return name

    def write(self, texts: Texts) -> None:
        """Make the origin equal to a model."""
        raise NotImplementedError

    def cost(self) -> dict[str, int]:
        """Return what was asked of the origin since the last look."""
        return {}


class WebOrigin(Origin):
    """A site with an index of all its pages."""

    def __init__(self, served: Site) -> None:
        self._site = served
        self.settings = {"url": f"{served.base}/docs/", "delay": 0, "max_pages": 50_000}

    def item(self, name: str) -> str:
        """Return the page's address."""
        return f"{self._site.base}/docs/{name}"

    def write(self, texts: Texts) -> None:
        """Serve a page for each text."""
        self._site.replies.clear()
        links = "".join(f"<a href={name}>{name}</a>" for name in texts)
        self._site.page("/docs/", links, head="<meta name=robots content=noindex>")
        for name, text in texts.items():
            self._site.page(f"/docs/{name}", f"<p>{text}</p>", title="Item")

    def cost(self) -> dict[str, int]:
        """Return requests, and those of them that were answered with a body."""
        asked = list(self._site.asked)
        self._site.asked.clear()
        conditional = sum("if-none-match" in headers for _, headers in asked)
        return {"requests": len(asked), "conditional": conditional}


class GitOrigin(Origin):
    """A repository whose last commits follow many others."""

    def __init__(self, repository: GitRepository) -> None:
        self._repository = repository
        self._texts: dict[str, str] = {}
        self._commits = 0
        self.settings = {"url": repository.url}

    @classmethod
    @contextmanager
    def serve(cls, folder: Path) -> Iterator[GitOrigin]:
        """Serve an empty bare repository."""
        folder.mkdir(parents=True)
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main"], cwd=folder, check=True, env={**os.environ, **GIT})
        with git_server(GitRepository(folder)) as served:
            yield cls(served)

    def item(self, name: str) -> str:
        """Return the file's path."""
        return f"{name[:3]}/{name}.txt"

    def write(self, texts: Texts) -> None:
        """Commit what differs."""
        gone = [f"D {self.item(name)}\n".encode() for name in self._texts if name not in texts]
        fresh = {name: text for name, text in texts.items() if self._texts.get(name) != text}
        files = [self._file(name, text) for name, text in fresh.items()]
        self._commit(b"".join([*gone, *files]))
        self._texts = dict(texts)

    def history(self, texts: Texts, commits: int) -> None:
        """Commit a model in many steps; all but the last leave some files to change later."""
        names = list(texts)
        self._commit(b"".join(self._file(name, f"An earlier text of {name}.\n") for name in names))
        share = max(len(names) // commits, 1)
        for number in range(commits - 2):
            part = names[number * share : (number + 1) * share]
            self._commit(b"".join(self._file(name, texts[name]) for name in part))
        self.write(texts)

    def cost(self) -> dict[str, int]:
        """Return requests and bytes sent."""
        found = {"requests": self._repository.requests, "bytes": self._repository.bytes_sent}
        self._repository.requests = self._repository.bytes_sent = 0
        return found

    def _file(self, name: str, text: str) -> bytes:
        data = text.encode()
        return f"M 100644 inline {self.item(name)}\ndata {len(data)}\n".encode() + data + b"\n"

    def _commit(self, changes: bytes) -> None:
        self._commits += 1
        head = f"commit refs/heads/main\ncommitter a <a@example.org> {1_700_000_000 + self._commits} +0000\n"
        parent = b"from refs/heads/main^0\n" if self._commits > 1 else b""
        stream = head.encode() + b"data 6\nchange\n" + parent + changes
        subprocess.run(
            ["git", "fast-import", "--quiet"], cwd=self._repository.folder, input=stream, check=True,
            env={**os.environ, **GIT},
        )  # fmt: skip


class BucketOrigin(Origin):
    """A bucket of an S3 server."""

    def __init__(self, endpoint: str) -> None:
        self._texts: dict[str, str] = {}
        self.settings = {"provider": "s3", "bucket": "papers", "endpoint": endpoint}
        self.secrets = dict(zip(("access_key_id", "secret_access_key"), S3_KEYS, strict=True))
        self._store = S3Store(
            "papers", endpoint=endpoint, region="us-east-1", virtual_hosted_style_request=False,
            client_options={"allow_http": True}, **self.secrets,
        )  # fmt: skip

    @classmethod
    @contextmanager
    def serve(cls, folder: Path) -> Iterator[BucketOrigin]:
        """Serve an empty bucket by versitygw."""
        (folder / "papers").mkdir(parents=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        keys = {"ROOT_ACCESS_KEY": S3_KEYS[0], "ROOT_SECRET_KEY": S3_KEYS[1]}
        process = subprocess.Popen(
            ["versitygw", "--port", f"127.0.0.1:{port}", "--quiet", "posix", str(folder)],
            env={**os.environ, **keys}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            _listening(port)
            yield cls(f"http://127.0.0.1:{port}")
        finally:
            process.terminate()
            process.wait()

    def item(self, name: str) -> str:
        """Return the object's key."""
        return f"papers/{name}.txt"

    def write(self, texts: Texts) -> None:
        """Put and delete what differs."""
        for name, text in texts.items():
            if self._texts.get(name) != text:
                self._store.put(self.item(name), text.encode())
        for name in self._texts:
            if name not in texts:
                self._store.delete(self.item(name))
        self._texts = dict(texts)


class MailOrigin(Origin):
    """An mbox file."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "box"
        folder.mkdir(parents=True)
        self.settings = {"path": str(self._path), "format": "mbox"}

    def item(self, name: str) -> str:
        """Return the mail's id."""
        return f"<{name}@example.org>"

    def write(self, texts: Texts) -> None:
        """Write the whole mailbox."""
        mails = (
            f"From a@example.org Thu Jan  1 00:00:00 2026\nFrom: a@example.org\nSubject: Item\n"
            f"Message-ID: {self.item(name)}\n\n{text}\n\n"
            for name, text in texts.items()
        )
        self._path.write_text("".join(mails))


class FolderOrigin(Origin):
    """A folder of files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._texts: dict[str, str] = {}
        folder.mkdir(parents=True)
        self.settings = {"path": str(folder)}

    def item(self, name: str) -> str:
        """Return the file's name."""
        return f"{name}.txt"

    def write(self, texts: Texts) -> None:
        """Write and delete what differs."""
        for name, text in texts.items():
            if self._texts.get(name) != text:
                (self._folder / self.item(name)).write_text(text)
        for name in self._texts:
            if name not in texts:
                (self._folder / self.item(name)).unlink()
        self._texts = dict(texts)


@contextmanager
def origin(kind: str, folder: Path) -> Iterator[Origin]:
    """Serve an empty origin of a kind."""
    if kind == "web":
        with site() as served:
            yield WebOrigin(served)
    elif kind == "git":
        with GitOrigin.serve(folder / "repository") as repository:
            yield repository
    elif kind == "bucket":
        with BucketOrigin.serve(folder / "objects") as bucket:
            yield bucket
    elif kind == "mailbox":
        yield MailOrigin(folder / "mails")
    else:
        yield FolderOrigin(folder / "files")


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
