from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.testing
from footnote_cli.main import app
from support.doubles.scripted_edge import ScriptedEdge, served
from typer.testing import CliRunner, Result

# The tree of all commands is built once for a process, as a user's is: it takes 0.1 s.
setattr(typer.testing, "_get_command", cache(typer.testing._get_command))  # noqa: B010


@pytest.fixture
def edge() -> ScriptedEdge:
    """Edge's double, whose answers a test scripts."""
    return ScriptedEdge()


@pytest.fixture
def address(edge: ScriptedEdge) -> Iterator[str]:
    """Where that double listens."""
    with served(edge) as where:
        yield where


@pytest.fixture
def footnote(address: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Result]:
    """Run the command line against the scripted edge, in an empty folder, without colours, 100 columns wide."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOOTNOTE_EDGE_ADDRESS", address)
    monkeypatch.setenv("COLUMNS", "100")
    for name in ("FOOTNOTE_API_KEY", "FOOTNOTE_API_KEY_FILE", "FOOTNOTE_TENANT", "FOOTNOTE_USER", "FOOTNOTE_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    runner = CliRunner()
    return lambda *arguments: runner.invoke(app, list(arguments))
