"""Copies rows between vector stores with all columns unchanged, vectors included."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import numpy as np
from footnote_kit.errors import FailedPrecondition

from footnote_store.compiler import quote
from footnote_store.milvus import Milvus
from footnote_store.milvus_protocol.milvus_pb2 import UpsertRequest
from footnote_store.requests import query, write_request
from footnote_store.rows import dimensions_of, space_name
from footnote_store.store import VectorStore

PAGE = 500
_SECONDS = 120.0
_MESSAGES = "messages_"
_VARIANT = re.compile(r"_v(\d+)_\d+$")
_VECTOR = "dense"

Entity = dict[str, Any]


class Transfer(VectorStore):
    """A store that administration tools read or fill as a whole."""

    async def spaces(self) -> list[str]:
        """Return the names of all physical collections."""
        found: list[str] = await self._call("list_collections", "", _SECONDS, lambda c: c.collections(_SECONDS))
        return found

    async def total(self, space: str) -> int:
        """Return the number of rows in a space; 0 for a missing one."""
        return await self.count(space, 'id != ""', _SECONDS)

    async def pages(self, space: str) -> AsyncIterator[list[Entity]]:
        """Yield all rows in the order of their ids, at most 500 at a time; concurrent inserts may be among them."""
        columns = await self._columns(space)
        last = ""
        while True:
            expr = f"id > {quote(last)}" if last else 'id != ""'

            async def look(client: Milvus, expr: str = expr) -> list[Entity]:
                found = await query(client, space, expr, PAGE, columns, _SECONDS)
                values = zip(*(found[name] for name in columns), strict=True) if found else ()
                return [dict(zip(columns, row, strict=True)) for row in values]

            rows: list[Entity] = await self._call("query", space, _SECONDS, look)
            rows.sort(key=lambda row: str(row["id"]))
            if rows:
                yield [{**row, "facets": json.loads(row["facets"])} if "facets" in row else row for row in rows]
            if len(rows) < PAGE:
                return
            last = str(rows[-1]["id"])

    async def fill(self, space: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows from `pages`; create the space if it is missing."""
        await self._made(space)
        for start in range(0, len(rows), PAGE):
            request = write_request(UpsertRequest, space, rows[start : start + PAGE])
            await self._write(space, request, _SECONDS)

    async def _made(self, space: str) -> None:
        dimensions = dimensions_of(space)
        if space.startswith(_MESSAGES):
            made = await self.ensure_message_space(dimensions, _SECONDS)
        else:
            variant = _VARIANT.search(space)
            made = await self.ensure_space(dimensions, int(variant[1]) - 1 if variant else 0, _SECONDS)
        if made != space:
            raise FailedPrecondition(
                f"The rows of {space} have a layout that this version does not write (it writes "
                f"{space_name(dimensions)}): bring them in with the version that wrote them"
            )

    async def _columns(self, space: str) -> list[str]:
        async def look(client: Milvus) -> list[str]:
            schema = await client.schema(space, _SECONDS)
            return [field.name for field in schema.fields if field.name != "sparse"] if schema else []

        found: list[str] = await self._call("describe_collection", space, _SECONDS, look)
        return found


def as_line(row: Mapping[str, Any]) -> str:
    """Return a row as a line of JSON, with its vector as base64 of 32-bit floats."""
    packed = base64.b64encode(np.asarray(row[_VECTOR], dtype="<f4").tobytes()).decode()
    return json.dumps({**row, _VECTOR: packed}, ensure_ascii=True, separators=(",", ":"))


def of_line(line: str) -> Entity:
    """Return the row in a line from `as_line`; ValueError for another line."""
    row: Entity = json.loads(line)
    row[_VECTOR] = np.frombuffer(base64.b64decode(row[_VECTOR]), dtype="<f4")
    return row
