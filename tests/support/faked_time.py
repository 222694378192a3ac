"""A wall clock for processes of the tests that is put on and back while they run, by a library of a few lines of C.

libfaketime would do as much, but its clocks make Python's `time.sleep` fail (0.9.10 and Python 3.11).
"""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")


def why_not() -> str | None:
    """Return why there is none here, None where there is."""
    return None if shutil.which("cc") else "there is no C compiler (apt-get install gcc libc6-dev)"


class Clock:
    """Seconds that the wall clock of processes with `environment` is ahead; `folder` is for its files."""

    def __init__(self, folder: Path) -> None:
        self._file, self._library = folder / "clock", folder / "faked_time.so"
        build = ["cc", "-shared", "-fPIC", "-O1", "-o", str(self._library), str(SOURCE)]
        subprocess.run(build, check=True, capture_output=True, timeout=120)
        self._file.write_bytes(bytes(8))

    @property
    def environment(self) -> dict[str, str]:
        """Variables for the processes."""
        return {"LD_PRELOAD": str(self._library), "FOOTNOTE_TEST_CLOCK": str(self._file)}

    def put(self, seconds: int) -> None:
        """Put the clock on, or back, from the true time; at once, everywhere."""
        with self._file.open("r+b", buffering=0) as file:
            file.write(struct.pack("q", seconds))
