"""Two distributions of one tree: `footnote-client` needs gRPC and protobuf alone, `footnote` is what serves."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.parser import Parser
from importlib import metadata
from pathlib import Path

import grpc
import pytest
from footnote.edge.v1 import system_pb2, system_pb2_grpc

pytestmark = pytest.mark.full

ROOT = Path(__file__).resolve().parents[3]
CONTRACTS = ROOT / "libs" / "contracts"
KIT = ROOT / "libs" / "kit" / "src" / "footnote_kit"
SOURCES = ("pyproject.toml", "README.md", "LICENSE", "protos", "libs", "services")
NEEDS = {"grpcio", "protobuf", "googleapis-common-protos"}
STAGES = {"ingestion", "indexing", "retrieval", "augmentation", "generation", "telemetry"}

USE = """
import sys
import footnote.client as package
from footnote.edge.v1.system_pb2 import GetSystemInfoRequest
for name in ("numpy", "typer", "pydantic", "grpc_health", "footnote_cli", "footnote_edge", "footnote_kit.server"):
    try:
        __import__(name)
    except ModuleNotFoundError:
        continue
    sys.exit(f"{name} is there")
with package.Client(sys.argv[1]) as client:
    print(client.system.GetSystemInfo(GetSystemInfoRequest(), timeout=30).version)
with package.Client("127.0.0.1:1", retry=package.Retry(attempts=1)) as client:
    try:
        client.answer("Is anybody there?", timeout=5)
    except package.Unavailable as failure:
        print(failure)
"""


def project(folder: Path) -> dict[str, object]:
    found: dict[str, object] = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return found


def name_of(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def excluded() -> set[str]:
    """Return the files of kit that the wheel of `footnote` leaves to the client's."""
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    return {Path(name).name for name in tool["hatch"]["build"]["targets"]["wheel"]["exclude"]}


def kit_imports(path: Path) -> set[str]:
    """Return the modules of kit that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("footnote_kit"):
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("footnote_kit.")}
    return found


def test_the_client_has_what_it_imports_of_kit_and_no_more() -> None:
    todo = set().union(*(kit_imports(path) for path in (CONTRACTS / "src/footnote/client").glob("*.py")))
    needed: set[str] = set()
    while todo:
        one = todo.pop()
        needed.add(one)
        todo |= kit_imports(KIT / f"{one}.py") - needed
    assert {name.removesuffix(".py") for name in excluded()} == needed | {"__init__", "py.typed"}


def test_both_have_one_version_and_the_server_requires_the_clients() -> None:
    server, client = project(ROOT), project(CONTRACTS)
    assert server["version"] == client["version"]
    assert f"footnote-client=={client['version']}" in server["dependencies"]  # type: ignore[operator]


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return the wheels of a copy of this tree by distribution; built without a network."""
    folder = tmp_path_factory.mktemp("build")
    ignored = shutil.ignore_patterns("node_modules", "__pycache__", "*.pyc", "*_pb2*", "contracts.binpb")
    (folder / "tree").mkdir()
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / "tree" / name, ignore=ignored)
        else:
            shutil.copy2(source, folder / "tree" / name)
    for where in ("libs/contracts", "."):
        built = subprocess.run(
            [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")],
            cwd=folder / "tree" / where, capture_output=True, text=True, timeout=280, check=False,
        )  # fmt: skip
        assert built.returncode == 0, built.stdout + built.stderr
    return {path.name.split("-")[0]: path for path in (folder / "dist").glob("*.whl")}


def files(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def required(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        lines = Parser().parsestr(archive.read(name).decode()).get_all("Requires-Dist") or []
    return {name_of(line) for line in lines if "extra ==" not in line}


@pytest.mark.slow
def test_the_client_holds_its_own_code_and_the_contracts(wheels: dict[str, Path]) -> None:
    client = files(wheels["footnote_client"])
    assert {name.split("/")[0] for name in client} == {"footnote", "footnote_kit"}
    assert {name.removeprefix("footnote_kit/") for name in client if name.startswith("footnote_kit/")} == excluded()
    ours = {f"footnote/client/{path.name}" for path in (CONTRACTS / "src/footnote/client").glob("*.py")}
    assert ours <= client
    assert {"footnote/py.typed", "footnote/contracts.binpb", "footnote/edge/v1/answers_pb2_grpc.py"} <= client
    assert {name.split("/")[1] for name in client if name.startswith("footnote/")} >= STAGES | {"types", "edge"}
    assert required(wheels["footnote_client"]) == NEEDS
    with zipfile.ZipFile(wheels["footnote_client"]) as archive:
        assert not [name for name in archive.namelist() if name.endswith("entry_points.txt")], "no command"


@pytest.mark.slow
def test_the_server_holds_what_serves_and_nothing_twice(wheels: dict[str, Path]) -> None:
    client, server = files(wheels["footnote_client"]), files(wheels["footnote"])
    assert client & server == set()
    folders = {path.name for path in ROOT.glob("*/*/src/footnote_*") if list(path.glob("*.py"))}
    assert {name.split("/")[0] for name in server} == folders
    kit = {str(path.relative_to(KIT.parent)) for path in KIT.rglob("*.py")}
    assert kit <= client | server
    assert required(wheels["footnote"]) > {"footnote-client", "pymilvus", "typer", "sqlalchemy"}
    with zipfile.ZipFile(wheels["footnote"]) as archive:
        (points,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
        assert b"footnote = footnote_cli.main:run" in archive.read(points)


@pytest.fixture(scope="module")
def python(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the interpreter of an environment with the client's wheel and what that requires, nothing else."""
    folder = tmp_path_factory.mktemp("alone")
    venv.create(folder / "venv", with_pip=False)
    found = folder / "venv" / "bin" / "python"
    asked = [str(found), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = Path(subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip())
    pip = [sys.executable, "-m", "pip", "--python", str(found), "install", "--no-index", "--no-deps", "--quiet"]
    done = subprocess.run([*pip, str(wheels["footnote_client"])], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    todo, there = [*NEEDS], set[str]()
    while todo:
        name = todo.pop()
        if name in there:
            continue
        there.add(name)
        for file in metadata.files(name) or ():
            if ".." not in file.parts:
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                (site / file).symlink_to(Path(str(file.locate())))
        todo += [name_of(one) for one in metadata.requires(name) or () if "extra ==" not in one]
    assert there <= NEEDS | {"typing-extensions"}
    return found


class Versions(system_pb2_grpc.SystemServiceServicer):
    def GetSystemInfo(self, request: object, context: object) -> system_pb2.GetSystemInfoResponse:
        return system_pb2.GetSystemInfoResponse(version="9.8.7")


@pytest.fixture
def address() -> Iterator[str]:
    """Where a server listens that says its versions only."""
    server = grpc.server(ThreadPoolExecutor(2))
    system_pb2_grpc.add_SystemServiceServicer_to_server(Versions(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(0).wait()


@pytest.mark.slow
def test_the_installed_client_makes_a_call(python: Path, address: str) -> None:
    done = subprocess.run(
        [str(python), "-I", "-c", USE, address], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "9.8.7\nNo server at 127.0.0.1:1.\n"


@pytest.mark.slow
def test_a_source_distribution_of_the_client_is_refused(tmp_path: Path) -> None:
    built = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path)],
        cwd=CONTRACTS, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert built.returncode != 0
    assert "built as a wheel" in built.stderr + built.stdout
    assert list(tmp_path.iterdir()) == []
