"""Loads pymilvus without pandas: 32 MB and half of its time, for data frames that nobody here hands to it.

Modules that use pymilvus import this one first.

What pymilvus asks of pandas besides whether something is a data frame still comes from pandas, loaded then.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

_PANDAS = ("pandas", "pandas.api", "pandas.api.types")


class _Frame:
    """What nothing is an instance of."""


class _Later(ModuleType):
    """Stands for a module of pandas while pymilvus is loaded; its functions load the real one when they are called."""

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
    """Load pymilvus; where it or pandas is loaded already, nothing is left to save."""
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
