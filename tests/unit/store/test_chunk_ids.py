"""Ids of chunks: what is written is read back, and nothing else is taken for one."""

from __future__ import annotations

import pytest
from footnote_store.ids import chunk_id, parse_chunk_id


@pytest.mark.parametrize("document", ["a", "it's 100%", "a:b:c", "x:000001:0000001", "données/été.pdf", "%27"])
@pytest.mark.parametrize(("revision", "ordinal"), [(0, 0), (3, 7), (1_234_567, 12_345_678)])
def test_a_chunks_id_is_read_back(document: str, revision: int, ordinal: int) -> None:
    assert parse_chunk_id(chunk_id(document, revision, ordinal)) == (document, revision, ordinal)


@pytest.mark.parametrize(
    "id_",
    [
        "", "a", "a:1", ":000001:0000001", "a:1:0000001", "a:000001:1", "a:0000001:0000001", "a:000001:00000_1",
        "a: 00001:0000001", "a:-00001:0000001", "a:000001:" + "9" * 19, "a:000001:٠٠٠٠٠٠١", "a:²²²²²²:0000001",
        "a\x00:000001:0000001", "it's:000001:0000001", "a" * 600 + ":000001:0000001",
    ],
)  # fmt: skip
def test_what_was_never_written_so_is_no_id(id_: str) -> None:
    assert parse_chunk_id(id_) is None
