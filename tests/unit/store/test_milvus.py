"""pymilvus is loaded without pandas, and uses pandas once that is loaded."""

import subprocess
import sys

CODE = """
import sys
import footnote_store.milvus
from pymilvus.orm import schema

assert "pandas" not in sys.modules
assert not schema.is_valid_insert_data(3)
assert "pandas" not in sys.modules, "a question about DataFrames needs none"
assert schema.is_list_like([1])
assert sys.modules["pandas"].__file__, "what is called is pandas itself"
frame = sys.modules["pandas"].DataFrame({"a": [1]})
assert schema.is_valid_insert_data(frame)
assert schema.pd.DataFrame is type(frame)
"""
EARLIER = """
import pandas
import footnote_store.milvus
from pymilvus.orm import schema

assert schema.pd is pandas
"""


def test_pandas_is_loaded_by_what_needs_it() -> None:
    _run(CODE)


def test_pandas_that_is_loaded_is_used() -> None:
    _run(EARLIER)


def _run(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
