"""Fetches a model's files: resumes interrupted pulls, and verifies checksums before use."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
from footnote_kit.backoff import Backoff

from footnote_cli.errors import CommandError
from footnote_cli.models.catalogue import File, Model

RECORD = "checksums.json"
"""The files' SHA-256 at their first download, by name."""
_ATTEMPTS = 3
_LARGEST = 4 << 30
_TIMEOUT = httpx2.Timeout(30.0, connect=10.0)

OnBytes = Callable[[str, int, int | None], None]
"""Called with a file's name, the bytes present, and its size, None if unknown."""


class _Broken(Exception):
    """The connection failed in a possibly transient way."""


def pull(model: Model, folder: Path, hub: str, on_bytes: OnBytes, backoff: Backoff | None = None) -> dict[str, str]:
    """Fetch the missing files of a model into a folder; return the SHA-256 of each file.

    A present file with its checksum is not fetched again. Raises CommandError, which says what to do.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        known = _recorded(folder)
        with httpx2.Client(follow_redirects=True, timeout=_TIMEOUT, max_redirects=5) as client:
            for file in model.files:
                wanted = file.sha256 or known.get(file.name, "")
                known[file.name] = _file(
                    client, model, file, folder, hub, wanted, on_bytes, backoff or Backoff(1.0, 8.0)
                )
                (folder / RECORD).write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise CommandError(
            f"{folder} cannot be written: {error.strerror or error}.", "Choose another with --into."
        ) from error
    return known


def _recorded(folder: Path) -> dict[str, str]:
    path = folder / RECORD
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {str(name): str(value) for name, value in found.items()}
    except (ValueError, AttributeError) as error:
        raise CommandError(
            f"{path} is damaged.", "Remove it to compute the checksums again from the fetched files."
        ) from error


def _file(
    client: httpx2.Client,
    model: Model,
    file: File,
    folder: Path,
    hub: str,
    wanted: str,
    on_bytes: OnBytes,
    backoff: Backoff,
) -> str:
    target, part = folder / file.name, folder / f"{file.name}.part"
    if wanted and target.is_file() and _sha256(target) == wanted:
        on_bytes(file.name, target.stat().st_size, target.stat().st_size)
        return wanted
    url = f"{hub.rstrip('/')}/{model.repository}/resolve/{model.revision}/{file.path}"
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _fetch(client, url, part, file.name, on_bytes)
            break
        except _Broken as error:
            if attempt == _ATTEMPTS:
                raise _offline(model, url, str(error)) from error
            time.sleep(backoff.pause(attempt))
    found = _sha256(part)
    if wanted and found != wanted:
        part.unlink()
        _mark(part).unlink(missing_ok=True)
        raise CommandError(
            f"{file.name} of {model.name} has another checksum than the known one: SHA-256 {found}, not {wanted}.",
            "It was deleted. Pull again; if the checksum differs again, the file was changed at its origin: do not "
            "use it.",
        )
    part.replace(target)
    _mark(part).unlink(missing_ok=True)
    return found


def _fetch(client: httpx2.Client, url: str, part: Path, name: str, on_bytes: OnBytes) -> None:
    """Append the missing rest to a partial file if the server still has the same one, else start over."""
    held = part.stat().st_size if part.is_file() else 0
    mark = _mark(part).read_text(encoding="utf-8") if _mark(part).is_file() else ""
    headers = {"accept-encoding": "identity"}
    if held and mark:
        headers |= {"range": f"bytes={held}-", "if-range": mark}
    with _sent(client, url, headers) as response:
        if response.status_code == 416:
            part.unlink(missing_ok=True)
            raise _Broken("the part that was here does not fit the file any more")
        resumed = response.status_code == 206 and response.headers.get("content-range", "").startswith(f"bytes {held}-")
        if response.status_code == 206 and not resumed:
            raise _Broken("the server sent another part than was asked for")
        if not resumed:
            held = 0
            _mark(part).write_text(_strong(response.headers.get("etag", "")), encoding="utf-8")
        length = response.headers.get("content-length", "")
        total = held + int(length) if length.isdigit() else None
        _check_room(part, name, (total or 0) - held, total or 0)
        with part.open("ab" if resumed else "wb") as file:
            # Written as received: with fixed-size pieces, an interrupted connection would lose the last one.
            for piece in response.iter_raw():
                file.write(piece)
                held += len(piece)
                if held > _LARGEST:
                    raise CommandError(f"{name} is larger than any model should be.", "Check where it comes from.")
                on_bytes(name, held, total)
    if total is not None and held != total:
        raise _Broken("the connection closed before the file was complete")


@contextmanager
def _sent(client: httpx2.Client, url: str, headers: dict[str, str]) -> Iterator[Any]:
    try:
        with client.stream("GET", url, headers=headers) as response:
            status = response.status_code
            if status in {408, 425, 429} or status >= 500:
                raise _Broken(f"the server answered {status}")
            if status not in {200, 206, 416}:
                raise CommandError(
                    f"{url} cannot be fetched: the server answered {status}.", "Check the address given by --from."
                )
            yield response
    except httpx2.HTTPError as error:
        raise _Broken(f"{type(error).__name__}") from error
    except httpx2.InvalidURL as error:
        raise CommandError(f"{url} is no address.", "Check what is given by --from.") from error


def _offline(model: Model, url: str, why: str) -> CommandError:
    host = urlsplit(url).netloc
    return CommandError(
        f"{model.name} could not be fetched from {host}: {why}.",
        "The partial file is kept: the same command resumes. If this machine has no access, pull on another one, "
        "copy the folder here, and name it: FOOTNOTE_GENERATION_VERIFIER=nli:<folder>. --from names a mirror.",
    )


def _check_room(part: Path, name: str, needed: int, total: int) -> None:
    if total > _LARGEST:
        raise CommandError(f"{name} is larger than any model should be.", "Check where it comes from.")
    if needed > shutil.disk_usage(part.parent).free:
        raise CommandError(f"There is no room for {name}: it needs {needed >> 20} MiB.", "Choose a folder with --into.")


def _strong(etag: str) -> str:
    """Return a strong tag with which a file may be resumed, "" for a weak one."""
    return "" if etag.startswith("W/") else etag


def _mark(part: Path) -> Path:
    return part.with_name(f"{part.name}.etag")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
