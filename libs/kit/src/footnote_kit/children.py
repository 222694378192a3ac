"""The environment of processes that we start: what programs need to run, and no key of ours."""

import os
from collections.abc import Mapping

# What a program needs to find its interpreter, its language and its temporary folder, and to use no more cores than it
# may. Anything else, keys, addresses and passwords first of all, stays with us.
ALLOWED = frozenset(
    """PATH HOME USER LOGNAME SHELL LANG LANGUAGE TZ TMPDIR TEMP TMP PYTHONHASHSEED PYTHONUTF8 OMP_NUM_THREADS
    OMP_THREAD_LIMIT OPENBLAS_NUM_THREADS MKL_NUM_THREADS MALLOC_ARENA_MAX TESSDATA_PREFIX""".split()  # noqa: SIM905
)


def child_environment(**more: str) -> Mapping[str, str]:
    """Return the environment for a child process, with `more` variables that it needs."""
    kept = {name: value for name, value in os.environ.items() if name in ALLOWED or name.startswith("LC_")}
    return kept | more
