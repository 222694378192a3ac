"""`pip install footnote[client]`: what it brings, and that the client works with that alone."""

import re
import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "protos", "libs", "services")
CLIENT = {"grpcio", "protobuf", "googleapis-common-protos"}
pytestmark = pytest.mark.slow

USE = """
import sys
import footnote.client as package
for name in ("numpy", "typer", "pydantic", "grpc_health"):
    try:
        __import__(name)
    except ModuleNotFoundError:
        continue
    sys.exit(f"{name} is there")
with package.Client("127.0.0.1:1", retry=package.Retry(attempts=1)) as client:
    try:
        client.answer("Is anybody there?", timeout=5)
    except package.Unavailable as failure:
        print(failure)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel of this tree, unpacked; built without a network."""
    folder = tmp_path_factory.mktemp("build")
    ignored = shutil.ignore_patterns("node_modules", "__pycache__", "*.pyc", "*_pb2*", "contracts.binpb")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / "tree" / name, ignore=ignored)
        else:
            (folder / "tree").mkdir(exist_ok=True)
            shutil.copy2(source, folder / "tree" / name)
    built = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")],
        cwd=folder / "tree", capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stdout + built.stderr
    with zipfile.ZipFile(next((folder / "dist").glob("*.whl"))) as archive:
        archive.extractall(folder / "wheel")
    return folder / "wheel"


def name_of(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def required(wheel: Path, extra: str) -> set[str]:
    """Return what pip would fetch for footnote[extra]: read from the wheel's own metadata."""
    told = Parser().parsestr(next(wheel.glob("*.dist-info/METADATA")).read_text())
    lines = told.get_all("Requires-Dist") or []
    return {
        name_of(line) for line in lines if "extra ==" not in line or re.search(rf"extra == ['\"]{extra}['\"]", line)
    }


@pytest.fixture(scope="module")
def alone(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the path of an environment that has the wheel and what the client's packages need, nothing else."""
    folder = tmp_path_factory.mktemp("alone")
    todo, done = [*CLIENT], set[str]()
    while todo:
        name = todo.pop()
        if name in done:
            continue
        done.add(name)
        for file in metadata.files(name) or ():
            if ".." in file.parts:
                continue
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).symlink_to(Path(str(file.locate())))
        todo += [name_of(one) for one in metadata.requires(name) or () if "extra ==" not in one]
    assert done <= CLIENT | {"typing-extensions"}
    return [str(wheel), str(folder)]


def run(alone: list[str], code: str) -> subprocess.CompletedProcess[str]:
    start = f"import sys; sys.path[:0] = {alone!r}\n"
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", start + code], capture_output=True, text=True, timeout=60, check=False
    )


def test_the_extra_brings_grpc_and_protobuf_only(wheel: Path) -> None:
    assert required(wheel, "client") == CLIENT
    assert required(wheel, "server") > CLIENT | {"pymilvus", "typer", "sqlalchemy"}


def test_the_client_works_with_these_alone(alone: list[str]) -> None:
    done = run(alone, USE)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "No server at 127.0.0.1:1.\n"


def test_the_command_says_what_it_lacks(alone: list[str]) -> None:
    done = run(alone, "from footnote_cli.main import run; run()")
    assert done.returncode == 1
    assert done.stderr == "The command footnote needs more than the client: pip install 'footnote[server]'\n"


def test_the_generator_leaves_the_client_where_it_is(wheel: Path) -> None:
    made = {path.name for path in (ROOT / "libs/contracts/src/footnote/client").glob("*.py")}
    assert {path.name for path in (wheel / "footnote/client").glob("*.py")} == made
