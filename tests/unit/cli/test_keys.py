import json
import re
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


def keys(data: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["keys", *arguments, "--data-dir", str(data)])


@pytest.mark.slow
def test_a_key_is_shown_once_then_listed_then_revoked(data: Path) -> None:
    made = keys(
        data,
        "create",
        "Ann's laptop",
        "--tenant",
        "acme",
        "--user",
        "ann",
        "--role",
        "reader",
        "--expires",
        "90d",
        "--group",
        "lab",
        "--group",
        "hr",
    )
    assert made.exit_code == 0, made.output
    assert re.fullmatch(r"fn_[0-9a-f]{16}_\S{40,}\n", made.stdout)
    key_id = made.stdout.split("_")[1]

    (listed,) = json.loads(keys(data, "list", "--json").stdout)["keys"]
    assert (listed["id"], listed["tenant_id"], listed["user_id"], listed["role"]) == (key_id, "acme", "ann", "reader")
    assert listed["groups"] == ["hr", "lab"]
    assert "hr, lab" in keys(data, "list").stdout
    assert listed["expire_time"]
    assert made.stdout.strip() not in keys(data, "list").stdout

    assert keys(data, "revoke", key_id).exit_code == 2
    assert keys(data, "revoke", key_id, "--yes").exit_code == 0
    assert "There are no keys" in keys(data, "list").stdout
    assert "revoked" in keys(data, "list", "--all").stdout


def test_wrong_calls(data: Path) -> None:
    assert keys(data, "create", "x", "--role", "king").exit_code == 2
    assert keys(data, "create", "x", "--expires", "soon").exit_code == 2
    missing = keys(data, "revoke", "nope", "--yes")
    assert missing.exit_code == 3
    assert "There is no key 'nope'" in missing.stderr
