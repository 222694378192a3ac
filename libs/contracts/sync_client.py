"""Generates the Python client for threads from the one for an event loop; `--check` only says whether it is current.

What the two do in their own ways stands in `async_transport.py` and `sync_transport.py`, which have the same names.
"""

import re
import subprocess
import sys
from pathlib import Path

CLIENT = Path(__file__).resolve().parent / "src/footnote/client"
SOURCE, TARGET = CLIENT / "asynchronous.py", CLIENT / "synchronous.py"
CHANGES = (
    (r'\A""".*?"""', '"""The client for threads, generated from `asynchronous.py`."""'),
    (r"for one event loop; many tasks may share a client", "for threads; many may share a client"),
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\b__a(enter|exit)__", r"__\1__"),
    (r"\bAsync(Client|Channel|Iterator)\b", r"\1"),
    (r"\basync_transport\b", "sync_transport"),
)


def generated(source: str) -> str:
    """Return the client for threads, formatted as the rest."""
    for pattern, instead in CHANGES:
        source, times = re.subn(pattern, instead, source, flags=re.DOTALL)
        if not times:
            raise SystemExit(f"Nothing in {SOURCE.name} matches {pattern!r}")
    for command in (("check", "--fix", "--unsafe-fixes", "--select", "I,UP028"), ("format",)):
        done = subprocess.run(
            [Path(sys.executable).with_name("ruff"), *command, "--quiet", "--stdin-filename", TARGET, "-"],
            input=source, capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip
        source = done.stdout
    return source


def main() -> None:
    """Write the file, or exit with 1 where it is not current."""
    made = generated(SOURCE.read_text())
    if "--check" not in sys.argv:
        TARGET.write_text(made)
    elif made != TARGET.read_text():
        raise SystemExit(f"{TARGET.name} is not what {SOURCE.name} gives: run `make client`")


if __name__ == "__main__":
    main()
