"""Tells the story of README.md in each language that this machine has the tools for, against one live deployment.

Prints a line for each: its steps, or why it was skipped. Exits 1 when one failed. Generated code and what the languages
fetch goes below `build/polyglot`; their package managers need their registries.
"""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.deployment import Deployment  # noqa: E402

PROTOS = ROOT / "protos"
STEPS = ["create", "upload", "watch", "search", "ask", "error", "cancel", "delete"]
SECONDS = 1200
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")  # which Maven prints even where it is told not to


class Skipped(Exception):
    """A tool is not there."""


class OnlyGenerated(Exception):
    """The code was generated, and what would compile and run it is not there."""


def tool(name: str) -> str:
    """Return a program's path; Skipped when there is none."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        raise Skipped(f"{name} is not installed")
    return found


def run(*command: str, folder: Path, env: Mapping[str, str]) -> str:
    """Run a program and return what it printed; CalledProcessError with its words when it fails."""
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **env}, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout


def key(data: Path) -> str:
    """Make a key, as an operator does on the deployment's machine."""
    command = (sys.executable, "-m", "footnote_cli.main", "keys", "create", "polyglot", "--role", "admin")
    return run(*command, "--data-dir", str(data), folder=data, env={}).strip()


def go(folder: Path, env: Mapping[str, str]) -> str:
    """Generate with buf and the two Go plugins, build, run."""
    compiler, buf = tool("go"), tool("buf")
    shutil.copytree(HERE / "go", folder)
    plugins = folder / "bin"
    env = {**env, "GOBIN": str(plugins), "GOFLAGS": "-mod=mod", "PATH": f"{plugins}{os.pathsep}{os.environ['PATH']}"}
    run(compiler, "install", "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.6", folder=folder, env=env)
    run(compiler, "install", "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.5.1", folder=folder, env=env)
    run(
        buf,
        "generate",
        str(PROTOS),
        "--template",
        "buf.gen.yaml",
        "--path",
        str(PROTOS / "footnote"),
        folder=folder,
        env=env,
    )
    run(compiler, "build", "-o", "story", ".", folder=folder, env=env)
    return run("./story", folder=folder, env=env)


def typescript(folder: Path, env: Mapping[str, str]) -> str:
    """Generate types with proto-loader, compile with tsc, run."""
    npm, node = tool("npm"), tool("node")
    shutil.copytree(HERE / "typescript", folder)
    run(npm, "install", "--no-package-lock", "--no-audit", "--no-fund", folder=folder, env=env)
    env = {**env, "FOOTNOTE_PROTOS": str(PROTOS)}
    run(npm, "run", "generate", folder=folder, env=env)
    run(npm, "run", "build", folder=folder, env=env)
    return run(node, "out/src/main.js", folder=folder, env=env)


def connect(folder: Path, env: Mapping[str, str]) -> str:
    """Generate with buf and protoc-gen-es, both from npm, compile with tsc, run."""
    npm, node = tool("npm"), tool("node")
    shutil.copytree(HERE / "connect", folder)
    run(npm, "install", "--no-package-lock", "--no-audit", "--no-fund", folder=folder, env=env)
    env = {**env, "FOOTNOTE_PROTOS": str(PROTOS)}
    run(npm, "run", "generate", folder=folder, env=env)
    run(npm, "run", "build", folder=folder, env=env)
    return run(node, "out/src/main.js", folder=folder, env=env)


def rust(folder: Path, env: Mapping[str, str]) -> str:
    """Generate in build.rs with the protoc that a crate brings, build, run."""
    cargo = tool("cargo")
    shutil.copytree(HERE / "rust", folder)
    target = Path(os.environ.get("CARGO_TARGET_DIR", folder / "target"))
    env = {**env, "FOOTNOTE_PROTOS": str(PROTOS), "CARGO_TARGET_DIR": str(target)}
    run(cargo, "build", "--quiet", folder=folder, env=env)
    return run(str(target / "debug" / "polyglot"), folder=folder, env=env)


def csharp(folder: Path, env: Mapping[str, str]) -> str:
    """Generate messages, and services where gRPC's plugin is there; no program is compiled or run."""
    compiler, plugin = tool("protoc"), shutil.which("grpc_csharp_plugin")
    folder.mkdir(parents=True)
    known = Path(importlib.util.find_spec("grpc_tools").origin).parent / "_proto"  # type: ignore[union-attr, arg-type]
    files = sorted(str(path.relative_to(PROTOS)) for path in PROTOS.rglob("*.proto"))
    services = ("--grpc_out=.", "--grpc_opt=base_namespace=", f"--plugin=protoc-gen-grpc={plugin}") if plugin else ()
    options = ("--csharp_out=.", "--csharp_opt=base_namespace=", *services)
    run(compiler, f"-I{PROTOS}", f"-I{known}", *options, *files, folder=folder, env=env)
    made = f"{sum(1 for _ in folder.rglob('*.cs'))} files"
    without = "" if plugin else ", messages without services: grpc_csharp_plugin is not installed"
    raise OnlyGenerated(f"{made}{without}; neither compiled nor run")


def java(folder: Path, env: Mapping[str, str]) -> str:
    """Generate and compile with Maven, run."""
    maven = tool("mvn")
    tool("javac")
    shutil.copytree(HERE / "java", folder)
    order = ("-q", "-B", "-Dstyle.color=never", "compile", "exec:java", f"-Dprotos={PROTOS}")
    return run(maven, *order, folder=folder, env=env)


def python(folder: Path, env: Mapping[str, str]) -> str:
    """Generate with grpcio-tools into a folder of its own, run without this project's packages."""
    folder.mkdir(parents=True)
    ours = sorted(str(path.relative_to(PROTOS)) for path in (PROTOS / "footnote").rglob("*.proto"))
    command = (sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTOS}", "--python_out=.", "--grpc_python_out=.")
    run(*command, *ours, folder=folder, env=env)
    return run(sys.executable, str(HERE / "python" / "story.py"), folder=folder, env={**env, "PYTHONPATH": str(folder)})


LANGUAGES: dict[str, Callable[[Path, Mapping[str, str]], str]] = {
    "python": python, "go": go, "typescript": typescript, "connect": connect, "java": java,
    "rust": rust, "csharp": csharp,
}  # fmt: skip


def main(wanted: list[str]) -> int:
    """Run the languages named, or all; return how many failed."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="polyglot-") as scratch:
        deployment = Deployment(Path(scratch), env={"FOOTNOTE_EDGE_AUTH": "keys"})
        deployment.start()
        try:
            told_programs = {"FOOTNOTE_ADDRESS": deployment.address(), "FOOTNOTE_API_KEY": key(Path(scratch))}
            for name in wanted or LANGUAGES:
                try:
                    printed = LANGUAGES[name](Path(scratch) / name, told_programs)
                except Skipped as reason:
                    print(f"{name:<11} skipped: {reason}", flush=True)
                except OnlyGenerated as made:
                    print(f"{name:<11} generated: {made}", flush=True)
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    failed += 1
                    print(f"{name:<11} FAILED\n{error}", flush=True)
                else:
                    told = _COLOURS.sub("", printed).split()
                    failed += told != STEPS
                    print(f"{name:<11} {'ok' if told == STEPS else 'FAILED'}: {' '.join(told)}", flush=True)
        finally:
            deployment.stop()
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
