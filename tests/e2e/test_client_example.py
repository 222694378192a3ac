"""The guide's Python example, verbatim, against a deployment."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import base_environment
from support.deployment import ROOT, deployment

pytestmark = [pytest.mark.full, pytest.mark.slow]


def test_the_guides_python_runs_as_it_stands(tmp_path: Path) -> None:
    guide = (ROOT / "docs" / "using.md").read_text()
    (example,) = re.findall(r"^```python\n(.*?)^```", guide, flags=re.DOTALL | re.MULTILINE)
    with deployment(tmp_path) as running:
        assert example.count('"127.0.0.1:7100"') == 1
        done = subprocess.run(
            [sys.executable, "-c", example.replace("127.0.0.1:7100", running.address())], cwd=ROOT, timeout=120,
            env={**base_environment.inherited(), "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *_, answer, refused = done.stdout.strip().splitlines()
    assert "12.8" in answer
    assert refused == "COLLECTION_NOT_FOUND List them with: footnote collections list"
