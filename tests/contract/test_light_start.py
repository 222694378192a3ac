"""Libraries that most deployments never use are not loaded at the start of a service that could use them."""

import subprocess
import sys

import pytest

HEAVY = {
    "duckdb": "import footnote_ingestion.app",
    "sqlglot": "import footnote_ingestion.app",
    "mcp": "import footnote_edge.app",
    "dulwich": "import footnote_edge.app",
    "obstore": "import footnote_edge.app",
    "cryptography": "import footnote_edge.app",
    "pymilvus": "import footnote_indexing.app, footnote_retrieval.app, footnote_store.store",
    "openai": (
        "import footnote_generation.app, footnote_retrieval.app\n"
        "from footnote_generation.adapters.registrations import models, verifiers\n"
        "from footnote_generation.registry import Providers\n"
        "from footnote_generation.settings import Settings\n"
        "Providers(Settings(), models(Settings()), verifiers())"
    ),
}
TABLES = """
import sys
from footnote_ingestion.worker import child

child.load()
later = {"sqlglot", "babel.numbers", "footnote_ingestion.tables.jobs", "pypdf", "asyncio"}
ahead = {"duckdb", *later} & sys.modules.keys()
child.load_engine()
ahead |= later & sys.modules.keys()
child.load_tables()
sys.exit(f"too early: {ahead}" if ahead else "footnote_ingestion.tables.jobs" not in sys.modules)
"""


@pytest.mark.parametrize("library", HEAVY)
@pytest.mark.slow
def test_a_library_waits_for_its_first_use(library: str) -> None:
    _run(f"{HEAVY[library]}\nimport sys\nsys.exit({library!r} in sys.modules)")


@pytest.mark.slow
def test_workers_load_what_few_files_or_questions_about_tables_need_for_these() -> None:
    _run(TABLES)


def _run(code: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": ":".join(sys.path)}, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
