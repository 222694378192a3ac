"""Statements that changes of the documents table share; each runs in its caller's transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from footnote_kit.access import document_missing
from footnote_kit.errors import Aborted, Unavailable
from sqlalchemy import bindparam, delete, func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_ingestion.adapters import requests
from footnote_ingestion.adapters.changes import alive
from footnote_ingestion.adapters.database import Database
from footnote_ingestion.adapters.records import from_row, to_row
from footnote_ingestion.adapters.schema import documents, doomed_blobs
from footnote_ingestion.model.quota import Quota, Used
from footnote_ingestion.model.repeats import Repeated, Request
from footnote_ingestion.model.values import Stored, now_micros

TAKEN = 0
"""The due time of a file whose deletion has begun."""
BYTES = documents.c.size_bytes + documents.c.replacement_bytes
"""The bytes of a document's files: the searched one, and its replacement."""


_ID, _VERSION = "of_id", "of_version"
_UPDATE = update(documents).where(documents.c.id == bindparam(_ID), documents.c.version == bindparam(_VERSION))


class Rows:
    """Reads and writes rows of documents, and the list of files to delete."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def _several(
        self, connection: AsyncConnection, tenant_id: str, document_ids: Collection[str], for_update: bool = False
    ) -> dict[str, Stored]:
        chosen = (documents.c.id.in_(list(document_ids)), documents.c.tenant_id == tenant_id, alive())
        query = select(documents).where(*chosen).order_by(documents.c.id)  # one order of locks: no deadlock
        if for_update:
            query = query.with_for_update()
        return {row["id"]: from_row(row) for row in (await connection.execute(query)).mappings()}

    async def _put(self, connection: AsyncConnection, before: Stored, after: Stored) -> Stored:
        """Write a changed document and update the deletion list; the same object means no change."""
        if after is before:
            return before
        row = _changed(before, after)
        done = await connection.execute(
            update(documents)
            .where(documents.c.id == before.document.id, documents.c.version == before.version)
            .values(**row)
        )
        if done.rowcount != 1:
            raise _changed_meanwhile()
        after = from_row(row)
        await self._exchange(connection, before, after)
        return after

    async def _put_all(self, connection: AsyncConnection, changes: Sequence[tuple[Stored, Stored]]) -> list[Stored]:
        """Write changed documents, locked by this transaction, each from its state before; one statement for all.

        A statement with its values for each document would cost a millisecond of processor time for each.
        """
        rows = [_changed(before, after) for before, after in changes]
        for names in {frozenset(row) for row in rows}:
            given = [
                {**row, _ID: before.document.id, _VERSION: before.version}
                for row, (before, _) in zip(rows, changes, strict=True)
                if row.keys() == names
            ]
            done = await connection.execute(_UPDATE, given)
            if done.supports_sane_multi_rowcount() and done.rowcount != len(given):
                raise _changed_meanwhile()
        stored = [from_row(row) for row in rows]
        for (before, _), after in zip(changes, stored, strict=True):
            await self._exchange(connection, before, after)
        return stored

    async def _exchange(self, connection: AsyncConnection, before: Stored, after: Stored) -> None:
        """Put files that a document no longer has on the deletion list, and take those that it has off it."""
        if (files := set(after.blob_keys())) != set(before.blob_keys()):
            await self._doom(connection, set(before.blob_keys()) - files, now_micros())
            await self._keep(connection, after.blob_keys(), besides=before.blob_keys())

    async def _get(
        self,
        connection: AsyncConnection,
        tenant_id: str,
        document_id: str,
        for_update: bool = False,
        expired_too: bool = False,
    ) -> Stored:
        query = select(documents).where(documents.c.id == document_id, documents.c.tenant_id == tenant_id)
        if not expired_too:
            query = query.where(alive())
        if for_update:
            query = query.with_for_update()
        row = (await connection.execute(query)).mappings().one_or_none()
        if row is None:
            raise document_missing(document_id)
        return from_row(row)

    async def _lock(self, connection: AsyncConnection, *names: str) -> None:
        """Block other additions to a tenant or collection until the transaction ends; SQLite has one writer anyway."""
        if not self._database.is_sqlite:
            digest = hashlib.sha256("\0".join(names).encode()).digest()
            key = int.from_bytes(digest[:8], signed=True)
            await connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": key})

    async def _claim(self, connection: AsyncConnection, request: Request | None) -> None:
        """Block other answers to a request until the transaction ends; raises `Repeated` if it has an answer."""
        if request is not None:
            key = request.key
            await self._lock(connection, key.tenant_id, "request", key.user_id, key.request_id)
            if known := await requests.find(connection, [key]):
                raise Repeated(known[key])

    async def _check_quota(
        self, connection: AsyncConnection, tenant_id: str, collection_id: str, quota: Quota, documents: int, size: int
    ) -> None:
        if quota.of_tenant or quota.collection_documents:
            used = await self._used(connection, tenant_id, collection_id if quota.collection_documents else "", quota)
            quota.check(used, tenant_id, documents, size)

    async def _used(
        self, connection: AsyncConnection, tenant_id: str, collection_id: str, quota: Quota | None = None
    ) -> Used:
        """Return the current totals; with a quota, only those that it limits."""
        of_tenant = (documents.c.tenant_id == tenant_id, alive())
        in_collection = total = size = 0
        if collection_id:
            query = select(func.count()).where(documents.c.collection_id == collection_id, *of_tenant)
            in_collection = (await connection.execute(query)).scalar_one()
        if quota is None or quota.of_tenant:
            both = select(func.count(), func.coalesce(func.sum(BYTES), 0)).where(*of_tenant)
            total, size = (await connection.execute(both)).one()
        return Used(in_collection, total, int(size))

    async def _keep(self, connection: AsyncConnection, keys: Sequence[str], besides: Sequence[str] = ()) -> None:
        """Take files off the list; raises `Unavailable` if the sweeper has claimed one that is not in `besides`.

        A new file has an hour, which a clock set forward can cut short.
        """
        listed, new = doomed_blobs.c.key.in_(keys), doomed_blobs.c.key.not_in(besides)
        taken = select(doomed_blobs.c.key).where(listed, new, doomed_blobs.c.due_time == TAKEN).limit(1)
        if (await connection.execute(taken)).first() is not None:
            raise Unavailable("The file was given up before it had a document; send it again", retry_after=0.1)
        await connection.execute(delete(doomed_blobs).where(listed))

    async def _doom(self, connection: AsyncConnection, keys: Iterable[str], due_micros: int) -> None:
        rows = [{"key": key, "due_time": due_micros} for key in sorted(set(keys))]
        if rows:
            await connection.execute(delete(doomed_blobs).where(doomed_blobs.c.key.in_([row["key"] for row in rows])))
            await connection.execute(insert(doomed_blobs), rows)


def _changed(before: Stored, after: Stored) -> dict[str, Any]:
    """Return the row of a changed document."""
    after.document.update_time.FromMicroseconds(now_micros())
    row = to_row(replace(after, version=before.version + 1))
    if after.labels() != before.labels():
        row["relabelled"] = before.version + 1
    return row


def _changed_meanwhile() -> Aborted:
    return Aborted("The document was changed by someone else at the same moment")
