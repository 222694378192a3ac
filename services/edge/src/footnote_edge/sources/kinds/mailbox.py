"""Server mailboxes: mbox files and Maildir folders that the operator allows. Mails become eml files.

Links are not followed: they would lead out of the folder.

`headers`, `header_text` and `mail_file` serve mailboxes of every kind.
"""

import asyncio
import hashlib
import mailbox
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from email.header import decode_header, make_header
from email.message import Message
from email.parser import HeaderParser
from pathlib import Path
from typing import Any, Literal

from footnote_text.declared_encodings import as_browsers
from pydantic import Field

from footnote_edge.sources.opened_file import regular
from footnote_edge.sources.patterns import Selecting, wanted
from footnote_edge.sources.ports import (
    Item,
    ItemFailed,
    ItemGone,
    Opening,
    Page,
    Permissions,
    Remember,
    SourceKind,
    SourceRefused,
    SourceUnavailable,
)

_PARSER = HeaderParser()
_LONGEST_SUBJECT = 80
_LONGEST_HEADER = 2000
"""In characters: the standard library takes quadratic time to decode a header, in which no other thread runs."""


def headers(head: bytes) -> Message:
    """Return a mail's headers; illegal bytes are read as UTF-8, the most common encoding."""
    return _PARSER.parsestr(head.decode("utf-8", "replace"))


def header_text(header: str) -> str:
    """Return the text of a header's first 2000 characters, decoded, on one line."""
    kept = header[:_LONGEST_HEADER]
    try:
        parts = [
            (text.decode(as_browsers(name), "replace").encode(), "utf-8")
            if name and isinstance(text, bytes)
            else (text, None)
            for text, name in decode_header(kept)
        ]
        found = str(make_header(parts))
    except (ValueError, LookupError):
        found = kept
    return " ".join(found.split()).encode("utf-8", "replace").decode("utf-8")


def mail_file(subject: str) -> str:
    """Return the file name of a mail's document."""
    kept = "".join(one if one.isalnum() or one in " -_.,()" else " " for one in subject)
    return f"{' '.join(kept.split())[:_LONGEST_SUBJECT].strip(' .') or 'mail'}.eml"


_PAGE = 200
_HEADERS = 64 * 1024
_PART = 256 * 1024


class MailboxSettings(Selecting):
    """Settings of a mailbox source. `include` and `exclude` match subjects."""

    path: str = Field(min_length=1, max_length=1000, description="Absolute path of the mbox file or Maildir folder.")
    format: Literal["mbox", "maildir"] = Field(description="How the mailbox is kept.")


class MailboxConnection:
    """Lists and reads one mailbox."""

    def __init__(self, opening: Opening) -> None:
        self._settings: MailboxSettings = opening.settings
        self._opening = opening
        self._box: _Mbox | _Maildir | None = None
        self._lock = threading.Lock()
        self._seen: set[str] = set()

    async def list(self, cursor: str, known: Remember) -> AsyncIterator[Page]:
        """Yield the mails. An oversized one is listed without being read."""
        before = await asyncio.to_thread(self._state)
        walk = self._walk()
        while items := await asyncio.to_thread(_some, walk):
            yield Page(items)
        # A mailbox written during the read may have shown half a mail, or missed one.
        changed = await asyncio.to_thread(self._state) != before
        links = self._box.links if isinstance(self._box, _Maildir) else 0
        warnings = [f"{links} links were left out: they may lead out of the folder."] if links else []
        yield Page(partial="The mailbox changed while it was read." if changed else "", warnings=warnings)

    async def fetch(self, item: Item) -> AsyncIterator[bytes]:
        """Yield a mail; raises ItemGone if another one has taken its place."""
        body = await asyncio.to_thread(self._read, str(item.memo["key"]))
        if body is None or _version(body) != item.version:
            raise ItemGone
        for start in range(0, len(body), _PART):
            yield body[start : start + _PART]

    async def close(self) -> None:
        """Close the file."""
        if self._box is not None:
            await asyncio.to_thread(self._box.close)

    def _path(self) -> Path:
        path = self._opening.policy.folder_for(self._opening.tenant_id, self._settings.path)
        if path is None:
            raise SourceRefused("The operator does not allow sources to read this mailbox.")
        found = path.is_dir() if self._settings.format == "maildir" else path.is_file()
        if not found:
            raise SourceUnavailable("The mailbox does not exist.")
        mails = path / "cur"
        if self._settings.format == "maildir" and (mails.is_symlink() or not mails.is_dir()):
            raise SourceRefused("The folder is no Maildir: it has no folder 'cur'.")
        return path

    def _open(self) -> "_Mbox | _Maildir":
        if self._box is None:
            path = self._path()
            try:
                self._box = _Maildir(path) if self._settings.format == "maildir" else _Mbox(path)
            except OSError:
                raise SourceUnavailable("The mailbox cannot be read.") from None
        return self._box

    def _state(self) -> tuple[int, int]:
        """Return a state that changes when mails are added or removed."""
        path = self._path()
        parts = [path / "cur", path / "new"] if path.is_dir() else [path]
        found = [part.stat() for part in parts if part.exists()]
        return sum(one.st_mtime_ns for one in found), sum(one.st_size for one in found)

    def _walk(self) -> Iterator[Item]:
        with self._lock:
            try:
                keys = [str(key) for key in self._open().keys()]  # noqa: SIM118 - a mailbox iterates over its mails
            except OSError:
                raise SourceUnavailable("The mailbox cannot be read.") from None
        for key in keys:
            body = self._read(key)
            if body is None:
                continue
            item = self._item(key, body)
            if item is not None:
                yield item

    def _read(self, key: str) -> bytes | None:
        with self._lock:
            box = self._open()
            try:
                # An mbox numbers its mails, contrary to the library's type hints.
                name: Any = key if isinstance(box, _Maildir) else int(key)
                return bytes(box.get_bytes(name))
            except (KeyError, ValueError):
                return None
            except OSError:
                raise SourceUnavailable("The mailbox cannot be read.") from None

    def _item(self, key: str, body: bytes) -> Item | None:
        found = headers(body[:_HEADERS])
        subject = header_text(found.get("subject", ""))
        if not wanted(subject, self._settings.include, self._settings.exclude):
            return None
        version = _version(body)
        name = header_text(found.get("message-id", "")).strip()[:500]
        identity = name if name and name not in self._seen else f"{name}#{version[7:39]}"
        self._seen.add(identity)
        size, limit = len(body), self._opening.policy.item_bytes
        too_large = ItemFailed("TOO_LARGE", f"It has more than {limit} bytes.", permanent=True)
        return Item(
            identity, version, mail_file(subject), size=size, address=f"mid:{name.strip('<>')}" if name else "",
            memo={"key": key}, permissions=Permissions(owner=header_text(found.get("from", ""))[:300]),
            skip=too_large if size > limit else None,
        )  # fmt: skip


class _Mbox(mailbox.mbox):
    """An mbox that is never written, and whose file was checked after it was opened."""

    def __init__(self, path: Path) -> None:
        file = regular(path)
        try:
            super().__init__(f"/dev/fd/{file.fileno()}", create=False)
        except BaseException:
            file.close()
            raise
        opened: Any = self._file
        opened.close()
        self._file: Any = file

    def close(self) -> None:
        """Close without writing anything."""
        self._file.close()


class _Maildir:
    """The mails of a Maildir. The standard library's class would follow links, and wait for pipes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: dict[str, tuple[str, str]] = {}
        self.links = 0

    def keys(self) -> list[str]:
        """Return the keys of the mails, their file names without flags, sorted: folders list them in any order."""
        self._files, self.links = {}, 0
        for part in ("cur", "new"):
            with suppress(FileNotFoundError), _folder(self._path / part) as folder, os.scandir(folder) as entries:
                for entry in entries:
                    self.links += entry.is_symlink()
                    if entry.is_file(follow_symlinks=False):
                        self._files[entry.name.partition(":")[0]] = (part, entry.name)
        return sorted(self._files)

    def get_bytes(self, key: str) -> bytes:
        """Return a mail; raises KeyError if it is gone, OSError if it is a link by now."""
        for again in (False, True):
            if again:
                self.keys()  # a mail's file is renamed when the mail is read, or marked
            if key in self._files:
                part, name = self._files[key]
                with suppress(FileNotFoundError), _folder(self._path / part) as folder, regular(name, folder) as file:
                    return file.read()
        raise KeyError(key)

    def close(self) -> None:
        """Nothing stays open."""


@contextmanager
def _folder(path: Path) -> Iterator[int]:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield folder
    finally:
        os.close(folder)


def _some(walk: Iterator[Item]) -> list[Item]:
    return [item for _, item in zip(range(_PAGE), walk, strict=False)]


def _version(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


MAILBOX = SourceKind("mailbox", "Mailbox on the server", MailboxSettings, MailboxConnection, content_versions=True)
