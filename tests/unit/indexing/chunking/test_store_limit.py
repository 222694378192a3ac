"""What a chunk carries beside its text stays within the store's limit, counted in bytes for every script."""

import pytest
from footnote.stages.v1.passage_pb2 import Chunk
from footnote.types.v1.locator_pb2 import Anchor
from footnote_indexing.chunking.drafts import _MOST_BYTES, _bound


@pytest.mark.parametrize("letter", ["a", "ж", "字"])
@pytest.mark.parametrize(("places", "headings", "anchors"), [(0.4, True, True), (1.4, False, True), (9, False, False)])
def test_headings_go_before_places(letter: str, places: float, headings: bool, anchors: bool) -> None:
    chunk = Chunk(text=letter * 20_000)
    anchor = Anchor()
    anchor.locator.heading_path.append("h" * 1000)
    size = len(anchor.SerializeToString())
    chunk.anchors.extend([anchor] * int(places * _MOST_BYTES / size))
    if not anchors:
        for one in chunk.anchors:
            one.locator.sheet.sheet = "s" * 1000
    _bound(chunk)
    assert bool(chunk.anchors) is anchors
    assert all(bool(one.locator.heading_path) is headings for one in chunk.anchors)
