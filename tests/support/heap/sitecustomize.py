"""Lets a Python process report what its memory holds: on SIGUSR2 it writes `<FOOTNOTE_HEAP>/<pid>.json`.

Python imports this module at its start from a folder on PYTHONPATH. A fork writes the report, so that the process
itself grows by nothing. `heap.py` reads the reports.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
import types
from collections import Counter
from pathlib import Path
from typing import Any


class _Malloc(ctypes.Structure):
    """glibc's `struct mallinfo2`."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()  # noqa: SIM905
    ]


def _malloc() -> dict[str, int]:
    """Return the bytes that malloc has given out, and those that it holds free; empty without glibc 2.33."""
    try:
        read = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return {}
    read.restype = _Malloc
    found = read()
    return {"malloc used": found.uordblks + found.hblkhd, "malloc free": found.fordblks}


def _reached(starts: list[Any], seen: set[int], sizes: Counter[str], package: str = "") -> int:
    """Count by type what is reached from these objects and was not before; return bytes.

    With a package the walk leaves out classes and functions of others.
    """
    total, left = 0, starts
    while left:
        one = left.pop()
        if id(one) in seen or isinstance(one, types.FrameType) or (package and _foreign(one, package)):
            continue
        seen.add(id(one))
        size = sys.getsizeof(one)
        total += size
        kind = type(one)
        sizes[f"{kind.__module__}.{kind.__qualname__}"] += size
        left += gc.get_referents(one)
    return total


def _foreign(one: Any, package: str) -> bool:
    """Return whether another package defines a class or function."""
    if not isinstance(one, type | types.FunctionType):
        return False
    home = getattr(one, "__module__", None)
    return isinstance(home, str) and home.partition(".")[0] != package


def _report() -> dict[str, Any]:
    malloc = _malloc()
    gc.disable()
    gc.unfreeze()
    modules = [(name, module) for name, module in sys.modules.items() if hasattr(module, "__dict__")]
    kinds, packages = Counter[str](), Counter[str]()
    # A function leads to its module's names: each module is counted for itself. What this report uses is not counted.
    seen = {id(sys.modules), id(kinds), id(packages), id(modules)}
    seen |= {id(one) for _, module in modules for one in (module, module.__dict__)}
    seen.add(id(seen))
    for name, module in modules:
        package = name.partition(".")[0]
        packages[package] += sys.getsizeof(module.__dict__)
        packages[package] += _reached(list(module.__dict__.values()), seen, kinds, package)
    packages["(others)"] = _reached(gc.get_objects(), seen, kinds)
    return {"malloc": malloc, "types": kinds, "packages": packages, "modules": len(modules)}


def _on_signal(*_: object) -> None:
    if os.fork():
        return
    try:
        path = Path(os.environ["FOOTNOTE_HEAP"]) / f"{os.getppid()}.json"
        part = path.with_suffix(".part")
        part.write_text(json.dumps(_report()))
        part.rename(path)
    finally:
        os._exit(0)


if "FOOTNOTE_HEAP" in os.environ:
    signal.signal(signal.SIGUSR2, _on_signal)
