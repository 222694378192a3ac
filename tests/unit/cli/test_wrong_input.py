"""Ordinary wrong input is answered with one sentence, or with JSON, and never with a traceback."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from footnote.edge.v1.documents_pb2 import ReplaceDocumentResponse
from footnote_cli.command import run
from footnote_cli.errors import CommandError
from footnote_cli.main import app
from support.base_environment import inherited
from support.doubles.scripted_edge import ScriptedEdge
from typer.testing import CliRunner, Result

Footnote = Callable[..., Result]
LATIN = os.fsdecode(b"caf\xe9")


def refused(result: Result, code: int) -> str:
    """Return the one line with which a command was refused."""
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == code
    (line,) = result.stderr.splitlines()
    return line


@pytest.mark.parametrize("value", ["Zoë", "ann\r", "ann\n", "\x7f"])
@pytest.mark.parametrize("variable", ["FOOTNOTE_API_KEY", "FOOTNOTE_USER", "FOOTNOTE_TENANT"])
def test_a_caller_that_no_header_can_hold(
    variable: str, value: str, footnote: Footnote, edge: ScriptedEdge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    said = refused(footnote("health"), 2)
    assert value.strip() not in said or variable != "FOOTNOTE_API_KEY"
    assert "ASCII" in said
    assert json.loads(refused(footnote("health", "--json"), 2))["error"]["message"]
    assert edge.requests == []


@pytest.mark.parametrize(
    "command",
    [
        ["ask", LATIN],
        ["search", LATIN],
        ["ingest", "a.txt", "--tag", LATIN],
        ["ingest", "a.txt", "--meta", f"a={LATIN}"],
        ["ingest", "a.txt", "--meta", f"{LATIN}=1"],
        ["collections", "create", LATIN],
    ],
    ids=" ".join,
)
def test_bytes_that_are_no_utf8(command: list[str], footnote: Footnote, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    assert "UTF-8" in refused(footnote(*command), 2)
    assert json.loads(refused(footnote(*command, "--json"), 2))["error"]["message"]


@pytest.mark.parametrize("command", [["ask", "-"], ["vectors", "add", "c", "-"]], ids=" ".join)
@pytest.mark.usefixtures("footnote")
def test_input_that_is_no_utf8(command: list[str]) -> None:
    assert "UTF-8" in refused(CliRunner().invoke(app, command, input=b'{"id": "caf\xe9"}\n'), 2)


@pytest.mark.parametrize("fault", [lambda: b"caf\xe9".decode(), lambda: "café".encode("ascii")], ids=["in", "out"])
def test_other_text_that_is_no_utf8_is_not_blamed_on_the_caller(fault: Callable[[], object]) -> None:
    async def body() -> None:
        fault()

    with pytest.raises(UnicodeError):
        run(body)


def test_only_commands_that_images_leave_out_name_the_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "footnote_cli.commands.admin", None)
    left_out = CliRunner().invoke(app, ["admin", "doctor"]).exception
    assert isinstance(left_out, CommandError)
    assert "TARGET" in left_out.hint

    def broken(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'plugin'", name="plugin")

    monkeypatch.setattr("footnote_cli.command.open_session", broken)
    assert isinstance(CliRunner().invoke(app, ["health"]).exception, ModuleNotFoundError)


@pytest.mark.parametrize(
    "command",
    [
        ["documents", "update", "doc-x", "--ttl", "99999999d"],
        ["ingest", "a.txt", "--ttl", "99999999d"],
        ["documents", "list", "--since", "99999999d"],
        ["keys", "create", "x", "--expires", "99999999d", "--data-dir", "keys"],
    ],
    ids=" ".join,
)
def test_a_time_beyond_the_calendar(command: list[str], footnote: Footnote, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    assert "99999999d" in refused(footnote(*command), 2)


def test_a_century_is_a_time(footnote: Footnote) -> None:
    assert footnote("documents", "update", "doc-x", "--ttl", "36500d").exit_code == 1  # the double has no such call


@pytest.mark.parametrize("what", [["keys", "create", "x"], ["limits", "list"], ["audit", "list"]], ids=" ".join)
def test_a_folder_that_cannot_be_made(what: list[str], footnote: Footnote) -> None:
    assert "/proc/nope" in refused(footnote(*what, "--data-dir", "/proc/nope"), 1)


@contextmanager
def ordinary_user() -> Iterator[None]:
    """Let permissions count, also for root."""
    owner = os.geteuid()
    if not owner:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(owner)


def test_a_database_that_may_not_be_written(footnote: Footnote) -> None:
    with TemporaryDirectory() as folder:
        assert footnote("keys", "create", "x", "--data-dir", folder).exit_code == 0
        for path in (Path(folder), *Path(folder).rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        with ordinary_user():
            result = footnote("keys", "create", "y", "--data-dir", folder)
        for path in (Path(folder), *Path(folder).rglob("*")):
            path.chmod(0o755)
    assert "cannot be used: attempt to write a readonly database" in refused(result, 1)


class ReplacingEdge(ScriptedEdge):
    """Reads a replacement to its end."""

    async def ReplaceDocument(self, requests: Any, context: Any) -> ReplaceDocumentResponse:
        async for _ in requests:
            pass
        return ReplaceDocumentResponse()


@pytest.mark.parametrize("edge", [ReplacingEdge()])
def test_a_file_that_may_not_be_read(footnote: Footnote, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "a.txt").chmod(0)
    tmp_path.chmod(0o755)
    with ordinary_user():
        result = footnote("documents", "replace", "doc-x", "a.txt")
    assert "a.txt: Permission denied" in refused(result, 1)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a full device")
@pytest.mark.parametrize("command", [["--help"], ["--version"], ["collections", "list"], ["health", "--json"]])
def test_output_that_cannot_be_written(command: list[str], address: str) -> None:
    environment = {**inherited(), "FOOTNOTE_EDGE_ADDRESS": address, "PYTHONPATH": os.pathsep.join(sys.path)}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "footnote_cli.main", *command],
            env=environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "No space left on device" in done.stderr
