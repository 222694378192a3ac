"""The first key of a new deployment: created at start, and written to a file for its owner."""

import asyncio
import os
import secrets
from pathlib import Path

from footnote.types.v1.role_pb2 import ROLE_ADMIN
from footnote_kit.logs import get_logger

from footnote_edge.gateway.keys import ApiKeys

NAME = "first admin key"
TENANT, USER = "default", "admin"

_log = get_logger(__name__)


async def first_key(keys: ApiKeys, file: Path) -> None:
    """Write a new administrator's key to `file` if no key exists, not even a revoked or expired one.

    Replaces the file of an earlier deployment. Raises OSError if it cannot be written; then no key is created.
    """
    if await keys.listed():
        return
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    descriptor = await asyncio.to_thread(_create, draft)
    try:
        _, text = await keys.create(NAME, TENANT, USER, ROLE_ADMIN)
        await asyncio.to_thread(_finish, descriptor, text, draft, file)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    _log.info("first_key_written", file=str(file))


def _create(draft: Path) -> int:
    draft.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def _finish(descriptor: int, text: str, draft: Path, file: Path) -> None:
    with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
        handle.write(f"{text}\n")
        handle.flush()
        os.fsync(handle.fileno())
    draft.replace(file)
