"""`footnote audit` on a deployment's own database, and what its arguments mean."""

import json
from pathlib import Path

import pytest
from footnote_cli.main import app
from typer.testing import CliRunner, Result


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder that does not exist yet, and a wide terminal."""
    monkeypatch.delenv("FOOTNOTE_EDGE_DATABASE_URL", raising=False)
    monkeypatch.setenv("COLUMNS", "160")
    return tmp_path / "new"


def run(data: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "--data-dir", str(data)])


def test_what_was_done_without_a_server_is_listed_and_exported(data: Path) -> None:
    assert "no such events" in run(data, "audit", "list").stdout
    run(data, "keys", "create", "ci", "--tenant", "acme", "--role", "admin")
    run(data, "limits", "set", "beta", "--documents", "5")
    listed = json.loads(run(data, "audit", "list", "--json").stdout)["events"]
    assert [(one["tenant_id"], one["action"]) for one in listed] == [
        ("beta", "UpdateTenantLimits"), ("acme", "CreateKey"),
    ]  # fmt: skip
    assert listed[0]["changed_fields"] == ["documents"]
    assert listed[0]["door"] == "AUDIT_DOOR_COMMAND"
    shown = run(data, "audit", "list", "--of-tenant", "acme").stdout
    assert "CreateKey" in shown
    assert "UpdateTenantLimits" not in shown
    lines = run(data, "audit", "export", "--resource", "limits/", "--since", "1d").stdout.splitlines()
    assert [json.loads(line)["resource"] for line in lines] == ["limits/beta"]
    assert "The newest 1" in run(data, "audit", "list", "--limit", "1").stderr


@pytest.mark.parametrize(
    "arguments",
    [("--outcome", "odd"), ("--since", "soon"), ("--of-tenant", "a", "--all-tenants"), ("--address", "127.0.0.1:1")],
)
def test_wrong_calls(data: Path, arguments: tuple[str, ...]) -> None:
    assert run(data, "audit", "list", *arguments).exit_code == 2
