"""The environment of child processes: the variables that programs need to run, and no credentials."""

import os
from collections.abc import Mapping

# The variables a program needs to find its interpreter, locale and temporary folder, and to respect its core limit.
# All others are withheld, above all keys, addresses and passwords.
ALLOWED = frozenset(
    """PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TEMP TMP PYTHONHASHSEED PYTHONUTF8 OMP_NUM_THREADS
    OMP_THREAD_LIMIT OPENBLAS_NUM_THREADS MKL_NUM_THREADS MALLOC_ARENA_MAX TESSDATA_PREFIX""".split()  # noqa: SIM905
)


def child_environment(**more: str) -> Mapping[str, str]:
    """Return the environment of a child process, extended by the variables in `more`."""
    kept = {name: value for name, value in os.environ.items() if name in ALLOWED or name.startswith("LC_")}
    return kept | more
