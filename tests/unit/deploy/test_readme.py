"""README and the pages for users are true: links have targets, variables are read, commands exist."""

import re
import shlex
from pathlib import Path

import pytest
from footnote_cli.main import app
from support.readme import PAGES, README, commands, inline
from support.settings import known_variables
from typer.main import get_command

ROOT = Path(__file__).resolve().parents[3]
CLIENT_VARIABLES = {f"FOOTNOTE_{name}" for name in ("EDGE_ADDRESS", "API_KEY", "API_KEY_FILE", "TENANT", "USER")}


@pytest.mark.parametrize(
    "readme",
    [ROOT / "README.md", *ROOT.glob("services/*/README.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("deploy/*/README.md")],
    ids=str,
)
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


def ours() -> list[str]:
    """Return the commands of the blocks and of the text."""
    return [line for line in (*(command.line for command in commands()), *inline()) if line.startswith("footnote ")]


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
