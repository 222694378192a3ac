"""Pages of documents: filters and orders as SQL, the same on both databases."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Sequence
from typing import Any

from footnote_kit.paging import Page, fitting
from sqlalchemy import ARRAY, ColumnElement, Text, any_, cast, func, literal, literal_column, or_, select, tuple_
from sqlalchemy.dialects.postgresql import JSONB

from footnote_ingestion.adapters.changes import alive
from footnote_ingestion.adapters.database import Database
from footnote_ingestion.adapters.records import from_row, state_name
from footnote_ingestion.adapters.schema import documents
from footnote_ingestion.model.values import ListQuery, Order, Stored, Unfinished

_FIELDS = {"filename": "filename_folded"}


class Listing:
    """Reads pages of the documents table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def page(self, query: ListQuery) -> tuple[list[Stored], str, int]:
        """Return a page of documents, the next page's token, and the total number."""
        where = self._where(query)
        column, names = self._column(query.order), _FIELDS.get(query.order.field, query.order.field)
        page = select(documents).where(*where)
        if query.page.position is not None:
            page = page.where(_beyond(column, query.order, query.page))
        ways = [documents.c.id.desc(), column.desc()] if query.order.descending else [documents.c.id, column]
        page = page.order_by(*reversed(ways)).limit(query.page.size + 1)
        # Of all tenants, counting each page again would cost far more than reading it.
        counted = bool(query.tenant_id) or query.page.position is None
        async with self._database.read() as connection:
            count = select(func.count()).select_from(documents).where(*where)
            total = (await connection.execute(count)).scalar_one() if counted else 0
            rows = (await connection.execute(page)).mappings().all()
        found = [from_row(row) for row in rows]
        shown = min(query.page.size, fitting([stored.document for stored in found]))
        last_shown = (rows[shown - 1][names], found[shown - 1].document.id) if shown < len(rows) else None
        return found[:shown], query.page.token(last_shown) if last_shown is not None else "", total

    async def unfinished(self, page: Page) -> tuple[list[Unfinished], str]:
        """Return documents of all tenants with unfinished work, and the next page's token."""
        left = select(documents).where(or_(documents.c.delete_time.is_not(None), documents.c.relabelled.is_not(None)))
        if page.position is not None:
            left = left.where(documents.c.id > page.position[0])
        async with self._database.read() as connection:
            rows = (await connection.execute(left.order_by(documents.c.id).limit(page.size + 1))).mappings().all()
        found = [
            Unfinished(from_row(row).document, row["delete_time"] is not None, row["relabelled"] is not None)
            for row in rows
        ]
        shown = min(page.size, fitting([one.document for one in found]))
        return found[:shown], page.token((found[shown - 1].document.id,)) if shown < len(found) else ""

    def _where(self, query: ListQuery) -> list[ColumnElement[bool]]:
        where = [alive()]
        if query.tenant_id:
            where.append(documents.c.tenant_id == query.tenant_id)
        if query.collection_ids is not None:
            where.append(self._of(query.collection_ids))
        if query.states:
            where.append(documents.c.state.in_([state_name(state) for state in query.states]))
        if query.filename_contains:
            # Names are composed, except those of earlier versions.
            forms = {query.filename_contains, unicodedata.normalize("NFC", query.filename_contains)}
            folded = (documents.c.filename_folded.contains(one.casefold(), autoescape=True) for one in forms)
            where.append(or_(*folded))
        if query.tags:
            where.append(self._tagged(query.tags))
        if query.document_types:
            where.append(documents.c.document_type.in_(query.document_types))
        if query.languages:
            where.append(documents.c.language.in_(query.languages))
        if query.outdated_for:
            where.append(documents.c.indexed_revision > 0)
            where.append(documents.c.settings_digest.not_in(("", query.outdated_for)))
        if query.created_after is not None:
            where.append(documents.c.create_time >= query.created_after)
        if query.created_before is not None:
            where.append(documents.c.create_time < query.created_before)
        return where

    def _of(self, collection_ids: frozenset[str]) -> ColumnElement[bool]:
        """Return the condition that a document is one of these, as a single parameter for any number of them."""
        if len(collection_ids) == 1:
            return documents.c.collection_id == next(iter(collection_ids))
        if self._database.is_sqlite:
            listed = func.json_each(json.dumps(sorted(collection_ids))).table_valued("value")
            return documents.c.collection_id.in_(select(listed.c.value))
        return documents.c.collection_id == any_(cast(sorted(collection_ids), ARRAY(Text)))

    def _tagged(self, tags: Sequence[str]) -> ColumnElement[bool]:
        """Return the condition that a document has all of these tags."""
        if not self._database.is_sqlite:
            return cast(documents.c.tags, JSONB).contains(list(tags))
        own = func.json_each(documents.c.tags).table_valued("value", name="own")
        wanted = func.json_each(json.dumps(list(tags))).table_valued("value", name="wanted")
        held = select(literal_column("1")).select_from(own).where(own.c.value == wanted.c.value).exists()
        return ~select(literal_column("1")).select_from(wanted).where(~held).exists()

    def _column(self, order: Order) -> ColumnElement[Any]:
        if order.field == "filename" and not self._database.is_sqlite:
            return documents.c.filename_folded.collate("C")
        return documents.c[_FIELDS.get(order.field, order.field)]


def _beyond(column: ColumnElement[Any], order: Order, page: Page) -> ColumnElement[bool]:
    """Return the condition that a document comes after the last one of the previous page, as a range of an index."""
    assert page.position is not None
    value, last = page.position
    place = tuple_(column, documents.c.id)
    beyond = tuple_(literal(value, column.type), literal(last, documents.c.id.type))
    return place < beyond if order.descending else place > beyond
