"""pymilvus is loaded without pandas, and whoever uses pandas afterwards has the real one."""

import subprocess
import sys

import pytest

_WITHOUT = """
import sys
import footnote_store.store
assert "pymilvus" in sys.modules
assert not [name for name in sys.modules if name.partition(".")[0] == "pandas"], "pandas was loaded"
"""
_REAL_AFTERWARDS = """
import footnote_store.store
from pymilvus.orm.types import infer_dtype_bydata
assert infer_dtype_bydata([0.5, 0.25]).name == "FLOAT_VECTOR"
import pandas
assert pandas.DataFrame({"a": [1]}).shape == (1, 1)
"""
_LOADED_BEFORE = """
import pandas
import footnote_store.store
import pymilvus.orm.schema
assert pymilvus.orm.schema.pd is pandas
"""


@pytest.mark.parametrize("program", [_WITHOUT, _REAL_AFTERWARDS, _LOADED_BEFORE])
def test_pandas_is_loaded_only_where_it_is_used(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
