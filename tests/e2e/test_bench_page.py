"""`make bench`, as small as it gets: that it runs end to end, and that its page has every part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.page.__main__ import main

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(600)]


# What pymilvus and the fonts of the PDF writer say of themselves is not what is tested.
@pytest.mark.filterwarnings("default")
def test_a_tiny_run_writes_a_whole_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--tiny", "--json", "--out", str(tmp_path)])
    told = json.loads(capsys.readouterr().out)
    titles = [section["title"] for section in told["sections"]]
    assert titles == [
        "Taking files in, first byte to all searchable", titles[1], "Hybrid search in an empty collection",
        "Asking the built-in answerer", "Asking a model double of 50 tokens/s", "Starting, memory, disk",
    ]  # fmt: skip
    rows = {f"{section['title']}: {row['name']}": row for section in told["sections"] for row in section["rows"]}
    assert all(row["value"] is not None for row in rows.values())
    assert not [name for name, row in rows.items() if name.endswith("errors") and row["value"]]
    compared = [section for section in told["sections"] if section["beside"]]
    assert all(any(row["ratio"] for row in section["rows"]) for section in compared)
    written = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert all(f"## {title}" in written for title in titles)
