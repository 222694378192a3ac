"""Where test data that is not part of the project lies."""

from __future__ import annotations

import os
from pathlib import Path

NO_SHARED = "the shared evaluation files are not beside the checkout (FOOTNOTE_SHARED names their folder)"


def shared_dir() -> Path | None:
    """The folder of shared data next to the checkout, or the one in FOOTNOTE_SHARED; None if there is none."""
    named = os.environ.get("FOOTNOTE_SHARED")
    folder = Path(named) if named else Path(__file__).resolve().parents[2].parent / "shared"
    return folder if folder.is_dir() else None
