"""`footnote chunks`."""

import json
from collections.abc import Callable

from support.doubles.scripted_edge import QUOTE, ScriptedEdge
from typer.testing import Result

Footnote = Callable[..., Result]


def test_chunks_are_listed_in_reading_order_over_all_pages(footnote: Footnote, edge: ScriptedEdge) -> None:
    result = footnote("chunks", "list", "d" * 32)
    assert result.exit_code == 0
    assert [request.page_token for request in edge.requests] == ["", "2"]
    _, *rows = [line for line in result.stdout.splitlines() if "handbook.pdf" in line or "Characters" in line]
    assert ["page 2" in rows[0], "page 3" in rows[1]] == [True, True]
    assert "300–348" in rows[1]
    listed = json.loads(footnote("chunks", "list", "d", "--json").stdout)["chunks"]
    assert [one["ordinal"] for one in listed] == [2, 3]


def test_a_chunk_is_shown_with_its_place_and_text(footnote: Footnote) -> None:
    result = footnote("chunks", "show", "d:000001:0000003")
    assert result.exit_code == 0
    for words in ("handbook.pdf, page 3", "300–348", "heading section", QUOTE):
        assert words in result.stdout
    shown = json.loads(footnote("chunks", "show", "d:000001:0000003", "--json").stdout)
    assert shown["text"] == QUOTE
    missing = footnote("chunks", "show", "d:000001:0000099")
    assert missing.exit_code == 3
    assert "not found" in missing.stderr
