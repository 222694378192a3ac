"""The direction of imports: services -> libs -> contracts, and inside a service logic knows no gRPC."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIBS = ("footnote_kit", "footnote_text", "footnote_store", "footnote_providers", "footnote_cli")
SERVICES = (
    "footnote_ingestion",
    "footnote_indexing",
    "footnote_retrieval",
    "footnote_augmentation",
    "footnote_generation",
    "footnote_edge",
)
# The only modules of a service that may speak gRPC: translation, composition and what reaches other stages.
TRANSPORT = ("servicer", "app", "adapters", "http", "stages")


def sources(package: str) -> list[Path]:
    folder = next(ROOT.glob(f"*/*/src/{package}"))
    return sorted(folder.rglob("*.py"))


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module)
    return found


def top(module: str) -> str:
    return module.split(".", 1)[0]


@pytest.mark.parametrize("package", LIBS)
def test_libraries_import_no_service(package: str) -> None:
    for path in sources(package):
        assert not {top(name) for name in imports(path)} & set(SERVICES), path


@pytest.mark.parametrize("package", SERVICES)
def test_services_import_no_other_service(package: str) -> None:
    for path in sources(package):
        others = {top(name) for name in imports(path)} & (set(SERVICES) - {package})
        assert not others, f"{path} imports {others}: reach another stage by its stub"


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
def test_every_service_has_the_same_inside(package: str) -> None:
    folder = next(ROOT.glob(f"*/*/src/{package}"))
    for name in ("app.py", "settings.py"):
        assert (folder / name).is_file(), f"{package} lacks {name}"
    assert list(folder.glob("servicer*")), f"{package} lacks a servicer"
    assert (folder.parents[1] / "README.md").is_file(), f"{package} lacks its README.md"
