"""Writes requirements.lock (versions with hashes, for every platform) and constraints.txt (this platform's versions).

    make lock               # takes what is pinned as far as it fits, and the newest of what is new
    make lock UPGRADE=1     # the newest of everything

`make setup` installs from the lock, so that a registry cannot give other bytes than were looked at.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from packaging.markers import Marker

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.lock"
CONSTRAINTS = ROOT / "constraints.txt"
_OURS = re.compile(r"footnote(-client)?\b")
_PIN = re.compile(r"^([A-Za-z0-9._-]+==[^\s\\]+)(?: *;([^\\]+))?", re.MULTILINE)


def wanted() -> list[str]:
    """Return the requirements of both distributions, of all extras, and of what builds them."""
    found: set[str] = set()
    for path in (ROOT / "pyproject.toml", ROOT / "libs" / "contracts" / "pyproject.toml"):
        content = tomllib.loads(path.read_text())
        lists = [content["project"]["dependencies"], content["build-system"]["requires"]]
        for one in (*lists, *content["project"].get("optional-dependencies", {}).values()):
            found.update(one)
    return sorted(one for one in found if not _OURS.match(one))


def main(upgrade: bool) -> None:
    """Resolve with uv and write both files; raises CalledProcessError where nothing fits."""
    with tempfile.TemporaryDirectory() as folder:
        names = Path(folder, "requirements.in")
        names.write_text("\n".join(wanted()) + "\n")
        pinned = [] if upgrade else ["--constraint", str(CONSTRAINTS)]
        done = subprocess.run(
            [sys.executable, "-m", "uv", "pip", "compile", "--quiet", str(names), *pinned, "--generate-hashes",
             "--universal", "--python-version", "3.11", "--no-annotate", "--no-header"],
            check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
    LOCK.write_text(done.stdout)
    here = [pin for pin, marker in _PIN.findall(done.stdout) if not marker or Marker(marker.strip()).evaluate()]
    CONSTRAINTS.write_text("".join(f"{pin}\n" for pin in here))


if __name__ == "__main__":
    main(upgrade="--upgrade" in sys.argv)
