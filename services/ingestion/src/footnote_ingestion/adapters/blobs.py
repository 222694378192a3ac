"""Files in an object store: a local folder by default, S3 and similar by URL; no start with the files missing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from itertools import count
from pathlib import Path
from tempfile import NamedTemporaryFile

import obstore
from footnote_database.cancel_safe import outcome
from footnote_database.parts import Part, Parts
from footnote_kit.errors import FailedPrecondition, Unavailable
from footnote_kit.logs import get_logger
from obstore.exceptions import BaseError, UnknownConfigurationKeyError
from obstore.store import LocalStore, ObjectStore, from_url

from footnote_ingestion.adapters.documents import DocumentTable

PART_BYTES = 256 * 1024
_PUT_AT_ONCE = 16
_REQUEST_BYTES = 4 * 1024 * 1024
"""Bytes of a file per request to a store that is not local: its timeout would count a slow reader's pauses too."""


class Blobs:
    """Files by key. Failures of the store raise `Unavailable`, a missing key `FileNotFoundError`."""

    def __init__(self, store: ObjectStore, root: Path | None, scratch: Path) -> None:
        self._store = store
        self._root = root
        self._scratch = scratch

    @classmethod
    def open(cls, url: str, options: dict[str, str], folder: Path, scratch: Path) -> Blobs:
        """Return the store at `url`, or the local `folder` if it is empty; `scratch` is for temporary files.

        Raises FailedPrecondition, with a readable message, for an invalid URL or options.
        """
        if url.startswith("file:") and options:
            named = ", ".join(sorted(options))
            raise FailedPrecondition(f"FOOTNOTE_INGESTION_BLOB_OPTIONS: a folder has no options; leave out {named}.")
        if url:
            endpoint = options.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL", "")
            client = {"allow_http": endpoint.startswith("http://"), "timeout": timedelta(seconds=60)}
            retries = {"max_retries": 3, "retry_timeout": timedelta(seconds=20)}
            try:
                store = from_url(url, client_options=client, retry_config=retries, **options)  # type: ignore[call-overload]
            except UnknownConfigurationKeyError as error:
                raise FailedPrecondition(f"FOOTNOTE_INGESTION_BLOB_OPTIONS: {_first_line(error)}") from error
            except (BaseError, ValueError) as error:
                raise FailedPrecondition(
                    f"FOOTNOTE_INGESTION_BLOB_URL names no store that can be opened: {_first_line(error)} Give "
                    "s3://bucket/prefix, gs://…, az://…, or file:///folder with a folder that is there."
                ) from error
            return cls(store, None, scratch)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return cls(LocalStore(folder, automatic_cleanup=True), folder, scratch)

    async def put(self, key: str, path: Path) -> None:
        """Store the file at `path`. Cancellation is raised only after the write has finished, however often it comes.

        The store's own thread continues regardless, and would write the file after the caller had deleted it.
        """
        await outcome(asyncio.ensure_future(self._put(key, path)))

    async def put_all(self, files: Mapping[str, Path]) -> None:
        """Store several files at once; cancellation and errors are raised only after every write has finished."""
        await outcome(asyncio.ensure_future(self._put_all(files)))

    async def put_folder(self, folder: Path) -> None:
        """Store all files below a folder, each under its path there; they replace equal ones."""
        paths = await asyncio.to_thread(lambda: [path for path in folder.rglob("*") if path.is_file()])
        for start in range(0, len(paths), _PUT_AT_ONCE):
            part = paths[start : start + _PUT_AT_ONCE]
            await self.put_all({path.relative_to(folder).as_posix(): path for path in part})

    async def _put_all(self, files: Mapping[str, Path]) -> None:
        puts = [self._put(key, path) for key, path in files.items()]
        for ended in await asyncio.gather(*puts, return_exceptions=True):
            if isinstance(ended, BaseException):
                raise ended

    async def _put(self, key: str, path: Path) -> None:
        try:
            await obstore.put_async(self._store, key, path)
        except BaseError as error:
            raise Unavailable("The file store does not take the file", retry_after=5.0) from error

    async def parts(self, key: str) -> AsyncGenerator[bytes, None]:
        """Yield the file in parts of at most 256 KiB."""
        try:
            async for data in self._pieces(key):
                for start in range(0, len(data), PART_BYTES):
                    yield data[start : start + PART_BYTES]
        except FileNotFoundError:
            raise
        except BaseError as error:
            raise Unavailable("The file store does not give the file", retry_after=5.0) from error

    async def _pieces(self, key: str) -> AsyncGenerator[bytes, None]:
        if self._root is not None:
            async for piece in (await obstore.get_async(self._store, key)).stream(min_chunk_size=PART_BYTES):
                yield bytes(piece)
            return
        size = (await obstore.head_async(self._store, key))["size"]
        for start in range(0, size, _REQUEST_BYTES):
            end = min(start + _REQUEST_BYTES, size)
            yield bytes(await obstore.get_range_async(self._store, key, start=start, end=end))

    @asynccontextmanager
    async def as_file(self, key: str) -> AsyncIterator[Path]:
        """Yield a local file with the content: the stored file itself if it is local, else a temporary copy."""
        if self._root is not None:
            path = self._root / key
            if not await asyncio.to_thread(path.is_file):
                raise FileNotFoundError(key)
            yield path
            return
        with NamedTemporaryFile(dir=self._scratch, prefix="blob-") as copy:  # creates an empty file
            async for part in self.parts(key):
                await asyncio.to_thread(copy.write, part)
            await asyncio.to_thread(copy.flush)
            yield Path(copy.name)

    async def delete(self, key: str) -> None:
        """Delete a file and the leftovers of a process killed while writing it; a missing file is no error."""
        try:
            if self._root is not None:
                await asyncio.to_thread(_delete_begun, self._root / key)
            await obstore.delete_async(self._store, key)
        except FileNotFoundError:
            return
        except (BaseError, OSError) as error:
            raise Unavailable("The file store does not delete the file") from error

    async def has(self, key: str) -> bool:
        """Return whether a file exists. Unavailable when the store does not answer."""
        try:
            await obstore.head_async(self._store, key)
        except FileNotFoundError:
            return False
        except (BaseError, OSError) as error:
            raise Unavailable("The file store does not answer") from error
        return True

    async def check(self) -> str | None:
        """Return None when the store answers, else the reason."""
        try:
            await obstore.list_with_delimiter_async(self._store, "uploads/")
        except (BaseError, OSError):
            return "the file store does not answer"
        return None


def _first_line(error: Exception) -> str:
    """Return the first line of the library's message; the rest is for its developers."""
    return str(error).partition("\n")[0].rstrip(".") + "."


def _delete_begun(path: Path) -> None:
    """Delete partial writes that a local store has not renamed yet: numbered from one, beside the file."""
    for number in count(1):
        try:
            path.with_name(f"{path.name}#{number}").unlink()
        except FileNotFoundError:
            return


FILES = Part("files", "the files of documents")
_SAMPLE = 20

_log = get_logger(__name__)


async def refuse_missing_files(documents: DocumentTable, files: Blobs, where: str, parts: Parts) -> None:
    """Raise FailedPrecondition if documents are known but none of the newest ones has its file.

    If the store does not answer, the service's health check waits for it instead. An accepted loss stays accepted until
    a document is added: a later loss is another one.
    """
    keys = await documents.newest_files(_SAMPLE)
    try:
        for key in keys:
            if await files.has(key):
                await asyncio.to_thread(parts.forget_loss, FILES)
                return
    except Unavailable:
        return
    if not keys:
        return
    if parts.accepts(FILES):
        await asyncio.to_thread(parts.note_loss, FILES)
        accepted = True
    else:
        since = await asyncio.to_thread(parts.lost_since, FILES)
        accepted = since is not None and not await documents.added_since(since)
    if accepted:
        _log.warning("missing_part_accepted", part=FILES.name)
        return
    raise FailedPrecondition(
        f"The files of documents are missing in {where}, or it is another installation's: put back a copy of them, "
        "with the service stopped, or start with --accept files. Without them documents are found, and can be neither "
        "downloaded nor indexed again."
    )
