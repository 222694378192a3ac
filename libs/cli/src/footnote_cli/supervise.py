"""Runs the services of one process from start to orderly stop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

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
from footnote_cli.targets import SERVICES, Target, found

if TYPE_CHECKING:
    from footnote_store.registry import StoreRegistration

STORE = "store"
_log = get_logger("footnote.launcher")


class StartError(Exception):
    """Something did not start; the message says what and why."""


@dataclass(frozen=True, slots=True)
class Launch:
    """The deployment that one launch runs, in this process or in several."""

    services: tuple[str, ...]
    credential: ServiceCredential | None
    ports: Mapping[str, int] = field(default_factory=dict)
    """Port by service, if it had one before and must have it again."""


class Supervisor:
    """The services of one process, its vector engine if it has one, and what they share."""

    def __init__(
        self,
        target: Target,
        settings: KitSettings,
        data_dir: Path,
        port_base: int | None,
        port: int | None = None,
        launch: Launch | None = None,
    ) -> None:
        """`launch` is the launch that the target belongs to.

        StartError when the services could not authenticate to one another.
        """
        self._target = target
        self._settings = settings
        self._port = port
        self._launch = launch or Launch(target.services, credential_of(target, settings, data_dir))
        self._hosts: list[ServiceHost] = []
        self._stack = AsyncExitStack()
        self._credential = self._launch.credential
        self.runtime = Runtime(
            settings=settings,
            data_dir=data_dir,
            vector_store_uri=settings.vector_store_uri or _store_address(target, settings, data_dir),
            vector_store_token=settings.vector_store_token,
            port_base=port_base,
            credential=self._credential,
        )

    @property
    def services(self) -> tuple[str, ...]:
        """The services of this process."""
        return self._target.services

    @property
    def addresses(self) -> dict[str, str]:
        """The addresses of this process, by stage or name."""
        own = {host.name: self.runtime.addresses[host.name] for host in self._hosts}
        return {**own, **self.runtime.announced}

    async def start(self) -> None:
        """Start engine and services; StartError when one does not. `stop` cleans up in either case."""
        await self.start_engine()
        # First all ports, so that every build knows every address; then all servers; then tasks that call others.
        self.bind()
        await self.serve()
        await self.start_tasks()

    def bind(self) -> None:
        """Bind the ports of the services."""
        self._stack.push_async_callback(self.runtime.close)
        for name in self._target.services:
            host = ServiceHost(name, self._settings, self._credential)
            self._hosts.append(host)
            port = self._launch.ports.get(name, self._port)
            if port is None:
                port = self.runtime.port(DEFAULT_PORTS[name])
            try:
                self.runtime.addresses[name] = host.bind(self._listen_host(name), port)
            except (ListenError, OSError) as error:
                raise StartError(str(error)) from error
            if host.inner_address:
                self.runtime.inner[name] = host.inner_address

    async def serve(self) -> None:
        """Build the services, which now know all addresses, and let them answer."""
        for host in self._hosts:
            app = await self._build(host.name)
            self._stack.push_async_callback(host.stop, self._settings.grace_seconds)
            try:
                await host.serve(app, self._listen_host(host.name))
            except ListenError as error:
                raise StartError(str(error)) from error

    async def start_tasks(self) -> None:
        """Start the tasks that call other services, once all listen."""
        for host in self._hosts:
            try:
                await host.started(self.runtime.data_dir)
            except Exception as error:
                raise _start_error(host.name, error) from error

    def _listen_host(self, name: str) -> str:
        """Return the host on which a service listens: beside edge, stages use loopback, since only edge is public."""
        return self._settings.listen_host if name == "edge" or "edge" not in self._launch.services else "127.0.0.1"

    async def start_engine(self) -> None:
        """Start the vector engine, if this process has one."""
        if not self._target.engine or self._settings.vector_store_uri:
            return
        from footnote_database.parts import Parts
        from footnote_store.registry import StoreLocation

        registration = _store(self._settings)
        if registration is None or registration.engine is None:
            return
        place = StoreLocation(
            self.runtime.data_dir / STORE,
            # A TCP port only on request: a socket keeps out other users of this machine.
            port=None if self._target.services else self._port,
            compact_after=self._settings.store_compaction_hours * 3600,
            parts=Parts.of(self.runtime),
        )
        engine = registration.engine(place)
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

    def before_engine_ends(self, stop: Callable[[], Awaitable[None]]) -> None:
        """Run `stop` after the services of this process have ended, and before the engine ends."""
        self._stack.push_async_callback(stop)

    async def wait_ready(self) -> dict[str, str]:
        """Wait until all services are ready, or the time limit passes; return those that are not, and why."""
        waits = [asyncio.create_task(host.ready.wait()) for host in self._hosts]
        if waits:
            _, late = await asyncio.wait(waits, timeout=self._settings.ready_timeout)
            for wait in late:
                wait.cancel()
        return {host.name: host.not_ready_because for host in self._hosts if not host.ready.is_set()}

    def publish(self, others: Mapping[str, str] | None = None) -> None:
        """Write the addresses of this process and its parts into the data folder, until it stops."""
        published = {**self.addresses, **(others or {})}
        publish(self.runtime.data_dir, published, alone=self._launch.services == STAGES)
        self._stack.callback(withdraw, self.runtime.data_dir, published)

    async def stop(self) -> None:
        """Stop in reverse order: edge accepts no more questions, then the stages, then the engine."""
        await asyncio.gather(*(host.drain() for host in self._hosts))
        if self._hosts and self._settings.drain_seconds:
            await asyncio.sleep(self._settings.drain_seconds)
        await self._stack.aclose()


def credential_of(target: Target, settings: KitSettings, folder: Path) -> ServiceCredential | None:
    """Return the services' credential; None if nothing runs, or certificates authenticate them.

    A whole deployment has a secret per launch, known only to its processes, and also accepts the one in the settings.
    Separate services share the one in the settings or, on this machine, one in the data folder.
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
        return None if beyond else secret_file.shared(folder)  # without one the server refuses to listen
    except (ValueError, OSError) as error:
        raise StartError(f"The services have no shared secret: {error}") from error


def _store(settings: KitSettings) -> StoreRegistration | None:
    """Return the vector store that this deployment runs itself, None if it is elsewhere."""
    from footnote_store.registry import StoreRegistration, chosen  # loaded on demand

    try:
        registration = chosen(settings)
    except FootnoteError as error:
        raise StartError(f"FOOTNOTE_VECTOR_STORE: {error.message}") from error
    return registration if isinstance(registration, StoreRegistration) else None


def store_is_shared(settings: KitSettings) -> bool:
    """Return whether several processes can reach the deployment's store: false for a foreign one without an address."""
    if settings.vector_store_uri:
        return True
    registration = _store(settings)
    return registration is not None and (registration.engine is not None or registration.found_at is not None)


def _store_address(target: Target, settings: KitSettings, folder: Path) -> str:
    """Return the address of a data folder's store, for the processes that use it."""
    registration = _store(settings) if target.uses_store or target.engine else None
    if registration is None or registration.found_at is None or not target.uses_store:
        return ""
    return registration.found_at(folder / STORE)


def _start_error(name: str, error: Exception) -> StartError:
    """Return the message for a failed start; the traceback of an unexpected error goes to the log."""
    if isinstance(error, ValidationError):
        return StartError(f"{name} did not start: {'; '.join(wrong_settings(error, f'FOOTNOTE_{name.upper()}_'))}")
    if not isinstance(error, (FootnoteError, OSError, ListenError)):
        _log.error("start_failed", stage=name, exc_info=error)
    return StartError(redact(f"{name} did not start: {error or type(error).__name__}"))


def wrong_settings(error: ValidationError, prefix: str) -> list[str]:
    """Return a sentence for each wrong setting, by the variable that sets it."""
    sentences = []
    for one in error.errors():
        name = str(one["loc"][0]) if one["loc"] else ""
        variable = name if name.isupper() else f"{prefix}{name.upper()}"
        problem = one["msg"].removeprefix("Value error, ")
        sentences.append(f"{variable}: {problem}" if name else problem)
    return sentences
