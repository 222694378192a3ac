"""Uploads of a killed run: those whose document exists get it, page by page, and old ones are ignored."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from footnote.stages.v1.scope_pb2 import Scope
from footnote.stages.v1.stored_document_pb2 import Document
from footnote_edge.sources import recovery
from footnote_edge.sources.stored import Holder

OLD, YOUNG = timedelta(hours=30), timedelta(minutes=30)


@dataclass
class Row:
    item: str
    began: timedelta
    document_id: str = ""
    nonce: str = "first"
    label: str = ""

    def __post_init__(self) -> None:
        self.label = json.dumps({"time": (datetime.now(UTC) - self.began).isoformat()})

    @property
    def key(self) -> str:
        return self.item


@dataclass
class Items:
    rows: dict[str, Row]
    sizes: list[int] = field(default_factory=list)

    async def unconfirmed(self, source_id: str, after: str, limit: int) -> Sequence[Row]:
        left = [row for key, row in sorted(self.rows.items()) if key > after and row.label and not row.document_id]
        self.sizes.append(len(left[:limit]))
        return left[:limit]

    async def owned(self, source_id: str, document_ids: Collection[str]) -> set[str]:
        return set()

    async def set(self, holder: Holder, key: str, **values: Any) -> None:
        for name in values.keys() & {"document_id", "nonce", "label"}:
            setattr(self.rows[key], name, values[name])


@dataclass
class Store:
    made: dict[str, list[Document]]
    since: list[datetime] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)

    async def changed_since(self, scope: Scope, source: object, since: datetime) -> dict[str, list[Document]]:
        self.since.append(since)
        return self.made

    async def resume(self, document: Document) -> None:
        pass

    async def delete(self, scope: Scope, document_id: str) -> None:
        self.deleted.append(document_id)


@dataclass
class Source:
    id: str = "s"


async def test_each_document_is_found_and_what_was_never_made_is_settled() -> None:
    count = 2 * recovery.BATCH + 7
    rows = {f"i{n:05}": Row(f"i{n:05}", OLD if n % 2 else YOUNG) for n in range(count)}
    made = {one: [Document(id=f"d-{one}"), Document(id=f"twin-{one}")] for one in ("i00000", "i00001", "i01001")}
    items, store = Items(rows), Store(made)
    await recovery.recover_uploads(*cast(Any, (items, store, Scope(), Source(), Holder("s", "r", "t"))))
    assert max(items.sizes) <= recovery.BATCH
    assert {one for one, row in rows.items() if row.document_id} == set(made)
    assert store.deleted == [f"twin-{one}" for one in made]
    for number, (one, row) in enumerate(sorted(rows.items())):
        if one in made:
            assert row.document_id == f"d-{one}"
        elif number % 2:
            assert not row.label, "a call of long ago makes nothing any more"
            assert row.nonce != "first"
        else:
            assert row.label, "a call of just now may still make a document"
    again = Items({one: row for one, row in rows.items() if row.began is OLD})
    store.since.clear()
    await recovery.recover_uploads(*cast(Any, (again, store, Scope(), Source(), Holder("s", "r", "t"))))
    assert not store.since, "it was looked for once"
