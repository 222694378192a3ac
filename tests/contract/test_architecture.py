"""The architecture: services -> libs -> contracts, packages in layers, and inside a service logic knows no gRPC."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from support import code

ROOT = Path(__file__).resolve().parents[2]
LIBS = (
    "footnote_kit",
    "footnote_text",
    "footnote_database",
    "footnote_store",
    "footnote_providers",
    "footnote_conformance",
    "footnote_cli",
)
SERVICES = (
    "footnote_ingestion",
    "footnote_indexing",
    "footnote_retrieval",
    "footnote_augmentation",
    "footnote_generation",
    "footnote_edge",
)
# The only modules of a service that may speak gRPC: translation, composition and what reaches other stages.
TRANSPORT = ("servicer", "app", "adapters", "http")


def sources(package: str) -> list[Path]:
    folder = next(ROOT.glob(f"*/*/src/{package}"))
    return sorted(folder.rglob("*.py"))


def imports(path: Path) -> set[str]:
    return code.facts(path).imports


def top(module: str) -> str:
    return module.split(".", 1)[0]


def test_imports_keep_to_the_floors_of_the_house() -> None:
    """The rules are in pyproject.toml; a new package that none of them names fails as well."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("package", [*LIBS, *SERVICES])
def test_no_service_is_named_by_string(package: str) -> None:
    """What is loaded by its name goes through an entry point: an import that no rule sees is none."""
    others = [service for service in SERVICES if service != package]
    named = re.compile(rf"({'|'.join(others)})(\.\w+)*(:\w+)?")
    for path in sources(package):
        for said in code.facts(path).strings:
            assert not (said.startswith("footnote_") and named.fullmatch(said)), f"{path}: {said}"


def test_every_folder_of_sources_is_in_every_list() -> None:
    """Lists in pyproject.toml name the same folders; what one lacks is not installed, typed, or tested."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    tool = project["tool"]
    folders = {str(path.relative_to(ROOT)) for kind in ("libs", "services") for path in ROOT.glob(f"{kind}/*/src")}
    packages = {*LIBS, *SERVICES}
    hatch = tool["hatch"]["build"]
    client = {"libs/contracts/src"}  # a distribution of its own
    assert set(hatch["dev-mode-dirs"]) == folders - client
    assert {str(Path(name).parent) for name in hatch["targets"]["wheel"]["packages"]} == folders - client
    assert {Path(name).name for name in hatch["targets"]["wheel"]["packages"]} == packages
    assert set(tool["mypy"]["mypy_path"].split(":")) == folders
    assert set(tool["mypy"]["packages"]) == packages | {"footnote.client"}
    assert set(tool["pytest"]["ini_options"]["pythonpath"]) == folders | {"tests"}
    assert set(tool["importlinter"]["root_packages"]) == packages | {"footnote"}
    services = project["project"]["entry-points"]["footnote.services"]
    assert services == {name.removeprefix("footnote_"): f"{name}.app:build" for name in SERVICES}


@pytest.mark.parametrize("package", SERVICES)
def test_logic_imports_no_grpc(package: str) -> None:
    folder = next(ROOT.glob(f"*/*/src/{package}"))
    for path in sources(package):
        first = path.relative_to(folder).parts[0].removesuffix(".py")
        if first.startswith(TRANSPORT) or first.endswith("servicer"):
            continue
        offending = {
            name for name in imports(path) if top(name) in {"grpc", "grpc_status"} or name.endswith("_pb2_grpc")
        }
        assert not offending, f"{path} is logic and imports {offending}"


@pytest.mark.parametrize("package", SERVICES)
def test_only_adapters_speak_to_databases(package: str) -> None:
    folder = next(ROOT.glob(f"*/*/src/{package}"))
    speaking = {path.relative_to(folder) for path in sources(package) if "sqlalchemy" in map(top, imports(path))}
    assert {path for path in speaking if path.parts[0] != "adapters"} == set()


@pytest.mark.parametrize("package", SERVICES)
def test_every_service_has_the_same_inside(package: str) -> None:
    folder = next(ROOT.glob(f"*/*/src/{package}"))
    for name in ("app.py", "settings.py"):
        assert (folder / name).is_file(), f"{package} lacks {name}"
    assert list(folder.glob("servicer*")), f"{package} lacks a servicer"
    assert (folder.parents[1] / "README.md").is_file(), f"{package} lacks its README.md"
