"""Prints what one target needs of the packages in pyproject.toml: edge needs no engine and no file formats.

python deploy/docker/requirements.py edge          # all, store, or a service
python deploy/docker/requirements.py --sizes       # MB on disk of each, from the packages installed here
"""

import re
import sys
import tomllib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYPROJECTS = (ROOT / "pyproject.toml", ROOT / "libs" / "contracts" / "pyproject.toml")
TARGETS = ("all", "store", "edge", "ingestion", "indexing", "retrieval", "augmentation", "generation")
_MODELS = {"indexing", "retrieval", "augmentation", "generation"}
_DATABASES = {"edge", "ingestion", "indexing"}
_FILES = {"ingestion"}
_HTTP = {"edge"}
_SOURCES = {"edge"}
_EMBEDDERS = {"indexing", "retrieval", "augmentation", "generation"}
EXTRAS: dict[str, set[str]] = {"e5": _EMBEDDERS}
"""Extras that are in images, by the targets that have them: who embeds documents and questions, or compares
sentences with questions, has to agree."""
ONLY: dict[str, set[str]] = {
    "pymilvus": {"store", "indexing", "retrieval"},
    "milvus-lite": {"store"},
    "openai": _MODELS,
    "huggingface-hub": _MODELS,
    "onnxruntime": _MODELS,
    "tokenizers": _MODELS,
    "babel": {"generation", "ingestion"},
    "unicode-rbnf": {"generation"},
    "tiktoken": {"edge", "indexing", "augmentation", "generation"},
    "pypdf": _FILES,
    "pypdfium2": _FILES,
    "python-docx": _FILES,
    "python-pptx": _FILES,
    "python-calamine": _FILES,
    "duckdb": _FILES,
    "sqlglot": _FILES,
    "xlrd": _FILES,
    "lxml": _FILES | _SOURCES,
    "olefile": _FILES,
    "selectolax": _FILES | _SOURCES,
    "markdown-it-py": _FILES,
    "mdit-py-plugins": _FILES,
    "filetype": _FILES,
    "chardetng-py": _FILES,
    "pygments": _FILES,
    "obstore": _FILES | _SOURCES,
    "dulwich": _SOURCES,
    "feedparser": _SOURCES,
    "httpcore2": _SOURCES,
    "watchdog": _SOURCES,
    "cryptography": {"edge", "ingestion"},
    "sqlalchemy": _DATABASES,
    "aiosqlite": _DATABASES,
    "asyncpg": _DATABASES,
    "alembic": _DATABASES,
    "redis": {"indexing"},
    "dbos": _HTTP,
    "starlette": _HTTP,
    "uvicorn": _HTTP,
    "python-multipart": _HTTP,
    "pyjwt": _HTTP,
    "mcp": _HTTP,
}
"""Packages by the targets that need them; one that is not here is for all of them. `all` takes everything."""
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def name_of(requirement: str) -> str:
    """Return the normal form of the name that a requirement begins with."""
    found = _NAME.match(requirement)
    assert found is not None, requirement
    return re.sub(r"[-_.]+", "-", found[0]).lower()


def requirements(target: str) -> list[str]:
    """Return the requirements of a target; KeyError for another."""
    if target not in TARGETS:
        raise KeyError(target)
    project, client = (tomllib.loads(path.read_text())["project"] for path in PYPROJECTS)
    extras = project["optional-dependencies"]
    listed: list[str] = [*client["dependencies"], *project["dependencies"]]
    listed = [one for one in listed if name_of(one) != client["name"]]  # built here, which no registry has
    wanted = [one for one in listed if target == "all" or target in ONLY.get(name_of(one), TARGETS)]
    for extra, targets in EXTRAS.items():
        if target == "all" or target in targets:
            wanted += extras[extra]
    return wanted


def closure(target: str) -> set[str]:
    """Return the distributions that a target's requirements bring, by those that are installed here."""
    found: dict[str, set[str]] = {}
    todo = [(name_of(one), _extras(one)) for one in requirements(target)]
    while todo:
        name, extras = todo.pop()
        if name in found and extras <= found[name]:
            continue
        try:
            needs = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # for another platform
        found[name] = found.get(name, set()) | extras
        todo += [(name_of(need), _extras(need)) for need in needs if _applies(need, extras)]
    return set(found)


def _extras(requirement: str) -> set[str]:
    found = re.match(r"[A-Za-z0-9._-]+\s*\[([^\]]*)\]", requirement)
    return {one.strip() for one in found[1].split(",")} if found else set()


def _applies(requirement: str, extras: set[str]) -> bool:
    from packaging.requirements import Requirement  # beside pip, but not in it: a build of an image asks for no sizes

    marker = Requirement(requirement).marker
    return marker is None or any(marker.evaluate({"extra": extra}) for extra in (extras or {""}) | {""})


def size(target: str) -> int:
    """Return the bytes of the files of a target's packages as installed here, without compiled Python."""
    total = 0
    for name in closure(target):
        for file in metadata.files(name) or ():
            path = Path(str(file.locate()))
            if path.suffix != ".pyc" and path.is_file():
                total += path.stat().st_size
    return total


def main(arguments: list[str]) -> int:
    """Print what is asked for; return the exit code."""
    if arguments == ["--sizes"]:
        for target in TARGETS:
            sys.stdout.write(f"{target:14}{len(closure(target)):4} packages{size(target) / 1e6:8.0f} MB\n")
        return 0
    if len(arguments) != 1 or arguments[0] not in TARGETS:
        sys.stderr.write(f"name one of {', '.join(TARGETS)}\n")
        return 2
    sys.stdout.write("\n".join(requirements(arguments[0])) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
