"""README and the pages for users are true: links have targets, variables are read, commands exist."""

import pkgutil
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from footnote_cli.main import app
from support.readme import PAGES, README, commands, inline
from support.settings import known_variables
from typer.main import get_command

ROOT = Path(__file__).resolve().parents[3]
CLIENT_VARIABLES = {f"FOOTNOTE_{name}" for name in ("EDGE_ADDRESS", "API_KEY", "API_KEY_FILE", "TENANT", "USER")}

DOCUMENTS = [one for part in (".", "services/*", "docs", "deploy/*") for one in ROOT.glob(f"{part}/*.md")]


@pytest.mark.parametrize("readme", DOCUMENTS, ids=str)
def test_links_lead_somewhere(readme: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", re.sub(r"`[^`\n]*`", "", readme.read_text())):
        if "://" not in target:
            assert (readme.parent / target).exists(), target


def test_the_readme_is_read_in_five_minutes() -> None:
    assert len(README.read_text().split()) <= 900


def test_variables_are_read() -> None:
    mentioned = {name for page in PAGES for name in re.findall(r"\bFOOTNOTE(?:_[A-Z0-9]+)+", page.read_text())}
    # "FOOTNOTE_<SERVICE>_ADDRESS" names six at once.
    assert mentioned - known_variables() - CLIENT_VARIABLES - {"FOOTNOTE"} == set()


def test_modules_that_are_named_are_there() -> None:
    text = "".join(page.read_text() for page in DOCUMENTS)
    named = set(re.findall(r"`(footnote_[a-z]+(?:\.[A-Za-z_]+)+)`", text))
    for name in named - {"footnote_source.id"}:  # a document's metadata
        pkgutil.resolve_name(name)


def test_commands_that_ask_the_server_have_json() -> None:
    asking = [(name, one) for name, one in leaves("footnote", get_command(app)) if "--address" in options(one)]
    without = {name for name, one in asking if "--json" not in options(one)}
    assert without == {"footnote audit export"}  # it prints nothing but JSON


def leaves(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    for under, one in getattr(command, "commands", {}).items():
        yield from leaves(f"{name} {under}", one)
    if not hasattr(command, "commands"):
        yield name, command


def options(command: Any) -> set[str]:
    return {name for one in command.params for name in one.opts}


def ours() -> list[str]:
    """Return the commands of the blocks and of the text, and those that the console names."""
    console = (page.read_text() for page in sorted((ROOT / "services" / "edge" / "console" / "src").rglob("*.tsx")))
    named = (line for page in console for line in re.findall(r"<code>([^<]*)</code>", page))
    lines = (*(command.line for command in commands()), *inline(), *named)
    return [line for line in lines if line.startswith("footnote ")]


@pytest.mark.parametrize("line", ours())
def test_commands_exist(line: str) -> None:
    command = get_command(app)
    words = shlex.split(line.replace("\\\n", " "), comments=True)[1:]
    while hasattr(command, "commands"):
        word = words.pop(0)
        found = command.get_command(None, word)
        assert found, word
        command = found
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    assert {word for word in words if word.startswith("-") and word != "-"} <= options
