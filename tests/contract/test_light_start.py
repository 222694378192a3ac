"""Libraries that most deployments never use are not loaded at the start of a service that could use them."""

import subprocess
import sys

import pytest

HEAVY = {
    "duckdb": "import footnote_ingestion.app",
    "sqlglot": "import footnote_ingestion.app",
    "mcp": "import footnote_edge.app",
    "openai": (
        "import footnote_generation.app, footnote_retrieval.app\n"
        "from footnote_generation.adapters.registrations import models, verifiers\n"
        "from footnote_generation.registry import Providers\n"
        "from footnote_generation.settings import Settings\n"
        "Providers(Settings(), models(Settings()), verifiers())"
    ),
}


@pytest.mark.parametrize("library", HEAVY)
@pytest.mark.slow
def test_a_library_waits_for_its_first_use(library: str) -> None:
    code = f"{HEAVY[library]}\nimport sys\nsys.exit({library!r} in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
