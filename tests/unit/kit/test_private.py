"""A process keeps its files, memory and environment to itself."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from footnote_kit import private

pytestmark = pytest.mark.slow

# A process of an unprivileged user forks one that holds a secret, and looks into it.
_LOOK = """
import ctypes, os, sys, time
from footnote_kit import private
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
ready, tell = os.pipe()
pid = os.fork()
if not pid:
    if sys.argv[1] == "keep":
        private.keep()
    os.write(tell, b"x")
    time.sleep(60)
os.read(ready, 1)
try:
    print("open" if b"sk-secret" in open(f"/proc/{pid}/environ", "rb").read() else "empty")
except PermissionError:
    print("closed")
os.kill(pid, 9)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows environments as files")
@pytest.mark.parametrize(("how", "seen"), [("keep", "closed"), ("not", "open")])
def test_environment_is_closed_to_the_same_user(how: str, seen: str) -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(sys.path), "OPENAI_API_KEY": "sk-secret"}
    done = subprocess.run(
        [sys.executable, "-c", _LOOK, how], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == seen


def test_an_open_folder_is_closed_with_all_in_it_but_not_what_links_lead_to(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("x")
    outside.chmod(0o644)
    folder = tmp_path / "data"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").write_text("x")
    (folder / "a" / "link").symlink_to(outside)
    for path in (folder, folder / "a", folder / "a" / "b"):
        path.chmod(0o755)
    (folder / "a" / "b" / "file").chmod(0o666)
    private.tighten(folder)
    assert stat.S_IMODE(outside.stat().st_mode) == 0o644
    assert [stat.S_IMODE((folder / name).stat().st_mode) for name in (".", "a", "a/b", "a/b/file")] == [
        0o700, 0o700, 0o700, 0o600
    ]  # fmt: skip
