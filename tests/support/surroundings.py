"""What every deployment and service of the tests is told, whatever the surroundings and installed packages say."""

from __future__ import annotations

import os

NAMED = {"FOOTNOTE_EMBEDDING_PROVIDER": "builtin"}
"""Without it the default would be whatever is installed here; a test about another embedder names that."""


def inherited(*without: str) -> dict[str, str]:
    """Return the environment for a process of services: nothing of Footnote's from outside, or of further prefixes."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("FOOTNOTE_", *without))}
    return kept | NAMED
