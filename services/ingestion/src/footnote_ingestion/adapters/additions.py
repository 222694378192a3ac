"""Adds files to a collection: one transaction for all of an upload, however many there are."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import itemgetter

from footnote_kit.errors import FootnoteError, NotFound, Unavailable
from sqlalchemy import and_, insert, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from footnote_ingestion.adapters import requests
from footnote_ingestion.adapters.changes import alive
from footnote_ingestion.adapters.records import to_row
from footnote_ingestion.adapters.rows import Rows
from footnote_ingestion.adapters.schema import documents
from footnote_ingestion.model.files import Added, Addition
from footnote_ingestion.model.quota import Quota, Room
from footnote_ingestion.model.repeats import Outcome, Repeated, RequestKey
from footnote_ingestion.model.values import now_micros


class Additions(Rows):
    """Adds documents; what is refused is refused alone."""

    async def add(
        self, tenant_id: str, collection_id: str, quota: Quota, additions: Sequence[Addition]
    ) -> list[Added | Repeated | FootnoteError]:
        """Add documents to a collection, record their requests, and take their files off the deletion list.

        A document with the same bytes gets the labels of its duplicate instead. Returns the outcomes in order:
        `ResourceExhausted` where the collection or the tenant has no room, `Repeated` where the request was answered in
        between.
        """
        outcomes: dict[int, Added | Repeated | FootnoteError] = {}
        if not additions:
            return []
        async with self._database.write() as connection:
            if quota.of_tenant:
                await self._lock(connection, tenant_id)
            await self._lock(connection, tenant_id, collection_id)
            known = await self._claim_all(connection, [one.request.key for one in additions if one.request is not None])
            compared = {one.sha256 for one in additions if one.new is not None and not one.allow_duplicate}
            there = await self._by_bytes(connection, tenant_id, collection_id, compared)
            room = await self._room(connection, tenant_id, collection_id, quota)
            added: list[Added] = []
            notes: dict[RequestKey, Outcome] = {}
            duplicates: list[tuple[int, str]] = []
            for index, one in enumerate(additions):
                if one.request is not None and (answered := known.get(one.request.key)) is not None:
                    outcomes[index] = Repeated(answered)
                    continue
                same = "" if one.allow_duplicate else there.get(one.sha256, "")
                if one.new is None or same:
                    duplicates.append((index, same or one.same))
                    continue
                try:
                    room.take(one.size)
                except FootnoteError as error:
                    outcomes[index] = error
                    continue
                one.new.document.update_time.FromMicroseconds(now_micros())
                there.setdefault(one.sha256, one.new.document.id)
                outcomes[index] = Added(one.new)
                added.append(Added(one.new))
                if one.request is not None:
                    notes[one.request.key] = Outcome(one.request.content, one.new.document.id, False, False)
            if added:
                await connection.execute(insert(documents), [to_row(one.stored) for one in added])
                await self._keep(connection, [key for one in added for key in one.stored.blob_keys()])
            for index, document_id in sorted(duplicates, key=itemgetter(1)):  # one order of locks: no deadlock
                one = additions[index]
                outcomes[index] = outcome = await self._merge(connection, tenant_id, document_id, one)
                if one.request is not None and isinstance(outcome, Added):
                    noted = Outcome(one.request.content, document_id, True, outcome.merged)
                    notes[one.request.key] = noted
            if notes:
                await requests.note_all(connection, notes)
        return [outcomes[index] for index in range(len(additions))]

    async def precheck(
        self, tenant_id: str, collection_id: str, quota: Quota, additions: Sequence[Addition]
    ) -> list[str | FootnoteError]:
        """Return what `add` would find for each file alone, without changes, to avoid storing files needlessly.

        For each file "", the id of the document with the same bytes, or the refusal. Files take no room from each
        other: an earlier one may be refused later, or have the same bytes.
        """
        outcomes: list[str | FootnoteError] = []
        if not additions:
            return outcomes
        async with self._database.read() as connection:
            compared = {one.sha256 for one in additions if not one.allow_duplicate}
            there = await self._by_bytes(connection, tenant_id, collection_id, compared)
            room = await self._room(connection, tenant_id, collection_id, quota)
        for one in additions:
            same = "" if one.allow_duplicate else there.get(one.sha256, "")
            try:
                if not same:
                    room.check(one.size)
                outcomes.append(same)
            except FootnoteError as error:
                outcomes.append(error)
        return outcomes

    async def _merge(
        self, connection: AsyncConnection, tenant_id: str, document_id: str, one: Addition
    ) -> Added | FootnoteError:
        """Give a document the labels of its duplicate, unless that is refused."""
        try:
            before = await self._get(connection, tenant_id, document_id, for_update=True)
            after = one.merged(before)
        except NotFound:  # its deletion has begun since it was found: a repeat stores the file
            return Unavailable("The document with the same bytes was deleted; send the file again", retry_after=0.1)
        except FootnoteError as error:
            return error
        stored = await self._put(connection, before, after)
        return Added(stored, duplicate=True, merged=after is not before)

    async def _claim_all(self, connection: AsyncConnection, keys: Sequence[RequestKey]) -> dict[RequestKey, Outcome]:
        """Block other answers to requests until the transaction ends; return those that have an answer."""
        for key in sorted(keys):
            await self._lock(connection, key.tenant_id, "request", key.user_id, key.request_id)
        return await requests.find(connection, keys) if keys else {}

    async def _by_bytes(
        self, connection: AsyncConnection, tenant_id: str, collection_id: str, digests: Collection[str]
    ) -> dict[str, str]:
        """Return the ids of a collection's documents whose newest files have these digests; of several the oldest."""
        if not digests:
            return {}
        query = select(documents.c.id, documents.c.sha256, documents.c.replacement_sha256).where(
            documents.c.tenant_id == tenant_id,
            documents.c.collection_id == collection_id,
            or_(
                and_(documents.c.sha256.in_(digests), documents.c.replacement_sha256 == ""),
                documents.c.replacement_sha256.in_(digests),
            ),
            alive(),
        )
        found: dict[str, str] = {}
        for document_id, sha256, replaced in await connection.execute(query.order_by(documents.c.create_time)):
            found.setdefault(replaced or sha256, document_id)
        return found

    async def _room(self, connection: AsyncConnection, tenant_id: str, collection_id: str, quota: Quota) -> Room:
        limited = quota.of_tenant or quota.collection_documents
        counted = collection_id if quota.collection_documents else ""
        used = await self._used(connection, tenant_id, counted, quota) if limited else None
        return Room(quota, tenant_id, used)
