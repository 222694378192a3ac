"""Where the command line takes the key from, and what it says of one that others can read."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.doubles.scripted_edge import ScriptedEdge
from typer.testing import Result

Footnote = Callable[..., Result]


def sent(edge: ScriptedEdge) -> str:
    return edge.metadata[-1].get("authorization", "")


def test_a_key_on_the_command_line_is_warned_of(footnote: Footnote, edge: ScriptedEdge) -> None:
    result = footnote("ask", "q", "--api-key", "fn_visible")
    assert result.exit_code == 0
    assert "FOOTNOTE_API_KEY_FILE" in result.stderr
    assert "fn_visible" not in result.stderr
    assert sent(edge) == "Bearer fn_visible"


def test_a_key_in_the_environment_is_not(
    footnote: Footnote, edge: ScriptedEdge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTE_API_KEY", "fn_quiet")
    assert "list of processes" not in footnote("ask", "q").stderr
    assert sent(edge) == "Bearer fn_quiet"


def test_a_key_may_stand_in_a_file(
    footnote: Footnote, edge: ScriptedEdge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "key"
    file.write_text("fn_filed\n")
    monkeypatch.setenv("FOOTNOTE_API_KEY_FILE", str(file))
    assert "list of processes" not in footnote("ask", "q").stderr
    assert sent(edge) == "Bearer fn_filed"
    monkeypatch.setenv("FOOTNOTE_API_KEY", "fn_nearer")
    footnote("ask", "q")
    assert sent(edge) == "Bearer fn_nearer"


@pytest.mark.parametrize("content", [None, b"", b"two words", b"a\nb", b"\xff\xfe"])
def test_a_file_without_a_key_is_said_so(
    footnote: Footnote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None
) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    monkeypatch.setenv("FOOTNOTE_API_KEY_FILE", str(file))
    result = footnote("ask", "q")
    assert result.exit_code == 2
    assert str(file) in result.stderr.replace("\n", "")
