"""The proof between services in Go, Java and TypeScript passes every vector; no language fetches anything."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from support import proof_vectors

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests" / "polyglot" / "proof"
CONSOLE = ROOT / "services" / "edge" / "console" / "node_modules" / ".bin"
SECONDS = 300
ENABLED_BY = {
    "javac": "apt-get install default-jdk", "java": "apt-get install default-jdk", "go": "apt-get install golang",
    "node": "apt-get install nodejs npm", "tsc": "npm ci in services/edge/console",
}  # fmt: skip

pytestmark = pytest.mark.slow


def tool(name: str) -> str:
    """Return a program's path; skips the test when there is none."""
    beside = CONSOLE / name
    found = shutil.which(name) or (str(beside) if beside.exists() else None)
    if found is None:
        pytest.skip(f"{name} is not installed ({ENABLED_BY.get(name, 'see its own page')})")
    return found


def run(folder: Path, *command: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **env}, capture_output=True, text=True, timeout=SECONDS, check=False
    )


def built(folder: Path, *command: str, **env: str) -> None:
    done = run(folder, *command, **env)
    assert done.returncode == 0, done.stdout + done.stderr


def go(folder: Path) -> list[str]:
    built(folder, tool("go"), "build", "-o", "vectors", ".", GOPROXY="off", GOFLAGS="-mod=mod -buildvcs=false")
    return [str(folder / "vectors")]


def java(folder: Path) -> list[str]:
    sources = [path.name for path in folder.glob("*.java")]
    built(folder, tool("javac"), "-Xlint:all", "-Werror", "-d", "out", *sources)
    return [tool("java"), "-cp", str(folder / "out"), "Vectors"]


def typescript(folder: Path) -> list[str]:
    node = tool("node")
    built(folder, tool("tsc"))
    return [node, str(folder / "out" / "vectors.js")]


LANGUAGES: dict[str, Callable[[Path], list[str]]] = {"go": go, "java": java, "typescript": typescript}


@pytest.fixture(scope="module", params=LANGUAGES)
def program(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the command that runs the vectors of a file in one language."""
    folder = tmp_path_factory.mktemp("proof") / request.param
    shutil.copytree(SAMPLES / request.param, folder)
    return LANGUAGES[request.param](folder)


def test_every_vector_passes(program: list[str]) -> None:
    done = run(ROOT, *program, str(proof_vectors.FILE))
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{len(proof_vectors.read())} vectors, 0 failed\n"


@pytest.mark.full
def test_a_vector_that_is_turned_round_fails(program: list[str], tmp_path: Path) -> None:
    names, *rows = proof_vectors.FILE.read_text().splitlines()
    turned = {"\taccept\t": "\trefuse\t", "\trefuse\t": "\taccept\t"}
    wrong = []
    for row in rows:
        (old,) = [one for one in turned if one in row]
        wrong.append(row.replace(old, turned[old]))
    file = tmp_path / "turned.tsv"
    file.write_text("\n".join([names, *wrong]) + "\n")
    done = run(tmp_path, *program, str(file))
    assert done.returncode == 1
    assert done.stdout.endswith(f"{len(rows)} vectors, {len(rows)} failed\n"), done.stdout
