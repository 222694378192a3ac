"""A deployment on this machine: where it stores its data, as its services report it."""

import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from footnote_database.parts import Parts
from footnote_database.storage import StoredData, StoredDatabase
from footnote_kit.settings import STAGES, KitSettings
from footnote_store.endpoint import socket_path, socket_uri
from footnote_store.engine import EmbeddedEngine
from footnote_store.registry import EMBEDDED, SERVER, chosen
from footnote_store.transfer import Transfer
from pydantic import ValidationError

from footnote_cli.errors import CommandError, usage_error
from footnote_cli.targets import SERVICES, found

STORE = "store"
VECTORS = "vectors.db"


@dataclass(frozen=True, slots=True)
class Deployment:
    """A deployment: its folder, its settings, and each service's stored data, by name."""

    folder: Path
    settings: KitSettings
    services: dict[str, StoredData]

    def database(self, name: str) -> StoredDatabase:
        """Return the database with a name; KeyError for none."""
        for kept in self.services.values():
            for one in kept.databases:
                if one.name == name:
                    return one
        raise KeyError(name)

    @property
    def parts(self) -> Parts:
        """The parts of the installation."""
        return Parts(self.folder)

    @property
    def databases(self) -> list[StoredDatabase]:
        """All databases."""
        return [one for kept in self.services.values() for one in kept.databases]

    @property
    def vectors(self) -> Path:
        """The embedded engine's file."""
        return self.folder / STORE / VECTORS


def stored_by(name: str) -> Callable[[Path], StoredData]:
    """Return how a service lists its stored data: the function `stored_data` of its composition module."""
    build = found(SERVICES, name)
    says: Callable[[Path], StoredData] = getattr(
        sys.modules[build.__module__], "stored_data", lambda _folder: StoredData()
    )
    return says


def deployment_of(folder: Path) -> Deployment:
    """Return the deployment of a folder and this environment; CommandError when a setting is wrong."""
    data_dir = folder.expanduser().resolve()
    try:
        services = {name: stored_by(name)(data_dir) for name in STAGES}
        return Deployment(data_dir, KitSettings(data_dir=data_dir), services)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, one['loc'])) or error.title}: {one['msg']}" for one in error.errors())
        raise usage_error(f"A setting of this deployment is invalid: {wrong}.", "Correct it and try again.") from None


def engine_answers(folder: Path) -> bool:
    """Return whether the embedded engine of a data folder runs."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(2)
        return probe.connect_ex(str(socket_path(folder / STORE))) == 0


@asynccontextmanager
async def open_store(deployment: Deployment) -> AsyncIterator[Transfer | None]:
    """Open a deployment's vector store; its engine is started for that time if it does not run.

    Yields None if an embedded store was never written to. Raises CommandError for a store of another package.
    """
    kind = chosen(deployment.settings).id
    if kind not in (EMBEDDED, SERVER):
        raise usage_error(f"The rows of the vector store '{kind}' cannot be read whole.", "Use its own tools.")
    uri, token = deployment.settings.vector_store_uri, deployment.settings.vector_store_token
    engine: EmbeddedEngine | None = None
    if not uri:
        uri, token = socket_uri(deployment.folder / STORE), ""
        if not engine_answers(deployment.folder):
            if not deployment.vectors.exists():
                yield None
                return
            engine = EmbeddedEngine(deployment.folder / STORE, compact_after=float("inf"))
            uri = await engine.start()
    store = Transfer(uri, token)
    try:
        yield store
    finally:
        await store.close()
        if engine is not None:
            await engine.stop()


def empty_folder(path: Path) -> Path:
    """Return a folder to fill; CommandError when it is not empty or cannot be made."""
    folder = path.expanduser().resolve()
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise usage_error(f"{folder} is not empty.", "Name a folder that is empty or not there yet.")
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
    except OSError as error:
        raise CommandError(f"{folder} cannot be made: {error.strerror}.", "Name a folder that you may write to.") from (
            error
        )
    return folder
