"""Update masks."""

from __future__ import annotations

import pytest
from footnote.types.v1.collection_pb2 import Collection
from footnote_indexing.collections import masks
from footnote_kit.errors import InvalidArgument

ALLOWED = ("description", "metadata", "settings")


def collection(**settings: object) -> Collection:
    return Collection(description="d", settings=settings)


def test_only_what_is_named_is_copied_and_unset_means_cleared() -> None:
    target = collection(chunking={"size": 500, "overlap_percent": 0}, generation={"stop": {"values": ["a"]}})
    source = collection(chunking={"size": 700}, generation={"stop": {"values": ["b", "c"]}})
    masks.apply(source, target, ["settings.chunking.size", "settings.generation.stop"], ALLOWED)
    assert target.settings.chunking.size == 700
    assert target.settings.chunking.HasField("overlap_percent")
    assert list(target.settings.generation.stop.values) == ["b", "c"]
    masks.apply(source, target, ["settings.chunking.overlap_percent", "settings.ttl"], ALLOWED)
    assert not target.settings.chunking.HasField("overlap_percent")
    assert not target.settings.HasField("ttl")


def test_without_a_mask_what_is_set_is_meant() -> None:
    source = collection(chunking={"overlap_percent": 0}, ttl={"seconds": 5}, generation={"stop": {"values": ["x"]}})
    source.metadata["a"] = 1
    assert sorted(masks.set_paths(source, ALLOWED, opened=("settings",))) == [
        "description", "metadata", "settings.chunking.overlap_percent", "settings.generation.stop", "settings.ttl",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("id", "must not name"),
        ("settings.nope", "names no field"),
        ("metadata.key", "cannot go into 'metadata'"),
        ("settings.generation.stop.x", "cannot go into 'stop'"),
        ("", "must not name ''"),
    ],
)
def test_paths_that_lead_nowhere_are_refused(path: str, words: str) -> None:
    with pytest.raises(InvalidArgument, match=words):
        masks.apply(collection(), collection(), [path], ALLOWED)
