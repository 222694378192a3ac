"""An augmentation stage in another language, generated from the contracts, passes the suite."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from footnote_conformance.stages import suite_of
from footnote_conformance.suite import Outcome, open_target, run
from footnote_kit.credential import ServiceCredential, new_secret
from footnote_kit.settings import KitSettings

HERE = Path(__file__).resolve().parent / "go_augmentation"
ROOT = Path(__file__).resolve().parents[2]
PROOF = ROOT / "tests" / "polyglot" / "proof" / "go" / "proof.go"
PLUGINS = (
    "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.6",
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.5.1",
)
FETCH_SECONDS = 120
# Three quarters of a minute of processor time where nothing is built yet, and the tests beside take most of it.
BUILD_SECONDS = 900

pytestmark = [pytest.mark.full, pytest.mark.slow, pytest.mark.timeout(3 * FETCH_SECONDS + 2 * BUILD_SECONDS + 300)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the stage; skipped for want of Go, buf, or modules that cannot be fetched."""
    beside = Path(sys.executable).parent / "buf"
    go, buf = shutil.which("go"), str(beside) if beside.exists() else shutil.which("buf")
    if go is None or buf is None:
        pytest.skip(f"{'Go' if go is None else 'buf'} is not installed (see its own page)")
    folder = tmp_path_factory.mktemp("go") / "augmentation"
    shutil.copytree(HERE, folder)
    shutil.copy(PROOF, folder)
    plugins = folder / "bin"
    path = f"{plugins}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "GOBIN": str(plugins), "GOFLAGS": "-mod=mod -buildvcs=false", "PATH": path}
    for command in (*([go, "install", plugin] for plugin in PLUGINS), [go, "mod", "download"]):
        try:
            subprocess.run(
                command, cwd=folder, env=env, check=True, capture_output=True, text=True, timeout=FETCH_SECONDS
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"Go's modules cannot be fetched: {str(error.stderr)[-300:]}")
    protos = str(ROOT / "protos")
    generate = [buf, "generate", protos, "--template", "buf.gen.yaml", "--path", f"{protos}/footnote"]
    env["GOPROXY"] = "off"  # all is there: what is wrong from here on is ours
    for command in (generate, [go, "build", "-o", "stage", "."]):
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=BUILD_SECONDS)
        assert done.returncode == 0, done.stderr
    return folder / "stage"


@pytest.fixture
def address(program: Path, tmp_path: Path) -> Iterator[tuple[str, ServiceCredential]]:
    """Where the Go stage listens, and the credential that it takes."""
    secret = new_secret()
    env = {**os.environ, "FOOTNOTE_SERVICE_TOKEN": secret}
    said = tmp_path / "said"
    with said.open("w") as errors:
        process = subprocess.Popen([str(program)], stdout=subprocess.PIPE, stderr=errors, text=True, env=env)
    try:
        assert process.stdout is not None
        where = process.stdout.readline().strip()
        assert where, said.read_text()
        yield where, ServiceCredential(secret)
    finally:
        process.kill()
        process.communicate()


async def test_an_augmentation_stage_in_go_conforms(address: tuple[str, ServiceCredential]) -> None:
    suite = suite_of("augmentation")
    async with open_target(suite, address[0], {}, address[1], KitSettings()) as target:
        results = await run(suite, target)
    assert {one.check.name: one.found for one in results if one.outcome is not Outcome.OK} == {}
