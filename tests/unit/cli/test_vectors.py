"""Rows of JSON lines, cut into calls that are small enough; vectors of files."""

import json
from pathlib import Path

import pytest
from footnote_cli.commands.vectors import MOST_BYTES, batches
from footnote_cli.errors import CommandError
from footnote_cli.values import read_vector


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "length", "sizes"), [(0, 1, []), (2001, 1, [1000, 1000, 1]), (1200, 1536, [583, 583, 34])]
)
def test_rows_are_cut_into_calls_that_the_server_takes(rows: int, length: int, sizes: list[int]) -> None:
    lines = (json.dumps({"id": f"{n:04}", "text": "x" * 10, "vector": [0.5] * length}) + "\n" for n in range(rows))
    found = list(batches(lines))
    assert [len(batch) for batch in found] == sizes
    assert all(sum(row.ByteSize() for row in batch) <= MOST_BYTES for batch in found)
    assert [row.id for batch in found for row in batch] == [f"{n:04}" for n in range(rows)]


@pytest.mark.parametrize("line", ["{", "[]", '{"vector": "x"}', '{"embedding": [1]}', '{"vector": [1, "x"]}'])
def test_a_line_that_is_no_row_is_named(line: str) -> None:
    with pytest.raises(CommandError, match="Line 3 is no row"):
        list(batches(iter(['{"text": "a", "vector": [1]}\n', "\n", line])))


@pytest.mark.parametrize("text", ["", "{", "{}", "[]", "7", '["x"]', "[true]", "[null]", "[1e999999"])
def test_a_file_that_holds_no_vector_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "vector.json"
    path.write_text(text)
    with pytest.raises(CommandError, match="holds no vector"):
        read_vector(path)
    path.write_text(" [1, -2.5e-3]\n")
    assert read_vector(path) == [1.0, -0.0025]
