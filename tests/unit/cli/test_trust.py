"""`footnote service-token` and `footnote stage-token`, against a real stage."""

import asyncio
import json
import stat
from collections.abc import Callable
from pathlib import Path

import grpc
import pytest
from footnote.stages.v1.scope_pb2 import Scope
from footnote_cli.main import app
from footnote_kit import secret_file
from footnote_kit.credential import ServiceCredential, new_secret
from footnote_kit.testing import serve_app
from google.protobuf.json_format import Parse
from support.doubles.services import Answer, Ask, SampleService, SampleStub
from typer.testing import CliRunner, Result


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Result]:
    """Runs a command in an empty folder without variables."""
    monkeypatch.chdir(tmp_path)
    for name in ("FOOTNOTE_SERVICE_TOKEN", "FOOTNOTE_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    return lambda *words: CliRunner().invoke(app, words)


async def answered(header: str, scope: Scope, credential: ServiceCredential) -> bool:
    """Return whether a stage takes a printed header for a scope."""

    async def fine(_: object, __: object) -> Answer:
        return Answer(name="fine")

    key, _, value = header.strip().partition(": ")
    async with (
        serve_app(SampleService(unary=fine).app("retrieval"), credential=credential) as served,
        grpc.aio.insecure_channel(served.address) as channel,
    ):
        call = SampleStub(channel).unary(Ask(scope=scope), metadata=((key, value),))
        return await call.code() is grpc.StatusCode.OK


def test_a_header_for_a_developers_tool(
    run: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = secret_file.shared(tmp_path / "footnote-data")
    printed = run("stage-token", "--stage", "retrieval", "--tenant", "t", "--user", "u", "--role", "reader")
    assert printed.exit_code == 0, printed.output
    scope = Parse(printed.stderr.partition('"scope": ')[2], Scope())
    assert json.loads(printed.stderr.partition('"scope": ')[2])["tenantId"] == "t"
    assert asyncio.run(answered(printed.stdout, scope, shared))
    assert not asyncio.run(answered(printed.stdout, Scope(tenant_id="other", user_id="u"), shared))
    assert not asyncio.run(answered(printed.stdout, scope, ServiceCredential.random()))
    secret = new_secret()
    monkeypatch.setenv("FOOTNOTE_SERVICE_TOKEN", secret)
    printed = run("stage-token", "--stage", "retrieval", "--tenant", "t", "--user", "u", "--role", "reader")
    assert asyncio.run(answered(printed.stdout, scope, ServiceCredential(secret)))


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--stage", "edge"), 2, "There is no stage 'edge'"),
        (("--stage", "retrieval", "--role", "king"), 2, "There is no role 'king'"),
        (("--stage", "retrieval"), 1, "holds no secret"),
    ],
)
def test_what_cannot_be_printed(run: Callable[..., Result], words: tuple[str, ...], code: int, message: str) -> None:
    result = run("stage-token", *words)
    assert result.exit_code == code
    assert message in result.stderr


def test_a_secret_is_made_once(run: Callable[..., Result], tmp_path: Path) -> None:
    file = tmp_path / "run" / "token"
    assert run("service-token", str(file)).exit_code == 0
    text = file.read_text()
    assert len(text.strip()) == 64
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert run("service-token", str(file)).exit_code == 0
    assert file.read_text() == text
    assert run("service-token", "/dev/null/token").exit_code == 1
