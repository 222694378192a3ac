"""The available vector stores, and the choice of this deployment.

Other packages add stores in the entry-point group `footnote.stores`: a `Registration`, or a `StoreRegistration` for a
store with a file in the data folder or a process of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from footnote_database.parts import Parts
from footnote_kit.app import Runtime
from footnote_kit.registration import Kind, NoSettings, Registration, Registry, Wanted, unconfigured
from footnote_kit.settings import KitSettings
from pydantic import BaseModel

from footnote_store.ports import Engine, Store

EMBEDDED, SERVER = "milvus", "milvus-server"
_CAPABILITIES = ("collections", "search", "full_text", "metadata_filtering", "ttl")


@dataclass(frozen=True, slots=True)
class StoreLocation:
    """Where an engine keeps its data and listens.

    `compact_after` is in seconds; `parts` are those of the installation. With a `port` it listens on loopback, 0 for
    a free one; otherwise on a socket in the folder.
    """

    folder: Path
    port: int | None = None
    compact_after: float = 0.0
    parts: Parts | None = None


@dataclass(frozen=True, slots=True)
class StoreRegistration(Registration[NoSettings, Store]):
    """A store that the deployment itself runs: `found_at` returns its address for a folder, `engine` runs it there."""

    found_at: Callable[[Path], str] | None = None
    engine: Callable[[StoreLocation], Engine] | None = None


def _milvus(wanted: Wanted[NoSettings]) -> Store:
    from footnote_store.store import VectorStore  # imported with its client on first use

    return VectorStore(wanted.address, wanted.token)


def _server(wanted: Wanted[NoSettings]) -> Store:
    if not wanted.address:
        needs = "FOOTNOTE_VECTOR_STORE_URI"
        raise unconfigured("store", SERVER, needs, f"The vector store {SERVER} needs {needs}, the address of a Milvus.")
    return _milvus(wanted)


def _found_at(folder: Path) -> str:
    from footnote_store.endpoint import socket_uri

    return socket_uri(folder)


def _engine(place: StoreLocation) -> Engine:
    from footnote_store.engine import EmbeddedEngine

    return EmbeddedEngine(place.folder, place.port, place.compact_after, place.parts)


@cache
def stores() -> Registry[Store]:
    """Return every store by id."""
    embedded = StoreRegistration(
        kind=Kind.STORE,
        id=EMBEDDED,
        display_name="Milvus, embedded",
        settings=NoSettings,
        make=_milvus,
        capabilities=_CAPABILITIES,
        local=True,
        builtin=True,
        found_at=_found_at,
        engine=_engine,
    )
    server = Registration(
        kind=Kind.STORE,
        id=SERVER,
        display_name="Milvus server",
        settings=NoSettings,
        make=_server,
        capabilities=_CAPABILITIES,
    )
    return Registry(Kind.STORE, [embedded, server])


def chosen(settings: KitSettings) -> Registration[BaseModel, Store]:
    """Return the store of a deployment; raises InvalidArgument(PROVIDER_INVALID) for an unknown one."""
    return stores().require(settings.vector_store or (SERVER if settings.vector_store_uri else EMBEDDED))


def open_store(runtime: Runtime) -> Store:
    """Return the deployment's store for one service; it connects at the first call."""
    return chosen(runtime.settings).build(address=runtime.vector_store_uri, token=runtime.vector_store_token)
