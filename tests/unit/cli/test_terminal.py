"""What comes from elsewhere is shown and never obeyed: on a terminal, in a pipe, as JSON."""

import ast
import json
import os
import pty
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import footnote_cli
import pytest
from footnote_cli.console import make_console
from footnote_kit.printable import escaped, printable, printable_line
from hypothesis import given
from hypothesis import strategies as st
from support.base_environment import inherited
from support.doubles.scripted_edge import served
from support.hostile_edge import HOSTILE, HostileEdge

pytestmark = [pytest.mark.full, pytest.mark.slow]

SOURCES = sorted(Path(footnote_cli.__file__).parent.rglob("*.py"))
# What rich itself sends: colours, clearing a line, moving up for the next frame of a bar, hiding the cursor.
_OWN = re.compile(r"\x1b\[(?:[0-9;]*m|2K|[0-9]*A|\?25[lh]|1G)|\r")
_ACTIVE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]"
)
COMMANDS = (
    ["ask", "How many?", "--trace"],
    ["search", "leave", "--explain"],
    ["documents", "list"],
    ["documents", "get", "doc-a"],
    ["documents", "get", "boom"],
    ["conversations", "list"],
    ["conversations", "show", "k1"],
    ["collections", "list"],
    ["collections", "get", "default"],
    ["health"],
    ["providers"],
    ["documents", f"{HOSTILE}".replace("\x00", "")],
    ["ingest", "--no-such-option\x1b]0;pwned\x07"],
    ["ingest", "files"],
)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A hostile server, and a folder with files of hostile names."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "files").mkdir()
    name = HOSTILE.replace("/", "_")
    for lead in ("good", "bad", "refused"):
        (folder / "files" / f"{lead}\n✓ forged.txt{name}"[:120]).write_text("text")
    with served(HostileEdge()) as address:
        yield address, folder


def run(command: list[str], hostile: tuple[str, Path], screen: bool) -> str:
    """Return all that a command writes, to a real terminal or into a pipe."""
    address, folder = hostile
    given = [sys.executable, "-m", "footnote_cli.main", *command]
    environment = {
        **inherited(),
        "FOOTNOTE_EDGE_ADDRESS": address, "PYTHONPATH": os.pathsep.join(sys.path), "TERM": "xterm-256color",
        "PYTHONIOENCODING": "utf-8",
    }  # fmt: skip
    environment.pop("COLUMNS", None)
    environment.pop("NO_COLOR", None)
    if not screen:
        done = subprocess.run(given, env=environment, cwd=folder, capture_output=True, timeout=120, check=False)
        return (done.stdout + done.stderr).decode()
    ours, theirs = pty.openpty()
    process = subprocess.Popen(given, env=environment, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    written = b""
    while process.poll() is None or select.select([ours], [], [], 0.2)[0]:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            if not part:
                break
            written += part
    process.wait(60)
    os.close(ours)
    return written.decode()


@pytest.mark.parametrize("screen", [False, True], ids=["pipe", "terminal"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command)[:24].replace("\x1b", "ESC"))
def test_nothing_from_elsewhere_acts(command: list[str], screen: bool, hostile: tuple[str, Path]) -> None:
    written = run(command, hostile, screen)
    assert "Traceback" not in written
    left = _OWN.sub("", written) if screen else written
    assert not _ACTIVE.search(left), repr(left)
    assert "\x1b[38;5;201" not in written
    lines = [line.strip() for line in left.splitlines()]
    assert not [line for line in lines if line.startswith("✓ forged")], lines
    if command[0] == "health":
        assert "[red]" in left  # shown as what it is: text


@pytest.mark.parametrize("command", [item for item in COMMANDS if "boom" not in item], ids=lambda item: item[0])
def test_json_shows_such_things_escaped(command: list[str], hostile: tuple[str, Path]) -> None:
    if any("\x1b" in word for word in command):
        pytest.skip("called wrongly")
    written = run([*command, "--json"], hostile, screen=True)
    assert not _ACTIVE.search(written.replace("\r\n", "\n")), repr(written)
    assert "\\u001b" in written
    if "ingest" not in command:
        json.loads(written)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, accents é, 漢字, emoji 👩‍🔬, Persian می‌خواهم\tand tabs\n", None),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after \x1b]8;;https://e\x1b\\link\x1b]8;;\x1b\\", "after link"),
        ("\x9b2Jtext \x9d0;t\x9cafter", "text after"),
        ("\x1bPdevice\x1b\\\x1b(0\x1b7\x1bc!", "!"),
        ("\x1b]0;never ended", "0;never ended"),
        ("a\rb\r\nc\u2028d\x85e", "a\nb\nc\nd\ne"),
        ("bidi\u202e\u2066\u2069\u200f zero\u200b\ufeff tag\U000e0041 del\x7f soft\u00ad", "bidi zero tag del soft"),
        ("e\u200dvil", "evil"),
        ("\ud800x", "\ufffdx"),
    ],
)
def test_printable(text: str, shown: str | None) -> None:
    assert printable(text) == (text if shown is None else shown)


@given(st.text(st.sampled_from("\x1b[]0;m\x07\x9b\x9d\\Pax\n\r\u202e\u200b\u200d\x7f") | st.characters()))
def test_whatever_the_text_nothing_is_left_that_acts(text: str) -> None:
    assert not _ACTIVE.search(printable(text))
    assert printable(printable(text)) == printable(text)
    assert "\n" not in printable_line(text)
    document = json.dumps(text, ensure_ascii=False)
    assert not _ACTIVE.search(escaped(document))
    assert json.loads(escaped(document)) == text


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_commands_print_through_the_console_only(path: Path) -> None:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            name = ast.unparse(node)
            if re.fullmatch(
                r"sys\.__?(stdout|stderr)__?|(typer|click)\.(echo|secho|prompt|confirm|style)|rich\.print\w*", name
            ):
                found.append(name)
            if re.fullmatch(r"sys\.(stdout|stderr)\.(write|writelines|buffer|print)", name):
                found.append(name)
        if isinstance(node, ast.Call) and ast.unparse(node.func) in {"print", "Console", "pprint"}:
            found.append(ast.unparse(node.func))
        if isinstance(node, ast.ImportFrom) and node.module in {"rich", "sys", "typer", "click"}:
            found += [a.name for a in node.names if a.name in {"print", "stdout", "stderr", "echo", "secho", "confirm"}]
        if isinstance(node, ast.keyword) and node.arg in {"markup", "emoji"} and ast.unparse(node.value) == "True":
            found.append(node.arg)
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(
            ("TextColumn", "Text.from_markup", "from_ansi")
        ):
            plain = any(word.arg == "markup" and ast.unparse(word.value) == "False" for word in node.keywords)
            if not plain and "[bold]{task.description}" not in ast.unparse(node):
                found.append(ast.unparse(node))
    assert path.name == "console.py" or found == []


def test_markup_is_text() -> None:
    console = make_console()
    with console.capture() as captured:
        console.print("[red]x[/red] [link=https://e]y[/link] :smile:")
    assert captured.get() == "[red]x[/red] [link=https://e]y[/link] :smile:\n"
