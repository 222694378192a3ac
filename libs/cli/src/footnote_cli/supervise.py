"""Runs the services of one process from start to orderly end."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from importlib import import_module
from pathlib import Path

from footnote_kit import secret_file
from footnote_kit.app import App, Runtime
from footnote_kit.credential import ServiceCredential
from footnote_kit.errors import FootnoteError
from footnote_kit.logs import get_logger
from footnote_kit.net import is_loopback
from footnote_kit.redact import redact
from footnote_kit.server import ListenError, ServiceHost
from footnote_kit.settings import DEFAULT_PORTS, PUBLIC, STAGES, KitSettings
from pydantic import ValidationError

from footnote_cli.folder import publish, withdraw
from footnote_cli.installed import SERVICES, found
from footnote_cli.targets import Target

STORE = "store"
_log = get_logger("footnote.launcher")


class StartError(Exception):
    """Something did not start; the message says what and why."""


class Supervisor:
    """The services of one process, its vector engine if it has one, and what they share."""

    def __init__(
        self, target: Target, settings: KitSettings, data_dir: Path, port_base: int | None, port: int | None = None
    ) -> None:
        """Take what is to run; StartError when the services could not prove themselves to one another."""
        self._target = target
        self._settings = settings
        self._port = port
        self._hosts: list[ServiceHost] = []
        self._stack = AsyncExitStack()
        self._credential = _credential(target, settings, data_dir)
        self.runtime = Runtime(
            settings=settings,
            data_dir=data_dir,
            vector_store_uri=settings.vector_store_uri or _engine_uri(target, data_dir),
            vector_store_token=settings.vector_store_token,
            port_base=port_base,
            credential=self._credential,
        )

    @property
    def addresses(self) -> dict[str, str]:
        """Where this process listens, by stage or name."""
        own = {host.name: self.runtime.addresses[host.name] for host in self._hosts}
        return {**own, **self.runtime.announced}

    async def start(self) -> None:
        """Start engine and services; StartError when one does not. `stop` cleans up in either case."""
        await self._start_engine()
        self._stack.push_async_callback(self.runtime.close)
        # All ports first, so that every build knows every address; then all listen; then what calls others runs.
        for name in self._target.services:
            host = ServiceHost(name, self._settings, self._credential)
            self._hosts.append(host)
            port = self._port if self._port is not None else self.runtime.port(DEFAULT_PORTS[name])
            try:
                self.runtime.addresses[name] = host.bind(self._listen_host(name), port)
            except (ListenError, OSError) as error:
                raise StartError(str(error)) from error
            if host.inner_address:
                self.runtime.inner[name] = host.inner_address
        for host in self._hosts:
            app = await self._build(host.name)
            self._stack.push_async_callback(host.stop, self._settings.grace_seconds)
            try:
                await host.serve(app, self._listen_host(host.name))
            except ListenError as error:
                raise StartError(str(error)) from error
        for host in self._hosts:
            try:
                await host.started()
            except Exception as error:
                raise _start_error(host.name, error) from error

    def _listen_host(self, name: str) -> str:
        """Return where a service listens: beside edge the stages stay on loopback, since only edge is for others."""
        return self._settings.listen_host if name == "edge" or "edge" not in self._target.services else "127.0.0.1"

    async def _start_engine(self) -> None:
        if not self._target.engine or self._settings.vector_store_uri:
            return
        engine_class = getattr(import_module("footnote_store.engine"), "EmbeddedEngine")  # noqa: B009 (loaded on demand)
        engine = engine_class(
            self.runtime.data_dir / STORE,
            # A port only where one is asked for: a socket keeps the other users of this machine out.
            port=None if self._target.services else self._port,
            compact_after=self._settings.store_compaction_hours * 3600,
        )
        self._stack.push_async_callback(engine.stop)
        try:
            self.runtime.vector_store_uri = await engine.start()
        except Exception as error:
            raise _start_error("the vector engine", error) from error
        self.runtime.announce("store", self.runtime.vector_store_uri)

    async def _build(self, name: str) -> App:
        try:
            build: Callable[[Runtime], Awaitable[App]] = found(SERVICES, name)
            app = await build(self.runtime)
        except Exception as error:
            raise _start_error(name, error) from error
        assert isinstance(app, App)
        return app

    async def wait_ready(self) -> dict[str, str]:
        """Wait until all services are ready, or the time for it is over; return who is not, and why."""
        waits = [asyncio.create_task(host.ready.wait()) for host in self._hosts]
        if waits:
            _, late = await asyncio.wait(waits, timeout=self._settings.ready_timeout)
            for wait in late:
                wait.cancel()
        return {host.name: host.not_ready_because for host in self._hosts if not host.ready.is_set()}

    def publish(self) -> None:
        """Write where this process listens into the data folder, until it stops."""
        published = self.addresses
        publish(self.runtime.data_dir, published, alone=self._target.services == STAGES)
        self._stack.callback(withdraw, self.runtime.data_dir, published)

    async def stop(self) -> None:
        """Stop in the opposite order: edge takes no more questions, then the stages, then the engine."""
        self.runtime.draining.set()
        await asyncio.gather(*(host.drain() for host in self._hosts))
        if self._hosts and self._settings.drain_seconds:
            await asyncio.sleep(self._settings.drain_seconds)
        await self._stack.aclose()


def _credential(target: Target, settings: KitSettings, folder: Path) -> ServiceCredential | None:
    """Return what the services prove themselves with; None where nothing runs, or certificates speak for them.

    A whole deployment in one process has a secret of this launch, which nobody else ever sees, and believes the one in
    the settings besides. Services apart share the one in the settings or, on this machine, one in the data folder.
    """
    if not target.services:
        return None
    try:
        configured = secret_file.configured(settings)
        if target.services == STAGES:
            launch = ServiceCredential.random()
            return launch.accepting(configured) if configured is not None else launch
        if configured is not None or settings.tls_peers:
            return configured
        beyond = not is_loopback(settings.listen_host) and PUBLIC.isdisjoint(target.services)
        return None if beyond else secret_file.shared(folder)  # the server refuses to listen without
    except (ValueError, OSError) as error:
        raise StartError(f"The services have no secret to know one another by: {error}") from error


def _engine_uri(target: Target, folder: Path) -> str:
    """Return where the embedded engine over a data folder is found, by whom it may concern."""
    if not target.uses_store:
        return ""
    uri: str = import_module("footnote_store.endpoint").socket_uri(folder / STORE)
    return uri


def _start_error(name: str, error: Exception) -> StartError:
    """Return the message for a failed start; the traceback of what was not foreseen goes to the log."""
    if isinstance(error, ValidationError):
        return StartError(f"{name} did not start: {'; '.join(wrong_settings(error, f'FOOTNOTE_{name.upper()}_'))}")
    if not isinstance(error, (FootnoteError, OSError, ListenError)):
        _log.error("start_failed", stage=name, exc_info=error)
    return StartError(redact(f"{name} did not start: {error or type(error).__name__}"))


def wrong_settings(error: ValidationError, prefix: str) -> list[str]:
    """Return a sentence for each setting that is wrong, by the variable that sets it."""
    sentences = []
    for one in error.errors():
        name = str(one["loc"][0]) if one["loc"] else ""
        variable = name if name.isupper() else f"{prefix}{name.upper()}"
        problem = one["msg"].removeprefix("Value error, ")
        sentences.append(f"{variable}: {problem}" if name else problem)
    return sentences
