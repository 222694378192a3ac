"""Runs the lines of docs/clients.md as they stand, then the program of each language, against one live deployment.

Each language gets an empty folder with the contracts in `protos` and its program's own files, an empty home, and no
more on the path than its tools and the system's: what the lines do not install is not there. They need the registries
of their package managers. Prints a line for each language: the steps that its program did, or why it was skipped.
Exits 1 when one failed. `--home FOLDER` keeps what the package managers fetch for the next run.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.deployment import Deployment  # noqa: E402

PAGE = ROOT / "docs" / "clients.md"
STEPS = ["create", "upload", "watch", "search", "ask", "error", "cancel", "delete"]
SECONDS = 1800
"""For one language: with an empty home each of its packages is fetched and, in Rust, compiled."""
SYSTEM = "/usr/bin:/bin"
NETWORK = re.compile(
    r"(https?|no|all)_proxy|\w*(SSL|CERT|_CA_)\w*|PIP_INDEX_URL|npm_config_registry|GOPROXY|GOSUMDB", re.I
)
"""The variables by which a machine says how registries are reached: all that a program inherits of this process."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")  # which Maven prints even where it is told not to


class Failed(Exception):
    """A line or the program failed; the message is what it printed last."""


@dataclass(frozen=True, slots=True)
class Language:
    """How a program is made from the lines of a section."""

    section: str
    """The heading in docs/clients.md."""
    tools: tuple[str, ...]
    """What has to be installed before."""
    program: str
    """Builds and runs the program when the section's lines have run; empty where only they are run."""


LANGUAGES = {
    "python": Language("Python", ("python3",), "PYTHONPATH=gen python story.py"),
    "go": Language("Go", ("go", "python3"), "go build -o story . >&2; ./story"),
    "connect": Language("TypeScript with connect-es", ("node", "npm"), "npx tsc >&2; node out/src/main.js"),
    "typescript": Language("TypeScript with grpc-js", ("node", "npm"), "npx tsc >&2; node out/src/main.js"),
    "java": Language("Java", ("javac", "mvn"), "mvn -q -B exec:java"),
    "rust": Language("Rust", ("cargo", "cc"), "cargo run --quiet"),
    "csharp": Language("C#", ("protoc",), ""),
}


def lines_of(section: str) -> str:
    """Return the console blocks of a section of the page, one after the other."""
    text = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
    (found,) = (part for part in text if part.startswith(f"{section}\n"))
    blocks = re.findall(r"^```console\n(.*?)^```", found, flags=re.DOTALL | re.MULTILINE)
    assert blocks, f"{section} has no lines"
    return "".join(blocks)


def folder_of(tool: str) -> Path | None:
    """Return the folder of a program itself, behind the shims of version managers; None when it is not installed."""
    if tool == "python3":
        return Path(sys.base_prefix) / "bin"
    found = shutil.which(tool)
    if found and tool == "cargo" and (rustup := shutil.which("rustup")):
        found = subprocess.run([rustup, "which", tool], capture_output=True, text=True, check=True).stdout.strip()
    return Path(found).parent if found else None


def tell(language: Language, folder: Path, home: Path, environment: dict[str, str]) -> str:
    """Run the section's lines and the program in an empty folder; return what the program printed."""
    shutil.copytree(ROOT / "protos", folder / "protos")
    folders = [str(folder_of(tool)) for tool in language.tools]
    inherited = {name: value for name, value in os.environ.items() if NETWORK.fullmatch(name)}
    bare = {
        "PATH": os.pathsep.join(dict.fromkeys([*folders, *SYSTEM.split(":")])),
        "HOME": str(home),
        "LANG": "C.UTF-8",
    }
    script = f"set -e\n{{\n{lines_of(language.section)}}} >&2\n{language.program}\n"
    with subprocess.Popen(
        ["/bin/sh", "-c", script], cwd=folder, env={**inherited, **bare, **environment}, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    ) as shell:  # fmt: skip
        try:
            printed, said = shell.communicate(timeout=SECONDS)
        except BaseException as error:
            os.killpg(shell.pid, signal.SIGKILL)
            if isinstance(error, subprocess.TimeoutExpired):
                raise Failed(f"It took more than {SECONDS} seconds.") from error
            raise
    if shell.returncode:
        raise Failed(f"{printed[-4000:]}{said[-4000:]}")
    return printed


def outcome(name: str, scratch: Path, home: Path, environment: dict[str, str]) -> tuple[bool, str]:
    """Run one language; return whether it went well, and the line to print."""
    language = LANGUAGES[name]
    if missing := [tool for tool in language.tools if folder_of(tool) is None]:
        return True, f"skipped: {', '.join(missing)} not installed"
    folder = scratch / name
    if (HERE / name).exists():
        shutil.copytree(HERE / name, folder)
    try:
        printed = tell(language, folder, home, environment)
    except Failed as error:
        return False, f"FAILED\n{error}"
    if not language.program:
        return True, f"generated: {sum(1 for _ in folder.rglob('*.cs'))} files; neither compiled nor run"
    steps = _COLOURS.sub("", printed).split()
    return steps == STEPS, f"{'ok' if steps == STEPS else 'FAILED'}: {' '.join(steps)}"


def key(data: Path) -> str:
    """Make a key, as an operator does on the deployment's machine."""
    command = [sys.executable, "-m", "footnote_cli.main", "keys", "create", "polyglot", "--role", "admin"]
    return subprocess.check_output([*command, "--data-dir", str(data)], text=True).strip()


def main(arguments: list[str]) -> int:
    """Run the languages named, or all; return 1 when one failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("language", nargs="*", metavar="LANGUAGE", help=f"of {', '.join(LANGUAGES)}; all by default")
    parser.add_argument("--home", type=Path, help="the home of the programs; an empty one by default")
    wanted = parser.parse_args(arguments)
    if unknown := set(wanted.language) - set(LANGUAGES):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    well = True
    with (
        tempfile.TemporaryDirectory(prefix="polyglot-") as name,
        tempfile.TemporaryDirectory(prefix="polyglot-") as data,
    ):
        scratch = Path(name)
        home = (wanted.home or scratch / "home").absolute()
        home.mkdir(parents=True, exist_ok=True)
        deployment = Deployment(Path(data), env={"FOOTNOTE_EDGE_AUTH": "keys"})
        deployment.start()
        try:
            environment = {"FOOTNOTE_ADDRESS": deployment.address(), "FOOTNOTE_API_KEY": key(Path(data))}
            for language in wanted.language or LANGUAGES:
                good, line = outcome(language, scratch, home, environment)
                well &= good
                print(f"{language:<11} {line}", flush=True)
        finally:
            deployment.stop()
            if home == scratch / "home" and (modules := home / "go").exists():
                subprocess.run(["chmod", "-R", "u+w", str(modules)], check=False)  # Go makes its cache read-only
    return 0 if well else 1


if __name__ == "__main__":
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(143)
    )  # so that what was started is ended, and folders are removed
    sys.exit(main(sys.argv[1:]))
