"""The environment of every deployment and service in tests, independent of the shell and installed packages."""

from __future__ import annotations

import os

NAMED = {"FOOTNOTE_EMBEDDING_PROVIDER": "builtin"}
"""Without it the default would depend on what is installed; a test of another embedder names it."""


def inherited(*without: str) -> dict[str, str]:
    """Return an environment for a process, without Footnote's variables and those with the given prefixes."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FOOTNOTE_", *without))}
    return kept | NAMED
