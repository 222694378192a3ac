"""`footnote limits`: what single tenants may keep and use."""

import json
from pathlib import Path

import pytest
from footnote_cli.main import app
from typer.testing import CliRunner, Result


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder that does not exist yet, and a wide terminal."""
    monkeypatch.delenv("FOOTNOTE_EDGE_DATABASE_URL", raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path / "new"


def limits(data: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["limits", *arguments, "--data-dir", str(data)])


@pytest.mark.slow
def test_limits_are_set_added_to_listed_and_cleared(data: Path) -> None:
    assert limits(data, "set", "acme", "--documents", "500", "--cost-per-day", "2.5").exit_code == 0
    assert limits(data, "set", "acme", "--tokens-per-day", "0").exit_code == 0
    (listed,) = json.loads(limits(data, "list", "--json").stdout)["limits"]
    assert listed == {"tenant_id": "acme", "documents": 500, "cost_per_day": 2.5, "tokens_per_day": 0}
    shown = limits(data, "list").stdout
    assert "500" in shown
    assert "none" in shown
    assert "acme has no limits of its own any more" in limits(data, "clear", "acme").stdout
    assert json.loads(limits(data, "clear", "acme", "--json").stdout) == {"tenant_id": "acme", "cleared": False}
    assert json.loads(limits(data, "list", "--json").stdout)["limits"] == []


def test_wrong_calls(data: Path) -> None:
    assert limits(data, "set", "acme").exit_code == 2
    negative = limits(data, "set", "acme", "--documents", "-1")
    assert negative.exit_code == 1
    assert "must not be negative" in negative.stderr
