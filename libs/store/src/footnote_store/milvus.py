"""pymilvus, loaded without pandas: all that is imported from it here, is imported from this module.

pymilvus takes rows as DataFrames too, and so loads pandas: a third of a second and 30 MB in each process, for a kind of
row that nobody here passes. While pymilvus is loaded, stand-ins take the place of pandas and its submodules. They load
pandas if something of it is called after all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any

_STOOD_FOR = ("pandas", "pandas.api", "pandas.api.types")


class _Frame:
    """Stands for DataFrame: nobody has one before pandas is loaded."""


class _StandIn(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = sys.modules.get(self.__name__)
        if isinstance(found, ModuleType) and found is not self:
            return getattr(found, name)
        return _Frame if name == "DataFrame" else _forward(self.__name__, name)


def _forward(module: str, name: str) -> Callable[..., Any]:
    def call(*given: Any, **named: Any) -> Any:
        return getattr(import_module(module), name)(*given, **named)

    return call


@contextmanager
def _without_pandas() -> Iterator[None]:
    """Let stand-ins take the place of pandas, unless it is loaded."""
    if "pandas" in sys.modules:
        yield
        return
    sys.modules.update((name, _StandIn(name)) for name in _STOOD_FOR)
    try:
        yield
    finally:
        for name in _STOOD_FOR:
            del sys.modules[name]


with _without_pandas():
    from pymilvus import AsyncMilvusClient, CollectionSchema, DataType, Function, FunctionType, MilvusClient
    from pymilvus.client.prepare import Prepare
    from pymilvus.client.utils import check_status
    from pymilvus.exceptions import MilvusException
    from pymilvus.grpc_gen.common_pb2 import DslType, PlaceholderGroup, PlaceholderType
    from pymilvus.grpc_gen.milvus_pb2 import InsertRequest, QueryResults, SearchRequest, SearchResults, UpsertRequest
    from pymilvus.grpc_gen.schema_pb2 import FieldData
    from pymilvus.milvus_client.index import IndexParams

__all__ = [
    "AsyncMilvusClient", "CollectionSchema", "DataType", "DslType", "FieldData", "Function", "FunctionType",
    "IndexParams", "InsertRequest", "MilvusClient", "MilvusException", "PlaceholderGroup", "PlaceholderType", "Prepare",
    "QueryResults", "SearchRequest", "SearchResults", "UpsertRequest", "check_status",
]  # fmt: skip
