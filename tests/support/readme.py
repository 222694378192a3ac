"""The commands of README and of the pages for users, as a reader would copy them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
README = _ROOT / "README.md"
PAGES = (README, *(_ROOT / "docs" / f"{name}.md" for name in ("models", "using", "stages", "running")))
"""In the order in which one reads them: later commands use what earlier ones made."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a console block, and what the block says that it prints."""

    line: str
    """As written, continuation lines included."""
    output: str = ""


def commands(text: str | None = None) -> list[Command]:
    """Return every command of the console blocks, in order.

    In a block with prompts what begins with "$ " is a command and the rest is output; in others each line is one.
    """
    found: list[Command] = []
    for block in re.findall(r"^```console\n(.*?)^```", text or _pages(), flags=re.DOTALL | re.MULTILINE):
        prompted = "\n$ " in f"\n{block}"
        for line in re.findall(r"(?:.*\\\n)*.*\n", block):
            if not prompted or line.startswith("$ "):
                found += [Command(line.removeprefix("$ ").rstrip())] if line.strip() and line[0] != "#" else []
            elif found:
                found[-1] = Command(found[-1].line, found[-1].output + line)
    return found


def inline() -> list[str]:
    """Return our commands in a text."""
    prose = re.sub(r"^```.*?^```", "", _pages(), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"`(footnote [a-z][^`\n]*)`", prose)


def _pages() -> str:
    return "\n".join(page.read_text() for page in PAGES)
