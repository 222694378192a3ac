"""Rows of a store, written as lines page by page, fill another store unchanged, as in a backup and its restore."""

from pathlib import Path

import pytest
from footnote.stages.v1.passage_pb2 import Chunk
from footnote_store.rows import Row
from footnote_store.transfer import PAGE, Transfer, as_line, of_line
from support.engine import running_engine

pytestmark = [pytest.mark.full, pytest.mark.slow]


def row(number: int) -> Row:
    name, text = f"d:{1:06d}:{number:07d}", f"heron {number}"
    chunk = Chunk(id=name, document_id="d", revision=1, ordinal=number, text=text, tenant_id="t", tags=["x"])
    return Row(chunk, "c:1", [1.0, float(number), 0.0, 0.0], text)


async def lines(store: Transfer, space: str) -> list[str]:
    return [as_line(one) async for page in store.pages(space) for one in page]


async def test_rows_arrive_as_they_were(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    for folder in (first, second):
        folder.mkdir()
    with running_engine(first) as here, running_engine(second) as there:
        source, target = Transfer(here), Transfer(there)
        space = await source.ensure_space(4)
        count = 2 * PAGE + 3
        await source.upsert(space, [row(number) for number in range(count)])
        written = await lines(source, space)
        assert len(written) == count
        await target.fill(space, [of_line(line) for line in written])
        assert await lines(target, space) == written
        await source.close()
        await target.close()
