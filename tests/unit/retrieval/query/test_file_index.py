"""File names that are kept: the newest of the same collections, so many in all, and none that are too old."""

from typing import Any

import pytest
from footnote.types.v1.collection_pb2 import Collection, EmbeddingSettings
from footnote_retrieval.model import Group, Searchable
from footnote_retrieval.query import file_index
from footnote_retrieval.query.file_index import FileIndex


class Store:
    """A store with so many files in each collection, which counts how often it is asked."""

    def __init__(self, files: int) -> None:
        self.files = files
        self.asked = 0

    async def filenames(self, space: str, expr: str, limit: int, timeout: float) -> dict[str, str]:
        self.asked += 1
        return {f"document-{one}": f"report_{self.asked}_{one}.pdf" for one in range(min(self.files, limit))}


def group(name: str, documents: int) -> Group:
    collection = Collection(id=name, name=name, document_count=documents, chunk_count=documents)
    member = Searchable(collection, "chunks_384_0", f"{name}:1", (), ())
    return Group("chunks_384_0", EmbeddingSettings(dimensions=384), (member,), "t")


def kept(index: Any) -> int:
    return sum(len(held.names) for held in index._cache.values())


async def test_of_a_collection_that_changes_only_the_newest_names_are_kept() -> None:
    store = Store(10)
    index = FileIndex(store)  # type: ignore[arg-type]
    for documents in range(50):
        names = await index.names(group("a", documents), 1.0, 1.0)
        assert await index.names(group("a", documents), 1.0, 1.0) is names
    assert store.asked == 50
    assert kept(index) == 10


async def test_no_more_are_kept_in_all_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_index, "_MAX_NAMES", 100)
    store = Store(30)
    index = FileIndex(store)  # type: ignore[arg-type]
    for number in range(20):
        await index.names(group(f"c{number}", 1), 1.0, 1.0)
        assert kept(index) <= 100
        assert index._cache.currsize == kept(index)
    assert kept(index) == 90
    store.files = 200
    assert len(await index.names(group("large", 1), 1.0, 1.0)) == 200
    assert kept(index) == 90, "names that are too many to cache evict no others"


async def test_the_store_is_not_asked_for_more_names_than_are_used() -> None:
    store = Store(10)
    index = FileIndex(store)  # type: ignore[arg-type]
    assert len(await index.names(group("large", file_index._MAX_FILES), 1.0, 1.0)) == 10
    found = await index.names(group("larger", file_index._MAX_FILES + 1), 1.0, 1.0)
    assert (store.asked, len(found), found.complete) == (1, 0, False)


async def test_old_ones_go_when_others_come(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(file_index.time, "monotonic", lambda: now)
    index = FileIndex(Store(10))  # type: ignore[arg-type]
    for number in range(5):
        await index.names(group(f"c{number}", 1), 1.0, 1.0)
    now = 31.0
    await index.names(group("new", 1), 1.0, 1.0)
    assert kept(index) == 10
