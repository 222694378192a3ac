"""Data folders as earlier releases left them, filled through their APIs: what `fill.py` makes of a commit's checkout.

Each is a tar.xz named after its commit, with `data`, the folder, and `kept.json`: the ids and answers in it.
"""

import json
import tarfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
STATES = sorted(path.name.partition(".")[0] for path in FOLDER.glob("*.tar.xz"))


def unpack(state: str, target: Path) -> tuple[Path, dict[str, Any]]:
    """Unpack a state; return its data folder and what is in it."""
    with tarfile.open(FOLDER / f"{state}.tar.xz") as archive:
        archive.extractall(target, filter="data")
    return target / "data", json.loads((target / "kept.json").read_text())
