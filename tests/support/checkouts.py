"""Another checkout of Footnote, to measure next to this one in the same run."""

import os
import sys
from pathlib import Path

from support.deployment import ROOT


def import_path(folder: str) -> str:
    """Return the PYTHONPATH under which a child of this process runs another checkout's code; "" is this one's."""
    own = [path for path in sys.path if Path(path).is_relative_to(ROOT) and "site-packages" not in path]
    moved = [str(Path(folder) / Path(path).relative_to(ROOT)) if folder else path for path in own]
    return os.pathsep.join([*moved, *(path for path in sys.path if path not in own)])
