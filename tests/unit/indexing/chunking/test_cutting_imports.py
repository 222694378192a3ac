"""The process that cuts documents loads no logging, which would take 10 MB of it."""

import json
import subprocess
import sys

CODE = "import json, sys, footnote_indexing.chunking.cutting_process; print(json.dumps(sorted(sys.modules)))"


def test_the_process_that_cuts_loads_no_logging() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], stdout=subprocess.PIPE, check=True, timeout=60)
    loaded = set(json.loads(done.stdout))
    assert "footnote_indexing.chunking.guard" in loaded
    assert not loaded & {"structlog", "rich", "opentelemetry", "footnote_kit.logs"}
