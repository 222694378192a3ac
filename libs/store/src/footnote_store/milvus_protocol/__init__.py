"""Milvus's contract: the modules of pymilvus's folder of generated code, as modules of this package.

Imported as `pymilvus.grpc_gen` they would load all of pymilvus first, and with it pandas.
"""

from importlib.util import find_spec

_pymilvus = find_spec("pymilvus")
if _pymilvus is None or _pymilvus.submodule_search_locations is None:
    raise ModuleNotFoundError("pymilvus is not installed", name="pymilvus")
__path__ = [f"{folder}/grpc_gen" for folder in _pymilvus.submodule_search_locations]
